"""Models of trees that other packages trained, as psi models: psi reads the trees themselves."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from . import _psi
from ._cells import label, missing
from ._choices import Absent, check
from ._directory import Directory
from ._frames import Frame, kind, to_arrow, underscored
from ._model import Model
from ._stored import write

# Classes whose objects psi reads, by their package. Subclasses count; xgboost's and lightgbm's estimators are scikit-learn's too.
_READ = {
    "xgboost": {"Booster", "XGBModel"},
    "lightgbm": {"Booster", "LGBMModel"},
    "catboost": {"CatBoost"},
    "sklearn": {"BaseDecisionTree", "BaseForest", "BaseGradientBoosting", "BaseHistGradientBoosting"},
}


def from_model(
    model: Any, *, target: str = "y", rows: Frame | None = None, classes: Sequence[Any] | None = None, absent: Absent = "cover"
) -> Model:
    """Read the trees of a trained model, and return them as a psi model with the same predictions.

    Attributions are the exact Shapley values of these trees, not of a copy. Trees do not say how uncertain their attributions are, so
    ``spread``, ``lower`` and ``upper`` of explanations are NaN, and ``doubt`` is None.

    A missing cell is a value for trees, with an attribution of its own. Only ``unknown`` of :meth:`Model.explain` makes a column absent.
    Columns are matched by name. A model that was trained on an array takes the columns of an array in order.

    Parameters
    ----------
    model : fitted model
        One of these:

        - ``xgboost.Booster``, ``XGBRegressor``, ``XGBClassifier`` and other estimators of XGBoost;
        - ``lightgbm.Booster``, ``LGBMRegressor``, ``LGBMClassifier`` and other estimators of LightGBM;
        - ``catboost.CatBoost``, ``CatBoostRegressor`` and ``CatBoostClassifier``;
        - decision trees, random forests, extra trees, ``GradientBoosting…`` and ``HistGradientBoosting…`` of scikit-learn.

        After early stopping, the trees up to the best iteration are used. ``xgboost.Booster.predict`` uses all trees by default.
    target : str, default "y"
        Name of what the trees predict, and of its column in ``rows``.
    rows : data frame, optional
        Rows that the model was not trained on, with the target. psi measures the model on them: its errors, the intervals
        of its predictions, and an audit of its attributions. CatBoost needs rows with all labels to name its categories.
    classes : list, optional
        Names of the classes in the order of the model's outputs. The default is ``model.classes_``, if there is one.
    absent : {"cover", "missing-branch"}, default "cover"
        What happens to absent columns. With ``cover``, trees weigh branches by training rows, as TreeSHAP does. With ``missing-branch``,
        they take the branch of missing values. That means something only if the trees learned from missing cells in every column.

    Returns
    -------
    Model

    Examples
    --------
    >>> import psishap
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> table = psishap.sample("synth1", rows=300)
    >>> trees = HistGradientBoostingRegressor(max_iter=5).fit(table.drop(columns="y"), table["y"])
    >>> psishap.from_model(trees).explain(table.head(3)).prediction.shape[0]
    3
    """
    check("absent", absent, Absent)
    package = _package(model)
    if classes is None:
        found = getattr(model, "classes_", None)
        classes = None if found is None or len(found) == 0 else list(found)
    with Directory() as directory:
        file, out = directory / "trees", directory / "model.psi"
        _write(package, model, rows, file)
        flags = ["--target", target, "--absent", absent, "-o", str(out)]
        if classes is not None:
            flags += ["--classes", ",".join(_psi.quoted(str(c)) for c in classes)]
        if rows is not None:
            flags += ["--rows", write(directory / "rows.arrow", _measured(model, rows, target, classes is not None))]
        _psi.run("import", str(file), *flags)
        return Model(out.read_bytes())


def _package(model: Any) -> str:
    """Return the package that a model belongs to, by the modules of its classes."""
    for of in type(model).__mro__:
        package = of.__module__.partition(".")[0]
        if of.__name__ in _READ.get(package, ()):
            return package
    raise TypeError(
        f"a {type(model).__module__}.{type(model).__name__} is not a model whose trees psi reads: give one of XGBoost, LightGBM, CatBoost "
        "or scikit-learn (of a pipeline, its last step). For other models, explain_model trains a surrogate"
    )


def _write(package: str, model: Any, rows: Frame | None, path: pathlib.Path) -> None:
    """Write the trees to a file that psi import reads."""
    if package == "xgboost":
        unusual = getattr(model, "missing", None)
        if unusual is not None and unusual == unusual:
            raise _psi.PsiError(f"the model takes {unusual} for missing", "replace these cells by NaN, and train with missing=nan")
        booster = model.get_booster() if hasattr(model, "get_booster") else model
        if "c" in (booster.feature_types or ()) and not hasattr(booster, "get_categories"):
            raise _psi.PsiError("XGBoost before 3.1 stores categories without their labels", "train with XGBoost 3.1 or later")
        path.write_bytes(booster.save_raw(raw_format="ubj"))
    elif package == "lightgbm":
        path.write_text(_lightgbm_text(getattr(model, "booster_", model)), encoding="utf-8")
    elif package == "catboost":
        model.save_model(str(path), format="json", pool=_pool(model, rows))
    else:
        from sklearn.utils.validation import check_is_fitted

        from ._open_form import written

        check_is_fitted(model)
        path.write_bytes(written(model))


def _lightgbm_text(booster: Any) -> str:
    """Return the text of LightGBM, up to the best iteration. Categories of pandas become labels as psi reads them from a frame."""
    text: str = booster.model_to_string()
    head, line, tail = text.rpartition("\npandas_categorical:")
    lists = json.loads(tail) if line else None
    if not lists:
        return text
    return head + line + json.dumps([[label(c) for c in categories] for categories in lists]) + "\n"


def _pool(model: Any, rows: Frame | None) -> Any:
    """Return the rows as CatBoost needs them to write the labels of categories; None if there are no categories."""
    categories = model.get_cat_feature_indices()
    if not categories:
        return None
    if rows is None:
        raise _psi.PsiError("CatBoost stores categories without their labels", "give rows that have all labels, such as the training rows")
    from catboost import Pool

    frame = rows.to_pandas() if kind(rows) != "pandas" else rows
    return Pool(frame[model.feature_names_], cat_features=categories)


def _measured(model: Any, rows: Frame, target: str, labels: bool) -> pa.Table:
    """Return rows for psi import: booleans as numbers, and a target of classes as text."""
    table = to_arrow(rows, trees=True)
    if _package(model) == "lightgbm":
        table = underscored(table, getattr(model, "booster_", model).feature_name())
    at = table.schema.get_field_index(target)
    if at < 0:
        raise _psi.PsiError("rows has no such column, but target names it", "add it to rows, or leave rows out", column=target)
    y = to_arrow(rows).column(at)
    if labels:
        y = pa.chunked_array([pa.array([None if missing(v) else str(v) for v in np.asarray(y.to_pylist(), object)], pa.string())])
    return table.set_column(at, target, y)
