"""Explanations on Spark, where the rows are.

    import psishap.spark

    explained = psishap.spark.explain(df, "model.psi", keep=["id"])
    explained.write.parquet("explained")

Every machine needs psishap in the Python that Spark's workers run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ._model import Model
from ._parts import model_of, plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["explain"]


def explain(
    df: DataFrame,
    model: Model | str | os.PathLike[str] | Any,
    *,
    keep: str | Sequence[str] = (),
    unknown: str | Sequence[str] | None = None,
    output: str | None = None,
) -> DataFrame:
    """Predictions of the rows of a data frame and every column's part in them, as a data frame.

    Nothing is computed before Spark is asked for it, and nothing is collected. The columns are those of ``psi explain``:
    ``prediction``, ``prediction_std``, ``probability`` (of classes), ``base``, and of each player its name,
    ``<player>__std`` and, where doubt is known, ``<player>__model_std``. Of more than two classes there is a line for each,
    which ``output`` names.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Its columns have the names that the training had.
    model : Model, path or estimator
        A path is read here, by the driver: Spark sends the model to its machines.
    keep : str or list of str
        Columns of ``df`` that go along, such as a key. Rows have no other order or number.
    unknown : str or list of str, optional
        Columns to take for missing: ``df`` may lack them.
    output : str, optional
        The one class to explain, of more than two.
    """
    from pyspark.sql.functions import col
    from pyspark.sql.types import DoubleType, StringType, StructField, StructType

    model = model_of(model)
    session = df.sparkSession
    exact_names = str(session.conf.get("spark.sql.caseSensitive")).lower() == "true"
    asked = plan(model, df.columns, keep, unknown, output, same=str if exact_names else str.lower)
    sent = session.sparkContext.broadcast(model.data)

    needed = list(dict.fromkeys([*asked.keep, *asked.columns]))

    def explained(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        named = (pa.RecordBatch.from_arrays(batch.columns, names=needed) for batch in batches)
        for table in asked.explain(sent.value, named):
            yield from table.to_batches()

    # mapInArrow takes columns' names for expressions, in which a dot is a part of a struct: they are numbered on the way.
    rows = df.select([col("`" + name.replace("`", "``") + "`").alias(f"c{at}") for at, name in enumerate(needed)])
    kept = [StructField(name, rows.schema[at].dataType) for at, name in enumerate(asked.keep)]
    texts = {field.name for field in asked.schema if pa.types.is_string(field.type)}
    added = [StructField(name, StringType() if name in texts else DoubleType()) for name in asked.schema.names]
    return rows.mapInArrow(explained, StructType([*kept, *added]))
