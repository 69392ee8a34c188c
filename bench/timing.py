"""Time and memory of fits, side by side: the tools take turns, so that a busy machine slows all of them."""

import itertools
from pathlib import Path
from statistics import median

import pandas as pd

import jobs
import sets
import table
from fit import Job

SETS = ["california", "adult", "casp"]
TOOLS = ["psi", "LGBM", "XGB", "EBM"]
ROUNDS = 3
ONCE = {"EBM"}  # takes minutes
COSTS = ["wall_seconds", "cpu_seconds", "peak_mib"]

HERE = Path(__file__).parent
HEAD = f"""# Time and memory of fits

Written by `bench/run --timing`. Fold 0; the tools took turns, {ROUNDS} rounds, and EBM, where it is listed, took part in the
first alone; medians. One core each, psi also on all of the machine's. psi's seconds are those of the whole command `psi
train`, with reading, the uncertainty of attributions, measuring and auditing; the others' are of the fit from a table in
memory. The peak is that of the process.
"""


def run(names: list[str], tools: list[str], psi: str, psi_flags: list[str]) -> int:
    """Returns how many fits failed."""
    failed, lines = 0, []
    one = jobs.cores()[0]
    for name, turn, tool in itertools.product(names, range(ROUNDS), tools):
        if turn > 0 and tool in ONCE:
            continue
        for core in [one, None] if tool == "psi" else [one]:
            sets.load(name, 0)
            fitted = jobs.start(Job(name, 0, tool, core, psi, psi_flags))
            failed += fitted is None
            if fitted is not None:
                used = len(jobs.cores()) if core is None else 1
                revision = {"revision": fitted["versions"]["revision"]}
                lines.append({"set": name, "tool": tool, "cores": used, "round": turn, **fitted["cost"], **revision})
    fits = pd.DataFrame(lines, columns=["set", "tool", "cores", "round", *COSTS, "revision"])
    fits.to_csv(HERE / "timing.csv", index=False)
    (HERE / "TIMING.md").write_text(page(fits))
    return failed


def page(fits: pd.DataFrame) -> str:
    columns = ["set", "tool", "cores", "seconds", "CPU seconds", "peak, MiB"]
    lines = [HEAD, table.row(*columns), table.row(*["---"] * len(columns))]
    for (name, tool, cores), group in fits.groupby(["set", "tool", "cores"], sort=False):
        costs = [median(group[c]) for c in COSTS]
        lines.append(table.row(name, tool, str(cores), *(f"{cost:.1f}" for cost in costs[:2]), f"{costs[2]:.0f}"))
    return "\n".join(lines) + "\n"
