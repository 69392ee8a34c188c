"""MLflow integration: log models with their signature, metrics and report, and load them.

    import psishap.mlflow

    with mlflow.start_run():
        info = psishap.mlflow.log_model(model, X=test, y=outcomes)
    mlflow.pyfunc.load_model(info.model_uri).predict(test)
    psishap.mlflow.load_model(info.model_uri).explain(test)

The logged artifact is model.psi itself, so explanations stay the same.
"""

from __future__ import annotations

import importlib.metadata
import os
import pathlib
import sys
from typing import TYPE_CHECKING, Any

import mlflow
import yaml
from mlflow import pyfunc
from mlflow.models import Model as MLmodel
from mlflow.models import ModelSignature
from mlflow.models.model import MLMODEL_FILE_NAME
from mlflow.models.utils import _save_example
from mlflow.tracking.artifact_utils import _download_artifact_from_uri
from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema
from mlflow.types.schema import AnyType
from mlflow.utils.environment import _mlflow_conda_env, _PythonEnv

from ._directory import Directory
from ._frames import Frame
from ._model import Model, load
from ._parts import model_of

if TYPE_CHECKING:
    import pandas
    from mlflow.models.model import ModelInfo

__all__ = ["load_model", "log_model", "save_model", "signature"]

FLAVOR_NAME = "psishap"
_FILE = "model.psi"
_EXAMPLE_ROWS = 5

_TYPES = {"number": DataType.double, "category": DataType.string, "boolean": DataType.boolean, "time": DataType.datetime}


def log_model(
    model: Model | str | os.PathLike[str] | Any,
    name: str = "model",
    *,
    X: Frame | None = None,
    y: Any = None,
    by: str | None = None,
    registered_model_name: str | None = None,
    **options: Any,
) -> ModelInfo:
    """Log a model to the active run or to a new one: file, signature, settings, metrics and report.

    Parameters
    ----------
    model : Model, path or estimator
        Model to log.
    name : str
        Name of the model in MLflow.
    X : rows, optional
        Rows for the input example (the first five) and for the artifact ``report.html`` (all rows), which ``psi report`` writes.
    y : array, optional
        True outcomes of X. The report then evaluates the predictions.
    by : str, optional
        Column of X. The report compares importances between its values.
    registered_model_name : str, optional
        Name in the model registry under which to create a new version.
    options
        Arguments of :meth:`mlflow.models.Model.log`: ``tags``, ``metadata``, ``model_id``, …

    The logged metrics are those of ``psi train`` on the validation rows. Metrics of the audit of attributions have the prefix
    ``audit_``. The returned object contains ``model_uri``.
    """
    model = model_of(model)
    if mlflow.active_run() is None:
        with mlflow.start_run():
            return log_model(model, name, X=X, y=y, by=by, registered_model_name=registered_model_name, **options)
    said = model.manifest
    settings = {"task": said["task"], "target": said["target"], "digest": model.digest, **said["settings"]}
    info = MLmodel.log(
        artifact_path=None,
        name=name,
        flavor=sys.modules[__name__],
        model=model,
        rows=X,
        registered_model_name=registered_model_name,
        **{"params": {key: str(value) for key, value in settings.items()}, **options},
    )
    mlflow.log_params(settings)
    mlflow.log_metrics(_metrics(said), model_id=info.model_id)
    if X is not None:
        with Directory() as directory:
            path = model.explain(X).report(str(directory / "report.html"), y=y, by=by)
            mlflow.log_artifact(path)
    return info


def save_model(
    model: Model | str | os.PathLike[str] | Any,
    path: str | os.PathLike[str],
    *,
    rows: Frame | None = None,
    mlflow_model: MLmodel | None = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Write a model as a directory that MLflow can load. ``rows`` provide the input example and its types."""
    model = model_of(model)
    directory = pathlib.Path(path)
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise FileExistsError(f"{directory} is not empty: give an empty or a new directory")
    about = mlflow_model if mlflow_model is not None else MLmodel()
    if metadata is not None:
        about.metadata = metadata
    example = None if rows is None else _pandas(rows, model).head(_EXAMPLE_ROWS)
    about.signature = signature(model, rows)
    if example is not None:
        _save_example(about, example, str(directory))
    model.save(directory / _FILE)
    version = importlib.metadata.version("psishap")
    pyfunc.add_to_model(about, loader_module=__name__, data=_FILE, conda_env="conda.yaml", python_env="python_env.yaml")
    about.add_flavor(FLAVOR_NAME, data=_FILE, psishap_version=version, digest=model.digest)
    about.model_size_bytes = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    about.save(str(directory / MLMODEL_FILE_NAME))

    needs = [f"mlflow=={mlflow.__version__}", f"psishap=={version}", "pandas"]
    (directory / "requirements.txt").write_text("\n".join(needs) + "\n")
    (directory / "conda.yaml").write_text(yaml.safe_dump(_mlflow_conda_env(additional_pip_deps=needs[1:]), sort_keys=False))
    _PythonEnv.current().to_yaml(str(directory / "python_env.yaml"))


def load_model(model_uri: str) -> Model:
    """Load a model logged by :func:`log_model`, with its explanations."""
    directory = pathlib.Path(_download_artifact_from_uri(model_uri))
    flavors = MLmodel.load(str(directory)).flavors
    if FLAVOR_NAME not in flavors:
        raise ValueError(f"{model_uri} is not a psishap model, but has the flavours {', '.join(flavors)}: load it with mlflow.pyfunc")
    return load(directory / flavors[FLAVOR_NAME]["data"])


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
    return frame[[name for name in model.columns if name in frame]]


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
