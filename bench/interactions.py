"""The whole interaction matrix of wide tables: what it takes psi, how sampling agrees with it, and how far shapiq's
KernelSHAP-IQ is from it when it has ten times as long."""

import json
import os
import subprocess
import time
from collections.abc import Callable
from importlib.metadata import version
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import jobs
import psi
import sets
import table

Floats = NDArray[np.float64]
Game = Callable[[NDArray[np.bool_]], Floats]  # coalitions [m, n] to values [m], that of the empty one being 0

SETS = ["spam", "gas"]
ROWS = 1000  # explained
FEW = 3  # rows that are sampled, and given to shapiq
AMONG = 24  # columns of a row whose pairs are sampled: half of them those that interact most, half of them random
DRAWS = 100  # of each pair
TIMES = [10, 100]  # psi's seconds that shapiq may spend on coalitions
MOST = 10_000  # coalitions that shapiq is given: beyond, its least squares of 128 columns take gigabytes
SEED = 1
CPU = "cpu_seconds"

HERE = Path(__file__).parent
CSV = HERE / "interactions.csv"
PAGE = HERE / "INTERACTIONS.md"
HEAD = f"""# Interactions of wide tables

Written by `bench/run --interactions`. Models of fold 0, by the default recipe. Seconds are CPU seconds on one core.

**psi**: seconds for {ROWS:,} rows in memory, all attributions and the whole matrix of Shapley interaction indices, from a
model that has been used once before (`internal/benchset/passes`). *attributions* is the same without the matrix.

**Sampling**: of {FEW} rows the indices of all {AMONG * (AMONG - 1) // 2} pairs of {AMONG} columns, those that interact most
and as many others, were estimated from {DRAWS} random coalitions each, predicted by `psi predict` of the row with the other
cells blanked. The estimate is unbiased and owes nothing to how psi computes the matrix; the standard error is what is left of
chance. *within 3* is the share of pairs at most three standard errors from psi's index: chance alone leaves .997 on average,
but the pairs of a row share their coalitions and err together. *standard error* is its median over the root mean square of
these pairs' indices; *correlation* is that of estimates and indices. *attributions within 3* is the share of the attributions
of 20 rows, sampled by `psi audit`.

**shapiq** {{version}}, KernelSHAP-IQ of order 2, index SII, on the same rows and the same game. It may ask for as many
coalitions as psi predicts in {TIMES[0]} times the seconds that psi takes for a row and its matrix, and again in {TIMES[1]}
times where that is no more than {MOST:,}. Only that is counted: its own arithmetic, in seconds beside it, and the way of the
rows to the program and back are free. The error is the root mean square of its error over that of psi's indices, all pairs, mean of the
rows; 1 is the error of saying 0 of every pair. With fewer coalitions than there are pairs its least squares are not
determined.
"""


def run(names: list[str], program: str, flags: list[str]) -> int:
    lines = pd.DataFrame([measure(name, program, flags) for name in names])
    if CSV.exists():
        before = pd.read_csv(CSV)
        lines = pd.concat([before[~before["set"].isin(names)], lines])
    lines.to_csv(CSV, index=False)
    PAGE.write_text(page(lines))
    return 0


def measure(name: str, program: str, flags: list[str]) -> dict[str, object]:
    fold = sets.load(name, 0)
    model = trained(fold, program, flags)
    rows = pd.concat([fold.test, fold.train])[:ROWS].reset_index(drop=True)
    path = model.path.with_suffix(".csv")
    rows.to_csv(path, index=False)
    one = {jobs.cores()[0]}
    costs = json.loads(output(one, passes(), model.path, path, str(ROWS)))
    audit = model.audit(fold)
    print(name, costs, audit["within_3_se"], flush=True)
    budgets = [int(t * costs["interactions"][CPU] / costs["rows"] / costs["coalition"][CPU]) for t in TIMES]
    budgets = [b for b in budgets if b <= MOST]
    said = json.loads(output(None, program, "explain", model.path, path, "--rows", f"0:{FEW}", "--interactions", "--json"))
    gaps: list[Floats] = []
    errors, theirs, doubts, alike, sizes = [], [], [], [], []
    for r, explained in enumerate(said["rows"]):
        players = said["players"]
        phi, exact = matrix(players, explained["outputs"][0])
        game = coalitions(fold, model, rows.iloc[[r]], players, explained["outputs"][0]["base"])
        whole = game(np.ones((1, len(players)), dtype=bool))[0]
        if abs(whole - phi.sum()) > 1e-4 * max(1, abs(whole)):
            raise RuntimeError(f"{name}, row {r}: the game is {whole}, attributions add up to {phi.sum()}")
        random = np.random.default_rng([SEED, r])
        order = np.argsort(-np.abs(exact).sum(axis=1))
        among = np.concatenate([order[: AMONG // 2], random.permutation(order[AMONG // 2 :])[: AMONG // 2]])
        estimate, doubt = sampled(game, len(players), among, DRAWS, random)
        i, j = np.triu_indices(AMONG, 1)
        sampled_of, of = estimate[i, j], exact[among[i], among[j]]
        gaps.append((sampled_of - of) / doubt[i, j])
        doubts.append(float(np.median(doubt[i, j]) / np.sqrt(np.mean(of**2))))
        alike.append(float(np.corrcoef(sampled_of, of)[0, 1]))
        above = np.triu_indices(len(players), 1)
        size = float(np.sqrt(np.mean(exact[above] ** 2)))
        sizes.append(size)
        found = [shapiq(game, len(players), budget, r) for budget in budgets]
        errors.append([float(np.sqrt(np.mean((indices - exact)[above] ** 2))) / size for indices, _ in found])
        theirs.append([seconds for _, seconds in found])
        print(name, r, f"within 3: {np.mean(np.abs(gaps[-1]) <= 3):.4f}, shapiq's errors: {errors[-1]}", flush=True)
    all_gaps = np.abs(np.concatenate(gaps))
    line = {
        "set": name, "columns": costs["players"], "backend": costs["backend"], "revision": model.provenance()["revision"],
        "rows": costs["rows"], "seconds_attributions": costs["explain"][CPU], "seconds_with_matrix": costs["interactions"][CPU],
        "seconds_per_coalition": costs["coalition"][CPU], "pairs": costs["players"] * (costs["players"] - 1) // 2, "rms_index": float(np.mean(sizes)),
        "within_3_se": float(np.mean(all_gaps <= 3)), "largest_z": float(all_gaps.max()), "mean_square_z": float(np.mean(all_gaps**2)),
        "standard_error": float(np.mean(doubts)), "correlation": float(np.mean(alike)), "attributions_within_3_se": audit["within_3_se"], "shapiq": version("shapiq"),
    }  # fmt: skip
    for k, t in enumerate(TIMES[: len(budgets)]):
        line[f"shapiq_coalitions_{t}"] = budgets[k]
        line[f"shapiq_error_{t}"] = float(np.mean([e[k] for e in errors]))
        line[f"shapiq_seconds_{t}"] = float(np.mean([e[k] for e in theirs]))
    return line


def trained(fold: sets.Fold, program: str, flags: list[str]) -> psi.Model:
    """The model of a fold, kept for the next run."""
    path = sets.CACHE / "interactions" / f"{fold.name}.psi"
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        return psi.Model(program, path)
    return psi.train(program, flags, fold, path)[0]


def passes() -> Path:
    """The program that times passes, built as psi is."""
    path = sets.CACHE / "passes"
    build = ["go", "build", "-o", str(path), "./internal/benchset/passes"]
    subprocess.run(build, cwd=sets.ROOT, check=True, env=os.environ | {"CGO_ENABLED": "0"})
    return path


def output(cores: set[int] | None, *command: str | Path) -> str:
    bind = (lambda: os.sched_setaffinity(0, cores)) if cores else None
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=bind)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {done.stderr[-1000:]}")
    return done.stdout


def matrix(players: list[str], of: dict) -> tuple[Floats, Floats]:
    """The attributions, and the interaction indices as a symmetric matrix."""
    at = {name: i for i, name in enumerate(players)}
    phi, pairs = np.zeros(len(players)), np.zeros((len(players), len(players)))
    for a in of["attributions"]:
        phi[at[a["player"]]] = a["mean"]
    for x in of["interactions"]:
        i, j = at[x["a"]], at[x["b"]]
        pairs[i, j] = pairs[j, i] = x["value"]
    return phi, pairs


def coalitions(fold: sets.Fold, model: psi.Model, row: pd.DataFrame, players: list[str], base: float) -> Game:
    """The game of a row: what is predicted of it when all cells but the coalition's are blank."""
    cells = row[players].to_numpy(dtype=object)

    def values(members: NDArray[np.bool_]) -> Floats:
        members = np.asarray(members, dtype=bool)
        text = StringIO()
        pd.DataFrame(np.where(members, cells, ""), columns=players).to_csv(text, index=False)
        command = [model.program, "predict", str(model.path), "-", "--format", "csv"]
        done = subprocess.run(command, input=text.getvalue(), capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"psi predict: {done.stderr[-1000:]}")
        said = pd.read_csv(StringIO(done.stdout))
        return said["score" if fold.task == "binary" else "prediction"].to_numpy() - base

    return values


def sampled(game: Game, n: int, among: NDArray[np.int64], draws: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    """The Shapley interaction indices of the pairs among some players, by

        I_ij = ∫₀¹ E Δ_ij v(S_t∖ij) dt,  Δ_ij v(S) = v(S∪ij) − v(S∪i) − v(S∪j) + v(S),

    where S_t holds each player with probability t, and their standard errors. A drawn S serves all pairs: Δ_ij is, but for
    its sign, that of S, of S with i changed, with j changed, and with both.
    """
    k = len(among)
    i, j = np.triu_indices(k, 1)
    changed = np.zeros((1 + k + len(i), n), dtype=bool)
    changed[1 + np.arange(k), among] = True
    changed[1 + k + np.arange(len(i)), among[i]] = True
    changed[1 + k + np.arange(len(i)), among[j]] = True
    start = random.random((draws, n)) < random.random((draws, 1))
    values = game((start[:, None, :] ^ changed[None]).reshape(-1, n)).reshape(draws, -1)
    one, two = values[:, 1 : 1 + k], values[:, 1 + k :]
    sign = np.where(start[:, among[i]] == start[:, among[j]], 1, -1)
    delta = sign * (values[:, :1] - one[:, i] - one[:, j] + two)
    mean, error = np.zeros((k, k)), np.zeros((k, k))
    mean[i, j] = mean[j, i] = delta.mean(axis=0)
    error[i, j] = error[j, i] = delta.std(axis=0, ddof=1) / np.sqrt(draws)
    return mean, error


def shapiq(game: Game, n: int, budget: int, seed: int) -> tuple[Floats, float]:
    """KernelSHAP-IQ's indices, and the seconds of its own arithmetic."""
    from shapiq.approximator import KernelSHAPIQ

    asked = 0.0

    def clocked(members: NDArray[np.bool_]) -> Floats:
        nonlocal asked
        start = time.perf_counter()
        values = game(members)
        asked += time.perf_counter() - start
        return values

    start = time.perf_counter()
    found = KernelSHAPIQ(n=n, max_order=2, index="SII", random_state=seed).approximate(budget, clocked)
    seconds = time.perf_counter() - start - asked
    return np.asarray(found.get_n_order_values(2)), seconds


def page(lines: pd.DataFrame) -> str:
    head = HEAD.replace("{version}", str(lines["shapiq"].iloc[-1]))
    columns = ["set", "columns", "pairs", "attributions, s", "with matrix, s", "within 3", "largest z", "standard error", "correlation", "attributions within 3"]
    out = [head, table.row(*columns), table.row(*["---"] * len(columns))]
    for _, x in lines.iterrows():
        out.append(
            table.row(
                x["set"], str(x["columns"]), f"{x['pairs']:,}", f"{x['seconds_attributions']:.2f}", f"{x['seconds_with_matrix']:.1f}",
                f"{x['within_3_se']:.4f}", f"{x['largest_z']:.1f}", f"{x['standard_error']:.2f}", f"{x['correlation']:.3f}", f"{x['attributions_within_3_se']:.4f}",
            )
        )  # fmt: skip
    columns = ["set", "psi, ms a row", "times as long", "shapiq's coalitions a row", "its arithmetic, s a row", "its error"]
    out += ["", table.row(*columns), table.row(*["---"] * len(columns))]
    for _, x in lines.iterrows():
        for t in TIMES:
            if pd.isna(x.get(f"shapiq_error_{t}")):
                continue
            own = f"{1000 * x['seconds_with_matrix'] / x['rows']:.1f}"
            asked, seconds, error = (x[f"shapiq_{what}_{t}"] for what in ["coalitions", "seconds", "error"])
            out.append(table.row(x["set"], own, str(t), f"{asked:,.0f}", f"{seconds:.1f}", f"{error:.2g}"))
    return "\n".join(out) + "\n"
