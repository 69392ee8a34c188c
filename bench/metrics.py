"""What is measured of predictions; nothing here knows who made them."""

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

# Those of which less is better.
ERRORS = {"rmse", "mae", "log_loss", "brier", "ece"}
METRICS = {
    "regression": ["rmse", "mae", "r2"],
    "binary": ["auroc", "average_precision", "log_loss", "brier", "ece", "accuracy"],
    "multiclass": ["accuracy", "log_loss"],
}
# The one by which tools are compared, and configurations chosen.
ERROR = {"regression": "rmse", "binary": "log_loss", "multiclass": "log_loss"}
SMALLEST_PROBABILITY = 1e-7
NORMAL_90 = 1.645


@dataclass(frozen=True)
class Prediction:
    values: np.ndarray  # of regression one number a row, otherwise the probability of each class
    std: np.ndarray | None = None  # of the target about a regression's prediction


def score(task: str, y: np.ndarray, prediction: Prediction) -> dict[str, float]:
    values = np.asarray(prediction.values, dtype=float)
    if task == "regression":
        found = _regression(y, values)
        if prediction.std is not None:
            found["coverage_90"] = np.mean(np.abs(y - values) <= NORMAL_90 * prediction.std)
    elif task == "binary":
        found = _binary(y, values[:, 1])
    else:
        found = _multiclass(y, values)
    return {metric: float(value) for metric, value in found.items()}


def _regression(y: np.ndarray, p: np.ndarray) -> dict[str, float]:
    squared = np.mean((y - p) ** 2)
    return {"rmse": np.sqrt(squared), "mae": np.mean(np.abs(y - p)), "r2": 1 - squared / np.var(y)}


def _binary(y: np.ndarray, p: np.ndarray) -> dict[str, float]:
    return {
        "auroc": roc_auc_score(y, p),
        "average_precision": average_precision_score(y, p),
        "log_loss": -np.mean(np.log(np.maximum(np.where(y == 1, p, 1 - p), SMALLEST_PROBABILITY))),
        "brier": np.mean((p - y) ** 2),
        "ece": _calibration_error(y, p),
        "accuracy": np.mean((p >= 0.5) == y),
    }


def _calibration_error(y: np.ndarray, p: np.ndarray) -> float:
    """The mean distance, over the rows, between the probability said and the share found in its bin of equal width."""
    return np.abs(calibration_gaps(y, p)).sum() / len(y)


def calibration_gaps(y: np.ndarray, p: np.ndarray, bins: int = 15) -> np.ndarray:
    """For each bin, the sum of what was said less what was found."""
    bin_of = np.minimum((p * bins).astype(int), bins - 1)
    return np.bincount(bin_of, weights=p - y, minlength=bins)


def _multiclass(y: np.ndarray, p: np.ndarray) -> dict[str, float]:
    said = np.maximum(p[np.arange(len(y)), y], SMALLEST_PROBABILITY)
    return {"accuracy": np.mean(p.argmax(axis=1) == y), "log_loss": -np.mean(np.log(said))}
