"""TABLE.md: accuracy of all tools, and what only psi has."""

import math
from statistics import mean, stdev
from typing import Any

from metrics import ERRORS, METRICS
from peers import TOOLS
from sets import BLANKED, FOLDS, TASKS, WHOLE

Result = dict[str, Any]

HEAD = """# Accuracy

Written by `bench/run`. Mean ± standard deviation over the five folds; `[k]` where only k folds were run, whose mean is
not comparable with those of five. The best of the tools with the most folds is bold.
"""
PSI_HEAD = """
## psi alone

The largest fidelity error of the folds and the smallest share within three standard errors (`psi audit` on the test
rows); the mean coverage of 90 % intervals, on the test rows and with another 30 % of their cells removed; the mean
error of predictions from 25, 50, 75 and 100 % of the cells; the calibration error of the test rows of all folds
together, which has less of chance in it than that of a fold; mean CPU seconds of training, on one thread.
"""


def page(found: list[Result]) -> str:
    lines = [HEAD, row("set", "metric", *TOOLS), row(*["---"] * (len(TOOLS) + 2))]
    for name, task in TASKS.items():
        for metric in METRICS[task]:
            values = {tool: metric_of(found, name, tool, WHOLE, metric) for tool in TOOLS}
            lines.append(row(name, metric, *cells(values, metric)))
    return "\n".join([*lines, PSI_HEAD, *psi_table(found)]) + "\n"


BEGIN, END = "<!-- bench/run writes from here -->", "<!-- to here -->"


def summary(text: str, found: list[Result]) -> str:
    """The text with the table between its two marks written anew: the tools that have all folds of all sets, by their error."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    errors = {name: metric_of_error(task) for name, task in TASKS.items()}
    values = {name: {tool: metric_of(found, name, tool, WHOLE, errors[name]) for tool in TOOLS} for name in TASKS}
    whole = [tool for tool in TOOLS if all(len(values[name][tool]) == FOLDS for name in TASKS)]
    lines = [row("set", "error", *whole), row(*["---"] * (len(whole) + 2))]
    for name, error in errors.items():
        lines.append(row(name, error, *cells({tool: values[name][tool] for tool in whole}, error)))
    return "\n".join([before + BEGIN, *lines, END + after])


def metric_of_error(task: str) -> str:
    return "rmse" if task == "regression" else "log_loss"


def row(*columns: str) -> str:
    return "| " + " | ".join(columns) + " |"


def metric_of(found: list[Result], name: str, tool: str, view: str, metric: str) -> dict[int, float]:
    """The metric of each fold."""
    return {
        r["fold"]: r["views"][view][metric]
        for r in found
        if r["set"] == name and r["tool"] == tool and metric in r["views"].get(view, {})
    }


def cells(values: dict[str, dict[int, float]], metric: str) -> list[str]:
    """A text for each tool, the best in bold."""
    most = max(len(folds) for folds in values.values())
    means = {tool: mean(folds.values()) for tool, folds in values.items() if folds and len(folds) == most}
    best = (min if metric in ERRORS else max)(means, key=lambda tool: means[tool], default=None)
    return [f"**{cell(folds)}**" if tool == best else cell(folds) for tool, folds in values.items()]


def cell(folds: dict[int, float]) -> str:
    if not folds:
        return "–"
    centre = mean(folds.values())
    text = number(centre)
    if len(folds) > 1:
        text += f" ± {stdev(folds.values()):,.{decimals(centre)}f}"
    return text if len(folds) == FOLDS else f"{text} [{len(folds)}]"


def number(value: float) -> str:
    return f"{value:,.{decimals(value)}f}"


def decimals(value: float) -> int:
    """So many that four digits count, but six at most."""
    size = abs(value)
    return 6 if size < 1e-3 else max(0, 3 - math.floor(math.log10(size)))


def psi_table(found: list[Result]) -> list[str]:
    columns = ["set", "flags", "fidelity error", "of sub-games", "within 3 SE", "coverage", "blanked"]
    columns += ["error by share of cells", "ECE of all folds", "CPU seconds", "folds"]
    lines = [row(*columns), row(*["---"] * len(columns))]
    for name in TASKS:
        of_set = [r for r in found if r["set"] == name and r["tool"] == "psi"]
        if of_set:
            lines.append(row(name, *psi_row(of_set)))
    return lines


def psi_row(of_set: list[Result]) -> list[str]:
    def audited(key: str, choose: Any) -> str:
        values = [r["audit"][key] for r in of_set if r["audit"][key] is not None]
        return f"{choose(values):.3g}" if values else "–"

    def coverage(view: str) -> str:
        values = [r["views"][view]["coverage_90"] for r in of_set if "coverage_90" in r["views"][view]]
        return f"{mean(values):.3f}" if values else "–"

    shares = [[share_error(entry) for entry in r["audit"]["coalitions_error"]] for r in of_set]
    return [
        " ".join(of_set[0]["configuration"]["flags"]) or "default",
        audited("relative_rmse", max),
        audited("subgame_relative_rmse", max),
        audited("within_3_se", min),
        coverage(WHOLE),
        coverage(BLANKED),
        ", ".join(number(mean(errors)) for errors in zip(*shares, strict=True)),
        pooled_calibration(of_set),
        f"{mean(r['cost']['cpu_seconds'] for r in of_set):.0f}",
        str(len(of_set)),
    ]


def pooled_calibration(of_set: list[Result]) -> str:
    gaps = [r["calibration_gaps"] for r in of_set if "calibration_gaps" in r]
    if not gaps:
        return "–"
    return f"{sum(abs(sum(bin)) for bin in zip(*gaps, strict=True)) / sum(r['rows']['test'] for r in of_set):.4f}"


def share_error(entry: dict[str, float]) -> float:
    """The one figure beside the share of cells kept: of numbers the RMSE, of classes the log loss."""
    (error,) = (value for key, value in entry.items() if key != "kept")
    return error
