"""Small models of random tables, for tests of explanations."""

import pathlib

import numpy as np
import pandas as pd

import psishap
from psishap import _psi

QUICK = [f"--set={s}" for s in ("steps=80", "refit_steps=20", "spread_steps=30", "channels=16")]


def random_table(seed, rows, unseen=False):
    """A table of every kind of column, with gaps; unseen also has labels that no training table has."""
    rng = np.random.default_rng(seed)

    def gap():
        return rng.random(rows) < 0.2

    towns = ["Ur", "Uruk", "Nippur, old", 'the "new"'] + (["Atlantis"] if unseen else [])
    x = pd.DataFrame(
        {
            "size": np.where(gap(), np.nan, 100 * rng.normal(size=rows)),
            "rooms": rng.integers(0, 9, rows),
            "town": pd.Series(rng.choice(towns, rows)).mask(gap()),
            "owned": pd.Series(rng.random(rows) < 0.5).astype("boolean").mask(gap()),
            "sold": pd.Series(
                pd.Timestamp("2020-02-29") + pd.to_timedelta(rng.integers(0, 2000, rows) + rng.choice([0, 0.3], rows), "D")
            ).mask(gap()),
            "row": rng.normal(size=rows),  # a name that tables of explanations use themselves
        }
    )
    score = x["size"].fillna(0) / 50 + x["rooms"] * (x["town"] == "Ur") - 2 * x["owned"].fillna(False).astype(float)
    return x, (score + rng.normal(size=rows)).to_numpy(float)


def target(task, score):
    if task == "regression":
        return score
    cuts = [0] if task == "binary" else [-1, 1]
    return np.array(["low", "mid", "top"])[np.digitize(score, cuts)]


def trained(directory, task, seed, *flags):
    """A model of a random table, trained by the program, and the path of its file."""
    x, score = random_table(seed, 600)
    x["y"] = target(task, score)
    table, path = pathlib.Path(directory, "train.csv"), pathlib.Path(directory, "model.psi")
    x.to_csv(table, index=False)
    _psi.run("train", str(table), "--target", "y", "--task", task, "-o", str(path), *QUICK, *flags)
    return psishap.load(path), str(path)
