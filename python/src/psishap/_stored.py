"""The content of a model file, and files for the program."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import pathlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ._cells import Floats
from ._child import Child, asking
from ._directory import Directory
from ._rows import Rows, stream_of


class Game(NamedTuple):
    """What a prediction is when columns are absent, if it is not the model's own game."""

    name: str
    reference: pa.Table | None


class Stored:
    """The content of a model file."""

    def __init__(self, data: bytes):
        self._data = bytes(data)
        self._child = Child.of(self._data, self.digest)

    @property
    def data(self) -> bytes:
        """Bytes of the model file."""
        return self._data

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the model file, which explanations contain."""
        return "sha256:" + hashlib.sha256(self._data).hexdigest()

    @functools.cached_property
    def manifest(self) -> dict[str, Any]:
        """Document of ``psi inspect --json``: schema, settings, metrics, audit and provenance."""
        return self._child.manifest

    @functools.cached_property
    def columns(self) -> list[str]:
        """Names of the columns that the model uses as features."""
        return [c["name"] for c in self.manifest["columns"]]

    @functools.cached_property
    def _trained_on(self) -> list[str]:
        """All columns of the training table in order, including unused ones."""
        names = list(self.columns)
        for out in self.manifest["left_out"]:
            names.insert(out["place"], out["name"])
        return names

    @functools.cached_property
    def players(self) -> list[str]:
        """Names of what has an attribution: columns, and groups of columns at the position of their first column."""
        group_of = {name: g["name"] for g in self.manifest["groups"] for name in g["columns"]}
        return list(dict.fromkeys(group_of.get(name, name) for name in self.columns))

    @property
    def task(self) -> str:
        """ "regression", "binary" or "multiclass"."""
        return str(self.manifest["task"])

    @property
    def _imported(self) -> dict[str, Any] | None:
        """Description of the trees of another package; None if psi trained the model."""
        return self.manifest.get("imported")

    @property
    def _tree_kinds(self) -> dict[str, str] | None:
        """Kinds of the columns of trees of another package; None if psi trained the model."""
        return None if self._imported is None else {c["name"]: c["kind"] for c in self.manifest["columns"]}

    @property
    def _measured(self) -> bool:
        """Whether predictions have standard deviations. Trees of another package have them if rows with the target measured them."""
        return self._imported is None or self.manifest["calibration"]["noise"] > 0

    @property
    def game(self) -> str:
        """What a prediction is when columns are absent: ``observational`` if psi trained the model, else ``path-dependent`` or
        ``missing-branch``. Shapley values are those of this game, unless :meth:`Model.explain` chooses another.
        """
        return str(self.manifest["game"])

    @property
    def classes(self) -> list[str] | None:
        """Class labels, None if the model predicts a number. The second of two classes is the positive one."""
        classes: list[str] | None = self.manifest["classes"]
        return classes

    @property
    def _outputs(self) -> list[str]:
        """Names of the explained outputs: of two classes, only the positive one."""
        classes = self.classes
        return [self.manifest["target"]] if not classes else classes[-1:] if len(classes) == 2 else classes

    def _explained(self, rows: Rows, game: Game | None, **asked: Any) -> dict[str, Floats]:
        """Explain rows, as arrays."""
        outputs, features = len(self._outputs), len(self.players)
        each = 8 * outputs * (features**2 if asked.get("interactions") else 3 * features)
        reference = None if game is None or game.reference is None else stream_of(game.reference)
        header = asking(game=None if game is None else game.name, **asked)
        return self._child.arrays(rows, header, answer=each, reference=reference)

    @property
    def validation_by(self) -> str | None:
        """Column, such as a patient number, whose equal values stayed together in training or validation; None if there was none."""
        chosen = self.manifest["provenance"]["validation"]
        return None if chosen.startswith("the newest ") else chosen.partition(", by ")[2] or None


def labelled(model: Stored, rows: pa.Table, y: Any) -> pa.Table:
    """Add the outcomes y to rows as the target of the model, with classes as the estimators write them."""
    target = np.asarray(y)
    if len(target) != rows.num_rows:
        raise ValueError(f"y has {len(target)} values for {rows.num_rows} rows: give one value for each row")
    if model.classes:
        target = np.array([None if v is None or v != v else str(v) for v in target], dtype=object)
    return rows.append_column(model.manifest["target"], pa.array(target, from_pandas=True))


@contextlib.contextmanager
def files(model: Stored, rows: pa.Table, game: Game | None = None, since: pa.Table | None = None) -> Iterator[tuple[str, str, list[str]]]:
    """Write the model and tables to temporary files for the program. Yield two paths, and flags for the game and earlier rows."""
    with Directory() as directory:
        path = directory / "model.psi"
        path.write_bytes(model.data)
        data = write(directory / "rows.arrow", rows)
        flags = [] if game is None else ["--game", game.name]
        if game is not None and game.reference is not None:
            flags += ["--reference", write(directory / "reference.arrow", game.reference)]
        if since is not None:
            flags += ["--since", write(directory / "since.arrow", since)]
        yield str(path), data, flags


def write(path: pathlib.Path, rows: pa.Table) -> str:
    """Write rows as an Arrow file and return its path."""
    with pa.ipc.new_file(str(path), rows.schema) as writer:
        writer.write_table(rows.unify_dictionaries())
    return str(path)
