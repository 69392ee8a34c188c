"""Parts of a table, explained where they lie: in processes that an engine such as Spark or Ray starts on its machines."""

from __future__ import annotations

import collections
import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ._child import Child, asking
from ._frames import to_arrow
from ._model import Model, _names, load
from ._psi import PsiError


def model_of(model: Model | str | os.PathLike[str] | Any) -> Model:
    """A model that is given as such, by its file's path, or in an estimator that was fitted."""
    if isinstance(model, (str, os.PathLike)):
        return load(model)
    model = getattr(model, "model_", model)
    if not isinstance(model, Model):
        raise TypeError(f"model is {model!r}: give a psishap.Model, the path of a file, or an estimator that was fitted")
    return model


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is asked of a model for each row. It travels to every process; the model's bytes travel once to each machine."""

    digest: str
    columns: list[str]  #: what the model uses of the rows
    keep: list[str]  #: what goes along
    path: str
    schema: pa.Schema  #: of what psi answers, without the number of the row, which a part does not know

    def explain(self, data: bytes, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Explains the batches of a part, a few thousand rows at a time.

        This process has one psi for a model, however many parts it is given. Its cores are those that the engine promised to the
        task, which engines say as OMP_NUM_THREADS; a task with more of them has another.
        """
        cores = os.environ.get("OMP_NUM_THREADS") or "1"
        os.environ["GOMAXPROCS"] = cores
        child = Child.of(data, f"{self.digest} {cores}")
        given: collections.deque[tuple[int, pa.RecordBatch]] = collections.deque()  # what is not answered yet

        def rows() -> Iterator[pa.RecordBatch]:
            start = 0
            for batch in batches:
                given.append((start, batch))
                start += batch.num_rows
                there = [name for name in self.columns if name in batch.schema.names]
                yield from to_arrow(batch.select(there)).to_batches()

        for answer in child.stream(self.path, rows()):
            places = answer.column("row").cast(pa.int64())
            while places[0].as_py() >= given[0][0] + given[0][1].num_rows:
                given.popleft()
            start, batch = given[0]  # no request has rows of two batches
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
    """Says what is asked, and beforehand what is wrong with it. ``names`` are those of the table, None if they are not known.

    Two columns whose ``same`` is one have the same name in the engine's eyes.
    """
    keep, unknown, columns = _names(keep), _names(unknown), model.columns
    if names is not None:
        for name in columns:
            if name not in names and name not in unknown:
                raise PsiError("the table lacks this column of the model", f"add it, or say unknown=[{name!r}]", column=name)
        for name in keep:
            if name not in names:
                raise PsiError("the table lacks this column, which is to be kept", "see its columns", column=name)
    path = asking("/explain", unknown=unknown, output=output, layout="wide")
    schema = _asked(model, path)
    taken = {same(name) for name in schema.names}
    for name in keep:
        if same(name) in taken:
            raise PsiError(
                "explanations have a column of this name, or it is kept twice", "keep a copy of it under another name", column=name
            )
        taken.add(same(name))
    columns = [name for name in columns if name not in unknown]
    if not columns:
        raise PsiError("all columns are unknown", "leave one of them out of unknown=")
    return Plan(model.digest, columns, keep, path, schema)


def _asked(model: Model, path: str) -> pa.Schema:
    """What psi answers, told by psi: it is asked for a row of which nothing is known."""
    idle = model._child.pid is None
    nothing = pa.table({name: pa.nulls(1, pa.float64()) for name in model.columns})
    try:
        (answer,) = model._child.stream(path, nothing.to_batches())
    finally:
        if idle:
            model.close()
    return pa.schema([field for field in answer.schema if field.name != "row"])
