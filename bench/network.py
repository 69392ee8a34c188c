"""The DNN peer: two hidden layers, Adam, stopped early on the validation rows.

scikit-learn's networks with one epoch at a time, as their own early stopping would set other rows aside and, of
classes, look at the accuracy alone.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.neural_network import MLPClassifier, MLPRegressor

from design import Design
from sets import Fold

FURTHEST = 10  # standard deviations; what lies beyond counts as there
LEAST_GAIN = 1e-5


def fit(fold: Fold, configuration: dict[str, Any]) -> tuple[Callable[[pd.DataFrame], np.ndarray], dict[str, int]]:
    inputs, y = fold.inputs(fold.train), fold.target(fold.train)
    design = Design(inputs, fold.categorical, filled=True)

    def prepare(inputs: pd.DataFrame) -> np.ndarray:
        return design(inputs).clip(-FURTHEST, FURTHEST).astype(np.float32)

    settings = dict(configuration)
    batch, epochs, patience = (settings.pop(key) for key in ("batch", "epochs", "patience"))
    settings["batch_size"] = batch["up to 8000 rows" if len(y) <= 8000 else "more"]
    x, x_validation = prepare(inputs), prepare(fold.inputs(fold.validation))
    y_validation = fold.target(fold.validation)
    if fold.task == "regression":
        mean, std = y.mean(), y.std()
        y, y_validation = (y - mean) / std, (y_validation - mean) / std
        model, fixed = MLPRegressor(**settings), {}
    else:
        model, fixed = MLPClassifier(**settings), {"classes": np.arange(fold.classes)}

    def loss() -> float:
        if fold.task == "regression":
            return mean_squared_error(y_validation, model.predict(x_validation))
        return log_loss(y_validation, model.predict_proba(x_validation), labels=fixed["classes"])

    best, best_epoch, weights = np.inf, 0, []
    for epoch in range(1, epochs + 1):
        model.partial_fit(x, y, **(fixed if epoch == 1 else {}))
        if (now := loss()) < best - LEAST_GAIN:
            best, best_epoch, weights = now, epoch, [w.copy() for w in model.coefs_ + model.intercepts_]
        elif epoch - best_epoch >= patience:
            break
    layers = len(model.coefs_)
    model.coefs_, model.intercepts_ = weights[:layers], weights[layers:]

    def predict(inputs: pd.DataFrame) -> np.ndarray:
        if fold.task == "regression":
            return model.predict(prepare(inputs)) * std + mean
        return model.predict_proba(prepare(inputs)).astype(float)

    return predict, {"epochs": best_epoch}
