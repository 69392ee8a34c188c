"""Write files of models of each kind, rows, and what the libraries say of them.

Run it with lightgbm, xgboost, catboost, onnxmltools, skl2onnx, onnxruntime, shap, pandas and scikit-learn installed. The versions are in
bench/requirements.txt and, for those that it lacks, in the ADR on trees. The names of files as arguments choose what to write.
"""

import base64
import itertools
import json
import math
import sys
import tempfile
from pathlib import Path

import catboost
import lightgbm
import numpy as np
import onnx
import onnxmltools
import onnxruntime
import pandas as pd
import shap
import skl2onnx
import xgboost
from onnx import helper
from onnxmltools.convert.common.data_types import FloatTensorType
from sklearn import ensemble, pipeline, preprocessing, tree

here = Path(__file__).parent
rng = np.random.default_rng(5)
ROWS, ASKED, ROWS_OF_VARIANTS = 1500, 40, 7


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


def enumerated(content: dict, row: tuple) -> np.ndarray:
    """Shapley values [outputs, columns and base] of CatBoost's nested trees by enumeration, in the game of shares of training rows.

    CatBoost 1.2.10 gives others for such trees, up to 34% off in these cases. Those of its oblivious trees are the game's.
    """
    trees, info = content["trees"], content["features_info"]
    hashes = {text["value"]: text["hash"] for text in info.get("cat_features_hash") or []}
    floats = [column["flat_feature_index"] for column in info["float_features"]]
    labels = [column["flat_feature_index"] for column in info.get("categorical_features", [])]

    def asked(split: dict) -> tuple[int, bool]:
        if split["split_type"] == "FloatFeature":
            column = floats[split["float_feature_index"]]
            return column, np.float32(row[column]) > np.float32(split["border"])
        column = labels[split["cat_feature_index"]]
        return column, hashes.get(row[column]) == split["value"] % 2**32

    def weight(node: dict) -> float:
        return weight(node["left"]) + weight(node["right"]) if "split" in node else node["weight"]

    def value(node: dict, known: tuple) -> np.ndarray:
        if "split" not in node:
            return np.atleast_1d(node["value"])
        column, right = asked(node["split"])
        if column in known:
            return value(node["right" if right else "left"], known)
        covers = weight(node["left"]), weight(node["right"])
        return (covers[0] * value(node["left"], known) + covers[1] * value(node["right"], known)) / max(sum(covers), 1)

    n = len(row)
    of = {known: sum(value(tree, known) for tree in trees) for size in range(n + 1) for known in itertools.combinations(range(n), size)}
    phi = [
        sum(
            math.factorial(len(known)) * math.factorial(n - 1 - len(known)) / math.factorial(n) * (of[tuple(sorted((*known, column)))] - of[known])
            for known in of if column not in known
        )
        for column in range(n)
    ]
    return np.array([*phi, of[()]]).T


def by_catboost() -> list[dict]:
    cases = []
    quiet = {"iterations": 3, "depth": 3, "learning_rate": 0.3, "verbose": 0, "thread_count": 1, "random_seed": 1, "allow_writing_files": False}
    tables = {"one_hot_max_size": 1, "max_ctr_complexity": 1}
    for name, labels, target, parameters in [
        ("number", False, "number", {"loss_function": "RMSE"}),
        ("missing as largest", False, "number", {"loss_function": "RMSE", "nan_mode": "Max"}),
        ("labels of their own", True, "number", {"loss_function": "RMSE", "one_hot_max_size": 10}),
        ("statistics of labels", True, "number", {"loss_function": "RMSE", "one_hot_max_size": 3, "max_ctr_complexity": 1}),
        ("means of labels", True, "number", {"loss_function": "MAE", **tables, "simple_ctr": "BinarizedTargetMeanValue"}),
        ("buckets of labels", True, "number", {"loss_function": "RMSE", **tables, "simple_ctr": "Buckets:TargetBorderCount=3"}),
        ("counts of labels", True, "number", {"loss_function": "RMSE", **tables, "simple_ctr": "Counter"}),
        ("borders of labels", True, "number", {"loss_function": "RMSE", **tables, "simple_ctr": "Borders:TargetBorderCount=3"}),
        ("depth by node", True, "number", {"loss_function": "RMSE", "grow_policy": "Depthwise", "one_hot_max_size": 10, "depth": 3}),
        ("deep", False, "three", {"loss_function": "MultiClass", "grow_policy": "Lossguide", "max_leaves": 12, "depth": 8, "iterations": 2}),
        ("positive", False, "positive", {"loss_function": "Tweedie:variance_power=1.5"}),
        ("two classes", True, "two", {"loss_function": "Logloss", "max_ctr_complexity": 1, "one_hot_max_size": 2}),
        ("three classes", True, "three", {"loss_function": "MultiClass", "max_ctr_complexity": 1, "depth": 3}),
        ("each class", False, "three", {"loss_function": "MultiClassOneVsAll", "depth": 3}),
        ("combined columns", True, "two", {"loss_function": "Logloss", "max_ctr_complexity": 2, "one_hot_max_size": 1, "simple_ctr": "Counter"}),
    ]:
        x = table(labels).round(3)
        chosen = [column for column in ("colour", "size") if column in x]
        x = x.astype({column: str for column in chosen})
        if labels:  # so that a few trees split by them
            x = x[["a", "b", "colour", "size"]]
            if name == "counts of labels":
                x = x.assign(colour=x.colour.where(rng.random(ROWS) < 0.5, "red"))
            y = 3 * x.colour.isin(["red", "blue"]) * np.where(x["size"] == "L", 1, -1) + x.colour.isin(["grey"]) + x.a.fillna(1) * x.b
            y = {"number": y, "two": y > 0, "three": np.digitize(y, [-1, 1])}[target]
        else:
            y = targets(x)[target]
        if name == "two classes":
            y = np.where(y == 1, "yes", "no")
        pool = catboost.Pool(x, y, cat_features=chosen)
        model = catboost.CatBoost(quiet | parameters).fit(pool)
        asked = x.head(6).copy()
        if labels:
            asked.loc[3, "colour"] = "not seen before"
        rows = catboost.Pool(asked, cat_features=chosen)
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "model.json"
            model.save_model(path, format="json", pool=pool)
            content = json.loads(path.read_text())
        for key in ("catboost_version_info", "output_options", "model_guid", "train_finish_time"):
            content["model_info"].pop(key, None)
        content["model_info"]["params"] = {"loss_function": content["model_info"]["params"]["loss_function"]}
        text = json.dumps(content, separators=(",", ":"))
        raw = model.predict(rows, prediction_type="RawFormulaVal")
        shap = model.get_feature_importance(rows, type="ShapValues", shap_calc_type="Regular")
        if "trees" in content:
            shap = np.array([enumerated(content, row) for row in asked.itertuples(index=False)])
            shap[:, :, -1] += content["scale_and_bias"][1]
        made = case(name, text, asked, raw, shap)
        if name == "combined columns":
            made = {"name": name, "model": text}
        cases.append(made)
    return cases


def patch_skl2onnx() -> None:
    """Let skl2onnx 1.20.0 convert histogram boosting.

    It writes numpy's unsigned numbers and booleans, which onnx 1.23.2 refuses. Not reported yet.
    """
    make = skl2onnx.common._container.make_node

    def plain(value: object) -> object:
        return [int(v) if isinstance(v, (np.integer, np.bool_, bool)) else v for v in value] if isinstance(value, list) else value

    skl2onnx.common._container.make_node = lambda *a, **k: make(*a, **{key: plain(value) for key, value in k.items()})


def text(proto: onnx.ModelProto) -> str:
    return base64.b64encode(proto.SerializeToString()).decode()


def by_onnx() -> list[dict]:
    patch_skl2onnx()
    few, small = {"n_estimators": 3, "random_state": 1}, {"max_depth": 2}
    boosted = {"n_estimators": 2, "verbose": -1, "num_leaves": 5}
    forests = ensemble.RandomForestRegressor, ensemble.ExtraTreesRegressor
    cases = []
    for name, target, model in [
        ("forest", "number", ensemble.RandomForestRegressor(**few, **small)),
        ("extra trees", "number", ensemble.ExtraTreesRegressor(**few, **small)),
        ("boosting", "number", ensemble.GradientBoostingRegressor(**few)),
        ("histograms", "number", ensemble.HistGradientBoostingRegressor(random_state=1, max_iter=3, max_leaf_nodes=7)),
        ("forest of two classes", "two", ensemble.RandomForestClassifier(**few, **small)),
        ("extra trees of two classes", "words", ensemble.ExtraTreesClassifier(**few, **small)),
        ("boosting of two classes", "two", ensemble.GradientBoostingClassifier(**few)),
        ("histograms of two classes", "two", ensemble.HistGradientBoostingClassifier(random_state=1, max_iter=3, max_leaf_nodes=7)),
        ("tree of two classes", "two", tree.DecisionTreeClassifier(**small, random_state=1)),
        ("forest of three classes", "three", ensemble.RandomForestClassifier(**few, **small)),
        ("extra trees of three classes", "three", ensemble.ExtraTreesClassifier(**few, **small)),
        ("boosting of three classes", "three", ensemble.GradientBoostingClassifier(**few, **small)),
        ("histograms of three classes", "three", ensemble.HistGradientBoostingClassifier(random_state=1, max_iter=2, max_leaf_nodes=5)),
        ("two numbers", "both", ensemble.RandomForestRegressor(**few, **small)),
        ("64 bits", "number", ensemble.RandomForestRegressor(**few, **small)),
        ("lightgbm", "number", lightgbm.LGBMRegressor(**boosted)),
        ("lightgbm with labels", "number", lightgbm.LGBMRegressor(**boosted, min_data_per_group=5)),
        ("lightgbm forest", "number", lightgbm.LGBMRegressor(**boosted, boosting_type="rf", bagging_freq=1, bagging_fraction=0.5)),
        ("lightgbm poisson", "positive", lightgbm.LGBMRegressor(**boosted, objective="poisson")),
        ("lightgbm of two classes", "two", lightgbm.LGBMClassifier(**boosted)),
        ("lightgbm of three classes", "three", lightgbm.LGBMClassifier(**boosted)),
        ("xgboost", "number", xgboost.XGBRegressor(**few, **small)),
        ("xgboost of two classes", "two", xgboost.XGBClassifier(**few, **small)),
        ("xgboost of three classes", "three", xgboost.XGBClassifier(**few, **small)),
        ("pipeline", "number", pipeline.make_pipeline(preprocessing.StandardScaler(), tree.DecisionTreeRegressor(**small, random_state=1))),
        ("vote", "number", ensemble.VotingRegressor([(kind.__name__, kind(**few, **small)) for kind in forests])),
    ]:
        library = name.split()[0]
        x = rng.normal(size=(120, 4)).round(3).astype(np.float64 if name == "64 bits" else np.float32)
        x[:, 3] = rng.integers(0, 6, len(x))
        y = x[:, 0] * x[:, 1] + x[:, 2] + np.isin(x[:, 3], [1, 4])
        two = (y > 0).astype(int)
        y = {
            "number": y, "positive": np.exp(y / 2), "two": two, "words": np.where(two == 1, "yes", "no"), "three": np.digitize(y, [-1, 1]),
            "both": np.c_[y, y**2],
        }[target]
        if library in ("histograms", "lightgbm", "xgboost"):
            x[:, :2][rng.random((len(x), 2)) < 0.1] = np.nan
        model.fit(x, y, **({"categorical_feature": [3]} if name == "lightgbm with labels" else {}))
        kinds = [("x", FloatTensorType([None, 4]))]
        if library == "lightgbm":
            proto = onnxmltools.convert_lightgbm(model, initial_types=kinds)
        elif library == "xgboost":
            proto = onnxmltools.convert_xgboost(model, initial_types=kinds)
        else:
            proto = skl2onnx.to_onnx(model, x[:1], target_opset={"": 15, "ai.onnx.ml": 3 if name == "64 bits" else 1})
        proto.graph.name = "trees"  # converters draw a name
        asked = x[:8]
        made = {"name": name, "binary": text(proto), "rows": cells(pd.DataFrame(asked.astype(float).round(3)))}
        if hasattr(model, "classes_"):
            predicted, made["classes"] = model.predict_proba(asked), [str(label) for label in model.classes_]
            scores = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {proto.graph.input[0].name: asked})[1]
            scores = np.array([list(row.values()) for row in scores]) if isinstance(scores, list) else scores
        else:
            predicted = scores = model.predict(asked)
            if name != "64 bits":  # which onnxruntime 1.31.1 refuses, as the operator's output has 32
                scores = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {proto.graph.input[0].name: asked})[0]
        if name == "lightgbm forest":  # which onnxmltools 1.16.0 divides by 100, however many trees it has
            predicted = scores
        np.testing.assert_allclose(scores.reshape(predicted.shape), predicted, rtol=1e-4, atol=1e-5, err_msg=name)
        made["predictions"] = predicted.reshape(len(asked), -1).tolist()
        if name == "boosting":  # whose covers are the counts of its training rows
            explainer = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
            phi = np.c_[explainer.shap_values(asked), np.full(len(asked), np.ravel(explainer.expected_value)[0])]
            made |= {"training": cells(pd.DataFrame(x.astype(float).round(3))), "contributions": phi.reshape(len(asked), 1, 5).tolist()}
        cases.append(made)
    return cases + by_hand()


def by_hand() -> list[dict]:
    """ONNX files with splits of every kind, some of which no converter writes."""
    modes = ["LEQ", "LT", "GTE", "GT", "EQ", "NEQ"]
    values = np.array([-1, 0.1, 0.25, np.nextafter(np.float32(0.25), np.float32(1)), np.nan, 0.3])
    cases = []
    for name, tracks, average, double in [
        ("modes", False, False, False),
        ("modes and missing", True, False, False),
        ("mean of modes", False, True, False),
        ("modes in 64 bits", True, False, True),
    ]:
        # Tree t has the mode t at its root, and the next one at the node that it sends what is true to.
        keys = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true")
        nodes = {key: [] for key in keys}
        weights = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}
        for t in range(len(modes)):
            for node, mode, column, value, yes, no in [
                (7, modes[t], 0, 0.25, 3, 5),
                (5, "LEAF", 0, 0, 0, 0),
                (3, modes[(t + 1) % 6], 1, 0.1 if double else np.float32(0.1), 1, 2),
                (1, "LEAF", 0, 0, 0, 0),
                (2, "LEAF", 0, 0, 0, 0),
            ]:
                row = (t, node, column, value, mode if mode == "LEAF" else "BRANCH_" + mode, yes, no, int(tracks and mode != "LEAF"))
                for key, cell in zip(nodes, row):
                    nodes[key].append(cell)
                if mode == "LEAF":
                    for key, cell in zip(weights, (t, node, 0, 4.0**t * node)):
                        weights[key].append(cell)
        options = {"n_targets": 1, "post_transform": "NONE", "aggregate_function": "AVERAGE" if average else "SUM"}
        numbers = {"nodes_values": nodes.pop("values"), "target_weights": weights.pop("weights"), "base_values": [0.5]}
        for key, list_ in numbers.items():
            if double:
                raw = key == "target_weights"  # tensors have their numbers in one of two forms
                content = np.array(list_, np.float64).tobytes() if raw else list_
                options[key + "_as_tensor"] = helper.make_tensor(key, onnx.TensorProto.DOUBLE, [len(list_)], content, raw=raw)
            else:
                options[key] = [float(v) for v in list_]
        options |= {f"nodes_{key}": list_ for key, list_ in nodes.items()} | {f"target_{key}": list_ for key, list_ in weights.items()}
        element = onnx.TensorProto.DOUBLE if double else onnx.TensorProto.FLOAT
        graph = helper.make_graph(
            [helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", **options)], "trees",
            [helper.make_tensor_value_info("x", element, [None, 2])], [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [None, 1])],
        )
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=8)
        asked = np.array(list(itertools.product(values, values)), np.float64 if double else np.float32)
        predicted = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"x": asked})[0]
        cases.append({
            "name": name, "binary": text(proto), "rows": cells(pd.DataFrame(asked)), "predictions": predicted.tolist(),
        })
    return cases


def shorter(numbers: list | float) -> list | float:
    return [shorter(x) for x in numbers] if isinstance(numbers, list) else float(f"{numbers:.12g}")


def by_variants() -> list[dict]:
    """Smaller models of LightGBM and XGBoost, one for each option that changes how a file must be read."""
    return [*lightgbm_variants(), *xgboost_variants()]


def labelled(rows: int) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    x = pd.DataFrame({
        "a": rng.normal(size=rows),
        "b": rng.integers(-2, 3, rows).astype(float),
        "colour": pd.Categorical(rng.choice(["red", "green", "blue", "grey", "black"], rows)),
        "one": pd.Categorical(["only"] * rows),
        "size": pd.Categorical(rng.choice(["S", "M", "L"], rows)),
    })
    for name in ("a", "colour"):
        x.loc[rng.random(rows) < 0.15, name] = np.nan
    y = x.a.fillna(-1) * x.b + 2 * (x.colour == "red") * x.b + (x["size"] == "L") + 1.5 * x.colour.isna()
    y = (y + 0.1 * rng.normal(size=rows)).to_numpy()
    x["a"] = x.a.round(3)
    return x, {
        "number": y, "positive": np.exp(y / 4), "count": np.floor(np.exp(y / 3)), "two": (y > 0).astype(int), "three": np.digitize(y, [-1, 1]),
        "both": np.c_[y, y**2], "labels": np.c_[y > 0, y > 1].astype(int),
    }


def without(content: object, *keys: str) -> object:
    """JSON without some keys of its objects, which psi does not read."""
    if isinstance(content, dict):
        return {key: without(value, *keys) for key, value in content.items() if key not in keys}
    return [without(value, *keys) for value in content] if isinstance(content, list) else content


def lightgbm_variants() -> list[dict]:
    cases = []
    forest = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
    options = {"num_leaves": 4, "min_data_in_leaf": 10, "min_data_per_group": 10, "max_cat_to_onehot": 1, "verbose": -1, "seed": 1, "num_threads": 1}
    for name, target, parameters, refused in [
        ("labels", "number", {"objective": "regression"}, None),
        ("constant columns", "number", {"objective": "regression"}, None),
        ("poisson", "count", {"objective": "poisson"}, None),
        ("tweedie", "positive", {"objective": "tweedie"}, None),
        ("ranks", "three", {"objective": "lambdarank"}, None),
        ("each class", "three", {"objective": "multiclassova", "num_class": 3, "sigmoid": 0.7}, None),
        ("forest of classes", "three", {"objective": "multiclass", "num_class": 3, **forest}, None),
        ("dart", "two", {"objective": "binary", "boosting": "dart", "drop_rate": 0.5}, None),
        ("zero as missing", "number", {"objective": "regression", "zero_as_missing": True}, None),
        ("no missing", "number", {"objective": "regression", "use_missing": False}, None),
        ("stopped early", "number", {"objective": "regression", "early_stopping_round": 1, "learning_rate": 1.0}, None),
        ("whole numbers", "number", {"objective": "regression"}, None),
        ("two kinds of labels", "number", {"objective": "regression"}, "dtype category"),
        ("root", "positive", {"objective": "regression", "reg_sqrt": True}, "reg_sqrt"),
        ("linear", "number", {"objective": "regression", "linear_tree": True}, "linear_tree=false"),
        ("own objective", "number", {"objective": lambda p, data: (p - data.get_label(), np.ones_like(p))}, "no objective"),
    ]:
        x, y = labelled(600)
        more = {}
        if name == "constant columns":
            x.insert(0, "k", 1.0)
        if name == "whole numbers":
            x = pd.DataFrame({"a": x.a, "w": 3.0 * rng.integers(-1, 7, 600)}).mask(rng.random((600, 2)) < 0.1)
            y["number"] = y["number"] + 2 * x.w.isin([3, 12, 0])
            more["categorical_feature"] = [1]
        if name == "two kinds of labels":
            x["w"] = rng.integers(0, 5, 600)
            y["number"] = y["number"] + 2 * (x.w == 3)
            more["categorical_feature"] = ["colour", "one", "size", "w"]
        data = lightgbm.Dataset(x, y[target], group=[100] * 6 if name == "ranks" else None, **more)
        other, _ = labelled(200)
        stop = {"valid_sets": [lightgbm.Dataset(other, rng.normal(size=200), reference=data)]} if name == "stopped early" else {}
        rounds = 1 if refused else 2
        booster = lightgbm.train(options | parameters, data, rounds, **stop)
        unread = ("split_gain", "leaf_weight", "internal_value", "internal_weight", "feature_importances", "leaf_index", "split_index")
        dump = json.dumps(without(booster.dump_model(), *unread), separators=(",", ":"))
        head, _, tail = booster.model_to_string().partition("end of trees\n")
        head = "".join(line for line in head.splitlines(keepends=True) if not line.startswith(unread))
        kept = [line for line in tail.splitlines() if line.startswith(("[categorical_feature", "pandas_categorical"))]
        made = {"library": "lightgbm", "name": name, "model": "\n".join([head + "end of trees", *kept]) + "\n", "dump": dump}
        if refused:
            cases.append(made | {"refused": refused})
            continue
        asked = x.head(ROWS_OF_VARIANTS).copy()
        if name == "whole numbers":
            asked.loc[3:6, "w"] = [-7, 1, 100, 18]
        else:
            colours = np.where(np.arange(ROWS_OF_VARIANTS) % 5 == 0, "not seen before", asked.colour.astype(object))
            asked["colour"] = pd.Categorical(colours, categories=["not seen before", *x.colour.cat.categories])
        raw, contributions = booster.predict(asked, raw_score=True), booster.predict(asked, pred_contrib=True)
        if name == "forest of classes":
            raw, contributions = raw / rounds, contributions / rounds
        predicted = booster.predict(asked).reshape(len(asked), -1).tolist()
        if name == "whole numbers":
            asked["w"] = [None if np.isnan(w) else str(int(w)) for w in asked.w]
        if name == "constant columns":  # in a dump, without parameters, it cannot be seen which of them had labels
            cases.append({"library": "lightgbm", "name": "dump of constant columns", "model": made.pop("dump"), "refused": "save the text"})
        if name in ("poisson", "tweedie", "ranks", "dart", "each class", "no missing"):  # whose dumps have nothing that others do not
            del made["dump"]
        cases.append(made | case(name, made["model"], asked, raw, contributions) | {"predictions": predicted})
    return cases


def xgboost_variants() -> list[dict]:
    cases = []
    for name, target, parameters, refused in [
        ("labels", "number", {"objective": "reg:squarederror", "max_cat_to_onehot": 1}, None),
        ("labels by themselves", "number", {"objective": "reg:squarederror", "max_cat_to_onehot": 20}, None),
        ("labels that are numbers", "number", {"objective": "reg:squarederror", "max_cat_to_onehot": 1}, None),
        ("codes of labels", "number", {"objective": "reg:squarederror", "max_cat_to_onehot": 1}, None),
        ("poisson", "count", {"objective": "count:poisson"}, None),
        ("tweedie", "positive", {"objective": "reg:tweedie"}, None),
        ("hazards", "positive", {"objective": "survival:cox"}, None),
        ("survival", "positive", {"objective": "survival:aft"}, None),
        ("ranks", "three", {"objective": "rank:ndcg"}, None),
        ("quantiles", "number", {"objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.8]}, None),
        ("forest of classes", "three", {"objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 2, "subsample": 0.6}, None),
        ("two targets", "both", {"objective": "reg:squarederror"}, None),
        ("two labels", "labels", {"objective": "binary:logistic"}, None),
        ("trees of two targets", "both", {"objective": "reg:squarederror", "multi_strategy": "multi_output_tree"}, None),
        ("stopped early", "number", {"objective": "reg:squarederror", "eta": 1.0}, None),
        ("margins", "number", {"objective": "reg:squarederror"}, None),
        ("linear", "number", {"objective": "reg:squarederror", "booster": "gblinear"}, "gblinear"),
    ]:
        x, y = labelled(600)
        if not name.startswith("labels"):
            x = x[["a", "b"]]
        if name == "labels that are numbers":
            x["n"] = pd.Categorical(rng.choice([10, 20, 35], 600))
            y["number"] = y["number"] + (x.n.to_numpy() == 20)
        more = {"enable_categorical": True}
        if name == "codes of labels":
            x = pd.DataFrame({"a": x.a, "w": rng.integers(0, 9, 600).astype(float)}).mask(rng.random((600, 2)) < 0.1)
            y["number"] = y["number"] + 2 * x.w.isin([3, 5, 0])
            more["feature_types"] = ["float", "c"]
        asked = x.head(ROWS_OF_VARIANTS).copy()
        if name == "codes of labels":
            asked.loc[3:4, "w"] = [9, 11]  # not seen before
        data, rows = (xgboost.DMatrix(part.to_numpy() if "feature_types" in more else part, **more) for part in (x, asked))
        data.set_label(y[target])
        if name == "ranks":
            data.set_group([100] * 6)
        if name == "survival":
            data.set_float_info("label_lower_bound", y[target])
            data.set_float_info("label_upper_bound", y[target])
        if name == "margins":
            data.set_base_margin(np.full(600, 0.7))
        stop = {}
        if name == "stopped early":
            stop = {"evals": [(xgboost.DMatrix(x, rng.normal(size=600)), "other")], "early_stopping_rounds": 1, "verbose_eval": False}
        booster = xgboost.train({"max_depth": 3 if name.startswith("labels") else 2, "seed": 1, "nthread": 1} | parameters, data, 2, **stop)
        content = json.loads(booster.save_raw("json"))
        content = without(content, "base_weights", "loss_changes", "parents")
        made = {"library": "xgboost", "name": name, "model": json.dumps(content, separators=(",", ":"))}
        if refused:
            cases.append(made | {"refused": refused})
            continue
        if name == "stopped early":
            booster = booster[: booster.best_iteration + 1]
        raw = booster.predict(rows, output_margin=True)
        if name == "trees of two targets":  # whose contributions XGBoost 3.2.0 does not compute
            made["raw"], made["rows"] = raw.tolist(), cells(asked)
        else:
            if name == "codes of labels":
                asked["w"] = [None if np.isnan(w) else str(int(w)) for w in asked.w]
            if name == "labels that are numbers":
                asked["n"] = asked.n.astype(str)
            made |= case(name, made["model"], asked, raw, booster.predict(rows, pred_contribs=True))
        cases.append(made | {"predictions": booster.predict(rows).reshape(len(asked), -1).tolist()})
    return cases


def by_open() -> list[dict]:
    """Models of scikit-learn in psi's open form, with their covers."""
    x, y = rng.normal(size=(200, 3)).round(3), rng.integers(0, 5, 200)
    x = np.c_[x, y].astype(np.float32)
    x[rng.random(200) < 0.1, 0] = np.nan
    number = np.nan_to_num(x[:, 0]) * x[:, 1] + x[:, 2] + 2 * np.isin(y, [1, 3])
    classes = np.array(["high", "low", "middle"])[np.digitize(number, [0, 1.5])]
    forest = ensemble.RandomForestClassifier(n_estimators=2, max_depth=2, random_state=1).fit(x, classes)
    boosted = ensemble.HistGradientBoostingRegressor(max_iter=2, max_leaf_nodes=5, categorical_features=[3], random_state=1).fit(x, number)
    asked = x[:6].copy()
    rows = cells(pd.DataFrame(asked.astype(float).round(3)))
    of_forest = {"name": "forest", "model": open_forest(forest), "rows": rows, "predictions": forest.predict_proba(asked).tolist()}
    explainer = shap.TreeExplainer(forest, feature_perturbation="tree_path_dependent")
    phi = explainer.shap_values(asked)  # rows, columns, classes
    base = np.broadcast_to(explainer.expected_value, (len(asked), 3))
    phi = np.concatenate([phi, base[:, None]], 1).transpose(0, 2, 1)
    of_forest |= {"raw": of_forest["predictions"], "contributions": phi.tolist(), "classes": list(forest.classes_)}
    asked[1, 3], asked[2, 3] = np.nan, 9  # missing, and not seen before
    rows = [[*row[:3], None if np.isnan(label) else str(int(label))] for row, label in zip(rows, asked[:, 3])]
    predicted = boosted.predict(asked).reshape(-1, 1).tolist()
    return [of_forest, {"name": "histograms", "model": open_histograms(boosted), "rows": rows, "raw": predicted, "predictions": predicted}]


def open_forest(model: ensemble.RandomForestClassifier) -> str:
    """Write a forest: each tree once for each class, with its share of the mean."""
    grown = [estimator.tree_ for estimator in model.estimators_]
    edges = [sorted({t for g in grown for t, d in zip(g.threshold, g.feature) if d == column}) for column in range(model.n_features_in_)]
    trees = [
        {
            "output": c,
            "column": [max(d, -1) for d in g.feature.tolist()],  # -2 of leaves
            "left": np.maximum(g.children_left, 0).tolist(),
            "right": np.maximum(g.children_right, 0).tolist(),
            "below": [edges[d].index(t) + 1 if d >= 0 else 0 for t, d in zip(g.threshold, g.feature)],
            "missing": [int(left and d >= 0) for left, d in zip(g.missing_go_to_left, g.feature)],
            "cover": g.weighted_n_node_samples.tolist(),
            "value": np.where(g.feature < 0, g.value[:, 0, c] / len(grown), 0).tolist(),
        }
        for g in grown for c in range(len(model.classes_))
    ]
    columns = [{"name": f"x{d}", "edges": edges[d], "inclusive": True, "single": True, "labels": None} for d in range(len(edges))]
    return json.dumps({
        "format": "psi-trees", "objective": model.criterion, "link": "probability", "classes": model.classes_.tolist(),
        "ensemble": {"columns": columns, "base": [0] * len(model.classes_), "trees": trees},
    })


def open_histograms(model: ensemble.HistGradientBoostingRegressor) -> str:
    """Write boosting by histograms, whose last column has the labels 0 to 4. Labels that it has not seen go with missing values."""
    grown = [one for (one,) in model._predictors]
    place = [3, 0, 1, 2]  # of its columns: those of labels come first
    labels = [str(k) for k in range(5)]
    splits = [n for g in grown for n in g.nodes if not n["is_leaf"] and not n["is_categorical"]]
    edges = [sorted({float(n["num_threshold"]) for n in splits if place[n["feature_idx"]] == d}) for d in range(3)]
    trees = []
    for g in grown:
        tree = {key: [] for key in ("column", "left", "right", "below", "missing", "cover", "value")} | {"output": 0, "set": {}}
        for k, n in enumerate(g.nodes):
            column, labelled = -1 if n["is_leaf"] else place[n["feature_idx"]], bool(n["is_categorical"])
            missing = int(n["missing_go_to_left"]) if column >= 0 else 0
            if labelled:
                bits = g.raw_left_cat_bitsets[n["bitset_idx"]]
                tree["set"][k] = [c for c in range(5) if bits[0] >> c & 1] + [5] * missing
            below = edges[column].index(n["num_threshold"]) + 1 if column >= 0 and not labelled else 0
            value = float(n["value"]) if column < 0 else 0
            row = (column, int(n["left"]), int(n["right"]), below, missing + 4 * labelled, int(n["count"]), value)
            for key, cell in zip(("column", "left", "right", "below", "missing", "cover", "value"), row):
                tree[key].append(cell)
        trees.append(tree)
    columns = [{"name": f"x{d}", "edges": edges[d], "inclusive": True, "labels": None} for d in range(3)] + [{"name": "x3", "labels": labels}]
    return json.dumps({
        "format": "psi-trees", "objective": model.loss, "link": "identity",
        "ensemble": {"columns": columns, "base": [float(model._baseline_prediction.item())], "trees": trees},
    })


LIBRARIES = {"lightgbm": by_lightgbm, "xgboost": by_xgboost, "catboost": by_catboost, "onnx": by_onnx, "variants": by_variants, "open": by_open}
chosen = sys.argv[1:] or list(LIBRARIES)
for library, make in LIBRARIES.items():
    if library != "xgboost":  # whose rows are drawn after those of lightgbm
        rng = np.random.default_rng(5)
    if library not in chosen and (library, "xgboost" in chosen) != ("lightgbm", True):
        continue
    made = make()
    if library in ("catboost", "onnx", "variants", "open"):
        made = [one | {key: shorter(one[key]) for key in ("raw", "contributions", "predictions") if key in one} for one in made]
    (here / f"{library}.json").write_text(json.dumps(made, separators=(",", ":")) + "\n")
