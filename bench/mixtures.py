"""Mixtures of psi's network and trees (psi train --with-trees), beside the network and LightGBM alone."""

from typing import Any

import table
from metrics import ERROR
from sets import TASKS, WHOLE

FLAGS = ["--with-trees"]
HALF = "kept50"

HEAD = """# Mixtures with trees

Written by `bench/run --mixtures`. Error on the test rows: RMSE of numbers, log loss of classes. *mixture* is
`psi train --with-trees`, *psi* is `psi train`, and LGBM is LightGBM alone, on the rows as they are. Where a mixture does
not clearly predict the validation rows better, it is the network alone. *half* is the error on rows that keep half of
their columns. Mean ± standard deviation over folds; `[k]` where only k folds were run. Ratios are means over the folds
that both have: below 1, the mixture is better.
"""


def page(alone: list[dict[str, Any]], mixed: list[dict[str, Any]]) -> str:
    columns = ["set", "error", "LGBM", "psi", "mixture", "mixture / psi"]
    columns += ["half: psi", "half: mixture", "half: mixture / psi"]
    lines = [HEAD, table.row(*columns), table.row(*["---"] * len(columns))]
    for name, task in TASKS.items():
        metric = ERROR[task]
        cells = [table.cell(table.metric_of(alone, name, "LGBM", WHOLE, metric))]
        for view in (WHOLE, HALF):
            psi, mixture = (table.metric_of(found, name, "psi", view, metric) for found in (alone, mixed))
            ratios = {fold: mixture[fold] / psi[fold] for fold in psi.keys() & mixture.keys()}
            cells += [table.cell(psi), table.cell(mixture), table.cell(ratios)]
        lines.append(table.row(name, metric, *cells))
    return "\n".join(lines) + "\n"
