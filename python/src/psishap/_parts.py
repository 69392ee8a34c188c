"""Explanation of the partitions of a table in the worker processes of an engine such as Spark, Ray or Dask."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ._child import Child, asking
from ._frames import as_trees, to_arrow
from ._model import Model, _names, load
from ._psi import PsiError


def model_of(model: Model | str | os.PathLike[str] | Any) -> Model:
    """Return the model of a Model, the path of a file, or a fitted estimator."""
    if isinstance(model, (str, os.PathLike)):
        return load(model)
    model = getattr(model, "model_", model)
    if not isinstance(model, Model):
        raise TypeError(f"model is {model!r}: give a psishap.Model, the path of a model file, or a fitted estimator")
    return model


@dataclasses.dataclass(frozen=True)
class Plan:
    """The request for each row. Every worker process gets a copy; the bytes of the model travel beside it."""

    digest: str
    columns: list[str]  #: columns that the model uses
    keep: list[str]  #: columns to copy to the result
    asked: dict[str, Any]  #: header of the requests
    schema: pa.Schema  #: of the response, without the row number, which a partition does not know
    kinds: dict[str, str] | None = None  #: of the columns of trees of another package

    def answers(self, data: bytes, batches: Iterable[pa.RecordBatch], cores: int | None = None) -> Iterator[pa.Table]:
        """Explain the batches of a partition, a few thousand rows at a time. ``row`` numbers the rows of the partition.

        This process starts one psi process per model, for all partitions. psi uses ``cores``; the default is what the engine assigned to
        the task (OMP_NUM_THREADS). Another number of cores starts another psi process.
        """
        os.environ["GOMAXPROCS"] = str(cores or os.environ.get("OMP_NUM_THREADS") or 1)
        child = Child.of(data, f"{self.digest} {os.environ['GOMAXPROCS']}")

        def rows() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                there = [name for name in self.columns if name in batch.schema.names]
                table = to_arrow(batch.select(there), trees=self.kinds is not None)
                yield from (table if self.kinds is None else as_trees(table, self.kinds)).to_batches()

        return child.stream(self.asked, rows())

    def explain(self, data: bytes, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield the explanations of a partition beside the columns to keep, which are in the batches."""
        given: collections.deque[tuple[int, pa.RecordBatch]] = collections.deque()  # batches without a complete response

        def noted() -> Iterator[pa.RecordBatch]:
            start = 0
            for batch in batches:
                given.append((start, batch))
                start += batch.num_rows
                yield batch

        for answer in self.answers(data, noted()):
            places = answer.column("row").cast(pa.int64())
            while places[0].as_py() >= given[0][0] + given[0][1].num_rows:
                given.popleft()
            start, batch = given[0]  # a request has rows of one batch only
            kept = batch.select(self.keep).take(pc.subtract(places, start).combine_chunks())
            columns = [*kept.columns, *(answer.column(name) for name in self.schema.names)]
            yield pa.table(columns, names=[*self.keep, *self.schema.names])


def plan(
    model: Model,
    names: Sequence[str] | None,
    keep: str | Sequence[str],
    unknown: str | Sequence[str] | None,
    output: str | None,
    same: Callable[[str], str] = str,
) -> Plan:
    """Check the arguments and return the plan. ``names`` are the columns of the table, None if unknown.

    The engine considers two names equal if ``same`` maps both to one.
    """
    with contextlib.closing(model):  # the workers compute; the next use of the model here starts its process again
        keep, unknown = _names(keep), _names(unknown)
        _check_names(model.columns, names, keep, unknown)
        asked = asking(unknown=unknown, output=output)
        schema = _schema(model, asked)
        _check_kept(keep, schema.names, same)
        columns = [name for name in model.columns if name not in unknown]
        if not columns:
            raise PsiError("all columns are unknown", "remove one from unknown=")
        return Plan(model.digest, columns, keep, asked, schema, model._tree_kinds)


def _check_names(columns: Sequence[str], names: Sequence[str] | None, keep: Sequence[str], unknown: Sequence[str]) -> None:
    if names is None:
        return
    for name in columns:
        if name not in names and name not in unknown:
            raise PsiError("the table has no such column, but the model uses it", f"add it, or pass unknown=[{name!r}]", column=name)
    for name in keep:
        if name not in names:
            raise PsiError("the table has no such column, but keep names it", "keep a column of the table", column=name)


def _check_kept(keep: Sequence[str], names: Sequence[str], same: Callable[[str], str]) -> None:
    taken = {same(name) for name in names}
    for name in keep:
        if same(name) in taken:
            raise PsiError("explanations have a column of this name, or it is kept twice", "keep a copy under another name", column=name)
        taken.add(same(name))


def _schema(model: Model, asked: dict[str, Any]) -> pa.Schema:
    """Return the schema of the response, from a request with one row of missing cells."""
    nothing = pa.table({name: pa.nulls(1, pa.float64()) for name in model.columns})
    (answer,) = model._child.stream(asked, nothing.to_batches())
    return pa.schema([field for field in answer.schema if field.name != "row"])
