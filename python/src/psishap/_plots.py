"""Plots and reports of rows. psi draws them; they need no network and no other package."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from . import _psi
from ._directory import Directory
from ._frames import kind, to_arrow
from ._stored import Game, Stored, files, labelled

# Maximum rows of a plot, as in psi plot: more rows make no visible difference.
_ROWS = 5000
_PAIR_ROWS = 500


class Explained(Protocol):
    """What plots need from an explanation."""

    _models: tuple[Stored, ...]
    _rows: pa.Table
    data: Any
    outputs: list[str]
    scale: str
    prediction: npt.NDArray[np.float64]
    unknown: list[str]
    z: float
    _game: Game | None

    def __len__(self) -> int: ...

    def __getitem__(self, key: Any) -> Any: ...

    def _output(self, output: str | None) -> int: ...

    def importance(self) -> dict[str, float]: ...


class Picture:
    """A plot. Notebooks display it; :meth:`save` writes it as SVG, PNG or PDF.

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
        """Write the plot to a file that ends in .svg, .png or .pdf."""
        self._draw(path)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"{self.title}. {self.read} {self.exact}".strip()


class Plots:
    """Plots of an explanation, as ``psi plot`` draws them.

    All methods take these options:

    - ``columns``: columns to show; the default is the most important ones.
    - ``max``: maximum number of columns to show.
    - ``title``: title of the plot.
    - ``size``: width and height in inches.
    - ``z``: intervals have the probability of ∓ z standard deviations of a normal distribution.
    - ``dark``: whether to draw on a dark background.
    - ``output``: class to show, if there are several.

    Plots of many rows show at most 5,000 rows, drawn at random with a fixed seed.
    """

    def __init__(self, explanation: Explained):
        self._e = explanation

    def bar(self, **options: Any) -> Picture:
        """Plot the importance of columns: how much each one moves predictions."""
        return self._many("bar", options)

    def beeswarm(self, **options: Any) -> Picture:
        """Plot one dot per row and column: attribution and value."""
        return self._many("beeswarm", options)

    def waterfall(self, row: int = 0, interactions: bool = False, **options: Any) -> Picture:
        """Plot one row, from the base to its prediction, with intervals.

        ``interactions`` splits the attributions into main effects and pairwise interactions.
        """
        return self._one("waterfall", row, options, ["--interactions"] if interactions else [])

    def force(self, row: int = 0, **options: Any) -> Picture:
        """Plot what raises against what lowers the prediction of one row."""
        return self._one("force", row, options)

    def ranking(self, row: int = 0, **options: Any) -> Picture:
        """Plot the order of columns of one row for different interval widths."""
        return self._one("ranking", row, options)

    def dependence(self, column: str | None = None, color: str | None = None, **options: Any) -> Picture:
        """Plot the attribution of a column by its value. The default is the most important column; ``color`` names a second one."""
        if color is not None and column is None:
            column = next(iter(self._e.importance()))
        named = [name for name in (column, color) if name is not None]
        return self._many("dependence", {"columns": named, **options} if named else options)

    def interaction(self, **options: Any) -> Picture:
        """Plot the interactions between pairs of columns."""
        return self._many("interaction", options, rows=_PAIR_ROWS)

    def decision(self, **options: Any) -> Picture:
        """Plot the paths of many rows from the base to their predictions."""
        return self._many("decision", options)

    def heatmap(self, **options: Any) -> Picture:
        """Plot the attributions of many rows at once."""
        return self._many("heatmap", options)

    def groups(self, column: str, **options: Any) -> Picture:
        """Plot importance by the values of a column."""
        return self._many("groups", {**options, "columns": [column, *(options.get("columns") or ())]})

    def drift(self, since: Explained, **options: Any) -> Picture:
        """Plot the changes in attributions since earlier rows.

        If the model was trained with ``validation_by`` and both explained tables have that column, the plot compares groups of rows with
        equal values instead of single rows.
        """
        by = self._e._models[0].validation_by
        now, then = _with(_known(self._e), self._e, by), _with(_known(since), since, by)
        return self._picture("drift", _sample(now, _ROWS), options, (), _sample(then, _ROWS))

    def _one(self, kind: str, row: int, options: dict[str, Any], flags: Sequence[str] = ()) -> Picture:
        count = len(self._e)
        if not -count <= row < count:
            raise IndexError(f"row {row} does not exist: the explanation has {count} rows")
        row %= count
        if len(self._e.outputs) > 1 and options.get("output") is None:
            options = {**options, "output": self._e.outputs[int(self._e.prediction[row].argmax())]}
        return self._picture(kind, _known(self._e).slice(0, row + 1), options, [*flags, "--row", str(row)])

    def _many(self, kind: str, options: dict[str, Any], rows: int = _ROWS) -> Picture:
        return self._picture(kind, _sample(_known(self._e), rows), options, ())

    def _picture(self, kind: str, rows: pa.Table, options: dict[str, Any], flags: Sequence[str], since: pa.Table | None = None) -> Picture:
        e = self._e
        options = {"z": e.z, **options}
        given = [*flags, "--z", str(options.pop("z"))]
        if options.pop("dark", False):
            given.append("--dark")
        if columns := options.pop("columns", None):
            # psi reads the list as a line of CSV, so names are quoted.
            given += ["--columns", ",".join('"' + name.replace('"', '""') + '"' for name in columns)]
        if (most := options.pop("max", options.pop("most", None))) is not None:  # most is the former name
            given += ["--max", str(most)]
        if title := options.pop("title", None):
            given += ["--title", title]
        if size := options.pop("size", None):
            given += ["--size", "{}x{}".format(*size)]
        output = options.pop("output", None)
        if options:
            raise TypeError(f"{kind} has no option {next(iter(options))!r}: use columns, max, title, size, z, dark or output")
        place = e._output(output)
        if len(e._models) == 1 and len(e._models[0].classes or ()) > 2 and (output is not None or len(e.outputs) == 1):
            given += ["--output", e.outputs[place]]
        return Picture(kind, given, since, rows, e._models[place if len(e._models) > 1 else 0], e._game)


def report(e: Explained, path: str | os.PathLike[str], *, y: Any = None, by: str | None = None) -> str:
    """Write the report of psi report on the rows."""
    rows, path = _known(e), os.fspath(path)
    if len(e._models) > 1:
        raise ValueError("each output has its own model: select one output, as in e[:, 'class'].report(…)")
    model = e._models[0]
    if y is not None:
        rows = labelled(model, rows, y)
    rows = _with(rows, e, by)
    with files(model, rows, e._game) as (file, data, flags):
        _psi.run("report", file, data, "-o", path, "--force", "--z", str(e.z), *(["--by", by] if by is not None else []), *flags)
    return path


def _known(e: Explained) -> pa.Table:
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


def _with(rows: pa.Table, e: Explained, name: str | None) -> pa.Table:
    """Add a column of the explained table that the model does not use, if the table has it."""
    if name is None or name in rows.column_names or kind(e.data) == "numpy":
        return rows
    table = to_arrow(e.data)
    return rows.append_column(name, table.column(name)) if name in table.column_names else rows


def _sample(rows: pa.Table, most: int) -> pa.Table:
    return rows if rows.num_rows <= most else rows.take(pa.array(places(rows.num_rows, most)))


def places(count: int, most: int) -> npt.NDArray[np.intp]:
    """Draw row numbers at random, with a fixed seed."""
    return np.sort(np.random.default_rng(0).choice(count, most, replace=False))
