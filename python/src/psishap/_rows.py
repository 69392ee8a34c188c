"""Rows of a table as a model reads them, and the requests that they become."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ._cells import Floats
from ._frames import Frame, kind

# Maximum rows and bytes of a request, and bytes of its answer: large enough for a negligible overhead, small enough to keep several in
# memory.
_ROWS = 8192
_BYTES = 16 << 20


class Part(NamedTuple):
    """Rows of one request."""

    start: int  # number of the first row
    rows: int  # number of rows
    numbers: bool  # whether the body contains 64-bit floats, column by column, instead of an Arrow stream
    body: bytes | memoryview


class Rows:
    """Rows of the columns that a model uses: an array of numbers, or an Arrow table."""

    def __init__(self, columns: Sequence[str], cells: Floats | pa.Table):
        self._columns, self._cells = columns, cells

    def __len__(self) -> int:
        return len(self._cells)

    @functools.cached_property
    def table(self) -> pa.Table:
        if isinstance(self._cells, pa.Table):
            return self._cells
        return pa.table({name: pa.array(np.ascontiguousarray(self._cells[:, d])) for d, name in enumerate(self._columns)})

    def take(self, places: npt.NDArray[np.intp]) -> Rows:
        return Rows(self._columns, self._cells.take(pa.array(places)) if isinstance(self._cells, pa.Table) else self._cells[places])

    def parts(self, answer: int = 0) -> Iterator[Part]:
        """Split the rows into requests, whose answers have so many bytes for each row."""
        if isinstance(self._cells, pa.Table):
            yield from arrow_parts(self._cells.to_batches(), answer)
            return
        size = _size(8 * self._cells.shape[1], answer)
        for start in range(0, len(self._cells), size):
            part = self._cells[start : start + size]
            yield Part(start, len(part), True, np.ascontiguousarray(part.T).data.cast("B"))


def arrow_parts(batches: Iterable[pa.RecordBatch], answer: int = 0) -> Iterator[Part]:
    """Split batches into requests, whose answers have so many bytes for each row."""
    start = 0
    for batch in batches:
        size = _size(batch.nbytes // max(1, batch.num_rows), answer)
        for at in range(0, batch.num_rows, size):
            part = batch.slice(at, size)
            yield Part(start, part.num_rows, False, stream_of(part))
            start += part.num_rows


def stream_of(rows: pa.RecordBatch | pa.Table) -> memoryview:
    """Return rows as an Arrow stream."""
    body = io.BytesIO()
    with pa.ipc.new_stream(body, rows.schema) as writer:
        writer.write(rows)
    return body.getbuffer()


def _size(given: int, answer: int) -> int:
    """Return the rows of a request, by the bytes of a row and of its answer."""
    return max(1, min(_ROWS, _BYTES // max(1, given, answer)))


def numbers_of(X: Frame, columns: list[str], trained_on: list[str]) -> Floats | None:
    """Return the columns of an array or a pandas frame of plain numbers, or None if X is anything else.

    An array has these columns, or all that the model was trained on. A frame has exactly these.
    """
    if isinstance(X, np.ndarray):
        if X.ndim != 2 or X.dtype.kind not in "fiu":
            return None
        if X.shape[1] == len(trained_on) != len(columns):
            X = X[:, [trained_on.index(name) for name in columns]]
        return X.astype(np.float64, copy=False) if X.shape[1] == len(columns) else None
    if kind(X) != "pandas" or list(X.columns) != columns:
        return None
    return X.to_numpy(np.float64) if all(isinstance(t, np.dtype) and t.kind in "fiu" for t in X.dtypes) else None
