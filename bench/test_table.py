"""Which tools the tables of accuracy show, and which figure is bold."""

import unittest

import table
from sets import FOLDS, WHOLE


class Accuracy(unittest.TestCase):
    def test_only_tools_with_all_folds_of_all_sets(self) -> None:
        metrics = {"rmse": 1.0, "mae": 1.0, "r2": 0.5}
        found = [
            {"set": name, "tool": tool, "fold": fold, "views": {WHOLE: {**metrics, "rmse": rmse}}}
            for tool, rmse in [("LIN", 3.0), ("RF", 2.0), ("EBM", 1.0)]
            for name in ["med", "bike"]
            for fold in range(FOLDS)
            if (tool, name, fold) != ("EBM", "bike", 4)
        ]
        head, _, *lines = table.accuracy(found, {"med": "regression", "bike": "regression"})
        self.assertEqual(head, "| set | metric | LIN | RF |")
        self.assertEqual(lines[0], "| med | rmse | 3.000 ± 0.000 | **2.000 ± 0.000** |")
