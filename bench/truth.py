"""Attributions against a truth: psi's and those of other explainers, each beside the truth of its own game, on tables whose
true attributions are known."""

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
from peers import BOOSTING, EBM, boost_lightgbm

Floats = NDArray[np.float64]

TABLES = 5
EXPLAINED = 500
NOISE = ["x4", "x5"]
SIZES = [(2000, 0.5), (9000, 0.8)]
BACKGROUND = 200  # rows
RUNTIME = ["--backend", "onnx"]  # of the learned head: two minutes a table at most, where the backend go takes nine
LARGE = 0.25  # of the target's deviation: an attribution that should be sure

HERE = Path(__file__).parent
PAGE = HERE / "TRUTH.md"
HEAD = f"""# Attributions against a truth

Written by `bench/run --truth --psi bin/psi-onnx`. `psi sample gauss` writes tables whose true attributions are known, from
y = x1 + .8 x2 + .5 x1 x3 + noise, where x1, x2 and x3 are correlated. Trained by default on {TABLES} tables of each size, and asked of
{EXPLAINED} other rows.

An explainer answers the question of its game, so it is judged by the truth of that game first:

- **observational**: Shapley values of E[y | known columns], what the known columns say about y;
- **interventional**: Shapley values of E[y] with the known columns set and the others drawn without regard to them: x1 + d, .8 x2 and d for
  the three columns, with d = (x1 x3 − ρ)/4.

**Error**: root mean square of said minus true attributions of the columns that matter, over that of the true ones; mean ± standard
deviation over tables. The second error is that against the observational truth, whatever the game.

| explainer | what it is |
| --- | --- |
| psi | `psi train`, `psi explain` |
| learned head | `psi train --head learned --backend onnx`: a network that learns Shapley values by least squares, in the manner of FastSHAP |
| masked LightGBM | trained on eight masked copies of each row, all 32 coalitions enumerated, as KernelSHAP does with so few |
| TreeSHAP, interventional | shap's `TreeExplainer` of LightGBM with {BACKGROUND} training rows as background |
| TreeSHAP, path-dependent | `pred_contrib` of the same LightGBM; its game is what paths of trees say, which is no property of the data |
| EBM | each column's term and half of its pairs |
"""
SURE_HEAD = f"""
**Sure**: share of attributions that psi calls sure at 95 %, of noise columns, whose truth is 0, and of those that are
truly at least {LARGE} of the target's standard deviation.
"""
OBSERVATIONAL, INTERVENTIONAL = "observational", "interventional"
GAMES = {
    "psi": OBSERVATIONAL,
    "learned head": OBSERVATIONAL,
    "masked LightGBM": OBSERVATIONAL,
    "TreeSHAP, interventional": INTERVENTIONAL,
    "EBM": INTERVENTIONAL,
    "TreeSHAP, path-dependent": None,
}


def run(program: str) -> int:
    version = subprocess.run([program, "version"], check=True, capture_output=True, text=True).stdout.strip()
    lines = [HEAD, f"Made by {version}.", "", table.row("rows", "correlation", "explainer", "game", "error of its game", "error of the observational game")]
    lines.append(table.row(*["---"] * 6))
    sure = [SURE_HEAD, table.row("rows", "correlation", "noise", "large ones"), table.row(*["---"] * 4)]
    for rows, rho in SIZES:
        found = pd.DataFrame([measure(program, rows, rho, seed) for seed in range(1, TABLES + 1)])
        print(found.T.to_string(), flush=True)
        for name, game in GAMES.items():
            own, other = (spread(found.get((name, of))) for of in (game, OBSERVATIONAL))
            lines.append(table.row(f"{rows:,}", f"{rho}", name, game or "its own", own, other))
        shares = [f"{found['sure', of].mean():.1%}" for of in ["noise", "large"]]
        sure.append(table.row(f"{rows:,}", f"{rho}", *shares))
    PAGE.write_text("\n".join([*lines, *sure]) + "\n")
    return 0


def spread(errors: "pd.Series[float] | None") -> str:
    if errors is None:
        return "–"
    return f"{errors.mean():.3f} ± {errors.std():.3f}"


def measure(program: str, rows: int, rho: float, seed: int) -> dict[tuple[str, str], float]:
    with TemporaryDirectory() as directory:
        here = Path(directory)
        learned, asked, truth = (here / name for name in ["learned.csv", "asked.csv", "truth.csv"])

        def say(*words: object) -> str:
            return subprocess.run([program, *map(str, words)], check=True, capture_output=True, text=True).stdout

        def explained(head: str, *flags: str) -> tuple[Floats, Floats, Floats]:
            """Attributions and the ends of their intervals."""
            model = here / f"{head}.psi"
            say("train", learned, "--target", "y", "--head", head, *flags, "-o", model)
            said = json.loads(say("explain", model, asked, "--json"))
            order = [said["players"].index(column) for column in other.columns]
            cells = [[row["outputs"][0]["attributions"][k] for k in order] for row in said["rows"]]
            mean, low, high = (np.array([[cell.get(of, np.nan) for cell in row] for row in cells]) for of in ["mean", "lower", "upper"])
            return mean, low, high

        say("sample", "gauss", "--rows", rows, "--rho", rho, "--seed", seed, "-o", learned)
        say("sample", "gauss", "--rows", EXPLAINED, "--rho", rho, "--seed", 999, "--truth", truth, "-o", asked)
        train, other = pd.read_csv(learned), pd.read_csv(asked).drop(columns="y")
        truths = {
            OBSERVATIONAL: pd.read_csv(truth)[[f"mean_{column}" for column in other.columns]].to_numpy(),
            INTERVENTIONAL: interventional(other, rho),
        }
        mean, low, high = explained("exact")
        answers = {"psi": mean, "learned head": explained("learned", *RUNTIME)[0], **lightgbm(train, other), "EBM": ebm(train, other)}
    noise = other.columns.isin(NOISE)

    def error(of: Floats, true: Floats) -> float:
        return math.sqrt(np.mean((of - true)[:, ~noise] ** 2) / np.mean(true[:, ~noise] ** 2))

    found = {(name, game): error(of, true) for name, of in answers.items() for game, true in truths.items()}
    sure = (low > 0) | (high < 0)
    large = np.abs(truths[OBSERVATIONAL]) >= LARGE * train["y"].std()
    return found | {("sure", "noise"): float(sure[:, noise].mean()), ("sure", "large"): float(sure[large].mean())}


def interventional(rows: pd.DataFrame, rho: float) -> Floats:
    """The Shapley values of x1 + .8 x2 + .5 x1 x3 if absent columns are drawn without regard to the known ones, E x1 x3 = ρ."""
    half = (rows["x1"] * rows["x3"] - rho) / 4
    still = np.zeros(len(rows))
    return np.stack([rows["x1"] + half, 0.8 * rows["x2"], half, still, still], axis=1)


def ebm(rows: pd.DataFrame, asked: pd.DataFrame) -> Floats:
    from interpret.glassbox import ExplainableBoostingRegressor

    model = ExplainableBoostingRegressor(n_jobs=1, **EBM).fit(rows.drop(columns="y"), rows["y"])
    shares = np.zeros((len(model.term_features_), asked.shape[1]))
    for term, columns in enumerate(model.term_features_):
        shares[term, list(columns)] = 1 / len(columns)
    return model.eval_terms(asked) @ shares


def lightgbm(rows: pd.DataFrame, asked: pd.DataFrame) -> dict[str, Floats]:
    """Attributions by a model of masked copies, and TreeSHAP's of one of the rows as they are; a tenth validates both."""
    import shap

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
    background = x[~validates].sample(BACKGROUND, random_state=1)
    return {
        "masked LightGBM": shapley(values, list(x.columns)),
        "TreeSHAP, interventional": shap.TreeExplainer(plain, background, feature_perturbation="interventional").shap_values(asked),
        "TreeSHAP, path-dependent": plain.predict(asked, pred_contrib=True)[:, :-1],
    }


def shapley(values: dict[frozenset[str], Floats], columns: list[str]) -> Floats:
    """Of a game given by the values of all its coalitions."""
    n = len(columns)
    weight = [math.factorial(s) * math.factorial(n - s - 1) / math.factorial(n) for s in range(n)]
    return np.stack([sum(weight[len(s)] * (values[s | {c}] - v) for s, v in values.items() if c not in s) for c in columns], axis=1)
