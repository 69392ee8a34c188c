"""Pictures and reports that the program psi draws. It explains the rows again, and needs no other package."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from . import _psi
from ._attributions import Attributions
from ._axes import ROWS, sample
from ._directory import Directory
from ._frames import kind, to_arrow
from ._stored import Game, Stored, files, labelled

#: Kinds of pictures.
Kind = Literal["bar", "beeswarm", "waterfall", "force", "ranking", "dependence", "interaction", "decision", "heatmap", "groups", "drift"]

_NAMES = {"pandas": "a pandas frame", "polars": "a polars frame", "pyarrow": "an Arrow table", "arrow": "a table", "numpy": "an array"}

_OF_A_ROW = ("waterfall", "force", "ranking")

# Maximum rows of a picture, as in psi plot: more rows make no visible difference.
_ROWS = 5000
_PAIR_ROWS = 500


class Picture:
    """A picture from :meth:`Plots.svg`. Notebooks display it; :meth:`save` writes it as SVG, PNG or PDF.

    ``title`` says what it shows, ``read`` how to read it, and ``exact`` how close its attributions are to Shapley values.
    """

    def __init__(self, kind: str, flags: list[str], since: pa.Table | None, rows: pa.Table, model: Stored, game: Game | None = None):
        self._model, self._rows, self._since, self._kind, self._flags, self._game = model, rows, since, kind, flags, game
        with Directory() as directory:
            path = directory / "picture.svg"
            said = self._draw(path)
            self.svg = path.read_text(encoding="utf-8")
        self.kind, self.title, self.read, self.exact = kind, said["title"], said["read"], said["exact"]

    def _draw(self, path: str | os.PathLike[str]) -> dict[str, Any]:
        with files(self._model, self._rows, self._game, self._since) as (model, rows, flags):
            return _psi.run("plot", self._kind, model, rows, "-o", os.fspath(path), "--force", *flags, *self._flags)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file that ends in .svg, .png or .pdf."""
        self._draw(path)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"{self.title}. {self.read} {self.exact}".strip()


def draw(
    e: Attributions,
    kind: str,
    *,
    row: int = 0,
    columns: Sequence[str] | None,
    max_display: int | None,
    output: str | None,
    interactions: bool,
    since: Attributions | None,
    title: str | None,
    size: tuple[float, float] | None,
    z: float | None,
    dark: bool,
) -> Picture:
    """Draw a picture of the rows of an explanation."""
    if kind not in get_args(Kind):
        raise ValueError(f"kind is {kind!r}: it must be one of {', '.join(get_args(Kind))}")
    if (kind == "drift") != (since is not None):
        raise ValueError(
            "a picture of drift needs since=, an explanation of earlier rows"
            if since is None
            else f"{kind} has no since: only drift has it"
        )
    rows, earlier, flags = _known(e), None, ["--z", str(e.z if z is None else z)]
    if kind in _OF_A_ROW:
        count = len(e._values)
        if not -count <= row < count:
            raise IndexError(f"row {row} does not exist: the explanation has {count} rows")
        row %= count
        rows = rows.slice(0, row + 1)
        flags += ["--row", str(row)]
        if len(e.output_names) > 1 and output is None:
            output = e.output_names[int(e._prediction[row].argmax())]
    elif since is not None:
        by = e._models[0].validation_by
        rows, earlier = (_sample(_with(_known(x), x, by), _ROWS) for x in (e, since))
    else:
        rows = _sample(rows, _PAIR_ROWS if kind == "interaction" else _ROWS)
    if columns is None and len(e._columns) < len(e._models[0].players) and kind not in ("dependence", "groups"):
        columns = e._columns
    if columns:  # psi reads the list as a line of CSV, so names are quoted
        flags += ["--columns", ",".join('"' + name.replace('"', '""') + '"' for name in columns)]
    if max_display is not None:
        flags += ["--max", str(max_display)]
    if title:
        flags += ["--title", title]
    if size:
        flags += ["--size", "{}x{}".format(*size)]
    if dark:
        flags.append("--dark")
    if interactions:
        flags.append("--interactions")
    place = 0 if output is None else e._output(output)
    if len(e._models) == 1 and len(e._models[0].classes or ()) > 2 and (output is not None or len(e.output_names) == 1):
        flags += ["--output", e.output_names[place]]
    return Picture(kind, flags, earlier, rows, e._models[place if len(e._models) > 1 else 0], e._game)


def report(e: Attributions, path: str | os.PathLike[str], *, y: Any = None, by: str | None = None) -> str:
    """Write the report of psi report on the rows."""
    rows, path = _known(e), os.fspath(path)
    model, *others = e._models
    if others:
        raise ValueError(f"each output has its own model: select one output, as in e.output({e.output_names[0]!r}).report(…)")
    if y is not None:
        rows = labelled(model, rows, np.atleast_1d(y) if e._dropped[ROWS] else y)
    rows = _with(rows, e, by)
    with files(model, rows, e._game) as (file, data, flags):
        named = pathlib.Path(data).with_name(_NAMES[kind(e.X)])  # the report calls the table by the name of its file
        os.rename(data, named)
        _psi.run(
            "report",
            file,
            str(named),
            "--format",
            "arrow",
            "-o",
            path,
            "--force",
            "--z",
            str(e.z),
            *(["--by", by] if by is not None else []),
            *flags,
        )
    return path


def _known(e: Attributions) -> pa.Table:
    """Return the rows with unknown columns as missing, for commands without --unknown."""
    rows = e._rows
    for name in e.unknown:
        if name in e._models[0].manifest["missing_as_level"]:
            raise ValueError(
                f"a missing cell of {name!r} is a value of its own, so plots cannot treat the column as unknown: explain without unknown="
            )
        if name in rows.column_names:
            rows = rows.drop_columns([name])
        rows = rows.append_column(name, pa.nulls(rows.num_rows, pa.float64()))
    return rows


def _with(rows: pa.Table, e: Attributions, name: str | None) -> pa.Table:
    """Add a column of the explained table that the model does not use, if the table has it."""
    if name is None or name in rows.column_names or kind(e.X) == "numpy":
        return rows
    table = to_arrow(e.X)
    return rows.append_column(name, table.column(name)) if name in table.column_names else rows


def _sample(rows: pa.Table, most: int) -> pa.Table:
    return rows if rows.num_rows <= most else rows.take(pa.array(sample(rows.num_rows, most)))
