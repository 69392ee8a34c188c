"""Attributions against a truth: psi's, those of LightGBM trained on masked copies, by enumeration of its coalitions,
and TreeSHAP's, on tables whose true attributions are known."""

import itertools
import json
import math
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import table
from masked import MASKED, copies_of
from peers import BOOSTING, boost_lightgbm

Floats = NDArray[np.float64]

TABLES = 5
EXPLAINED = 500
NOISE = ["x4", "x5"]
SIZES = [(2000, 0.5), (9000, 0.8)]
LARGE = 0.25  # of the target's deviation: an attribution that should be sure

HERE = Path(__file__).parent
PAGE = HERE / "TRUTH.md"
HEAD = f"""# Attributions against a truth

Written by `bench/run --truth`. `psi sample gauss` writes tables whose true attributions are known: Shapley values of
E[y | known columns]. Trained by default on {TABLES} tables of each size, and asked of {EXPLAINED} other rows.

**Error**: root mean square of said minus true attributions of the columns that matter, over that of the true ones.
*LightGBM, masked copies* is trained on eight masked copies of each row and explained by enumerating its 32 coalitions: the same
game. *TreeSHAP* is `pred_contrib` of LightGBM trained on the rows as they are; its game is another one, of what the trees'
paths say of a missing column, so its distance is not its own error alone.

**Sure**: share of attributions that psi calls sure at 95 %, of noise columns, whose truth is 0, and of those that are
truly at least {LARGE} of the target's standard deviation.
"""


def run(program: str) -> int:
    lines = [HEAD, table.row("rows", "correlation", "psi", "LightGBM, masked copies", "TreeSHAP", "noise sure", "large ones sure")]
    lines.append(table.row(*["---"] * 7))
    for rows, rho in SIZES:
        found = pd.DataFrame([measure(program, rows, rho, seed) for seed in range(1, TABLES + 1)])
        print(found.to_string(), flush=True)
        cells = [f"{found[of].mean():.3f} ± {found[of].std():.3f}" for of in ["psi", "masked", "tree"]]
        shares = [f"{found[of].mean():.1%}" for of in ["noise_sure", "large_sure"]]
        lines.append(table.row(f"{rows:,}", f"{rho}", *cells, *shares))
    PAGE.write_text("\n".join(lines) + "\n")
    return 0


def measure(program: str, rows: int, rho: float, seed: int) -> dict[str, float]:
    with TemporaryDirectory() as directory:
        here = Path(directory)
        learned, asked, truth, model = (here / name for name in ["learned.csv", "asked.csv", "truth.csv", "model.psi"])

        def say(*words: object) -> str:
            return subprocess.run([program, *map(str, words)], check=True, capture_output=True, text=True).stdout

        say("sample", "gauss", "--rows", rows, "--rho", rho, "--seed", seed, "-o", learned)
        say("sample", "gauss", "--rows", EXPLAINED, "--rho", rho, "--seed", 999, "--truth", truth, "-o", asked)
        say("train", learned, "--target", "y", "-o", model)
        said = json.loads(say("explain", model, asked, "--json"))
        train, other = pd.read_csv(learned), pd.read_csv(asked).drop(columns="y")
        true = pd.read_csv(truth)[[f"mean_{column}" for column in other.columns]].to_numpy()
    players = {player: k for k, player in enumerate(said["players"])}
    order = [players[column] for column in other.columns]
    attributions = [row["outputs"][0]["attributions"] for row in said["rows"]]
    mean = np.array([[row[k]["mean"] for k in order] for row in attributions])
    low = np.array([[row[k]["lower"] for k in order] for row in attributions])
    high = np.array([[row[k]["upper"] for k in order] for row in attributions])
    sure = (low > 0) | (high < 0)
    noise = other.columns.isin(NOISE)
    large = np.abs(true) >= LARGE * train["y"].std()

    def error(of: Floats) -> float:
        return math.sqrt(np.mean((of - true)[:, ~noise] ** 2) / np.mean(true[:, ~noise] ** 2))

    masked, tree = lightgbm(train, other)
    return {
        "psi": error(mean), "masked": error(masked), "tree": error(tree),
        "noise_sure": float(sure[:, noise].mean()), "large_sure": float(sure[large].mean()),
    }  # fmt: skip


def lightgbm(rows: pd.DataFrame, asked: pd.DataFrame) -> tuple[Floats, Floats]:
    """Attributions by a model of masked copies, and TreeSHAP's of one of the rows as they are; a tenth validates both."""
    x, y, random = rows.drop(columns="y"), rows["y"].to_numpy(), np.random.default_rng(1)
    validates = random.random(len(rows)) < 0.1
    settings = {**BOOSTING, "num_leaves": 63}
    (configuration,) = (dict(peer.configuration) for peer in MASKED.values())
    copies = configuration.pop("copies")
    parts = [(copies_of(x[part], copies, random), np.tile(y[part], copies)) for part in (~validates, validates)]
    game = boost_lightgbm("regression", configuration, *parts)
    plain = boost_lightgbm("regression", settings, (x[~validates], y[~validates]), (x[validates], y[validates]))
    values = {
        frozenset(kept): game.predict(asked.where(np.tile(asked.columns.isin(kept), (len(asked), 1))))
        for size in range(x.shape[1] + 1)
        for kept in itertools.combinations(x.columns, size)
    }
    return shapley(values, list(x.columns)), plain.predict(asked, pred_contrib=True)[:, :-1]


def shapley(values: dict[frozenset[str], Floats], columns: list[str]) -> Floats:
    """Of a game given by the values of all its coalitions."""
    n = len(columns)
    weight = [math.factorial(s) * math.factorial(n - s - 1) / math.factorial(n) for s in range(n)]
    return np.stack(
        [sum(weight[len(s)] * (values[s | {c}] - v) for s, v in values.items() if c not in s) for c in columns], axis=1
    )
