"""What bench/trees.py and bench/treecheck.py share: psi's program on files of trees, and values of libraries in one form."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import sets

Floats = NDArray[np.float64]


def run(program: str, *arguments: str | Path) -> str:
    """What the program prints. The error is its own message."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-1000:])
    return done.stdout


def revision(program: str, model: Path) -> str:
    """The revision that the program was built from or, if it does not know, that of this checkout."""
    known = json.loads(run(program, "inspect", model, "--json"))["provenance"].get("revision")
    if known:
        return str(known)
    git = ["git", "-C", str(sets.ROOT)]
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "*.go", "*.s", "*.py"]).returncode
    return run(*git, "rev-parse", "HEAD").strip() + (" and changes" if changed else "")


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown processor"


def numbers(fold: sets.Fold, rows: pd.DataFrame) -> pd.DataFrame:
    """The inputs as numbers: a label is its place among the sorted labels."""
    X = fold.inputs(rows)
    for c in fold.categorical:
        at = {label: float(k) for k, label in enumerate(fold.levels[c])}
        X[c] = X[c].map(at).astype(float)
    return X


def explained(path: Path, columns: list[str], pairs: bool) -> Floats:
    """Attributions [rows, columns], or indices [rows, columns, columns], of a CSV of psi explain with one output."""
    said = pd.read_csv(path)
    if not pairs:
        return said[columns].to_numpy(dtype=float)
    values = np.zeros((len(said), len(columns), len(columns)))
    for i, a in enumerate(columns):
        for j, b in enumerate(columns):
            if (name := f"{a}__x__{b}") in said:
                values[:, i, j] = values[:, j, i] = said[name]
    return values


def by_xgboost(booster: Any, rows: pd.DataFrame, **options: bool) -> Floats:
    import xgboost

    return booster.predict(xgboost.DMatrix(rows, nthread=1, enable_categorical=True), **options)


def last(values: Any) -> Floats:
    """The values of the last class, where a library gives all."""
    if isinstance(values, list):
        return np.asarray(values[-1])
    return np.asarray(values)


def indices(values: Floats) -> Floats:
    """Interaction indices from a matrix that halves them and has on its diagonal what is left of the attributions."""
    out = 2 * np.asarray(values, dtype=float)
    at = np.arange(out.shape[-1])
    out[..., at, at] = 0
    return out


def apart(values: Floats, exact: Floats) -> float:
    """Root mean square of the difference, over that of the exact values."""
    size = np.sqrt(np.mean(np.square(exact)))
    gap = np.sqrt(np.mean(np.square(np.asarray(values, dtype=float) - exact)))
    return float(gap / size) if size > 0 else float(gap)
