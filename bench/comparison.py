"""The sections of TABLE.md, and the table of the project's README, that compare tools by compare.py."""

from statistics import mean
from typing import Any

import compare
import tuning
from metrics import ERROR
from peers import PEERS, TOOLS
from psi import PSI
from sets import FOLDS, WHOLE

Result = dict[str, Any]


def errors_of(found: list[Result], tasks: dict[str, str]) -> tuple[compare.Errors, dict[str, list[str]]]:
    """The errors of the tools that have all folds of all sets, and the sets that each other tool lacks."""
    of: dict[str, dict[str, dict[int, float]]] = {name: {tool: {} for tool in TOOLS} for name in tasks}
    for r in found:
        if r["set"] in tasks and r["tool"] in TOOLS:
            of[r["set"]][r["tool"]][r["fold"]] = r["views"][WHOLE][ERROR[tasks[r["set"]]]]
    missing = {tool: [name for name in tasks if len(of[name][tool]) < FOLDS] for tool in TOOLS}
    whole = [tool for tool in TOOLS if not missing[tool]]
    errors = {name: {tool: [of[name][tool][k] for k in range(FOLDS)] for tool in whole} for name in tasks}
    return errors, {tool: names for tool, names in missing.items() if names}


def section(found: list[Result], tasks: dict[str, str]) -> list[str]:
    errors, missing = errors_of(found, tasks)
    if len(missing) == len(TOOLS):
        return ["No tool has all folds of all sets yet."]
    lines = ranking(found, errors, tasks)
    for tool in PSI:
        if tool not in missing:
            lines += ["", *verdict_table(errors, tool)]
    lines += beside_tuned_trees(errors)
    if missing:
        lines += ["", "Not in the tables, because folds are missing:", ""]
    for tool, names in missing.items():
        lines.append(f"- {tool}: {'all sets' if len(names) == len(tasks) else ', '.join(names)}")
    return lines


def ranking(found: list[Result], errors: compare.Errors, tasks: dict[str, str]) -> list[str]:
    """A line for each tool that has everything; bold is the best of a column."""
    tools = list(next(iter(errors.values())))
    own = [tool for tool in PSI if tool in tools]
    columns = [
        "tool",
        "mean rank",
        "mean ratio to the best",
        *(f"{tool} ahead on" for tool in own),
        "CPU seconds a fold",
    ]
    lines = [row(*columns), row(*["---"] * len(columns))]
    ranks, ratios = compare.mean_ranks(errors), compare.mean_ratios(errors)
    chances = {tool: over_sets(errors, tool, tools) for tool in own}
    for tool in sorted(tools, key=lambda tool: ranks[tool]):
        cells = [best(f"{figure[tool]:.2f}", tool, figure) for figure in (ranks, ratios)]
        beside = [ahead(errors, one, tool, chances[one]) for one in own]
        lines.append(row(tool, *cells, *beside, f"{seconds(found, tool, tasks):,.1f}"))
    return lines


def best(text: str, tool: str, figure: dict[str, float]) -> str:
    return f"**{text}**" if figure[tool] == min(figure.values()) else text


def over_sets(errors: compare.Errors, tool: str, tools: list[str]) -> dict[str, float]:
    """The p of the signed-rank test beside each other tool. The other tools are the family."""
    others = [other for other in tools if other != tool]
    return dict(zip(others, compare.holm([compare.wilcoxon(errors, tool, other) for other in others]), strict=True))


def ahead(errors: compare.Errors, tool: str, other: str, chances: dict[str, float]) -> str:
    if tool == other:
        return "–"
    found = compare.verdicts(errors, tool, other).values()
    better = sum(v.ahead for v in found)
    surely = [sum(v.significant and v.ahead == side for v in found) for side in (True, False)]
    return f"{better} of {len(found)} ({surely[0]} significantly, {surely[1]} significantly behind), p = {chances[other]:.2g}"


def seconds(found: list[Result], tool: str, tasks: dict[str, str]) -> float:
    """The mean CPU seconds of a fold: its fit, and a fifth of the search for its set."""
    fits = [r["cost"]["cpu_seconds"] for r in found if r["tool"] == tool and r["set"] in tasks]
    searches = [0.0]
    if tool in PEERS and PEERS[tool].search is not None:
        searches = [s["cpu_seconds"] / FOLDS for name in tasks if (s := tuning.of(tool, name)) is not None]
    return mean(fits) + mean(searches)


def verdict_table(errors: compare.Errors, tool: str) -> list[str]:
    others = [other for other in next(iter(errors.values())) if other != tool]
    verdicts = {other: compare.verdicts(errors, tool, other) for other in others}
    lines = [row(tool, *(f"beside {other}" for other in others)), row(*["---"] * (len(others) + 1))]
    return lines + [row(name, *(verdict(verdicts[other][name]) for other in others)) for name in errors]


TUNED_TREES = ["LGBM20", "XGB20", "CAT20"]
NEAR = 0.01  # of the error: about as good


def beside_tuned_trees(errors: compare.Errors) -> list[str]:
    """psi beside the best tuned tree of each set, which the test rows chose: that favours the trees."""
    tools = next(iter(errors.values()))
    if any(tree not in tools for tree in TUNED_TREES):
        return []
    lines = ["", f"Beside the best of {', '.join(TUNED_TREES)} on the test rows of each set:", ""]
    for tool in [tool for tool in PSI if tool in tools]:
        found = compare.beside_best(errors, tool, TUNED_TREES)
        ahead, near = (sum(change < limit for _, change in found.values()) for limit in (0, NEAR))
        far = sorted((change, name, tree) for name, (tree, change) in found.items() if change >= NEAR)
        behind = ", ".join(f"{name} {100 * change:.1f} % ({tree})" for change, name, tree in reversed(far))
        line = f"- {tool}: ahead on {ahead} of {len(found)}, ahead or within 1 % on {near}"
        lines.append(line + (f"; behind by more on {behind}." if far else "."))
    return lines


def verdict(found: compare.Verdict) -> str:
    side = "ahead" if found.ahead else "behind"
    return f"{side} by {abs(found.change):.1%}".replace("%", " %") + (", significantly" if found.significant else "")


def row(*columns: str) -> str:
    return "| " + " | ".join(columns) + " |"
