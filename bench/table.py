"""TABLE.md: accuracy of all tools, and what only psi has."""

import itertools
import math
from statistics import mean, stdev
from typing import Any

import comparison
from comparison import row
from metrics import ERRORS, METRICS
from peers import TOOLS
from psi import PSI
from sets import ALL, BLANKED, FOLDS, TASKS, UNSEEN, WHOLE

Result = dict[str, Any]

HEAD = """# Accuracy

Written by `bench/run`. Mean ± standard deviation over the five folds, of the tools that have all folds of all sets. The best
is bold.

A tool without a number has its library's defaults, with early stopping where the library has it. A tool with a
number in its name was tuned: so many trials for each set, on the training and validation rows of fold 0. *psi* is
`psi train`, *psi best* is `psi train --effort best`. [README.md](README.md) has the protocol.
"""
COMPARISON_HEAD = """
## Comparison

Tools by their error: the RMSE of numbers, the log loss of classes. *Ahead* means a lower mean error. *Significantly* means
p < .05 in the corrected t test of Nadeau and Bengio over the five folds (variance factor 1/5 + 1/4), after Holm's
correction over the sets. The p beside the count of sets is that of Wilcoxon's signed-rank test over the sets, after Holm's
correction over the tools. CPU seconds include a fifth of the search.
"""
UNSEEN_HEAD = """
## Sets that nobody has looked at

No recipe, default or rule of psi was chosen on these sets, and none may be. They come from packages and generators
([unseen.py](unseen.py)). The tests are those of the comparison above.
"""
PSI_HEAD = """
## psi alone

The largest fidelity error of the folds and the smallest share within three standard errors (`psi audit` on the test
rows); the mean coverage of 90 % intervals, on the test rows and with another 30 % of their cells removed; the mean
error of predictions from 25, 50, 75 and 100 % of the cells; the calibration error of the test rows of all folds
together, which has less of chance in it than that of a fold; mean CPU seconds of training, on one thread.
"""


def page(found: list[Result]) -> str:
    lines = [HEAD, *accuracy(found, TASKS), COMPARISON_HEAD, *comparison.section(found, TASKS)]
    lines += [UNSEEN_HEAD, *accuracy(found, UNSEEN), "", *comparison.section(found, UNSEEN)]
    return "\n".join([*lines, PSI_HEAD, *psi_table(found)]) + "\n"


def accuracy(found: list[Result], tasks: dict[str, str]) -> list[str]:
    _, missing = comparison.errors_of(found, tasks)
    tools = [tool for tool in TOOLS if tool not in missing]
    lines = [row("set", "metric", *tools), row(*["---"] * (len(tools) + 2))]
    for name, task in tasks.items():
        for metric in METRICS[task]:
            values = {tool: metric_of(found, name, tool, WHOLE, metric) for tool in tools}
            lines.append(row(name, metric, *cells(values, metric)))
    return lines


BEGIN, END = "<!-- bench/run writes from here -->", "<!-- to here -->"


def summary(text: str, found: list[Result]) -> str:
    """The text with the table between its two marks written anew: a line for each tool that has all folds of all sets."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    errors, missing = comparison.errors_of(found, TASKS)
    lines = comparison.ranking(found, errors, TASKS)
    if missing:
        lines += ["", f"Not in the table, because folds are missing: {', '.join(missing)}."]
    return "\n".join([before + BEGIN, *lines, END + after])


def metric_of(found: list[Result], name: str, tool: str, view: str, metric: str) -> dict[int, float]:
    """The metric of each fold."""
    return {
        r["fold"]: r["views"][view][metric]
        for r in found
        if r["set"] == name and r["tool"] == tool and metric in r["views"].get(view, {})
    }


def cells(values: dict[str, dict[int, float]], metric: str) -> list[str]:
    """A text for each tool, the best in bold."""
    means = {tool: mean(folds.values()) for tool, folds in values.items()}
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
    for name, tool in itertools.product(ALL, PSI):
        of_set = [r for r in found if r["set"] == name and r["tool"] == tool]
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
