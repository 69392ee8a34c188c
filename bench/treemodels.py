"""Small models of trees of every library and task, and what the library says of rows: for bench/treecheck.py."""

import importlib.util
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import sets
import treefiles

Floats = NDArray[np.float64]

TRAIN, ASKED, BACKGROUND, QUERY = 1500, 200, 20, 20  # rows at most, and rows of a query
FEW = 40  # rows of slow values
TASKS = ["regression", "binary", "multiclass", "poisson", "gamma", "ranking", "deep", "dart", "forest"]


@dataclass
class Data:
    """Rows of a table with missing cells and, if wanted, labels, and a target of each task."""

    train: pd.DataFrame
    asked: pd.DataFrame
    background: pd.DataFrame
    targets: dict[str, NDArray[Any]]  # of the training rows
    labels: list[str]


@dataclass
class Fitted:
    """A model in files, and what the library says of the rows that are asked about, on the scale of psi's explanations."""

    files: dict[str, bytes]  # by format
    predictions: Floats  # [rows, outputs] as the library predicts
    contributions: Floats | None = None  # [rows, outputs, columns]
    pairs: Floats | None = None  # [few rows, outputs, columns, columns]
    for_shap: Any = None  # None if shap cannot read the model
    raw: Floats | None = None  # [rows, outputs] on the scale of contributions, to see whether shap reads the same model
    counted: bool = False  # files have no covers: psi counts training rows


def data(fold: sets.Fold, labels: bool, gaps: bool = True) -> Data:
    """Labels and missing cells are added if the table has none. Numbers are rounded to 32 bits, which some libraries keep."""
    random = np.random.default_rng(11)
    rows = pd.concat([fold.train, fold.test]).reset_index(drop=True)
    rows = rows.iloc[random.permutation(len(rows))[: TRAIN + ASKED]].reset_index(drop=True)
    X = fold.inputs(rows)
    chosen = [c for c in fold.categorical if rows[c].nunique() > 1]
    numeric = [c for c in X if c not in fold.categorical]
    y = target(fold, rows, X[numeric])
    if labels and not chosen:
        c = numeric[0]
        X[c] = pd.qcut(X[c].rank(method="first"), 4, labels=["low", "middle", "high", "top"]).astype(object)
        numeric, chosen = numeric[1:], [c]
    if labels:
        X = X.astype({c: pd.CategoricalDtype(sorted(X[c].dropna().unique())) for c in chosen})
    else:
        chosen = []
        X = treefiles.numbers(fold, rows)
    X = X.drop(columns=[c for c in X if c in fold.categorical and c not in chosen and labels])
    numeric = [c for c in X if c not in chosen]
    X[numeric] = X[numeric].astype(np.float32).astype(np.float64)
    if gaps and not X[numeric].isna().any().any():
        for c in numeric[::2]:
            X.loc[random.random(len(X)) < 0.15, c] = np.nan
    if not gaps:
        X[numeric] = X[numeric].fillna(X[numeric].median())
    if gaps and chosen:
        X.loc[random.random(len(X)) < 0.1, chosen[0]] = np.nan
    end = min(TRAIN, len(X) - ASKED) // QUERY * QUERY
    train, asked = X[:end], X[-ASKED:].reset_index(drop=True)
    return Data(train, asked, train[-BACKGROUND:].reset_index(drop=True), {k: v[:end] for k, v in y.items()}, chosen)


def target(fold: sets.Fold, rows: pd.DataFrame, numeric: pd.DataFrame) -> dict[str, NDArray[Any]]:
    y = fold.target(rows).astype(float)
    z = (y - y.mean()) / y.std()
    if fold.task != "regression":  # a number of the classes and two columns
        for c in numeric.columns[:2]:
            x = numeric[c].fillna(numeric[c].median())
            z = z + np.tanh((x - x.mean()).to_numpy() / max(float(x.std()), 1e-9))
    own = fold.task == "multiclass"
    thirds = np.digitize(z, np.quantile(z, [0.33, 0.67]))
    return {
        "regression": z, "binary": (z > np.median(z)).astype(int), "multiclass": y.astype(int) if own else thirds,
        "poisson": np.floor(np.exp(z)), "gamma": np.exp(z / 2), "ranking": thirds, "deep": z, "dart": z, "forest": z,
    }  # fmt: skip


def named_gaps(d: Data) -> Data:
    """Missing labels as a label of their own, as CatBoost wants them."""

    def named(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.assign(**{c: rows[c].astype(object).where(rows[c].notna(), "no label") for c in d.labels})

    return Data(named(d.train), named(d.asked), named(d.background), d.targets, d.labels)


def outputs(values: Any, columns: int) -> Floats:
    """Values [rows, outputs, columns] of a library, without the base."""
    values = np.asarray(values, dtype=float)
    if values.ndim == 2:  # LightGBM lists outputs one after another
        values = values.reshape(len(values), -1, columns + 1)
    return values[..., :columns]


def wide(values: Any) -> Floats:
    values = np.asarray(values, dtype=float)
    return values.reshape(len(values), -1)


def by_xgboost(d: Data, task: str) -> Fitted:
    import xgboost

    objective = {"binary": "binary:logistic", "multiclass": "multi:softprob", "poisson": "count:poisson", "gamma": "reg:gamma", "ranking": "rank:ndcg"}
    options: dict[str, Any] = {"objective": objective.get(task, "reg:squarederror"), "max_depth": 5, "eta": 0.3, "nthread": 1, "seed": 1, "max_cat_to_onehot": 3}
    options |= {
        "multiclass": {"num_class": int(d.targets["multiclass"].max()) + 1},
        "deep": {"max_depth": 16, "min_child_weight": 1},
        "dart": {"booster": "dart", "rate_drop": 0.3},
        "forest": {"num_parallel_tree": 5, "subsample": 0.7, "colsample_bynode": 0.7, "eta": 1},
    }.get(task, {})
    rounds = {"deep": 3, "forest": 1, "multiclass": 4}.get(task, 8)
    train = xgboost.DMatrix(d.train, d.targets[task], enable_categorical=True, nthread=1)
    if task == "ranking":
        train.set_group([QUERY] * (len(d.train) // QUERY))
    booster = xgboost.train(options, train, rounds)
    columns = d.train.shape[1]

    def asked(rows: pd.DataFrame, **flags: bool) -> Any:
        return booster.predict(xgboost.DMatrix(rows, enable_categorical=True, nthread=1), **flags)

    pairs = np.asarray(asked(d.asked[:FEW], pred_interactions=True), dtype=float)
    pairs = pairs.reshape(len(pairs), -1, columns + 1, columns + 1)[..., :columns, :columns]
    return Fitted(
        {"xgboost JSON": bytes(booster.save_raw("json")), "xgboost UBJSON": bytes(booster.save_raw("ubj"))},
        wide(asked(d.asked)), outputs(asked(d.asked, pred_contribs=True), columns), treefiles.indices(pairs),
        None if d.labels else booster, wide(asked(d.asked, output_margin=True)),
    )  # fmt: skip


def by_lightgbm(d: Data, task: str) -> Fitted:
    import json

    import lightgbm

    objective = {"binary": "binary", "multiclass": "multiclass", "poisson": "poisson", "gamma": "gamma", "ranking": "lambdarank"}
    options: dict[str, Any] = {
        "objective": objective.get(task, "regression"), "num_leaves": 15, "min_data_in_leaf": 10, "min_data_per_group": 10, "max_cat_to_onehot": 2,
        "learning_rate": 0.3, "verbose": -1, "seed": 1, "num_threads": 1, "deterministic": True,
    }  # fmt: skip
    options |= {
        "multiclass": {"num_class": int(d.targets["multiclass"].max()) + 1},
        "deep": {"max_depth": 16, "num_leaves": 200, "min_data_in_leaf": 2},
        "dart": {"boosting": "dart", "drop_rate": 0.3},
        "forest": {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.7},
    }.get(task, {})
    rounds = {"deep": 3, "multiclass": 4}.get(task, 8)
    group = [QUERY] * (len(d.train) // QUERY) if task == "ranking" else None
    booster = lightgbm.train(options, lightgbm.Dataset(d.train, d.targets[task], group=group), rounds)
    times = booster.num_trees() if task == "forest" else 1  # raw values of a forest are those of the sum
    raw, values = wide(booster.predict(d.asked, raw_score=True)) / times, outputs(booster.predict(d.asked, pred_contrib=True), d.train.shape[1]) / times
    files = {"lightgbm text": booster.model_to_string().encode(), "lightgbm JSON": json.dumps(booster.dump_model()).encode()}
    readable = not d.labels and task != "forest"  # of which shap makes the sum
    return Fitted(files, wide(booster.predict(d.asked)), values, None, booster if readable else None, raw)


def by_catboost(d: Data, task: str) -> Fitted | None:
    import catboost

    losses = {
        "regression": "RMSE", "binary": "Logloss", "multiclass": "MultiClass", "poisson": "Poisson", "gamma": "Tweedie:variance_power=1.5",
        "ranking": "YetiRank", "deep": "RMSE",
    }  # fmt: skip
    if task not in losses:
        return None
    options: dict[str, Any] = {
        "loss_function": losses[task], "iterations": {"multiclass": 4, "deep": 3}.get(task, 8), "depth": 10 if task == "deep" else 4, "learning_rate": 0.3, "verbose": 0,
        "thread_count": 1, "random_seed": 1, "allow_writing_files": False, "max_ctr_complexity": 1, "one_hot_max_size": 3,
    }  # fmt: skip

    def pool(rows: pd.DataFrame, y: NDArray[Any] | None = None) -> Any:
        group = np.arange(len(rows)) // QUERY if task == "ranking" else None
        return catboost.Pool(rows, y, cat_features=d.labels, group_id=group)

    train, asked = pool(d.train, d.targets[task]), pool(d.asked)
    model = catboost.CatBoost(options).fit(train)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model.json"
        model.save_model(path, format="json", pool=train)
        content = path.read_bytes()
    kind = {"binary": "Probability", "multiclass": "Probability", "poisson": "Exponent", "gamma": "Exponent"}.get(task, "RawFormulaVal")
    predicted = np.asarray(model.predict(asked, prediction_type=kind))
    predicted = predicted[:, 1:] if task == "binary" else predicted
    values = model.get_feature_importance(asked, type="ShapValues", shap_calc_type="Regular", thread_count=1)
    raw = wide(model.predict(asked, prediction_type="RawFormulaVal"))
    return Fitted({"catboost JSON": content}, wide(predicted), outputs(values, d.train.shape[1]), None, None, raw)


def estimator(task: str, odd: bool) -> Any:
    """A model of scikit-learn, and whether it takes missing cells. Forests without bootstrap: their covers can be counted."""
    from sklearn import ensemble

    hist, few = {"random_state": 1, "max_iter": 6, "max_leaf_nodes": 12, "early_stopping": False}, {"random_state": 1, "n_estimators": 6}
    if task in ("poisson", "gamma"):
        return ensemble.HistGradientBoostingRegressor(loss=task, **hist)
    if task == "deep":
        return ensemble.ExtraTreesRegressor(max_depth=16, random_state=1, n_estimators=3)
    if task == "forest":
        kind = ensemble.RandomForestClassifier if odd else ensemble.RandomForestRegressor
        return kind(max_depth=5, bootstrap=False, max_features=0.5, **few)
    if task == "regression":
        return ensemble.GradientBoostingRegressor(**few) if odd else ensemble.HistGradientBoostingRegressor(**hist)
    if task in ("binary", "multiclass"):
        return ensemble.GradientBoostingClassifier(**few) if odd else ensemble.HistGradientBoostingClassifier(**hist)
    return None


def by_sklearn(d: Data, task: str, odd: bool, write: Callable[[Any, Data], bytes], name: str, counted: bool) -> Fitted | None:
    model = estimator(task, odd)
    if model is None:
        return None
    y = d.targets["multiclass" if task == "forest" and odd else task]
    model.fit(d.train, y)
    if hasattr(model, "classes_"):
        predicted = model.predict_proba(d.asked)
        raw = predicted if task == "forest" else wide(model.decision_function(d.asked))
        predicted = predicted[:, 1:] if predicted.shape[1] == 2 else predicted
    else:
        predicted = raw = wide(model.predict(d.asked))
        raw = np.log(raw) if task in ("poisson", "gamma") else raw
    file = write(model, d)
    if name == "onnx":  # which may differ from the model: skl2onnx 1.20.0 leaves the exponential of losses out
        predicted = by_onnxruntime(file, d.asked, predicted.shape[1])
    several = task == "multiclass" and odd  # boosting of several classes, which shap 0.51.0 refuses
    return Fitted({name: file}, predicted, for_shap=None if d.labels or several else model, raw=raw, counted=counted)


def onnx_file(model: Any, d: Data) -> bytes:
    import skl2onnx

    make = skl2onnx.common._container.make_node

    def plain(value: object) -> object:
        return [int(v) if isinstance(v, (np.integer, np.bool_, bool)) else v for v in value] if isinstance(value, list) else value

    # skl2onnx 1.20.0 writes numpy's unsigned numbers and booleans of histogram boosting, which onnx 1.23.2 refuses; not reported yet.
    skl2onnx.common._container.make_node = lambda *a, **k: make(*a, **{key: plain(value) for key, value in k.items()})
    try:
        return skl2onnx.to_onnx(model, d.train[:1].to_numpy(dtype=np.float32), target_opset={"": 15, "ai.onnx.ml": 1}).SerializeToString()
    finally:
        skl2onnx.common._container.make_node = make


def by_onnxruntime(file: bytes, rows: pd.DataFrame, outputs: int) -> Floats:
    """What a file predicts: numbers, or the last probabilities."""
    import onnxruntime

    session = onnxruntime.InferenceSession(file)
    said = session.run(None, {session.get_inputs()[0].name: rows.to_numpy(dtype=np.float32)})[-1]
    said = [list(row.values()) for row in said] if isinstance(said, list) else said
    return wide(said)[:, -outputs:]


def open_form() -> Callable[[Any, Data], bytes] | None:
    """psishap's exporter, if this checkout has it."""
    sys.path.insert(0, str(sets.ROOT / "python" / "src"))
    if importlib.util.find_spec("psishap") is None or importlib.util.find_spec("psishap._open_form") is None:
        return None
    from psishap import _open_form

    return lambda model, _: _open_form.written(model)


def models(fold: sets.Fold, number: int) -> Iterator[tuple[str, Data, Callable[[], Fitted | None]]]:
    """The task, rows and model of each library. Tables take turns in which tasks have labels."""
    exporter = open_form()
    for k, task in enumerate(TASKS):
        labels = (number + k) % 2 == 1
        d = data(fold, labels)
        for fit in (by_xgboost, by_lightgbm):
            yield task, d, lambda fit=fit, d=d: fit(d, task)
        named = named_gaps(d)
        yield task, named, lambda: by_catboost(named, task)
        odd = number // 2 % 2 == 1
        whole = data(fold, False, gaps=not (odd or task in ("forest", "deep")))
        yield task, whole, lambda: by_sklearn(whole, task, odd, onnx_file, "onnx", True)
        if exporter is not None:
            hist = not odd and task not in ("forest", "deep") or task in ("poisson", "gamma")
            rows = d if hist else whole
            yield task, rows, lambda: by_sklearn(rows, task, odd, exporter, "psi-trees", False)
