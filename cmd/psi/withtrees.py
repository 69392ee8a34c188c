"""Trains LightGBM for psi train --with-trees.

Reads a JSON object from standard input: paths of Arrow files with columns f0, f1, ..., target and weight, and the settings.
Writes the model as text. Besides the rows as they are, it learns from copies with cells hidden at random, so that the
branch of missing values is what an absent column means.
"""

import json
import os
import sys

ABSENT = 3  # exit code if a module is missing

try:
    import lightgbm
    import numpy
    import pandas
    import pyarrow.ipc
except ImportError as error:
    print(error.name, file=sys.stderr)
    sys.exit(ABSENT)


def read(path):
    with pyarrow.ipc.open_file(path) as file:
        return file.read_all().to_pandas()


def hidden(rows, rng):
    """A copy of rows with cells hidden: the number of cells left is drawn by the Shapley kernel, ∝ 1/(s(n-s))."""
    n = rows.shape[1]
    if n < 2:
        return rows.mask(numpy.ones(rows.shape, dtype=bool))
    sizes = numpy.arange(1, n)
    weight = 1 / (sizes * (n - sizes))
    left = rng.choice(sizes, size=len(rows), p=weight / weight.sum())
    rank = rng.random(rows.shape).argsort(axis=1).argsort(axis=1)
    return rows.mask(rank >= left[:, None])


def copies(rows, target, weight, hide, rng):
    """Rows as they are, and hide copies with hidden cells."""
    table = pandas.concat([rows] + [hidden(rows, rng) for _ in range(hide)], ignore_index=True)
    for name in rows.select_dtypes("category"):
        table[name] = pandas.Categorical(table[name], categories=rows[name].cat.categories)
    return table, numpy.tile(target, hide + 1), numpy.tile(weight, hide + 1)


def main():
    if len(sys.argv) > 1:  # the caller only asks whether the modules are there
        return
    task = json.load(sys.stdin)
    rng = numpy.random.default_rng(task["seed"])
    tables = [read(task[name]) for name in ("training", "validation")]
    known = {}  # labels of a category; None for a number
    for name in tables[0].columns.drop(["target", "weight"]):
        column = tables[0][name]
        known[name] = None if pandas.api.types.is_numeric_dtype(column) or column.isna().all() else sorted(column.dropna().unique())
    sets = []
    for table in tables:
        target, weight = table.pop("target").to_numpy(), table.pop("weight").to_numpy()
        for name, labels in known.items():
            table[name] = table[name].astype(float) if labels is None else pandas.Categorical(table[name], categories=labels)
        hide = task["copies"] if table is tables[0] else 1
        sets.append(copies(table, target, weight, hide, rng))
    data = lightgbm.Dataset(sets[0][0], sets[0][1], weight=sets[0][2])
    check = lightgbm.Dataset(sets[1][0], sets[1][1], weight=sets[1][2], reference=data)
    settings = {
        "objective": task["objective"], "num_class": task["classes"], "learning_rate": 0.05, "num_leaves": 63,
        "verbose": -1, "seed": task["seed"], "num_threads": os.cpu_count(), "deterministic": True,
    }
    booster = lightgbm.train(settings, data, 1000, valid_sets=[check], callbacks=[lightgbm.early_stopping(50, verbose=False)])
    booster.save_model(task["out"], num_iteration=booster.best_iteration)


main()
