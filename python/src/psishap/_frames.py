"""Conversion of pandas, polars and numpy tables to pyarrow and back."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ._cells import label, missing
from ._choices import suggestion
from ._psi import PsiError

#: A table: a pandas or polars data frame, a pyarrow table, a numpy array or scipy sparse matrix [rows, columns], or any object
#: with the Arrow interface (``__arrow_c_stream__``). One row may also be a pandas Series or a dict, by the names of columns.
Frame: TypeAlias = Any


def kind(frame: Frame) -> str:
    """Return the format of a table: "pandas", "polars", "pyarrow", "arrow" (its interface) or "numpy" (everything else)."""
    for name, types in (("pandas", ("DataFrame",)), ("polars", ("DataFrame", "LazyFrame"))):
        module = sys.modules.get(name)
        if module is not None and isinstance(frame, tuple(getattr(module, t) for t in types)):
            return name
    if isinstance(frame, (pa.Table, pa.RecordBatch)):
        return "pyarrow"
    return "arrow" if hasattr(frame, "__arrow_c_stream__") else "numpy"


def is_row(X: Frame) -> bool:
    """Return whether X is one row by the names of columns: a pandas Series or a dict."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(X, pandas.Series):
        return True
    return isinstance(X, Mapping) and not hasattr(X, "toarray")  # a sparse matrix of keys is a mapping too


def as_rows(X: Frame) -> Frame:
    """Return a table of one row if X is a pandas Series or a dict, else X. The name of a Series becomes the index."""
    if not is_row(X):
        return X
    cells = {str(name): [cell] for name, cell in X.items()}
    for name, (cell,) in cells.items():
        if np.ndim(cell) > 0:
            raise PsiError("a dict is one row, but this cell is a list", "give a data frame for several rows", column=name)
    if isinstance(X, Mapping):
        return pa.table({name: _cells(cell, name) for name, cell in cells.items()})
    return sys.modules["pandas"].DataFrame(cells, index=[X.name])


def renamed(frame: Frame, names: Sequence[str]) -> Frame:
    """Return a table with other names of its columns."""
    of = kind(frame)
    if of == "pandas":
        return frame.set_axis(list(names), axis=1)
    if of == "polars":
        return frame.rename(dict(zip(frame.columns, names)))
    return to_arrow(frame).rename_columns(list(names))


def complete(table: pa.Table, X: Frame, columns: Sequence[str], unknown: Collection[str] = ()) -> pa.Table:
    """Return the table of X if it has all columns of a model except unknown ones, else raise an error that names the first it lacks."""
    found = set(table.column_names)
    for name in columns:
        if name not in found and name not in unknown:
            near = suggestion(name, set(to_arrow(X).column_names).difference(columns))
            remedy = f"add it, with missing cells where it is not known, or pass unknown=[{name!r}]"
            raise PsiError(f"X lacks this column, which the model was trained on{near}", remedy, column=name)
    return table


def to_arrow(frame: Frame, names: Sequence[str] | None = None, *, trees: bool = False) -> pa.Table:
    """Convert a table to Arrow, with column types that psi reads.

    Columns of an array are called ``names``, or x0, x1, …. NaN, None, NaT and NA become missing cells. Categories become labels in
    their order, durations become seconds, and periods become times. For ``trees`` of another package, booleans become the numbers 0 and 1.
    """
    frame = as_rows(frame)
    of = kind(frame)
    if of == "numpy":
        table = _of_array(frame, names)
    elif of == "pandas":
        table = _of_pandas(frame)
    elif of == "polars":
        table = (frame.collect() if hasattr(frame, "collect") else frame).to_arrow()
    else:
        table = pa.Table.from_batches([frame]) if isinstance(frame, pa.RecordBatch) else pa.table(frame)
    found = table.column_names
    if len(set(found)) < len(found):
        twice = next(name for i, name in enumerate(found) if name in found[:i])
        raise PsiError("two columns have the same name", "rename one of them", column=twice)
    return pa.Table.from_arrays([_plain(column, trees) for column in table.columns], found)


_FEW = 64  # maximum rows of a frame to convert cell by cell, which takes half the time for one row and as long for 100


def _of_pandas(frame: Any) -> pa.Table:
    names = [str(name) for name in frame.columns]
    if len(frame) <= _FEW and all(_is_plain(t) for t in frame.dtypes):
        columns: Iterable[Any] = map(list, frame.to_numpy(object).T)
    else:
        columns = (_dense(frame.iloc[:, at]) for at in range(len(names)))
    return pa.Table.from_arrays([_cells(column, name) for name, column in zip(names, columns)], names)


def _is_plain(dtype: Any) -> bool:
    """Return whether the cells of a column say all about it, as numbers and text do. Categories also have an order."""
    return (isinstance(dtype, np.dtype) and dtype.kind in "biufO") or dtype.name in ("str", "string")


def _dense(column: Any) -> Any:
    """Convert a column of pandas that Arrow has no type for: sparse cells become dense, periods become the times they start at."""
    pandas = sys.modules["pandas"]
    if isinstance(column.dtype, pandas.SparseDtype):
        return column.sparse.to_dense()
    return column.dt.to_timestamp() if isinstance(column.dtype, pandas.PeriodDtype) else column


def _of_array(array: Any, names: Sequence[str] | None) -> pa.Table:
    array = np.asarray(array.toarray() if hasattr(array, "toarray") else array)  # a sparse matrix of scipy has toarray
    if array.ndim != 2:
        raise PsiError(f"the array has the shape {list(array.shape)}", "give an array of [rows, columns]; for one row, call reshape(1, -1)")
    if names is None:
        names = [f"x{i}" for i in range(array.shape[1])]
    if len(names) != array.shape[1]:
        raise PsiError(f"the array has {array.shape[1]} columns instead of {len(names)}", "give the columns of the training table")
    columns = np.ascontiguousarray(array.T)
    return pa.table({name: _cells(cells, name) for name, cells in zip(names, columns)})


def _cells(cells: Any, name: str) -> pa.Array:
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "f":
        return pa.array(cells)  # psi treats NaN as missing
    try:
        return pa.array(cells, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError) as err:
        raise PsiError(
            f"its cells have several types, or an unsupported one: {err}",
            "convert them to numbers, text, booleans or times, for example with astype(str)",
            column=name,
        ) from err


def _plain(column: pa.ChunkedArray, trees: bool) -> pa.ChunkedArray:
    """Convert a column to a type that psi reads."""
    t = column.type
    if trees and pa.types.is_boolean(t):
        return column.cast(pa.float64())
    if pa.types.is_null(t):
        return column.cast(pa.float64())
    if pa.types.is_duration(t):
        return pc.divide(column.cast(pa.duration("us")).cast(pa.int64()).cast(pa.float64()), 1e6)
    if pa.types.is_dictionary(t) and not (pa.types.is_string(t.value_type) or pa.types.is_large_string(t.value_type)):
        of = pa.int8() if trees and pa.types.is_boolean(t.value_type) else t.value_type
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(of).cast(pa.string()), ordered=t.ordered)
            for chunk in column.unify_dictionaries().chunks
        ]
        return pa.chunked_array(chunks, pa.dictionary(t.index_type, pa.string(), t.ordered))
    return column


def as_trees(table: pa.Table, kinds: Mapping[str, str]) -> pa.Table:
    """Return numbers in columns that are categories for the trees of another package as labels."""
    return pa.table({n: _labels(c) if kinds.get(n) == "category" else c for n, c in zip(table.column_names, table.columns)})


def _labels(column: pa.ChunkedArray) -> pa.ChunkedArray:
    t = column.type
    if not (pa.types.is_integer(t) or pa.types.is_floating(t)):
        return column
    return pa.chunked_array([pa.array([None if missing(v) else label(v) for v in column.to_pylist()], pa.string())])


def underscored(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Rename columns to ``names`` that have an underscore for each space, as LightGBM renames them."""
    return table.rename_columns([u if n not in names and (u := n.replace(" ", "_")) in names else n for n in table.column_names])


def from_arrow(table: pa.Table, like: Frame) -> Frame:
    """Convert a table to the format of ``like``. A pandas frame gets the index of ``like`` if both have as many rows."""
    of = kind(like)
    if of == "pandas":
        frame = table.to_pandas()
        if len(frame) == len(like):
            frame.index = like.index
        return frame
    if of == "polars":
        import polars

        return polars.from_arrow(table)
    if of == "numpy":
        return np.column_stack([column.to_numpy() for column in table.columns])
    return table
