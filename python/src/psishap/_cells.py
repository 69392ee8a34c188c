"""Cells of a table as an array, as text for people, and as positions on an axis."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Floats = npt.NDArray[np.float64]


def floats(column: pa.ChunkedArray) -> Floats:
    """Return a column as floats, NaN for missing cells."""
    return np.asarray(column.cast(pa.float64()).to_numpy(), np.float64)


def missing(value: Any) -> bool:
    return value is None or value != value


def text(value: Any) -> str:
    """Format a cell for people."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        full = str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
        return full if len(full) <= 8 else f"{value:.6g}"
    if isinstance(value, datetime.datetime):
        moment = value if value.tzinfo is None else value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        whole = moment.isoformat().rstrip("0") if moment.microsecond else moment.isoformat()
        return whole.removesuffix("T00:00:00") if moment.time() == datetime.time() else whole + "Z"
    return str(value)


def label(value: Any) -> str:
    """Write a category of trees as the label that psi knows it by: a whole number without a fraction, and a boolean as 0 or 1."""
    return str(int(value)) if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()) else str(value)


def array(rows: pa.Table, names: Sequence[str]) -> npt.NDArray[Any]:
    """Return the cells of columns: floats if all are numbers, else objects. A name without a column, such as a group, has no cells.

    Missing cells are NaN among floats and None among objects.
    """
    columns = [rows.column(name) if name in rows.column_names else None for name in names]
    if all(c is None or _is_number(c.type) for c in columns):
        numbers = np.full((rows.num_rows, len(names)), np.nan)
        for d, column in enumerate(columns):
            if column is not None:
                numbers[:, d] = floats(column)
        return numbers
    cells = np.full((rows.num_rows, len(names)), None, dtype=object)
    for d, column in enumerate(columns):
        if column is not None:
            cells[:, d] = [None if missing(v) else v for v in column.to_pylist()]
    return cells


class Axis(NamedTuple):
    """Cells of a column as positions on an axis, NaN for missing ones: numbers, times in days since 1970, or places of labels."""

    positions: Floats
    labels: list[str] | None = None  #: labels by their places; None for numbers and times
    times: bool = False
    ordered: bool = True  #: whether larger positions mean more; not so for text

    def text(self, position: float) -> str:
        """Format the cell at a position for people."""
        if self.labels is not None:
            return self.labels[int(position)]
        return text(_EPOCH + datetime.timedelta(seconds=round(86_400 * position))) if self.times else text(float(position))


_EPOCH = datetime.datetime(1970, 1, 1)


def axis(column: pa.ChunkedArray) -> Axis:
    """Return the positions of cells. Labels of ordered categories keep their order; others are sorted."""
    of = column.type
    if _is_number(of):
        return Axis(floats(column))
    if pa.types.is_date(of) or pa.types.is_timestamp(of):
        return Axis(floats(pc.cast(column, pa.timestamp("us"), safe=False).cast(pa.int64())) / 86_400e6, times=True)
    texts = [None if missing(v) else text(v) for v in column.to_pylist()]
    ordered = pa.types.is_dictionary(of) and of.ordered
    if ordered and column.num_chunks:
        labels = [text(v) for v in column.unify_dictionaries().chunk(0).dictionary.to_pylist()]
    else:
        labels = sorted({t for t in texts if t is not None})
    place = {label: i for i, label in enumerate(labels)}
    positions = np.array([np.nan if t is None else place[t] for t in texts], np.float64)
    return Axis(positions, labels, ordered=ordered or pa.types.is_boolean(of))


def numeric(rows: pa.Table, names: Sequence[str], unknown: Sequence[str]) -> tuple[Floats, npt.NDArray[np.object_] | None]:
    """Return cells as numbers for the plots of shap, NaN for missing cells, and as displayed, if that differs."""
    data = np.full((rows.num_rows, len(names)), np.nan)
    shown = np.full(data.shape, "", dtype=object)
    differ = False
    for d, name in enumerate(names):
        if name not in rows.column_names or name in unknown:
            differ = True
            continue
        positions, labels, times, _ = axis(rows.column(name))
        if times:  # years, because shap can neither draw nor print times
            positions = 1970 + positions / 365.2425
        data[:, d] = shown[:, d] = positions
        if labels is not None:
            shown[:, d] = ["missing" if np.isnan(p) else labels[int(p)] for p in positions]
            differ = True
    return data, shown if differ else None


def _is_number(of: pa.DataType) -> bool:
    return bool(pa.types.is_integer(of) or pa.types.is_floating(of) or pa.types.is_decimal(of))
