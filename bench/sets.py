"""The folds of the benchmark sets, as internal/benchset writes them, and the views of their test rows."""

import json
import os
import subprocess
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

import unseen

ROOT = Path(__file__).parent.parent
CACHE = Path(__file__).parent / ".cache"
FOLDS = 5
TASKS = {
    **dict.fromkeys(["california", "bike", "med", "pksn", "casp", "gas"], "regression"),
    **dict.fromkeys(["fico", "spam", "adult", "support2", "physionet2012", "german", "wdbc"], "binary"),
    "dry_bean": "multiclass",
}
SETS = list(TASKS)
# Sets on which nobody chose anything: unseen.py.
UNSEEN = {
    **dict.fromkeys(["diabetes", "diamonds", "randhie", "friedman2"], "regression"),
    **dict.fromkeys(["fair", "hastie"], "binary"),
    **dict.fromkeys(["wine", "digits"], "multiclass"),
}
ALL = TASKS | UNSEEN

WHOLE = "whole"  # the test rows as they are
BLANKED = "blanked"  # another 30 % of their cells removed
KEPT = {"kept25": 0.25, "kept50": 0.50, "kept75": 0.75}  # that share of the columns kept in each row


@dataclass(frozen=True)
class Fold:
    name: str
    fold: int
    task: str  # regression, binary or multiclass
    categorical: list[str]
    directory: Path  # of train.csv, validation.csv and test.csv

    @cached_property
    def train(self) -> pd.DataFrame:
        return self._read("train")

    @cached_property
    def validation(self) -> pd.DataFrame:
        return self._read("validation")

    @cached_property
    def test(self) -> pd.DataFrame:
        return self._read("test")

    @cached_property
    def levels(self) -> dict[str, list[str]]:
        """The labels of each categorical column, of all parts: no target is looked at."""
        parts = pd.concat([self.train, self.validation, self.test])
        return {c: sorted(set(parts[c]) - {""}) for c in self.categorical}

    @property
    def classes(self) -> int:
        return 1 + int(self.target(self.train).max())

    def _read(self, part: str) -> pd.DataFrame:
        """Cells as text, the empty text missing: what is written again from it is the same to the byte."""
        return pd.read_csv(self.directory / f"{part}.csv", dtype=object, keep_default_na=False, na_filter=False)

    def target(self, rows: pd.DataFrame) -> np.ndarray:
        if self.task == "regression":
            return rows["target"].to_numpy(dtype=float)
        return np.array([int(label.removeprefix("c")) for label in rows["target"]])

    def inputs(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Numbers as float64, categories as text; missing is NaN."""
        columns = {}
        for c in rows.columns.drop("target"):
            cells = rows[c].to_numpy(dtype=object)
            if c in self.categorical:
                columns[c] = pd.Series(np.where(cells == "", np.nan, cells), dtype=object)
            else:
                columns[c] = np.where(cells == "", "nan", cells).astype(float)
        return pd.DataFrame(columns)

    def view(self, name: str) -> pd.DataFrame:
        """The test rows with the cells blanked that the view hides, the same ones for every tool."""
        rows = self.test.copy()
        if name != WHOLE:
            columns = list(rows.columns.drop("target"))
            rows[columns] = rows[columns].mask(self._hidden(name, len(rows), len(columns)), "")
        return rows

    def _hidden(self, view: str, rows: int, columns: int) -> np.ndarray:
        random = np.random.default_rng([zlib.crc32(f"{self.name} {view}".encode()), self.fold])
        draws = random.random((rows, columns))
        if view == BLANKED:
            return draws < 0.3
        kept = round(KEPT[view] * columns)
        return draws.argsort(axis=1).argsort(axis=1) >= kept


def load(name: str, fold: int) -> Fold:
    """Writes the fold's files first if they are not there."""
    directory = CACHE / "folds" / name / str(fold)
    about = directory / "set.json"
    if not about.exists():
        environment = dict(os.environ)
        if name in UNSEEN:
            unseen.write(name, CACHE)
            environment["PSI_DATA"] = str(CACHE)
        command = ["go", "run", "./internal/benchset/foldcsv", name, str(fold), str(directory)]
        done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        about.write_text(done.stdout)
    known = json.loads(about.read_text())
    return Fold(name, fold, known["task"], known["categorical"], directory)
