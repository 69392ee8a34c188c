"""Explanations computed by the workers of Spark.

    import psishap.spark

    explained = psishap.spark.explain(df, "model.psi", keep=["id"])
    explained.write.parquet("explained")

psishap must be installed in the Python environment of the workers on every machine.
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
    """Explain the predictions for the rows of a data frame, as a data frame.

    The result is lazy: Spark computes it when needed, and nothing is collected. It has the columns of ``psi explain``: ``prediction``,
    ``prediction_std``, ``probability`` (for classes) and ``base``. Each column of the model adds its attribution under its name,
    ``<column>__std`` and, if the epistemic uncertainty is known, ``<column>__model_std``. A group of columns has one attribution, under
    the name of the group. With more than two classes, each class has its own line, named in the column ``output``.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Table with the column names of the training table.
    model : Model, path or estimator
        Model to explain. The driver reads a path, and Spark sends the model to its workers.
    keep : str or list of str
        Columns of ``df`` to copy to the result, such as a key. Rows have no other order or number.
    unknown : str or list of str, optional
        Columns to treat as missing; ``df`` need not contain them.
    output : str, optional
        Class to explain if there are more than two. The default is all classes.
    """
    from pyspark.sql.functions import col
    from pyspark.sql.types import DoubleType, StringType, StructField, StructType

    model = model_of(model)
    session = df.sparkSession
    exact_names = str(session.conf.get("spark.sql.caseSensitive")).lower() == "true"
    asked = plan(model, df.columns, keep, unknown, output, same=str if exact_names else str.lower)
    data = model.data  # travels with the function: Spark Connect has no broadcast variables, and Spark itself broadcasts large functions
    needed = list(dict.fromkeys([*asked.keep, *asked.columns]))

    def explained(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        named = (pa.RecordBatch.from_arrays(batch.columns, names=needed) for batch in batches)
        for table in asked.explain(data, named):
            yield from table.to_batches()

    # mapInArrow reads column names as expressions, in which a dot selects a field of a struct. So columns are numbered meanwhile.
    rows = df.select([col("`" + name.replace("`", "``") + "`").alias(f"c{at}") for at, name in enumerate(needed)])
    kept = [StructField(name, rows.schema[at].dataType) for at, name in enumerate(asked.keep)]
    texts = {field.name for field in asked.schema if pa.types.is_string(field.type)}
    added = [StructField(name, StringType() if name in texts else DoubleType()) for name in asked.schema.names]
    return rows.mapInArrow(explained, StructType([*kept, *added]))
