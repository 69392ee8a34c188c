"""Cells of a table as text for people and as numbers for the axes of shap."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Floats = npt.NDArray[np.float64]


def floats(column: pa.ChunkedArray) -> Floats:
    """Return a column as floats, NaN for missing cells."""
    return column.cast(pa.float64()).to_numpy().astype(np.float64, copy=False)


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


def numeric(rows: pa.Table, players: Sequence[str], unknown: Sequence[str]) -> tuple[Floats, npt.NDArray[np.object_] | None]:
    """Return cells as numbers for the plots of shap, NaN for missing cells, and as displayed, if that differs."""
    data = np.full((rows.num_rows, len(players)), np.nan)
    shown = np.full(data.shape, "", dtype=object)
    differ = False
    for d, name in enumerate(players):
        if name not in rows.column_names or name in unknown:
            differ = True
            continue
        column = rows.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        of = column.type
        if pa.types.is_integer(of) or pa.types.is_floating(of) or pa.types.is_decimal(of):
            data[:, d] = shown[:, d] = floats(column)
        elif pa.types.is_date(of) or pa.types.is_timestamp(of):  # years, because shap can neither draw nor print times
            moments = pc.cast(column, pa.timestamp("us"), safe=False).cast(pa.int64())
            data[:, d] = shown[:, d] = 1970 + floats(moments) / 365.2425 / 86_400e6
        else:
            texts = [None if missing(v) else text(v) for v in column.to_pylist()]
            place = {label: i for i, label in enumerate(sorted({t for t in texts if t is not None}))}
            data[:, d] = [np.nan if t is None else place[t] for t in texts]
            shown[:, d] = ["missing" if t is None else t for t in texts]
            differ = True
    return data, shown if differ else None
