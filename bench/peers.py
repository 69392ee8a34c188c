"""The peers: a configuration of each, the same for all sets, and how it is fitted.

LIN, RF and EBM learn from the training and the validation rows; LGBM, XGB and DNN from the training rows, stopping
early on the validation rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from design import Design
from sets import Fold

Configuration = dict[str, Any]
Predict = Callable[[pd.DataFrame], np.ndarray]  # of inputs: numbers, or the probability of each class


@dataclass(frozen=True)
class Fitted:
    predict: Predict
    details: dict[str, int]  # what the fit decided for itself


@dataclass(frozen=True)
class Peer:
    package: str  # whose version counts
    module: str  # which is imported before the clock starts
    configuration: Configuration
    fit: Callable[[Fold, Configuration], Fitted]


def both_parts(fold: Fold) -> tuple[pd.DataFrame, np.ndarray]:
    rows = pd.concat([fold.train, fold.validation], ignore_index=True)
    return fold.inputs(rows), fold.target(rows)


def predictor(model: Any, fold: Fold, prepare: Callable[[pd.DataFrame], Any]) -> Predict:
    predict = model.predict if fold.task == "regression" else model.predict_proba
    return lambda inputs: predict(prepare(inputs))


def fit_linear(fold: Fold, configuration: Configuration) -> Fitted:
    from sklearn.linear_model import LogisticRegression, Ridge

    inputs, y = both_parts(fold)
    design = Design(inputs, fold.categorical, filled=True)
    if fold.task == "regression":
        model = Ridge(**configuration["ridge"])
    else:
        model = LogisticRegression(**configuration["logistic"])
    model.fit(design(inputs), y)
    return Fitted(predictor(model, fold, design), {"columns": model.n_features_in_})


def fit_forest(fold: Fold, configuration: Configuration) -> Fitted:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    inputs, y = both_parts(fold)
    design = Design(inputs, fold.categorical, filled=False)
    kind = RandomForestRegressor if fold.task == "regression" else RandomForestClassifier
    model = kind(n_jobs=1, **configuration).fit(design(inputs), y)
    return Fitted(predictor(model, fold, design), {})


def fit_ebm(fold: Fold, configuration: Configuration) -> Fitted:
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    inputs, y = both_parts(fold)
    kind = ExplainableBoostingRegressor if fold.task == "regression" else ExplainableBoostingClassifier
    model = kind(n_jobs=1, **configuration).fit(inputs, y)
    pairs = sum(len(term) > 1 for term in model.term_features_)
    return Fitted(predictor(model, fold, lambda inputs: inputs), {"pairs": pairs})


def coder(fold: Fold) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """What both boosting libraries take: categories numbered in the order of all labels of the set, and plain names,
    as some characters are forbidden."""

    def code(inputs: pd.DataFrame) -> pd.DataFrame:
        coded = inputs.copy()
        for column, labels in fold.levels.items():
            codes = pd.Categorical(inputs[column], categories=labels).codes
            coded[column] = pd.Categorical.from_codes(codes, categories=range(len(labels)))
        return coded.set_axis([f"x{i}" for i in range(coded.shape[1])], axis=1)

    return code


def fit_lightgbm(fold: Fold, configuration: Configuration) -> Fitted:
    code = coder(fold)
    model = boost_lightgbm(
        fold.task,
        configuration,
        (code(fold.inputs(fold.train)), fold.target(fold.train)),
        (code(fold.inputs(fold.validation)), fold.target(fold.validation)),
    )
    return Fitted(predictor(model, fold, code), {"rounds": model.best_iteration_})


def fit_lightgbm_of_trials(fold: Fold, configuration: Configuration) -> Fitted:
    """The best of some random configurations, and of LGBM's own, by the error of the validation rows."""
    settings = dict(configuration)
    trials, space = settings.pop("trials"), settings.pop("space")
    random = np.random.default_rng(settings["random_state"])
    code = coder(fold)
    train, validation = [(code(fold.inputs(rows)), fold.target(rows)) for rows in (fold.train, fold.validation)]
    candidates = [{}] + [{key: random.choice(values).item() for key, values in space.items()} for _ in range(trials - 1)]
    models = [boost_lightgbm(fold.task, {**settings, **candidate}, train, validation) for candidate in candidates]
    best = min(models, key=lambda model: min(model.best_score_["valid_0"].values()))
    return Fitted(predictor(best, fold, code), {"rounds": best.best_iteration_, "trial": models.index(best)})


def boost_lightgbm(
    task: str,
    configuration: Configuration,
    train: tuple[pd.DataFrame, np.ndarray],
    validation: tuple[pd.DataFrame, np.ndarray],
) -> Any:
    import lightgbm

    settings = dict(configuration)
    patience = settings.pop("early_stopping_rounds")
    kind = lightgbm.LGBMRegressor if task == "regression" else lightgbm.LGBMClassifier
    model = kind(n_jobs=1, verbose=-1, **settings)
    return model.fit(*train, eval_set=[validation], callbacks=[lightgbm.early_stopping(patience, verbose=False)])


def fit_xgboost(fold: Fold, configuration: Configuration) -> Fitted:
    import xgboost

    code = coder(fold)
    kind = xgboost.XGBRegressor if fold.task == "regression" else xgboost.XGBClassifier
    model = kind(n_jobs=1, enable_categorical=True, **configuration)
    validation = (code(fold.inputs(fold.validation)), fold.target(fold.validation))
    model.fit(code(fold.inputs(fold.train)), fold.target(fold.train), eval_set=[validation], verbose=False)
    return Fitted(predictor(model, fold, code), {"rounds": model.best_iteration})


def fit_network(fold: Fold, configuration: Configuration) -> Fitted:
    from network import fit

    return Fitted(*fit(fold, configuration))


BOOSTING: Configuration = {
    "n_estimators": 3000,
    "learning_rate": 0.05,
    "early_stopping_rounds": 50,
    "random_state": 1,
}

PEERS = {
    "LIN": Peer(
        "scikit-learn",
        "sklearn.linear_model",
        {"ridge": {"alpha": 1.0}, "logistic": {"C": 1.0, "max_iter": 2000}},
        fit_linear,
    ),
    "EBM": Peer("interpret-core", "interpret.glassbox", {"outer_bags": 14, "random_state": 1}, fit_ebm),
    "RF": Peer("scikit-learn", "sklearn.ensemble", {"n_estimators": 300, "random_state": 1}, fit_forest),
    "LGBM": Peer("lightgbm", "lightgbm", {**BOOSTING, "num_leaves": 31}, fit_lightgbm),
    "LGBM20": Peer(
        "lightgbm",
        "lightgbm",
        {
            **BOOSTING,
            "num_leaves": 31,
            "subsample_freq": 1,
            "trials": 20,
            "space": {
                "learning_rate": [0.02, 0.03, 0.05, 0.1],
                "num_leaves": [7, 15, 31, 63, 127, 255],
                "min_child_samples": [5, 10, 20, 50, 100],
                "subsample": [0.6, 0.8, 1.0],
                "colsample_bytree": [0.5, 0.7, 0.85, 1.0],
                "reg_lambda": [0.0, 1.0, 5.0, 20.0],
            },
        },
        fit_lightgbm_of_trials,
    ),
    "XGB": Peer("xgboost", "xgboost", {**BOOSTING, "max_depth": 6, "tree_method": "hist"}, fit_xgboost),
    "DNN": Peer(
        "scikit-learn",
        "network",
        {
            "hidden_layer_sizes": [128, 128],
            "learning_rate_init": 0.001,
            "alpha": 0.0001,
            "batch": {"up to 8000 rows": 64, "more": 256},
            "epochs": 150,
            "patience": 12,
            "random_state": 1,
        },
        fit_network,
    ),
}

TOOLS = [*PEERS, "psi"]  # in the order of the tables
