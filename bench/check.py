"""Which results of psi were made by other training code than that of the tree: bench/run --check, make bench-check."""

from collections import defaultdict

import mixtures
import results
from provenance import NATIVE, training_code_on_disk
from psi import PSI


def run() -> int:
    """Prints the results by who made them, and returns 1 if the tables show one of other training code."""
    shown = {results.key(r) for flags in ([], mixtures.FLAGS) for r in results.current(flags)}
    groups: dict[tuple[str, ...], list[results.Result]] = defaultdict(list)
    for r in results.read():
        if r["tool"] in PSI:
            made = results.trained_by(r) or "unknown"
            state = "current" if not results.stale(r) else "stale" if results.key(r) in shown else "stale, in no table"
            groups[
                state, made, r["versions"]["revision"][:12], " ".join([r["tool"], *r["configuration"]["flags"]])
            ].append(r)
    print(f"training code of the tree, {NATIVE} backend: {training_code_on_disk(NATIVE)}")
    for (state, made, revision, tool), found in sorted(groups.items()):
        names = [name for name in results.ORDER if any(r["set"] == name for r in found)]
        print(f"{state}: {len(found)} results of {tool}, training code {made}, revision {revision}: {', '.join(names)}")
    stale = sum(len(found) for (state, *_), found in groups.items() if state == "stale")
    if stale:
        print(
            f"{stale} results in the tables are stale: bench/run --tools psi 'psi best' and bench/run --mixtures remake them"
        )
    return min(1, stale)
