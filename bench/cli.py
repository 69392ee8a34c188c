"""The command line of bench/run."""

import argparse
import sys
import unittest
from pathlib import Path

import blanked
import check
import interactions
import jobs
import masked
import mixtures
import results
import sets
import table
import timing
import treecheck
import trees
import truth
import tuning
from fit import Job
from peers import PEERS, TOOLS
from psi import PSI


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench/run",
        description="Runs what is missing or stale of psi and its peers on the folds of all sets, one core each, and writes "
        "results.jsonl, TABLE.md, MASKED.md, BLANKED.md and the table of the project's README. README.md beside it says how "
        "to read them.",
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--masked", action="store_true", help="the value of coalitions: psi beside LightGBM, MASKED.md")
    mode.add_argument("--blanked", action="store_true", help="what missing cells cost each tool: BLANKED.md")
    mode.add_argument("--mixtures", action="store_true", help="psi with trees, beside psi and LightGBM alone: MIXTURES.md")
    mode.add_argument("--timing", action="store_true", help="time and memory of fits, interleaved: TIMING.md")
    mode.add_argument("--interactions", action="store_true", help="pairs of wide tables, beside shapiq: INTERACTIONS.md")
    mode.add_argument("--truth", action="store_true", help="attributions beside true ones, and other explainers': TRUTH.md; needs --psi bin/psi-onnx, which make psi-onnx builds")
    mode.add_argument("--trees", action="store_true", help="imported trees, beside their libraries, shap and shapiq: TREES.md")
    mode.add_argument("--treecheck", action="store_true", help="imported trees of every format against their libraries; exit status 1 beyond the bars")
    mode.add_argument("--unseen", action="store_true", help="the sets that nobody has looked at: a section of TABLE.md")
    mode.add_argument("--check", action="store_true", help="results of psi by other training code; exit status 1 if a table has one")
    mode.add_argument("--selftest", action="store_true", help="the tests of the statistics, the searches and the digests")
    parser.add_argument("--sets", nargs="+", choices=list(sets.ALL), help="default: all that the command is about")
    parser.add_argument(
        "--tools", nargs="+", choices=[*TOOLS, *masked.MASKED], help="default: all that the command is about"
    )
    parser.add_argument("--folds", nargs="+", type=int, choices=range(sets.FOLDS), default=list(range(sets.FOLDS)))
    parser.add_argument("--jobs", type=int, default=1, help="fits at a time (default 1)")
    parser.add_argument("--psi", default=str(sets.ROOT / "bin" / "psi"), help="the program (default bin/psi)")
    parser.add_argument("--psi-flags", default="", help="more flags of psi train, as one argument")
    args = parser.parse_args()
    args.psi = str(Path(args.psi).resolve())
    if args.check or args.selftest:
        return args
    if set(PSI) & set(args.tools or TOOLS) and not Path(args.psi).exists():
        parser.error(f"no program {args.psi}: make builds one, --psi names another, --tools leaves psi out")
    return args


def main() -> int:
    args = arguments()
    if args.check:
        return check.run()
    if args.selftest:
        tests = unittest.defaultTestLoader.discover(str(results.HERE))
        return 0 if unittest.TextTestRunner().run(tests).wasSuccessful() else 1
    flags = args.psi_flags.split()
    if args.mixtures:
        flags = mixtures.FLAGS
    if args.timing:
        return min(1, timing.run(args.sets or timing.SETS, args.tools or timing.TOOLS, args.psi, flags))
    if args.interactions:
        return interactions.run(args.sets or interactions.SETS, args.psi, flags)
    if args.trees:
        return trees.run(args.sets or trees.SETS, args.psi)
    if args.treecheck:
        return treecheck.run(args.sets or treecheck.SETS, args.psi)
    if args.truth:
        return truth.run(args.psi)
    names, tools = args.sets or (list(sets.UNSEEN) if args.unseen else sets.SETS), args.tools or TOOLS
    if args.mixtures:
        tools = ["psi"]
    if args.masked:
        names, tools = args.sets or masked.SETS, args.tools or [*masked.MASKED, "psi"]
    if args.blanked:
        names = args.sets or blanked.SETS
    untuned = [
        tuning.Job(name, tool)
        for tool in tools
        for name in names
        if tool in PEERS and PEERS[tool].search is not None and tuning.of(tool, name) is None
    ]
    failed = jobs.search(untuned, args.jobs)
    known = {(r["set"], r["fold"], r["tool"]) for r in results.current(flags) if not results.stale(r)}
    wanted = [
        Job(name, fold, tool, None, args.psi, flags)
        for tool in tools
        for name in names
        for fold in args.folds
        if (name, fold, tool) not in known and results.digest(tool, name, flags) is not None
    ]
    failed += jobs.run(wanted, args.jobs)
    if args.mixtures:
        (results.HERE / "MIXTURES.md").write_text(mixtures.page(results.current([]), results.current(flags)))
        return min(1, failed)
    found = results.current(flags)
    for name, page in {"TABLE.md": table.page, "MASKED.md": masked.page, "BLANKED.md": blanked.page}.items():
        (results.HERE / name).write_text(page(found))
    front = sets.ROOT / "README.md"
    front.write_text(table.summary(front.read_text(), found))
    return min(1, failed)


if __name__ == "__main__":
    sys.exit(main())
