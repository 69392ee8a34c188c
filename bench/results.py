"""The store of results, results.jsonl: one line a fit, of a set, fold, tool and configuration."""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from masked import MASKED
from peers import PEERS
from sets import SETS

HERE = Path(__file__).parent
STORE = HERE / "results.jsonl"

Result = dict[str, Any]
Key = tuple[int, str, str, int]  # names a line, and orders them


def configuration(tool: str, psi_flags: list[str]) -> dict[str, Any]:
    """All that decides a result, beside the rows; of psi, whose revisions are many, only the flags."""
    if tool == "psi":
        return {"flags": psi_flags}
    peer = (PEERS | MASKED)[tool]
    return {"package": f"{peer.package} {version(peer.package)}", **peer.configuration}


def digest(tool: str, psi_flags: list[str]) -> str:
    text = json.dumps(configuration(tool, psi_flags), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def key(result: Result) -> Key:
    return SETS.index(result["set"]), result["tool"], result["digest"], result["fold"]


def read() -> list[Result]:
    return [json.loads(line) for line in STORE.read_text().splitlines()] if STORE.exists() else []


def current(psi_flags: list[str]) -> list[Result]:
    """The results of today's configurations."""
    return [r for r in read() if r["digest"] == digest(r["tool"], psi_flags)]


def add(result: Result) -> None:
    """Writes the line of a result, in place of an older one with the same key. The store is replaced as a whole, so that a
    killed run leaves no half line, and locked, so that several runs can add to it."""
    with _locked():
        found = {key(r): r for r in [*read(), result]}
        part = STORE.with_suffix(".part")
        part.write_text("".join(json.dumps(found[k]) + "\n" for k in sorted(found)))
        part.rename(STORE)


@contextmanager
def _locked() -> Iterator[None]:
    """Locks the directory, because each change replaces the file."""
    directory = os.open(HERE, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)
