"""Runs psi on a table as somebody does who has just met it, and holds what it says against a list of sentences."""

import argparse
import csv
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent

# A training of a second or two, for sentences that do not depend on how good the model is.
QUICK = "--set steps=100 --set polish_steps=20 --set refit_steps=20 --set absent_steps=20 --set spread_steps=20"
MOMENT = QUICK + " --bags 0"


class Hour:
    """An hour with one table, in a directory of its own."""

    def __init__(self, doc: str) -> None:
        parser = argparse.ArgumentParser(description=doc)
        parser.add_argument("--psi", type=Path, default=ROOT / "bin" / "psi", help="the program (default: bin/psi)")
        parser.add_argument("--beside", action="store_true", help="compare default effort with other tools; needs bench/requirements.txt")
        args = parser.parse_args()
        self.program, self.beside = args.psi.resolve(), args.beside
        self.slow = bool(os.environ.get("PSI_SLOW"))
        self.wrong = 0

    def spend(self, sentences: Callable[["Hour"], None], figures: Callable[["Hour"], None]) -> None:
        """Spends it on the list of sentences, or on figures. The script ends with 1 if something does not hold."""
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as directory:
            os.chdir(directory)
            (figures if self.beside else sentences)(self)
            os.chdir(ROOT)
        print(f"{Path(sys.argv[0]).name}: {self.wrong} wrong, {time.monotonic() - start:.0f} s", flush=True)
        sys.exit(self.wrong > 0)

    def write(self, name: str, rows: Iterable[list[str]]) -> None:
        with open(name, "w", newline="") as file:
            csv.writer(file).writerows(rows)

    def psi(self, line: str, fails: bool = False) -> "Said":
        """Runs psi as somebody types it. It must succeed, or fail."""
        process = subprocess.run([self.program, *shlex.split(line)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if (process.returncode != 0) != fails:
            sys.exit(f"psi {line} ended with {process.returncode}:\n{process.stdout}{process.stderr}")
        return Said(self, process.stdout, process.stderr)

    def report(self, model_and_table: str) -> "Said":
        """What a report shows, which is drawn from the JSON inside it."""
        self.psi(f"report {model_and_table} -o report.html")
        shown = re.search(r'<script type="application/json" id="report">(.*?)</script>', Path("report.html").read_text(), re.DOTALL)
        assert shown, "the report holds no data"
        said = Said(self, json.dumps(json.loads(shown[1]), ensure_ascii=False), "")
        said.text = said.text.replace('\\"', '"')
        return said

    def holds(self, sentence: str, condition: object, instead: object = "") -> None:
        """Notes whether a sentence holds; instead is what is the case."""
        print(f"{'ok   ' if condition else 'WRONG'} {sentence}" + ("" if condition else f"\n      {instead}"), flush=True)
        self.wrong += not condition


class Said:
    """What psi printed. In a text that is looked for, … stands for some words."""

    def __init__(self, hour: Hour, out: str, err: str) -> None:
        self.hour, self.out = hour, out
        self.text = " ".join((out + err).split())  # lines are wrapped anywhere

    def json(self) -> Any:
        return json.loads(self.out)

    def rows(self) -> list[dict[str, str]]:
        return list(csv.DictReader(self.out.splitlines()))

    def numbers(self, column: str) -> list[float]:
        return [float(row[column]) for row in self.rows()]

    def has(self, text: str) -> bool:
        return re.search(re.escape(text).replace("…", ".{0,80}?"), self.text) is not None

    def says(self, sentence: str, *texts: str) -> None:
        missing = [text for text in texts if not self.has(text)]
        self.hour.holds(sentence, not missing, f"not said: {missing}\n      {self.text[:3000]}")

    def never_says(self, sentence: str, *texts: str) -> None:
        said = [text for text in texts if self.has(text)]
        self.hour.holds(sentence, not said, f"said: {said}\n      {self.text[:3000]}")


def kinds(warnings: list[dict[str, str]]) -> list[str]:
    return [warning["kind"] for warning in warnings]
