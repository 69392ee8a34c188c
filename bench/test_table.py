"""Which tools the tables show, and which figure is bold."""

import unittest

import blanked
import table
from sets import BLANKED, FOLDS, WHOLE


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


class Blanked(unittest.TestCase):
    def test_only_tools_with_all_folds_of_the_set(self) -> None:
        found = [
            {"set": "support2", "tool": tool, "fold": fold, "views": {WHOLE: {"auroc": 0.8}, BLANKED: {"auroc": 0.7}}}
            for tool, folds in [("LIN", FOLDS), ("EBM", 1)]
            for fold in range(folds)
        ]
        *_, line = blanked.page(found).splitlines()
        self.assertEqual(line, "| support2 | auroc | LIN | 0.8000 ± 0.0000 | 0.7000 ± 0.0000 | -0.1000 ± 0.0000 |")
