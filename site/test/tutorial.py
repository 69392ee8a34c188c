"""Runs the commands of docs/tutorial.md and compares what they print with the page: tutorial.py PSI

Blocks marked sh run in order, in an empty directory. A block marked text after one is its output, in which a line "…" stands
for any lines. Times may differ. Sentences that the page quotes from the report must be in it. The block that installs psi is one of
the README, which .ci/readme runs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def blocks(page: Path) -> list[tuple[str, str]]:
    """Returns the language and the text of each block of code."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def agrees(shown: str, printed: str) -> bool:
    def timeless(text: str) -> str:
        return re.sub(r"\b[\d.]+ m?s\b", "N s", text)

    lines = [".*" if line == "…" else re.escape(timeless(line)) + "\n" for line in shown.splitlines()]
    return re.fullmatch("".join(lines), timeless(printed), re.DOTALL) is not None


def main(psi: Path) -> None:
    page = ROOT / "docs" / "tutorial.md"
    readme = [text for language, text in blocks(ROOT / "README.md") if language == "sh"]
    commands, compared, printed = 0, 0, ""
    with tempfile.TemporaryDirectory() as directory:
        place = {"cwd": directory, "env": os.environ | {"PATH": f"{psi.resolve().parent}:/usr/bin:/bin"}, "text": True}
        for language, text in blocks(page):
            if language == "sh" and text not in readme:
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **place)
                printed = done.stdout
                commands += len(text.splitlines())
                if done.returncode:
                    sys.exit(f"{text}failed:\n{printed}")
            if language == "text":
                compared += 1
                if not agrees(text, printed):
                    sys.exit(f"docs/tutorial.md shows:\n{text}\npsi printed:\n{printed}")
        report = subprocess.run(
            ["psi", "report", "bike.psi", "bike.csv", "-o", "bike.html", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            **place,
        )
    quoted = " ".join(line.removeprefix(">").strip() for line in page.read_text().splitlines() if line.startswith(">"))
    for sentence in json.loads(report.stdout)["verdict"]:
        compared += 1
        if sentence not in quoted:
            sys.exit(f"docs/tutorial.md does not quote the report's sentence:\n{sentence}")
    print(f"tutorial ok: {commands} commands run, {compared} outputs and sentences compared")


main(Path(sys.argv[1]))
