"""The value of coalitions: psi's prediction of a row of which only some cells are left, beside LightGBM's that was
trained for nothing else."""

from typing import Any

import numpy as np
import pandas as pd

import table
from metrics import ERROR
from peers import BOOSTING, Configuration, Fitted, Peer, boost_lightgbm, coder, predictor
from sets import KEPT, TASKS, WHOLE, Fold

SETS = ["california", "bike", "adult"]


def copies_of(inputs: pd.DataFrame, copies: int, random: np.random.Generator) -> pd.DataFrame:
    """Copies of each row that keep from one to all of its columns, each number as often."""
    inputs = pd.concat([inputs] * copies, ignore_index=True)
    order = random.random(inputs.shape).argsort(axis=1).argsort(axis=1)
    kept = random.integers(1, inputs.shape[1], size=(len(inputs), 1), endpoint=True)
    return inputs.mask(order >= kept)


def fit_masked(fold: Fold, configuration: Configuration) -> Fitted:
    settings = dict(configuration)
    copies = settings.pop("copies")
    code, random = coder(fold), np.random.default_rng(1)

    def masked(rows: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
        return code(copies_of(fold.inputs(rows), copies, random)), np.tile(fold.target(rows), copies)

    model = boost_lightgbm(fold.task, settings, masked(fold.train), masked(fold.validation))
    return Fitted(predictor(model, fold, code), {"rounds": model.best_iteration_})


MASKED = {
    "LGBM-masked": Peer("lightgbm", "lightgbm", {**BOOSTING, "num_leaves": 63, "copies": 8}, fit_masked),
}

HEAD = """# The value of coalitions

Written by `bench/run --masked`. Error on the test rows when each keeps only that share of its columns, drawn once and
the same for both: RMSE of numbers, log loss of classes. LightGBM was trained on eight masked copies of each row; psi
was trained as always. Mean ± standard deviation over folds; the ratio is the mean over the folds that both have.
"""


def page(found: list[dict[str, Any]]) -> str:
    columns = ["set", "kept", "LightGBM, masked copies", "psi", "psi / LightGBM"]
    lines = [HEAD, table.row(*columns), table.row(*["---"] * len(columns))]
    for name in SETS:
        metric = ERROR[TASKS[name]]
        for view, share in {**KEPT, WHOLE: 1.0}.items():
            (gbm,) = (table.metric_of(found, name, tool, view, metric) for tool in MASKED)
            psi = table.metric_of(found, name, "psi", view, metric)
            ratios = {fold: psi[fold] / gbm[fold] for fold in gbm.keys() & psi.keys()}
            lines.append(
                table.row(name, f"{share:.0%}", table.cell(gbm), table.cell(psi), table.cell(ratios)),
            )
    return "\n".join(lines) + "\n"
