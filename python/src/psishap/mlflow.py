"""MLflow integration: log models with their signature, metrics and report, and load them.

    import psishap.mlflow

    with mlflow.start_run():
        info = psishap.mlflow.log_model(model, "income", input_example=test.head())
    mlflow.pyfunc.load_model(info.model_uri).predict(test)
    psishap.mlflow.load_model(info.model_uri).explain(test)

The logged artifact is model.psi itself, so explanations stay the same.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import pathlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import mlflow
from mlflow import pyfunc
from mlflow.models import Model as MLmodel
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema
from mlflow.types.schema import AnyType

from ._directory import Directory
from ._frames import Frame
from ._model import Model, load
from ._parts import model_of

if TYPE_CHECKING:
    import pandas
    from mlflow.models.model import ModelInfo

__all__ = ["load_model", "log_model", "save_model", "signature"]

_EXAMPLE_ROWS = 5

_TYPES = {"number": DataType.double, "category": DataType.string, "boolean": DataType.boolean, "time": DataType.datetime}


def log_model(
    model: Model | str | os.PathLike[str] | Any,
    name: str = "model",
    *,
    input_example: Frame | None = None,
    X: Frame | None = None,
    y: Any = None,
    by: str | None = None,
    params: dict[str, Any] | None = None,
    **options: Any,
) -> ModelInfo:
    """Log a model to the active run or to a new one: file, signature, settings, metrics and report.

    A run may have several models. Settings and the report belong to the model in MLflow, metrics to the model and the run.

    Parameters
    ----------
    model : Model, path or estimator
        Model to log.
    name : str
        Name of the model in MLflow.
    input_example : rows, optional
        Rows to store as the input example. The default is the first five rows of X.
    X : rows, optional
        Rows for the artifact ``report.html``, which ``psi report`` writes.
    y : array, optional
        True outcomes of X. The report then evaluates the predictions.
    by : str, optional
        Column of X. The report compares importances between its values.
    params : dict, optional
        Parameters of the model in MLflow besides its settings.
    options
        Arguments of :func:`mlflow.pyfunc.log_model`: ``registered_model_name``, ``tags``, ``metadata``, ``model_id``, …

    The logged metrics are those of ``psi train`` on the validation rows. Metrics of the audit of attributions have the prefix
    ``audit_``. The returned object contains ``model_uri`` and ``model_id``.
    """
    model = model_of(model)
    said = model.manifest
    settings = {"task": said["task"], "target": said["target"], "digest": model.digest, **said["settings"], **(params or {})}
    example = input_example if input_example is not None or X is None else _pandas(X, model).head(_EXAMPLE_ROWS)
    with contextlib.nullcontext() if mlflow.active_run() else mlflow.start_run():
        with _content(model, example) as content:
            info = pyfunc.log_model(name=name, params=settings, **content | options)
        mlflow.log_metrics(_metrics(said), model_id=info.model_id)
    if X is not None:
        with Directory() as directory:
            report = model.explain(X).report(str(directory / "report.html"), y=y, by=by)
            mlflow.MlflowClient().log_model_artifact(info.model_id, report)
    return info


def save_model(
    model: Model | str | os.PathLike[str] | Any, path: str | os.PathLike[str], *, input_example: Frame | None = None, **options: Any
) -> None:
    """Write a model as a directory that MLflow can load.

    ``input_example`` are rows to store as the input example. ``options`` are arguments of :func:`mlflow.pyfunc.save_model`.
    """
    with _content(model_of(model), input_example) as content:
        pyfunc.save_model(os.fspath(path), **content | options)


@contextlib.contextmanager
def _content(model: Model, example: Frame | None) -> Iterator[dict[str, Any]]:
    """Yield the arguments of pyfunc.save_model that describe the model. Its file exists until the end."""
    with Directory() as directory:
        path = directory / "model.psi"
        model.save(path)
        yield {
            "loader_module": __name__,
            "data_path": str(path),
            "signature": signature(model, example),
            "input_example": None if example is None else _pandas(example, model),
            "pip_requirements": [f"mlflow=={mlflow.__version__}", f"psishap=={importlib.metadata.version('psishap')}"],
        }


def load_model(model_uri: str) -> Model:
    """Load a model logged by :func:`log_model`, with its explanations."""
    with Directory() as directory:
        path = pathlib.Path(mlflow.artifacts.download_artifacts(artifact_uri=model_uri, dst_path=str(directory)))
        function = MLmodel.load(str(path)).flavors.get(pyfunc.FLAVOR_NAME, {})
        if function.get(pyfunc.MAIN) != __name__:
            raise ValueError(f"{model_uri} is not a psishap model: load it with mlflow.pyfunc.load_model")
        return load(path / function[pyfunc.DATA])


def signature(model: Model, rows: Frame | None = None) -> ModelSignature:
    """Return the MLflow signature of a model. Every input is optional: cells and whole columns may be missing.

    Types follow from the columns of the model. A column may have another type in ``rows`` that MLflow would refuse, such as integers
    instead of doubles, or pandas categories instead of strings. The signature then allows any type.
    """
    given = None if rows is None else _pandas(rows, model)
    inputs = [
        ColSpec(_type(c["kind"], None if given is None or c["name"] not in given else given[c["name"]]), c["name"], required=False)
        for c in model.manifest["columns"]
    ]
    classes = model.classes
    if not classes:
        logs = model.manifest["target_scale"] != "identity"  # whose intervals are not symmetric
        known = ("prediction_std", *(() if logs else ("range_std",)), "range_lower", "range_upper")
        outputs = dict.fromkeys(("prediction", *(known if model._measured else ())), DataType.double)
    elif len(classes) == 2:
        outputs = {"prediction": DataType.string, "probability": DataType.double, "score": DataType.double}
        if model._measured:
            outputs["score_std"] = DataType.double
    else:
        outputs = {"prediction": DataType.string, **{f"probability_{c}": DataType.double for c in classes}}
    return ModelSignature(
        inputs=Schema(inputs),
        outputs=Schema([ColSpec(of, name) for name, of in outputs.items()]),
        params=ParamSchema([ParamSpec("explain", DataType.boolean, False)]),
    )


def _type(kind: str, cells: pandas.Series | None) -> DataType | AnyType:
    of = _TYPES[kind]
    if cells is None:
        return of
    if of == DataType.string:
        fits = cells.dropna().map(lambda cell: isinstance(cell, str)).all() and cells.dtype != "category"
    elif of == DataType.datetime:
        fits = cells.dtype.kind == "M" and getattr(cells.dtype, "tz", None) is None
    else:
        fits = cells.dtype == of.to_numpy()
    return of if fits else AnyType()


def _pandas(rows: Frame, model: Model) -> pandas.DataFrame:
    """Return the columns that the model uses as a pandas data frame."""
    import pandas as pd

    frame = rows if isinstance(rows, pd.DataFrame) else model._named(rows).to_pandas()
    return frame.filter([name for name in model.columns if name in frame])


def _metrics(said: dict[str, Any]) -> dict[str, float]:
    audit = said.get("audit") or {}
    every = {**(said.get("metrics") or {}), **{f"audit_{key}": value for key, value in audit.items()}}
    return {k: float(v) for k, v in every.items() if isinstance(v, (int, float)) and not isinstance(v, bool)}


class _Predictor:
    """Model for pyfunc. It returns predictions, or explanations if the parameter ``explain`` is true."""

    def __init__(self, model: Model):
        self._model = model

    def predict(self, rows: Frame, params: dict[str, Any] | None = None) -> pandas.DataFrame:
        model = self._model
        frame = _pandas(rows, model)
        absent = [name for name in model.columns if name not in frame]
        if (params or {}).get("explain"):
            return model.explain(frame, unknown=absent).to_pandas()
        found = model.predict_table(frame, unknown=absent).drop_columns(["row"]).to_pandas()
        found.index = frame.index
        return found


def _load_pyfunc(path: str) -> _Predictor:
    return _Predictor(load(path))
