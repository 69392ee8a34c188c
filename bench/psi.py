"""psi as one more tool: its program is run as a user would run it, and only its predictions are believed."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metrics import Prediction
from sets import Fold

PSI = {"psi": [], "psi best": ["--effort", "best"]}  # the tools, and the flags of psi train that make them
AUDITED = ["relative_rmse", "subgame_relative_rmse", "within_3_se", "coalitions_error"]
AUDIT_ROWS = "20"
PROVENANCE = ["psi", "revision", "backend", "cpu", "seed"]


@dataclass(frozen=True)
class Model:
    program: str
    path: Path

    def predict(self, fold: Fold, rows: pd.DataFrame) -> Prediction:
        table, out = self.path.with_suffix(".rows.csv"), self.path.with_suffix(".predictions.csv")
        rows.to_csv(table, index=False)
        _run(self.program, "predict", self.path, table, "-o", out)
        said = pd.read_csv(out)
        if fold.task == "regression":
            return Prediction(said["prediction"].to_numpy(), said["prediction_std"].to_numpy())
        if fold.task == "binary":
            positive = said["probability"].to_numpy()
            return Prediction(np.stack([1 - positive, positive], axis=1))
        return Prediction(said[[f"probability_c{k}" for k in range(fold.classes)]].to_numpy())

    def audit(self, fold: Fold) -> dict[str, Any]:
        found = json.loads(_run(self.program, "audit", self.path, fold.directory / "test.csv", "--rows", AUDIT_ROWS, "--json"))
        return {key: found[key] for key in AUDITED}

    def provenance(self) -> dict[str, Any]:
        found = json.loads(_run(self.program, "inspect", self.path, "--json"))["provenance"]
        return {key: found.get(key) for key in PROVENANCE}


def train(program: str, flags: list[str], fold: Fold, path: Path) -> tuple[Model, dict[str, float]]:
    """The model, and what it cost."""
    command: list[str | Path] = [Path(__file__).with_name("cost.py"), program, "train", fold.directory / "train.csv"]
    command += ["--validation", fold.directory / "validation.csv", "--target", "target", "-o", path]
    if fold.categorical:
        command += ["--categorical", ",".join(fold.categorical)]
    if fold.task == "binary":
        command += ["--positive", "c1"]
    if "--with-trees" in flags:
        command += ["--python", sys.executable]
    cost = _run(sys.executable, *command, *flags)
    return Model(program, path), json.loads(cost)


def _run(program: str, *arguments: str | Path) -> str:
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"psi: {done.stderr[-1000:]}")
    return done.stdout
