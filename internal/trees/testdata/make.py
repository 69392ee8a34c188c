"""Write lightgbm.json and xgboost.json: models of each kind, rows, and what the libraries say of them.

Run it with lightgbm, xgboost, pandas and scikit-learn installed; the versions are in bench/requirements.txt.
"""

import base64
import json
import tempfile
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
import xgboost

here = Path(__file__).parent
rng = np.random.default_rng(5)
ROWS, ASKED = 1500, 40


def table(labels: bool) -> pd.DataFrame:
    x = pd.DataFrame({
        "a": rng.normal(size=ROWS),
        "b": rng.integers(-2, 3, ROWS).astype(float),
        "c d": rng.exponential(size=ROWS),
        "e": rng.normal(size=ROWS),
        "f": rng.integers(0, 2, ROWS).astype(float),
    })
    if labels:
        x["colour"] = pd.Categorical(rng.choice(["red", "green", "blue", "grey", "black"], ROWS))
        x["size"] = pd.Categorical(rng.choice(["S", "M", "L"], ROWS))
    for name in ("a", "e"):
        x.loc[rng.random(ROWS) < 0.15, name] = np.nan
    return x


def number(x: pd.DataFrame) -> np.ndarray:
    y = x.a.fillna(-1) * x.b + np.sin(3 * x["c d"]) + x.e.fillna(2) * x.f
    if "colour" in x:
        y = y + 2 * (x.colour == "red") * x.b + (x["size"] == "L")
    return (y + 0.1 * rng.normal(size=ROWS)).to_numpy()


def targets(x: pd.DataFrame) -> dict[str, np.ndarray]:
    y = number(x)
    return {"number": y, "positive": np.exp(y / 4), "two": (y > 0).astype(int), "three": np.digitize(y, [-1, 1])}


def cells(x: pd.DataFrame) -> list[list]:
    return [[None if pd.isna(v) else v if isinstance(v, str) else float(v) for v in row] for row in x.itertuples(index=False)]


def case(name: str, model: str, x: pd.DataFrame, raw: np.ndarray, contributions: np.ndarray) -> dict:
    outputs = 1 if raw.ndim == 1 else raw.shape[1]
    return {
        "name": name, "model": model, "columns": list(x.columns), "rows": cells(x),
        "raw": raw.reshape(len(x), outputs).tolist(),
        "contributions": np.asarray(contributions).reshape(len(x), outputs, len(x.columns) + 1).tolist(),
    }


def by_lightgbm() -> list[dict]:
    cases = []
    for name, labels, target, parameters in [
        ("number", False, "number", {"objective": "regression"}),
        ("number with labels", True, "number", {"objective": "regression", "min_data_per_group": 10, "max_cat_to_onehot": 1}),
        ("zero as missing", False, "number", {"objective": "regression", "zero_as_missing": True}),
        ("no missing", False, "number", {"objective": "regression", "use_missing": False}),
        ("forest", True, "number", {"objective": "regression", "boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.7}),
        ("dart", False, "number", {"objective": "regression", "boosting": "dart"}),
        ("gamma", False, "positive", {"objective": "gamma"}),
        ("two classes", True, "two", {"objective": "binary", "sigmoid": 1.5}),
        ("three classes", True, "three", {"objective": "multiclass", "num_class": 3}),
        ("deep", False, "number", {"objective": "regression", "num_leaves": 120, "max_depth": 16, "min_data_in_leaf": 2}),
    ]:
        x = table(labels)
        options = {"num_leaves": 15, "min_data_in_leaf": 10, "verbose": -1, "seed": 1, "deterministic": True, "num_threads": 1} | parameters
        booster = lightgbm.train(options, lightgbm.Dataset(x, targets(x)[target]), 2 if name == "deep" else 8)
        asked = x.head(ASKED)
        raw, contributions = booster.predict(asked, raw_score=True), booster.predict(asked, pred_contrib=True)
        if name == "forest":  # whose raw scores and contributions are those of the sum, and predictions those of the mean
            raw, contributions = raw / booster.num_trees(), contributions / booster.num_trees()
            np.testing.assert_allclose(raw, booster.predict(asked))
        cases.append(case(name, booster.model_to_string(), asked, raw, contributions))
    return cases


def by_xgboost() -> list[dict]:
    cases = []
    for name, labels, target, parameters in [
        ("number", False, "number", {"objective": "reg:squarederror"}),
        ("number with labels", True, "number", {"objective": "reg:squarederror", "max_cat_to_onehot": 1}),
        ("forest", True, "number", {"objective": "reg:squarederror", "num_parallel_tree": 4, "subsample": 0.7, "eta": 1}),
        ("dart", False, "number", {"objective": "reg:squarederror", "booster": "dart", "rate_drop": 0.3}),
        ("gamma", False, "positive", {"objective": "reg:gamma"}),
        ("two classes", True, "two", {"objective": "binary:logistic"}),
        ("three classes", True, "three", {"objective": "multi:softprob", "num_class": 3}),
        ("deep", False, "number", {"objective": "reg:squarederror", "max_depth": 12, "min_child_weight": 1}),
    ]:
        x = table(labels)
        data = xgboost.DMatrix(x, targets(x)[target], enable_categorical=True)
        options = {"max_depth": 4, "seed": 1, "nthread": 1} | parameters
        booster = xgboost.train(options, data, 1 if name == "deep" else 6)
        asked = xgboost.DMatrix(x.head(ASKED), enable_categorical=True)
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "model.json"
            booster.save_model(path)
            text = path.read_text()
        made = case(name, text, x.head(ASKED), booster.predict(asked, output_margin=True), booster.predict(asked, pred_contribs=True))
        made["binary"] = base64.b64encode(booster.save_raw("ubj")).decode()
        cases.append(made)
    return cases


for library, made in (("lightgbm", by_lightgbm()), ("xgboost", by_xgboost())):
    (here / f"{library}.json").write_text(json.dumps(made, separators=(",", ":")) + "\n")
