"""The truth of the interventional game against one drawn at random."""

import itertools
import unittest

import numpy as np
import pandas as pd

import truth


class Interventional(unittest.TestCase):
    def test_closed_form(self) -> None:
        rho, draws = 0.6, 200_000
        random = np.random.default_rng(1)
        three = np.full((3, 3), rho) + (1 - rho) * np.eye(3)
        absent = np.hstack([random.multivariate_normal(np.zeros(3), three, draws), random.standard_normal((draws, 2))])
        columns = [f"x{i}" for i in range(1, 6)]
        rows = pd.DataFrame(random.standard_normal((4, 5)), columns=columns)

        def worth(kept: tuple[str, ...], row: np.ndarray) -> float:
            x = np.where(np.isin(columns, kept), row, absent)
            return float(np.mean(x[:, 0] + 0.8 * x[:, 1] + 0.5 * x[:, 0] * x[:, 2]))

        values = {
            frozenset(kept): np.array([worth(kept, row) for row in rows.to_numpy()])
            for size in range(6)
            for kept in itertools.combinations(columns, size)
        }
        np.testing.assert_allclose(truth.interventional(rows, rho), truth.shapley(values, columns), atol=0.01)
