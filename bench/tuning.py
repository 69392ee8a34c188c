"""Tuned peers: the search of a configuration for each set, and tuned.json, which keeps what was found.

A search takes fold 0 of a set once. Each trial learns from the training rows and is judged by the error of the validation
rows; the best configuration then serves all five folds. As a program, tuning.py SEARCH FILE, the search as JSON, keeps
each trial when it is done, and writes what it found to the file.
"""

import hashlib
import importlib
import json
import os
import platform
import resource
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sets
from cost import timed
from metrics import ERROR, Prediction, score
from peers import PEERS, Configuration, Peer
from provenance import package_version, revision
from store import locked

STORE = Path(__file__).with_name("tuned.json")

Found = dict[str, Any]


@dataclass(frozen=True)
class Job:
    set: str
    tool: str
    core: int | None = None  # the one it may use; None is all
    fold: int = 0


def space_digest(tool: str) -> str:
    """Of all that decides a search, beside the rows."""
    peer = PEERS[tool]
    assert peer.search is not None
    decides = [package_version(peer), peer.configuration, peer.search.space, peer.search.settings]
    text = json.dumps([*decides, peer.search.trials, peer.search.seed], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def candidates(peer: Peer) -> list[Configuration]:
    """What each trial changes in the peer's configuration: nothing, then draws from the space, no draw twice."""
    assert peer.search is not None
    random = np.random.default_rng(peer.search.seed)
    found: list[Configuration] = [{}]
    while len(found) < peer.search.trials:
        drawn = {key: values[random.integers(len(values))] for key, values in peer.search.space.items()}
        if drawn not in found:
            found.append(drawn)
    return found


def search(job: Job) -> Iterator[Found]:
    """Yields the search after each trial that it still lacks."""
    peer = PEERS[job.tool]
    assert peer.search is not None
    importlib.import_module(peer.module)
    fold = sets.load(job.set, job.fold)
    y = fold.target(fold.validation)
    inputs = fold.inputs(fold.validation)
    metric = ERROR[fold.task]
    drawn = candidates(peer)
    begun = stored(job.tool, job.set) or {"errors": [], "cpu_seconds": 0.0}
    errors, seconds = begun["errors"], begun["cpu_seconds"]
    for changes in drawn[len(errors) :]:
        settings = {**peer.configuration, **changes, **peer.search.settings}
        fitted, cost = timed(resource.RUSAGE_SELF, lambda settings=settings: peer.search.fit(fold, settings))
        errors = [*errors, round(score(fold.task, y, Prediction(fitted.predict(inputs)))[metric], 6)]
        seconds += cost["cpu_seconds"]
        best = int(np.argmin(errors))
        yield {
            "set": job.set,
            "tool": job.tool,
            "space": space_digest(job.tool),
            "versions": {
                "python": platform.python_version(),
                peer.package: package_version(peer),
                "revision": revision(),
            },
            "seed": peer.search.seed,
            "metric": metric,
            "errors": errors,
            "trial": best,
            "chosen": drawn[best],
            "cpu_seconds": round(seconds, 3),
        }


def read() -> list[Found]:
    return json.loads(STORE.read_text()) if STORE.exists() else []


def add(found: Found) -> None:
    with locked():
        kept = [f for f in read() if (f["set"], f["tool"]) != (found["set"], found["tool"])]
        order = list(sets.ALL)
        kept = sorted([*kept, found], key=lambda f: (order.index(f["set"]), f["tool"]))
        part = STORE.with_suffix(".part")
        part.write_text("[\n" + ",\n".join(json.dumps(f) for f in kept) + "\n]\n")
        part.rename(STORE)


def stored(tool: str, name: str) -> Found | None:
    """The search for a set as far as it got, or None if none began in today's space."""
    return next(
        (f for f in read() if f["tool"] == tool and f["set"] == name and f["space"] == space_digest(tool)), None
    )


def of(tool: str, name: str) -> Found | None:
    """The search for a set, or None if trials are missing."""
    search = PEERS[tool].search
    found = stored(tool, name)
    return found if search and found and len(found["errors"]) == search.trials else None


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    job = Job(**json.loads(sys.argv[1]))
    if job.core is not None:
        os.sched_setaffinity(0, {job.core})
    for found in search(job):
        add(found)
    Path(sys.argv[2]).write_text(json.dumps(of(job.tool, job.set)))
