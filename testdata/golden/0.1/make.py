#!/usr/bin/env python3
"""Makes the model files of format 1, the rows they are asked about and the answers that psi 0.1 gave.

    make.py PSI_OF_0.1 DIRECTORY

The files here were made at revision 099bb92 (psi 0.1.0) with ONNX Runtime 1.30.0 on one CPU. They are kept as they are: later programs must
read them and give the same answers (TestGolden). Since then the answers have moved to answers, and commands.json has their commands.
"""

import csv
import json
import random
import subprocess
import sys
from pathlib import Path

psi, directory = sys.argv[1], Path(sys.argv[2])
TRAINED, ASKED = 400, 12
SETTINGS = {
    "steps": 60, "refit_steps": 20, "spread_steps": 30, "polish_steps": 10,
    "channels": 24, "bins": 12, "embedding": 12, "frequencies": 5, "sigma_width": 6, "hidden_width": 7,
}  # fmt: skip


def table(name: str, rows: int, seed: int, target: str) -> Path:
    """A table of every kind of column, a tenth of whose cells are missing."""
    draw = random.Random(seed)
    path = directory / f"{name}.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["a", "b", "c", "d", "flag", "word", "colour", "when", "y"])
        for _ in range(rows):
            a, b, c = draw.gauss(0, 1), draw.uniform(-4, 4), draw.choice([1, 2, 5, 10])
            d, flag = draw.expovariate(1), draw.random() < 0.4
            word, colour = draw.choice(["x", "y", "z", "long one"]), draw.choice("rgb")
            hour, day = draw.randrange(24), draw.randrange(28)
            value = a * b + c / 5 + (2 if flag else 0) * (word == "x") + (colour == "r") * d + abs(hour - 12) / 6 + draw.gauss(0, 0.3)
            y = {"number": f"{value:.4f}", "two": "yes" if value > 1.5 else "no", "seven": "ABCDEFG"[min(6, max(0, int(value + 2)))]}[target]
            cells = [f"{a:.5f}", f"{b:.5f}", c, f"{d:.5f}", str(flag).lower(), word, colour, f"2024-03-{day + 1:02d}T{hour:02d}:30:00"]
            out.writerow([("" if draw.random() < 0.1 else cell) for cell in cells] + [y])
    return path


def made(name: str, target: str, *flags: str, **settings: object) -> None:
    rows = table("rows-" + target, ASKED, 2, target)
    training = table("training-" + target, TRAINED, 1, target)
    model = directory / f"{name}.psi"
    sets = [f"--set={key}={value}" for key, value in (SETTINGS | settings).items()]
    subprocess.run([psi, "train", training, "--target=y", "--backend=onnx", *flags, *sets, "-o", model], check=True)
    training.unlink()
    exact = "--head=learned" not in flags
    told = subprocess.run([psi, "explain", model, rows, "--json", *(["--interactions"] if exact else [])], check=True, capture_output=True, text=True)
    (directory / f"{name}.json").write_text(json.dumps(json.loads(told.stdout), separators=(",", ":")) + "\n")


directory.mkdir(exist_ok=True)
made("number", "number", "--group=both=a,b", "--missing-as-level=d,colour")
made("two", "two")
made("seven", "seven", hidden=2)
made("members", "number", "--members=3")
made("wide", "number", "--drop=when", hidden=0, frequencies=0, channels=64)
made("learned", "two", "--head=learned", width=24)
made("tensor-train", "number", form="tensor-train", rank=2, channels=6)
