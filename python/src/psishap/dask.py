"""Explanations computed by the workers of Dask.

    import psishap.dask

    explained = psishap.dask.explain(ddf, "model.psi", keep=["id"])
    explained.to_parquet("explained")

psishap must be installed in the Python environment of the workers on every machine.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ._frames import to_arrow
from ._model import Model
from ._parts import Plan, model_of, plan

if TYPE_CHECKING:
    import pandas
    from dask.dataframe import DataFrame

__all__ = ["explain"]


def explain(
    ddf: DataFrame,
    model: Model | str | os.PathLike[str] | Any,
    *,
    keep: str | Sequence[str] = (),
    unknown: str | Sequence[str] | None = None,
    output: str | None = None,
) -> DataFrame:
    """Explain the predictions for the rows of a data frame, as a data frame with the same index and divisions.

    The result is lazy: Dask computes it when needed, and nothing is collected. It has the columns of ``psi explain``: ``prediction``,
    ``prediction_std``, ``probability`` (for classes) and ``base``. Each column of the model adds its attribution under its name,
    ``<column>__std`` and, if the epistemic uncertainty is known, ``<column>__model_std``. A group of columns has one attribution, under
    the name of the group. With more than two classes, each class has its own line, named in the column ``output``.

    Parameters
    ----------
    ddf : dask.dataframe.DataFrame
        Table with the column names of the training table.
    model : Model, path or estimator
        Model to explain. This process reads a path, and Dask sends the model to its workers.
    keep : str or list of str
        Columns of ``ddf`` to copy to the result, such as a key.
    unknown : str or list of str, optional
        Columns to treat as missing; ``ddf`` need not contain them.
    output : str, optional
        Class to explain if there are more than two. The default is all classes.
    """
    from dask import delayed
    from dask.dataframe.dispatch import make_meta

    model = model_of(model)
    rows = ddf.rename(columns=str)
    asked = plan(model, list(rows.columns), keep, unknown, output)
    needed = rows[list(dict.fromkeys([*asked.keep, *asked.columns]))]
    sent = delayed(model.data)  # one task of the graph, not a copy in each
    return needed.map_partitions(_explained, sent, asked, meta=_beside(make_meta(needed), asked, []))


def _explained(frame: pandas.DataFrame, data: bytes, asked: Plan) -> pandas.DataFrame:
    """Explain a partition."""
    batches = to_arrow(frame[asked.columns], trees=asked.kinds is not None).to_batches()
    return _beside(frame, asked, list(asked.answers(data, batches, _cores())))


def _beside(frame: pandas.DataFrame, asked: Plan, answers: Sequence[pa.Table]) -> pandas.DataFrame:
    """Return explanations with the index and the kept columns of their rows. Without answers, it is an empty frame of the same types."""
    import pandas as pd

    rows = [row for answer in answers for row in answer.column("row").cast(pa.int64()).to_pylist()]
    kept = frame[asked.keep].iloc[rows]
    found = pa.concat_tables([asked.schema.empty_table(), *(answer.select(asked.schema.names) for answer in answers)])
    return pd.concat([kept, found.to_pandas().set_index(kept.index)], axis=1)


def _cores() -> int:
    """Return the number of tasks that this process computes at a time. They share one psi process."""
    from dask.system import CPU_COUNT

    try:
        from distributed import get_worker

        return int(get_worker().state.nthreads)
    except (ImportError, ValueError):  # not in a worker: Dask uses threads of this process
        return int(CPU_COUNT)
