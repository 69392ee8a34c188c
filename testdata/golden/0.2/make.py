#!/usr/bin/env python3
"""Makes the model files of psi 0.2, the rows they are asked about and the answers that psi 0.2 gave.

    make.py PSI_OF_0.2 DIRECTORY

The files here were made at revision 5221a5d, which still called itself 0.1.0, on one CPU with AVX-512. They are kept as they are. Made
again by that revision, they are the same, except for non-negative, whose training a clock ends, and times in documents.json. The model
"paper" was made later, by the revision that added it.

Later programs must read the models and give the same answers (TestGolden): commands.json has the command of each. documents.json has the
JSON documents of commands that train or write files, whose form is kept (TestGoldenDocuments); OUT is a directory. flags.txt lists all
flags (TestGoldenFlags), routes.txt all HTTP routes (TestGoldenRoutes).
"""

import base64
import csv
import json
import math
import random
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

psi, directory = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
trees = Path(__file__).resolve().parents[3] / "internal/trees/testdata"
TRAINED, ASKED = 400, 4
SETTINGS = {
    "steps": 300, "refit_steps": 30, "spread_steps": 60, "polish_steps": 30, "lr": 0.01, "refit_lr": 0.005,
    "channels": 16, "pairs": 0, "pair_rank": 0, "bins": 6, "embedding": 6, "frequencies": 3, "sigma_width": 3, "hidden_width": 3, "bags": 0,
}  # fmt: skip
COLUMNS = ["a", "b", "c", "d", "flag", "word", "when"]
commands: dict[str, list[str]] = {}

Target = Callable[[float, random.Random], object]
Outcome = Callable[[list[float]], object]
Row = dict[str, object]


def cells(draw: random.Random) -> tuple[Row, float]:
    """A row of every kind of column, a tenth of whose cells are missing, and the value that its target follows."""
    a, b, c, d = draw.gauss(0, 1), draw.uniform(-4, 4), draw.choice([1, 2, 5, 10]), draw.expovariate(1)
    flag, word, hour, day = draw.random() < 0.4, draw.choice(["x", "y", "z", "long one"]), draw.randrange(24), draw.randrange(28)
    value = a * b + c / 5 + (2 if flag else 0) * (word == "x") + d + abs(hour - 12) / 6 + draw.gauss(0, 0.3)
    row = dict(zip(COLUMNS, [f"{a:.5f}", f"{b:.5f}", c, f"{d:.5f}", str(flag).lower(), word, f"2024-03-{day + 1:02d}T{hour:02d}:30:00"]))
    return {name: "" if draw.random() < 0.1 else cell for name, cell in row.items()}, value


def write(name: str, rows: list[Row]) -> str:
    with (directory / name).open("w", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(rows)
    return name


def table(name: str, rows: int, seed: int, target: Target, change: Callable[[Row, random.Random], Row] = lambda row, _: row) -> str:
    draw = random.Random(seed)
    made = []
    for _ in range(rows):
        row, value = cells(draw)
        made.append(change(row | {"y": target(value, draw)}, draw))
    if rows == ASKED:  # the last row has a label that no model knows, and a number far away
        made[-1] |= {name: cell for name, cell in {"word": "unheard", "b": "1e6"}.items() if name in made[-1]}
    return write(name, made)


def run(*command: str) -> str:
    return subprocess.run([psi, *command], cwd=directory, check=True, stdout=subprocess.PIPE, text=True).stdout


def answer(name: str, *command: str) -> None:
    (directory / "answers" / name).write_text(run(*command))
    commands[name] = list(command)


def answers(name: str, rows: str, references: bool = True, interactions: bool = True) -> None:
    """What every model says, in its own game and in those with reference rows."""
    model = f"{name}.psi"
    answer(f"{name}.inspect.json", "inspect", model, "--json")
    answer(f"{name}.predict.json", "predict", model, rows, "--json")
    answer(f"{name}.predict.csv", "predict", model, rows)
    answer(f"{name}.explain.json", "explain", model, rows, "--json")
    if interactions:
        answer(f"{name}.interactions.json", "explain", model, rows, "--rows", "1", "--json", "--interactions")
    if references:
        one = rows.replace("rows-", "row-")
        lines = (directory / rows).read_text().splitlines(keepends=True)
        (directory / one).write_text(lines[0] + lines[-2])
        for game, reference in {"baseline": one, "interventional": rows}.items():
            answer(f"{name}.{game}.json", "explain", model, rows, "--rows", "2", "--json", f"--game={game}", "--reference", reference)


def trained(name: str, rows: str, training: str, *flags: str, **settings: object) -> None:
    sets = [f"--set={key}={value}" for key, value in (SETTINGS | settings).items()]
    run("train", training, "--target=y", *flags, *sets, "-o", f"{name}.psi")
    print(name, (directory / f"{name}.psi").stat().st_size, rows)


def number(value: float, _: random.Random) -> str:
    return f"{value:.4f}"


def two(value: float, _: random.Random) -> str:
    return "yes" if value > 3 else "no"


def three(value: float, _: random.Random) -> str:
    return "ABC"[(value > 2) + (value > 4)]


def positive(value: float, _: random.Random) -> str:
    return f"{math.exp(value / 2):.5f}"


def count(value: float, _: random.Random) -> int:
    return max(0, round(value))


def further(row: Row, draw: random.Random) -> Row:
    """Columns that training leaves out, rare labels, and weights."""
    if draw.random() < 0.01:
        row["word"] = "rare"
    return {"id": f"n{draw.getrandbits(60):x}", "same": 1} | row | {"w": draw.choice(["0.5", "1", "2"])}


def written(row: Row, draw: random.Random) -> Row:
    """Numbers, dates, the target and weights as people write them."""
    price, share, day = draw.uniform(1, 9000), draw.uniform(0, 99), draw.randrange(28)
    value = price / 1000 + share / 20 + draw.gauss(0, 0.2)
    return {
        "price": f"${price:,.2f}", "share": f"{share:.1f}%".replace(".", ","), "day": f"{day + 1:02d}.03.2024", "a": row["a"],
        "y": f"{value:.2f} €", "w": draw.choice(["10%", "20%"]),
    }  # fmt: skip


def leaking(row: Row, draw: random.Random) -> Row:
    """A column that tells the target, and many that tell nothing."""
    return {f"n{i}": f"{draw.gauss(0, 1):.3f}" for i in range(4)} | {"told": f"{float(row['y']) + draw.gauss(0, 1e-3):.4f}", "y": row["y"]}


def networks() -> None:
    for target in (number, two, three, positive, count):
        table(f"rows-{target.__name__}.csv", ASKED, 2, target)
        table(f"training-{target.__name__}.csv", TRAINED, 1, target)

    table("training-further.csv", TRAINED, 1, number, further)
    flags = ["--group=both=a,b", "--missing-as-level=d,word", "--weight=w", "--missing=long one", "--reference-rows=12"]
    trained("pairs", "rows-number.csv", "training-further.csv", *flags, pairs=2, pair_rank=1, channels=32, bags=2)
    answers("pairs", "rows-number.csv")
    answer("pairs.wide.csv", "explain", "pairs.psi", "rows-number.csv", "--format", "csv", "--rows", "2", "--interactions")
    answer("pairs.long.csv", "explain", "pairs.psi", "rows-number.csv", "--format", "csv", "--rows", "2", "--layout", "long")
    answer("pairs.exact.json", "explain", "pairs.psi", "rows-number.csv", "--json", "--rows", "2", "--mode", "exact")
    groups = ["--group", "three=b,c,word", "--unknown", "a"]
    answer("pairs.groups.json", "explain", "pairs.psi", "rows-number.csv", "--json", "--rows", "2", *groups)
    answer("pairs.questions.json", "ask", "pairs.psi", "rows-number.csv", "--unknown", "a,d,word", "--json")
    answer("pairs.evaluation.json", "evaluate", "pairs.psi", "rows-number.csv", "--json")
    answer("pairs.audit.json", "audit", "pairs.psi", "rows-number.csv", "--json")

    trained("product", "rows-two.csv", "training-two.csv", "--validation-by=c", members=2)
    answers("product", "rows-two.csv")
    answer("product.evaluation.json", "evaluate", "product.psi", "rows-two.csv", "--json")
    trained("three", "rows-three.csv", "training-three.csv", bags=2, frequencies=0, hidden=2)
    answers("three", "rows-three.csv")
    answer("three.contrast.json", "explain", "three.psi", "rows-three.csv", "--json", "--output", "A", "--against", "C")
    answer("three.evaluation.json", "evaluate", "three.psi", "rows-three.csv", "--json")
    trained("learned", "rows-two.csv", "training-two.csv", "--head=learned", width=12)
    answers("learned", "rows-two.csv", references=False, interactions=False)
    answer("learned.exact.json", "explain", "learned.psi", "rows-two.csv", "--json", "--rows", "2", "--mode", "exact", "--interactions")
    paper = {"activation": "snake", "norm": "layer", "likelihood": "joint", "estimator": "abs", "sampler": "two-thirds"}
    trained("paper", "rows-number.csv", "training-number.csv", "--head=learned", width=12, **paper)
    answers("paper", "rows-number.csv", references=False, interactions=False)
    trained("tensor-train", "rows-number.csv", "training-number.csv", "--order-by=when", form="tensor-train", rank=2, channels=4)
    answers("tensor-train", "rows-number.csv", references=False)
    trained("log", "rows-positive.csv", "training-positive.csv", "--target-scale=log", bags=2)
    answers("log", "rows-positive.csv")
    trained("log-mean", "rows-positive.csv", "training-positive.csv", "--effort=fast")
    answers("log-mean", "rows-positive.csv")
    trained("non-negative", "rows-count.csv", "training-count.csv", "--time-budget=1s", "--seed=5", steps=20000)
    answers("non-negative", "rows-count.csv")

    table("rows-written.csv", ASKED, 2, number, written)
    table("training-written.csv", TRAINED, 1, number, written)
    trained("readings", "rows-written.csv", "training-written.csv", "--weight=w")
    answers("readings", "rows-written.csv")
    table("rows-leaking.csv", ASKED, 2, number, leaking)
    table("training-leaking.csv", 60, 1, number, leaking)
    trained("suspects", "rows-leaking.csv", "training-leaking.csv")
    answers("suspects", "rows-leaking.csv", references=False)

    table("later.csv", 60, 3, lambda value, draw: number(3 + 2 * value, draw), further)
    run("recalibrate", "pairs.psi", "later.csv", "-o", "recalibrated.psi")
    answers("recalibrated", "rows-number.csv")
    table("later.csv", 60, 3, lambda value, draw: two(value - 1, draw))
    run("recalibrate", "product.psi", "later.csv", "-o", "recalibrated-two.psi")
    answers("recalibrated-two", "rows-two.csv", references=False)


def forest(library: str, name: str) -> tuple[str, list[str], list[list[object]], list[list[float]]]:
    """A file of another program, its columns, rows and outputs."""
    found = next(f for f in json.loads((trees / f"{library}.json").read_text()) if f["name"] == name)
    suffix = {"lightgbm": "txt", "onnx": "onnx"}.get(library, "json")
    (directory / f"trees.{suffix}").write_bytes(base64.b64decode(found["binary"]) if library == "onnx" else found["model"].encode())
    columns = found.get("columns") or [f"x{i}" for i in range(len(found["rows"][0]))]
    return f"trees.{suffix}", [c.replace(" ", "_") if library == "lightgbm" else c for c in columns], found["rows"], found.get("raw", [])


def imported(name: str, library: str, kind: str, *flags: str, target: Outcome | None = None, references: bool = True) -> None:
    file, columns, rows, raw = forest(library, kind)
    listed = [dict(zip(columns, row)) for row in rows]
    more = list(flags)
    if target:
        more += ["--rows", write("holdout.csv", [row | {"y": target(out)} for row, out in zip(listed, raw)])]
    write(f"rows-{name}.csv", listed[:ASKED])
    run("import", file, "--target=y", *more, "-o", f"{name}.psi")
    print(name, (directory / f"{name}.psi").stat().st_size)
    answers(name, f"rows-{name}.csv", references)
    (directory / file).unlink()


def forests() -> None:
    noise = random.Random(4)
    imported("lightgbm", "lightgbm", "number with labels", target=lambda out: out[0] + noise.gauss(0, 0.3))
    imported("xgboost", "xgboost", "three classes")
    imported("xgboost-gamma", "xgboost", "gamma", target=lambda out: math.exp(out[0]) * noise.uniform(0.8, 1.2))
    imported("catboost", "catboost", "two classes", "--classes=no,yes")
    imported("forest", "open", "forest", references=False)


def mixture() -> None:
    """A network and trees whose missing values mean an absent column."""
    file, columns, rows, raw = forest("lightgbm", "number")
    draw = random.Random(6)

    def hidden(i: int) -> Row:
        row = {name: "" if cell is None or draw.random() < 0.1 else cell for name, cell in zip(columns, rows[i])}
        return row | {"y": raw[i][0] + draw.gauss(0, 0.3)}

    training = write("training-mixture.csv", [hidden(i % len(rows)) for i in range(200)])
    holdout = write("holdout.csv", [hidden(i % len(rows)) for i in range(240)])
    write("rows-mixture.csv", [hidden(i) for i in range(ASKED)])
    run("import", file, "--target=y", "--absent=missing-branch", "--masked", "--rows", holdout, "-o", "masked.psi")
    answers("masked", "rows-mixture.csv", references=False)
    trained("network", "rows-mixture.csv", training)
    run("mix", "network.psi", "masked.psi", "--rows", holdout, "-o", "mixture.psi")
    answers("mixture", "rows-mixture.csv", references=False)
    for seed in (1, 2):
        trained(f"seed{seed}", "rows-three.csv", "training-three.csv", f"--seed={seed}", lr=0.002, refit_lr=0.001)
    run("mix", "seed1.psi", "seed2.psi", "--rows", table("holdout.csv", 400, 7, three), "-o", "mixture-of-networks.psi")
    answers("mixture-of-networks", "rows-three.csv")
    for name in (file, "network.psi", "seed1.psi", "seed2.psi"):
        (directory / name).unlink()


def documents() -> None:
    sets = [f"--set={key}={value}" for key, value in (SETTINGS | {"steps": 30, "bags": 2}).items()]
    kept = []
    with tempfile.TemporaryDirectory() as out:
        for command in (
            ["sample", "synth1", "--rows=240", "--truth=OUT/truth.csv", "-o", "OUT/t.csv"],
            ["sample", "bike", "--rows=10", "-o", "OUT/bike.csv"],
            ["train", "--help-config"],
            ["train", "OUT/t.csv", "--target=y", *sets, "-o", "OUT/m.psi"],
            ["cv", "OUT/t.csv", "--target=y", "--folds=2", *sets],
            ["recalibrate", "OUT/m.psi", "OUT/t.csv", "-o", "OUT/r.psi"],
            ["import", "trees.json", "--target=y", "--classes=no,yes", "-o", "OUT/i.psi"],
            ["explain", "OUT/m.psi", "OUT/t.csv", "-o", "OUT/e.csv"],
            ["predict", "OUT/m.psi", "OUT/t.csv", "-o", "OUT/p.csv"],
            ["evaluate", "product.psi", "rows-two.csv", "--threshold=0.5"],
            ["plot", "bar", "OUT/m.psi", "OUT/t.csv", "--data=OUT/bar.csv", "-o", "OUT/bar.svg"],
            ["report", "OUT/m.psi", "OUT/t.csv", "-o", "OUT/r.html"],
            ["export", "onnx", "OUT/m.psi", "-o", "OUT/m.onnx"],
            ["batch", "run", "OUT/m.psi", "OUT/t.csv", "OUT/batch"],
            ["batch", "status", "OUT/batch"],
            ["doctor"],
            ["predict", "OUT/absent.psi", "OUT/t.csv"],
            ["predict", "--no-such-flag"],
        ):
            command.append("--json")
            ran = subprocess.run([psi, *(word.replace("OUT", out) for word in command)], cwd=directory, stdout=subprocess.PIPE, text=True)
            kept.append({"command": command, "code": ran.returncode, "document": json.loads(ran.stdout.replace(out, "OUT"))})
    (directory / "documents.json").write_text(json.dumps(kept, indent=1) + "\n")


def flags() -> None:
    """All commands and flags, from the page that the program wrote."""
    command, lines = "psi", []
    for line in (Path(__file__).resolve().parents[3] / "docs/cli.md").read_text().splitlines():
        if heading := re.fullmatch("#+ (psi .*)", line):
            command = heading[1]
        if flag := re.match("  (-., |    )(--[a-z-]+)", line):
            lines.append(f"{command} {flag[2]}\n")
    (directory / "flags.txt").write_text("".join(lines))


def routes() -> None:
    """All HTTP routes, with their query parameters, and the fields of their JSON bodies (<) and answers (>)."""
    address = "127.0.0.1:18431"
    server = subprocess.Popen([psi, "serve", "product.psi", "--http", address, "--grpc=", "--metrics="], cwd=directory)
    for _ in range(100):
        try:
            document = json.load(urllib.request.urlopen(f"http://{address}/openapi.json"))
            break
        except OSError:
            time.sleep(0.1)
    server.terminate()

    def fields(schema: dict[str, object], at: str) -> set[str]:
        if "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        found = {f"{at}.{name}" for name in schema.get("properties", {})}
        for name, inner in schema.get("properties", {}).items():
            found |= fields(inner, f"{at}.{name}")
        for inner in [schema["items"]] if "items" in schema else schema.get("oneOf", []):
            found |= fields(inner, at)
        return found

    def content(of: dict[str, object]) -> dict[str, object]:
        return of.get("content", {}).get("application/json", {}).get("schema", {})

    lines = set()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            route = f"{method.upper()} {path}"
            lines |= {route} | {f"{route} ?{p['name']}" for p in operation.get("parameters", []) if p["in"] == "query"}
            lines |= fields(content(operation.get("requestBody", {})), f"{route} <")
            lines |= fields(content(operation["responses"]["200"]), f"{route} >")
    (directory / "routes.txt").write_text("".join(line + "\n" for line in sorted(lines)))


(directory / "answers").mkdir(parents=True, exist_ok=True)
networks()
forests()
mixture()
forest("catboost", "two classes")
documents()
flags()
routes()
(directory / "commands.json").write_text(json.dumps(commands, indent=1) + "\n")
for pattern in ("training-*.csv", "later.csv", "holdout.csv"):
    for path in directory.glob(pattern):
        path.unlink()
