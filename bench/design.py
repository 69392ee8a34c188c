"""A table as one matrix, for the peers that take nothing else."""

import numpy as np
import pandas as pd

MISSING = "?"  # a label of its own


class Design:
    """Numbers, then a column for each label seen in the rows it is made from; a label not seen there is all zeros.

    Filled, numbers are standardised, a missing one is the median, and where the rows have missing numbers a 0/1 column
    says so. Otherwise they are as they are, NaN where missing.
    """

    def __init__(self, rows: pd.DataFrame, categorical: list[str], filled: bool) -> None:
        self.filled = filled
        self.numbers = [c for c in rows.columns if c not in categorical]
        self.labels = {c: sorted(set(rows[c].fillna(MISSING))) for c in categorical}
        cells = rows[self.numbers].to_numpy(dtype=float)
        self.flagged = np.isnan(cells).any(axis=0)
        self.median = np.nanmedian(cells, axis=0)
        cells = np.where(np.isnan(cells), self.median, cells)
        self.mean, std = cells.mean(axis=0), cells.std(axis=0)
        self.std = np.where(std > 0, std, 1)

    def __call__(self, rows: pd.DataFrame) -> np.ndarray:
        cells = rows[self.numbers].to_numpy(dtype=float)
        missing = np.isnan(cells)
        parts = [cells]
        if self.filled:
            parts = [(np.where(missing, self.median, cells) - self.mean) / self.std, missing[:, self.flagged]]
        for column, labels in self.labels.items():
            parts.append(rows[column].fillna(MISSING).to_numpy()[:, None] == np.array(labels, dtype=object))
        return np.concatenate(parts, axis=1, dtype=float)
