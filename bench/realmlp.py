"""The RealMLP peer: pytabkit's network with the defaults that its authors tuned on other sets (RealMLP-TD), on the CPU.

Its own defaults choose the epoch by the accuracy and smooth the labels; here it chooses by the log loss and does not
smooth them, as its authors advise where probabilities count.
"""

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import torch
from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_Regressor

from design import MISSING
from sets import Fold


def fit(fold: Fold, configuration: dict[str, Any]) -> Callable[[pd.DataFrame], np.ndarray]:
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    torch.set_num_threads(1)

    both = pd.concat([fold.train, fold.validation], ignore_index=True)
    held_out = np.arange(len(fold.train), len(both))
    medians = fold.inputs(fold.train).median(numeric_only=True)
    flagged = [c for c in medians.index if fold.inputs(fold.train)[c].isna().any()]

    def prepare(inputs: pd.DataFrame) -> pd.DataFrame:
        """The network takes no missing numbers: the median, and a column that says so."""
        flags = pd.DataFrame({f"{c} missing": inputs[c].isna().astype(float) for c in flagged}, index=inputs.index)
        filled = inputs.fillna(medians)
        for column, labels in fold.levels.items():
            filled[column] = pd.Categorical(inputs[column].fillna(MISSING), categories=[*labels, MISSING])
        return pd.concat([filled, flags], axis=1)

    settings = {"device": "cpu", "n_threads": 1, "verbosity": 0, "n_cv": 1, **configuration["all"]}
    if fold.task == "regression":
        model = RealMLP_TD_Regressor(**settings)
    else:
        model = RealMLP_TD_Classifier(**settings, **configuration["classes"])
    model.fit(prepare(fold.inputs(both)), fold.target(both), val_idxs=held_out, cat_col_names=fold.categorical)
    predict = model.predict if fold.task == "regression" else model.predict_proba
    return lambda inputs: np.asarray(predict(prepare(inputs)), dtype=float)
