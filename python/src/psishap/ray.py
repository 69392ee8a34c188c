"""Explanations computed by the workers of Ray.

    import psishap.ray

    explained = psishap.ray.explain(ds, "model.psi", keep=["id"])
    explained.write_parquet("explained")

psishap must be installed in the Python environment of the workers on every machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ._model import Model
from ._parts import model_of, plan

if TYPE_CHECKING:
    from ray.data import Dataset

__all__ = ["explain"]


def explain(
    ds: Dataset,
    model: Model | str | os.PathLike[str] | Any,
    *,
    keep: str | Sequence[str] = (),
    unknown: str | Sequence[str] | None = None,
    output: str | None = None,
    **options: Any,
) -> Dataset:
    """Explain the predictions for the rows of a dataset, as a dataset.

    The result is lazy: Ray computes it when needed, and nothing is collected. It has the columns of ``psi explain``: ``prediction``,
    ``prediction_std``, ``probability`` (for classes) and ``base``. Each column of the model adds its attribution under its name,
    ``<column>__std`` and, if the epistemic uncertainty is known, ``<column>__model_std``. A group of columns has one attribution, under
    the name of the group. With more than two classes, each class has its own line, named in the column ``output``.

    Parameters
    ----------
    ds : ray.data.Dataset
        Table with the column names of the training table.
    model : Model, path or estimator
        Model to explain. The driver reads a path, and Ray sends the model to its machines.
    keep : str or list of str
        Columns of ``ds`` to copy to the result, such as a key. Rows have no other order or number.
    unknown : str or list of str, optional
        Columns to treat as missing; ``ds`` need not contain them.
    output : str, optional
        Class to explain if there are more than two. The default is all classes.
    options
        Arguments of :meth:`ray.data.Dataset.map_batches`: ``num_cpus`` of a task, ``memory``, ``concurrency``, …
    """
    import ray

    model = model_of(model)
    known = ds.schema(fetch_if_missing=False)
    asked = plan(model, known.names if known is not None else None, keep, unknown, output)

    def explained(block: pa.Table, sent: ray.ObjectRef) -> Iterator[pa.Table]:
        yield from asked.explain(ray.get(sent), block.to_batches())

    return ds.map_batches(explained, fn_args=[ray.put(model.data)], batch_format="pyarrow", batch_size=None, **options)
