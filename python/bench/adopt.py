"""How much of LightGBM psi reproduces, and how its explanations of it agree with TreeSHAP's: the figures of docs/from-shap.md.

    go run ./internal/benchset/foldcsv adult 0 DIRECTORY
    python python/bench/adopt.py DIRECTORY

LightGBM (500 trees of 31 leaves, rate 0.05) and psi are trained on the fold's training and validation rows; all figures are of its
test rows.
"""

import argparse
import pathlib
import resource

import lightgbm
import numpy as np
import pandas as pd
from scipy.stats import spearmanr

import psishap

TOGETHER = ["marital-status", "relationship", "sex"]  # what "married" tells


def table(*paths: pathlib.Path) -> tuple[pd.DataFrame, pd.Series]:
    rows = pd.concat([pd.read_csv(path) for path in paths], ignore_index=True)
    target = rows.columns[-1]
    return rows.drop(columns=target), rows[target]


def agreement(ours: np.ndarray, theirs: np.ndarray) -> str:
    """Of attributions [rows, players]: rank correlation of mean sizes, same first, and how many of the first three are shared."""
    order, their_order = np.argsort(-np.abs(ours), axis=1), np.argsort(-np.abs(theirs), axis=1)
    rank = spearmanr(np.abs(ours).mean(axis=0), np.abs(theirs).mean(axis=0)).statistic
    first = np.mean(order[:, 0] == their_order[:, 0])
    three = np.mean([len(set(a) & set(b)) / 3 for a, b in zip(order[:, :3], their_order[:, :3])])
    return f"rank correlation of mean sizes {rank:.3f}, same largest {first:.1%}, of three largest shared {three:.1%}"


def joined(values: np.ndarray, names: list[str]) -> np.ndarray:
    """The columns that belong together as one, the first."""
    at = [names.index(name) for name in TOGETHER]
    return np.column_stack([values[:, at].sum(axis=1), np.delete(values, at, axis=1)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--steps", type=int, help="of psi's training: a trial")
    asked = parser.parse_args()
    x, y = table(asked.directory / "train.csv", asked.directory / "validation.csv")
    test, _ = table(asked.directory / "test.csv")
    texts = [name for name in x if x[name].dtype.kind not in "iuf"]
    kinds = {name: pd.CategoricalDtype(sorted(x[name].dropna().unique())) for name in texts}
    x, test = x.astype(kinds), test.astype(kinds)
    tree = lightgbm.LGBMClassifier(n_estimators=500, num_leaves=31, learning_rate=0.05, verbose=-1, random_state=0).fit(x, y)

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    adopted = psishap.explain_model(tree, x, test=test, steps=asked.steps)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"processor time of psi's training: {after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime:.0f} s")

    ours = adopted.explain(test).values
    theirs = tree.predict_proba(test, pred_contrib=True)[:, :-1]
    names = list(x)
    print("as they are:", agreement(ours, theirs))
    print(f"{', '.join(TOGETHER)} as one:", agreement(joined(ours, names), joined(theirs, names)))
    sums = np.corrcoef(joined(ours, names)[:, 0], joined(theirs, names)[:, 0])[0, 1]
    print(f"correlation of the one's attributions: {sums:.3f}")
    for name in ("capital-gain", "capital-loss"):
        at = names.index(name)
        print(f"correlation of {name}'s: {np.corrcoef(ours[:, at], theirs[:, at])[0, 1]:.3f}")
    for who, values in (("psi", ours), ("TreeSHAP", theirs)):
        sizes = ", ".join(f"{name} {np.abs(values[:, names.index(name)]).mean():.2f}" for name in TOGETHER)
        print(f"mean sizes, {who}: {sizes}")


if __name__ == "__main__":
    main()
