"""Explanations on Ray, where the rows are.

    import psishap.ray

    explained = psishap.ray.explain(ds, "model.psi", keep=["id"])
    explained.write_parquet("explained")

Every machine needs psishap in the Python that Ray's workers run.
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
    """Predictions of the rows of a dataset and every column's part in them, as a dataset.

    Nothing is computed before Ray is asked for it, and nothing is collected. The columns are those of ``psi explain``:
    ``prediction``, ``prediction_std``, ``probability`` (of classes), ``base``, and of each player its name,
    ``<player>__std`` and, where doubt is known, ``<player>__model_std``. Of more than two classes there is a line for each,
    which ``output`` names.

    Parameters
    ----------
    ds : ray.data.Dataset
        Its columns have the names that the training had.
    model : Model, path or estimator
        A path is read here, by the driver: Ray sends the model to its machines.
    keep : str or list of str
        Columns of ``ds`` that go along, such as a key. Rows have no other order or number.
    unknown : str or list of str, optional
        Columns to take for missing: ``ds`` may lack them.
    output : str, optional
        The one class to explain, of more than two.
    options
        For :meth:`ray.data.Dataset.map_batches`: ``num_cpus`` of a task, ``memory``, ``concurrency``, …
    """
    import ray

    model = model_of(model)
    known = ds.schema(fetch_if_missing=False)
    asked = plan(model, known.names if known is not None else None, keep, unknown, output)

    def explained(block: pa.Table, sent: ray.ObjectRef) -> Iterator[pa.Table]:
        yield from asked.explain(ray.get(sent), block.to_batches())

    return ds.map_batches(explained, fn_args=[ray.put(model.data)], batch_format="pyarrow", batch_size=None, **options)
