"""What missing cells cost: each tool on the test rows as they are and with another 30 % of the cells removed."""

from typing import Any

import table
from metrics import METRICS
from peers import TOOLS
from sets import BLANKED, FOLDS, TASKS, WHOLE

SETS = ["support2", "physionet2012"]

HEAD = """# Missing cells

Written by `bench/run --blanked`. Models as in TABLE.md, measured on the test rows as they are and with another 30 % of
their observed cells removed at random, the same ones for all. Mean ± standard deviation over the five folds, of the tools
that have all folds of the set.
"""


def page(found: list[dict[str, Any]]) -> str:
    columns = ["set", "metric", "tool", "as they are", "30 % removed", "change"]
    lines = [HEAD, table.row(*columns), table.row(*["---"] * len(columns))]
    for name in SETS:
        metric = METRICS[TASKS[name]][0]
        for tool in TOOLS:
            whole = table.metric_of(found, name, tool, WHOLE, metric)
            blanked = table.metric_of(found, name, tool, BLANKED, metric)
            change = {fold: blanked[fold] - whole[fold] for fold in whole}
            if len(change) == FOLDS:
                lines.append(table.row(name, metric, tool, *map(table.cell, (whole, blanked, change))))
    return "\n".join(lines) + "\n"
