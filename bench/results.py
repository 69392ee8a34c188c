"""The store of results, results.jsonl: one line a fit, of a set, fold, tool and configuration."""

import hashlib
import json
from pathlib import Path
from typing import Any

import tuning
from masked import MASKED
from peers import PEERS
from provenance import package_version, training_code, training_code_on_disk
from psi import PSI
from sets import ALL
from store import locked

HERE = Path(__file__).parent
STORE = HERE / "results.jsonl"
ORDER = list(ALL)

Result = dict[str, Any]
Key = tuple[int, str, str, int]  # names a line, and orders them


def configuration(tool: str, name: str, psi_flags: list[str]) -> dict[str, Any] | None:
    """All that decides a result, beside the rows and psi's training code; None of a tuned peer without a search."""
    if tool in PSI:
        return {"flags": [*PSI[tool], *psi_flags]}
    peer = (PEERS | MASKED)[tool]
    package = {"package": f"{peer.package} {package_version(peer)}"}
    if peer.search is None:
        return {**package, **peer.configuration}
    found = tuning.of(tool, name)
    if found is None:
        return None
    return {**package, **peer.configuration, **found["chosen"], "trials": peer.search.trials, "space": found["space"]}


def digest(tool: str, name: str, psi_flags: list[str]) -> str | None:
    decides = configuration(tool, name, psi_flags)
    if decides is None:
        return None
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:10]


def key(result: Result) -> Key:
    return ORDER.index(result["set"]), result["tool"], result["digest"], result["fold"]


def read() -> list[Result]:
    return [json.loads(line) for line in STORE.read_text().splitlines()] if STORE.exists() else []


def current(psi_flags: list[str]) -> list[Result]:
    """The results of today's configurations."""
    return [r for r in read() if r["digest"] == digest(r["tool"], r["set"], psi_flags)]


def stale(result: Result) -> bool:
    """Whether psi's training code differs from the tree's, or is not known."""
    return result["tool"] in PSI and trained_by(result) != training_code_on_disk(result["versions"]["backend"])


def trained_by(result: Result) -> str | None:
    """The digest of the training code that made a result of psi: that of the commit it names or, if files differed from it,
    the digest it was stored with."""
    versions = result["versions"]
    return training_code(versions["revision"], versions["backend"]) or versions.get("training")


def add(result: Result) -> None:
    """Writes the line of a result, in place of an older one with the same key. The store is replaced as a whole, so that a
    killed run leaves no half line, and locked, so that several runs can add to it."""
    with locked():
        found = {key(r): r for r in [*read(), result]}
        part = STORE.with_suffix(".part")
        part.write_text("".join(json.dumps(found[k]) + "\n" for k in sorted(found)))
        part.rename(STORE)
