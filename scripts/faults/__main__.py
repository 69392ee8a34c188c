"""Tests how `psi serve` and the command line handle faults and attacks, and writes the results to docs/faults.md.

serve-faults --psi PROGRAM --load PROGRAM --model ADULT.psi --rows ADULT.csv [--only WORD…]

PROGRAM of --load is serve/internal/load. .ci/attacks makes all four and runs this. Needs Linux and Python with
scripts/faults/requirements.txt; memory cgroups, small disks and another user need root, and are reported as missing without it.
"""

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path

from .attacks import attacks
from .confined import MemoryGroup
from .faults import faults
from .page import page, size
from .scene import Scene
from .trial import Case, Line

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(prog="serve-faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ["psi", "load", "model", "rows"]:
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--only", nargs="+", help="cases whose name has one of these words; docs/faults.md stays as it is")
    parser.add_argument("--page", type=Path, help="file for the page (default docs/faults.md, without --only)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)  # some servers run as another user
        scene = Scene(args.psi.resolve(), args.load.resolve(), args.model.resolve(), args.rows.resolve(), directory)
        lines = [
            [tried(scene, case) for case in cases if not args.only or any(word in case.name for word in args.only)]
            for cases in [faults(), attacks()]
        ]
    group = MemoryGroup()
    text = page(lines[0], lines[1], group.kind)
    group.close()
    if args.page or not args.only:
        (args.page or ROOT / "docs" / "faults.md").write_text(text)
    failed = [line for part in lines for line in part if line.well is False]
    print(f"{sum(map(len, lines)) - len(failed)} passed, {len(failed)} failed")
    return int(bool(failed))


def tried(scene: Scene, case: Case) -> Line:
    """Runs a case and says what happened, in a line."""
    directory = Path(tempfile.mkdtemp(dir=scene.directory))
    directory.chmod(0o755)
    start = time.perf_counter()
    try:
        line = case.run(scene, directory)
    except Exception as error:  # one case that fails must not hide the others
        traceback.print_exc()
        line = Line(case.name, f"the test failed: {error}"[:300], False)
    verdict = {True: "ok", False: "NO", None: "--"}[line.well]
    print(f"{verdict}  {time.perf_counter() - start:5.1f} s  {case.name}", flush=True)
    if line.others:
        memory = f"{size(line.sent) or 'nothing'} sent; idle {line.idle}, peak {line.peak}, after {line.after} MiB"
        print(f"             {memory}; others {line.others.words()}", flush=True)
    print(f"             {line.outcome()}", flush=True)
    return line


if __name__ == "__main__":
    sys.exit(main())
