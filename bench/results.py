"""Result files: one for each set, fold, tool and configuration, and the one line each gives in results.csv."""

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from masked import MASKED
from peers import PEERS
from sets import SETS, WHOLE

HERE = Path(__file__).parent

Result = dict[str, Any]


def configuration(tool: str, psi_flags: list[str]) -> dict[str, Any]:
    """All that decides a result, beside the rows; of psi, whose revisions are many, only the flags."""
    if tool == "psi":
        return {"flags": psi_flags}
    peer = (PEERS | MASKED)[tool]
    return {"package": f"{peer.package} {version(peer.package)}", **peer.configuration}


def digest(tool: str, psi_flags: list[str]) -> str:
    text = json.dumps(configuration(tool, psi_flags), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def path(name: str, fold: int, tool: str, psi_flags: list[str]) -> Path:
    return HERE / "results" / name / str(fold) / f"{tool}-{digest(tool, psi_flags)}.json"


def write(result: Result, to: Path) -> None:
    """The file appears when it is complete."""
    to.parent.mkdir(parents=True, exist_ok=True)
    part = to.with_suffix(".part")
    part.write_text(json.dumps(result, indent=1) + "\n")
    part.rename(to)


def read() -> list[Result]:
    files = (HERE / "results").glob("*/*/*.json")
    found = [json.loads(file.read_text()) for file in files]
    return sorted(found, key=lambda r: (SETS.index(r["set"]), r["tool"], r["digest"], r["fold"]))


def current(psi_flags: list[str]) -> list[Result]:
    """The results of today's configurations."""
    return [r for r in read() if r["digest"] == digest(r["tool"], psi_flags)]


def write_csv() -> None:
    lines = []
    for r in read():
        line = {key: r[key] for key in ("set", "fold", "tool", "digest")}
        line["configuration"] = json.dumps(r["configuration"])
        line |= r["cost"]
        for view, metrics in r["views"].items():
            line |= {metric if view == WHOLE else f"{view}_{metric}": value for metric, value in metrics.items()}
        lines.append(line)
    pd.DataFrame(lines).to_csv(HERE / "results.csv", index=False, float_format="%.6g")
