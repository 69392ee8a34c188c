"""scikit-learn's trees in psi's open form, which ``psi import`` reads."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._cells import label, missing
from ._psi import PsiError

_MISSING_LEFT, _SET_LEFT = 1, 4  # flags of a node


class _Tree(NamedTuple):
    """A tree as lists over its nodes, the root first. Leaves have the column -1."""

    column: npt.NDArray[np.int64]
    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    threshold: npt.NDArray[np.float64]  #: numbers up to it go left
    missing_left: npt.NDArray[np.bool_]
    cover: npt.NDArray[np.float64]  #: training rows, or their weight
    value: npt.NDArray[np.float64]  #: of leaves
    sets: dict[int, list[int]]  #: by node, the codes of labels that go left
    output: int


def written(model: Any) -> bytes:
    """Write a fitted estimator of scikit-learn."""
    if getattr(model, "n_outputs_", 1) > 1:
        raise PsiError("the trees predict several targets at once", "train a model of one target")
    columns = _columns(model)
    if hasattr(model, "_predictors"):
        kind, link, slope, base, trees, single = _hist_boosting(model, columns)
    elif hasattr(model, "learning_rate"):
        kind, link, slope, base, trees, single = _boosting(model)
    else:
        kind, link, slope, base, trees, single = _forest(model)
    ensemble = _ensemble(columns, base, list(trees), single)
    classes = [str(c) for c in getattr(model, "classes_", ())]
    document = {"format": "psi-trees", "objective": kind, "link": link, "slope": slope, "classes": classes, "ensemble": ensemble}
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode()


_Parts = tuple[str, str, float, list[float], Iterable[_Tree], bool]


def _columns(model: Any) -> list[dict[str, Any]]:
    """Return the names of the columns and, for categories of histogram boosting, their labels."""
    names = getattr(model, "feature_names_in_", [f"f{k}" for k in range(model.n_features_in_)])
    columns: list[dict[str, Any]] = [{"name": str(name), "labels": None} for name in names]
    categorical = getattr(model, "is_categorical_", None)
    if categorical is not None:
        encoder = model._preprocessor.named_transformers_["encoder"]
        for column, categories in zip(np.flatnonzero(categorical).tolist(), encoder.categories_):
            columns[column]["labels"] = [label(c) for c in categories.tolist() if not missing(c)]
    return columns


def _tree(tree: Any, value: npt.NDArray[np.float64], output: int) -> _Tree:
    """Return a tree of DecisionTree* with other values."""
    leaf = tree.children_left < 0
    return _Tree(
        column=np.where(leaf, -1, tree.feature),
        left=np.where(leaf, 0, tree.children_left),
        right=np.where(leaf, 0, tree.children_right),
        threshold=tree.threshold,
        missing_left=tree.missing_go_to_left.astype(bool),
        cover=tree.weighted_n_node_samples,
        value=np.where(leaf, value, 0.0),
        sets={},
        output=output,
    )


def _forest(model: Any) -> _Parts:
    """A tree, or the mean of trees: of numbers, or of probabilities of classes."""
    members = [member.tree_ for member in getattr(model, "estimators_", [model])]
    classes = len(getattr(model, "classes_", ()))
    outputs = 1 if classes <= 2 else classes

    def trees() -> Iterable[_Tree]:
        for tree in members:
            value = tree.value[:, 0, :]
            if not classes:
                yield _tree(tree, value[:, 0] / len(members), 0)
                continue
            share = value / value.sum(axis=1, keepdims=True) / len(members)
            for output in range(outputs):
                yield _tree(tree, share[:, output if outputs > 1 else -1], output)

    return _criterion(model), "probability" if classes else "identity", 1, [0.0] * outputs, trees(), True


def _criterion(model: Any) -> str:
    return str(getattr(model, "loss", None) or getattr(model, "criterion", "trees"))


def _boosting(model: Any) -> _Parts:
    """GradientBoosting*: an initial prediction, which must be constant, plus trees times the learning rate."""
    if model.init is not None and model.init != "zero" and not type(model.init_).__module__.startswith("sklearn.dummy"):
        raise PsiError("the trees start from the predictions of another model (init)", "train without init, or with init='zero'")
    members = [[member.tree_ for member in stage] for stage in model.estimators_]
    outputs = len(members[0])
    row = np.zeros((1, model.n_features_in_), np.float32)
    scored = model.decision_function if hasattr(model, "classes_") else model.predict
    start = np.asarray(_unnamed(scored, row), np.float64).reshape(-1)
    for stage in members:
        for output, tree in enumerate(stage):
            start[output] -= model.learning_rate * tree.predict(row)[0, 0]
    link = "identity"
    if hasattr(model, "classes_"):
        link = "logit" if outputs == 1 else "softmax"
    trees = (_tree(tree, model.learning_rate * tree.value[:, 0, 0], output) for stage in members for output, tree in enumerate(stage))
    slope = 2.0 if _criterion(model) == "exponential" else 1.0  # its scores are half of the log odds
    return _criterion(model), link, slope, start.tolist(), trees, True


def _unnamed(predict: Any, row: npt.NDArray[np.float32]) -> Any:
    """Predict a row without names by a model that may know names, which warns."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names", category=UserWarning)
        return predict(row)


def _hist_boosting(model: Any, columns: list[dict[str, Any]]) -> _Parts:
    """HistGradientBoosting*. It computes with categories before numbers, and thresholds in 64 bits."""
    categorical = np.array([c["labels"] is not None for c in columns])
    order = np.concatenate([np.flatnonzero(categorical), np.flatnonzero(~categorical)])
    link = {"poisson": "log", "gamma": "log"}.get(_criterion(model), "identity")
    stages = model._predictors
    if hasattr(model, "classes_"):
        link = "logit" if len(stages[0]) == 1 else "softmax"
    base = np.asarray(model._baseline_prediction, np.float64).reshape(-1)

    def trees() -> Iterable[_Tree]:
        for stage in stages:
            for output, tree in enumerate(stage):
                yield _hist_tree(tree, order, columns, output)

    return _criterion(model), link, 1.0, base.tolist(), trees(), False


def _hist_tree(tree: Any, order: npt.NDArray[np.intp], columns: list[dict[str, Any]], output: int) -> _Tree:
    nodes = tree.nodes
    leaf = nodes["is_leaf"].astype(bool)
    column = np.where(leaf, -1, order[nodes["feature_idx"]])
    missing_left = nodes["missing_go_to_left"].astype(bool)
    sets = {}
    for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf).tolist():
        bits = np.unpackbits(tree.raw_left_cat_bitsets[nodes["bitset_idx"][node]].view(np.uint8), bitorder="little")
        labels = len(columns[column[node]]["labels"])
        sets[node] = np.flatnonzero(bits[:labels]).tolist()
        if missing_left[node]:
            sets[node].append(labels)  # unknown labels go where missing values go
    return _Tree(
        column=column,
        left=np.where(leaf, 0, nodes["left"]).astype(np.int64),
        right=np.where(leaf, 0, nodes["right"]).astype(np.int64),
        threshold=nodes["num_threshold"],
        missing_left=missing_left,
        cover=nodes["count"].astype(np.float64),
        value=np.where(leaf, nodes["value"], 0.0),
        sets=sets,
        output=output,
    )


def _ensemble(columns: list[dict[str, Any]], base: list[float], trees: list[_Tree], single: bool) -> dict[str, Any]:
    """Replace thresholds by their places among all thresholds of a column."""
    found: list[set[float]] = [set() for _ in columns]
    for tree in trees:
        for column, threshold in zip(tree.column.tolist(), tree.threshold.tolist()):
            if column >= 0 and columns[column]["labels"] is None and math.isfinite(threshold):
                found[column].add(threshold)
    edges = [sorted(thresholds) for thresholds in found]
    below = [{threshold: k + 1 for k, threshold in enumerate(sorted_)} for sorted_ in edges]
    for column, thresholds in zip(columns, edges):
        if column["labels"] is None:
            column |= {"edges": thresholds, "inclusive": True, "single": single}
    return {"columns": columns, "base": base, "trees": [_written(tree, columns, below) for tree in trees]}


def _written(tree: _Tree, columns: list[dict[str, Any]], below: list[dict[float, int]]) -> dict[str, Any]:
    codes = []
    for column, threshold in zip(tree.column.tolist(), tree.threshold.tolist()):
        if column < 0 or columns[column]["labels"] is not None:
            codes.append(0)
        else:  # all numbers go left of an infinite threshold
            codes.append(below[column].get(threshold, len(below[column]) + 1))
    flags = _MISSING_LEFT * tree.missing_left.astype(int)
    for node in tree.sets:
        flags[node] |= _SET_LEFT
    return {
        "output": tree.output,
        "column": tree.column.tolist(),
        "left": tree.left.tolist(),
        "right": tree.right.tolist(),
        "below": codes,
        "missing": flags.tolist(),
        "cover": tree.cover.tolist(),
        "value": tree.value.tolist(),
        "set": tree.sets,
    }
