"""The peers: a configuration of each, how it is fitted, and the space in which it is tuned.

LIN, RF and EBM learn from the training and the validation rows; LGBM, XGB, CAT and DNN from the training rows, stopping
early on the validation rows. A peer with a search, such as LGBM20, has one configuration for each set: tuning.py.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from design import MISSING, Design
from psi import PSI
from sets import Fold

Configuration = dict[str, Any]
Predict = Callable[[pd.DataFrame], np.ndarray]  # of inputs: numbers, or the probability of each class


@dataclass(frozen=True)
class Fitted:
    predict: Predict
    details: dict[str, int]  # what the fit decided for itself


Fit = Callable[[Fold, Configuration], Fitted]


@dataclass(frozen=True)
class Search:
    """Random trials: the first is the peer's own configuration, each other draws every setting of the space anew."""

    space: dict[str, list[Any]]
    fit: Fit  # of a trial, which learns from no validation row but may stop early on them
    settings: Configuration = field(default_factory=dict)  # what differs in trials to save time
    trials: int = 20
    seed: int = 1


@dataclass(frozen=True)
class Peer:
    package: str  # whose version counts
    module: str  # which is imported before the clock starts
    configuration: Configuration
    fit: Fit
    search: Search | None = None
    requirements: str = "requirements.txt"  # the list of packages of its environment


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
    return learn_ebm(fold, configuration, *both_parts(fold))


def try_ebm(fold: Fold, configuration: Configuration) -> Fitted:
    """Of the training rows alone: the validation rows judge the trial."""
    return learn_ebm(fold, configuration, fold.inputs(fold.train), fold.target(fold.train))


def learn_ebm(fold: Fold, configuration: Configuration, inputs: pd.DataFrame, y: np.ndarray) -> Fitted:
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

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


def fit_catboost(fold: Fold, configuration: Configuration) -> Fitted:
    import catboost

    def prepare(inputs: pd.DataFrame) -> pd.DataFrame:
        """Labels as text, a missing one too: CatBoost refuses NaN in a categorical column."""
        return inputs.assign(**{column: inputs[column].fillna(MISSING).astype(str) for column in fold.categorical})

    kind = catboost.CatBoostRegressor if fold.task == "regression" else catboost.CatBoostClassifier
    fixed = {"thread_count": 1, "verbose": False, "allow_writing_files": False, "cat_features": fold.categorical}
    model = kind(**fixed, **configuration)
    validation = (prepare(fold.inputs(fold.validation)), fold.target(fold.validation))
    model.fit(prepare(fold.inputs(fold.train)), fold.target(fold.train), eval_set=validation)
    return Fitted(predictor(model, fold, prepare), {"rounds": model.best_iteration_})


def fit_network(fold: Fold, configuration: Configuration) -> Fitted:
    from network import fit

    return Fitted(*fit(fold, configuration))


def fit_realmlp(fold: Fold, configuration: Configuration) -> Fitted:
    from realmlp import fit

    return Fitted(fit(fold, configuration), {})


BOOSTING: Configuration = {
    "n_estimators": 3000,
    "learning_rate": 0.05,
    "early_stopping_rounds": 50,
    "random_state": 1,
}

EBM: Configuration = {"outer_bags": 14, "random_state": 1}
LGBM: Configuration = {**BOOSTING, "num_leaves": 31}
XGB: Configuration = {**BOOSTING, "max_depth": 6, "tree_method": "hist"}
# Without a rate, CatBoost chooses one by the rows and the rounds: .016 on wdbc, .047 on adult.
CAT: Configuration = {key: value for key, value in BOOSTING.items() if key != "learning_rate"}

# The three boosting libraries are tuned alike: six settings each, the same rates, and trees of up to 256 leaves.
RATES = [0.02, 0.03, 0.05, 0.1]
COLUMNS = [0.5, 0.7, 0.85, 1.0]
LGBM_SPACE = {
    "learning_rate": RATES,
    "num_leaves": [7, 15, 31, 63, 127, 255],
    "min_child_samples": [5, 10, 20, 50, 100],
    "subsample": [0.6, 0.8, 1.0],
    "colsample_bytree": COLUMNS,
    "reg_lambda": [0.0, 1.0, 5.0, 20.0],
}
XGB_SPACE = {
    "learning_rate": RATES,
    "max_depth": [3, 4, 5, 6, 7, 8],
    "min_child_weight": [0.5, 1.0, 2.0, 5.0, 10.0],
    "subsample": [0.6, 0.8, 1.0],
    "colsample_bytree": COLUMNS,
    "reg_lambda": [0.0, 1.0, 5.0, 20.0],
}
CAT_SPACE = {
    "learning_rate": RATES,
    "depth": [3, 4, 5, 6, 7, 8],
    "l2_leaf_reg": [1.0, 3.0, 10.0, 30.0],
    "random_strength": [0.1, 1.0, 10.0],
    "rsm": COLUMNS,
    "one_hot_max_size": [2, 8, 32],
}
EBM_SPACE = {
    "learning_rate": [0.01, 0.015, 0.02, 0.04],
    "max_leaves": [2, 3, 4],
    "min_samples_leaf": [2, 4, 10, 25],
    "max_bins": [64, 256, 1024],
    "interactions": [0, "1x", "3x"],
    "smoothing_rounds": [0, 75, 200],
}

PEERS = {
    "LIN": Peer(
        "scikit-learn",
        "sklearn.linear_model",
        {"ridge": {"alpha": 1.0}, "logistic": {"C": 1.0, "max_iter": 2000}},
        fit_linear,
    ),
    "EBM": Peer("interpret-core", "interpret.glassbox", EBM, fit_ebm),
    "EBM20": Peer(
        "interpret-core", "interpret.glassbox", EBM, fit_ebm, Search(EBM_SPACE, try_ebm, settings={"outer_bags": 2})
    ),
    "RF": Peer("scikit-learn", "sklearn.ensemble", {"n_estimators": 300, "random_state": 1}, fit_forest),
    "LGBM": Peer("lightgbm", "lightgbm", LGBM, fit_lightgbm),
    "LGBM20": Peer(
        "lightgbm", "lightgbm", {**LGBM, "subsample_freq": 1}, fit_lightgbm, Search(LGBM_SPACE, fit_lightgbm)
    ),
    # The trials take about the CPU seconds of psi best.
    "LGBM150": Peer(
        "lightgbm",
        "lightgbm",
        {**LGBM, "subsample_freq": 1},
        fit_lightgbm,
        Search(LGBM_SPACE, fit_lightgbm, trials=150),
    ),
    "XGB": Peer("xgboost", "xgboost", XGB, fit_xgboost),
    "XGB20": Peer("xgboost", "xgboost", XGB, fit_xgboost, Search(XGB_SPACE, fit_xgboost)),
    "CAT": Peer("catboost", "catboost", CAT, fit_catboost),
    "CAT20": Peer("catboost", "catboost", CAT, fit_catboost, Search(CAT_SPACE, fit_catboost)),
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
    "RealMLP": Peer(
        "pytabkit",
        "realmlp",
        {"all": {"random_state": 1}, "classes": {"val_metric_name": "cross_entropy", "use_ls": False}},
        fit_realmlp,
        requirements="requirements-torch.txt",
    ),
}

TOOLS = [*PEERS, *PSI]  # in the order of the tables
