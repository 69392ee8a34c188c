#!/usr/bin/env python3
"""Measures `psi serve`: what a request costs, how much it carries beside a service in Python, and whether it lasts.

serving.py load      what rows cost the server, beside the bare forward pass of the same model
serving.py capacity  the highest rate with a p99 within a limit, beside LightGBM behind FastAPI (serving/peer.py)
serving.py soak      long, with models replaced, slow and vanishing callers and bursts, every answer checked
serving.py soak --attacks   half the load, beside the attacks of scripts/faults in turn; needs its requirements.txt

Each keeps its figures in bench/serving and writes SERVING.md anew. Without --model, the default model of adult is trained first.
"""

import argparse
import csv
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
KEPT = HERE / "serving"
ATTACKED = KEPT / "attacked.json"
CACHE = HERE / ".cache" / "serving"
ENVIRONMENT = os.environ | {"CGO_ENABLED": "0"}

CALIBRATES = 10  # seconds that a soak takes to make its requests and to find out what the server carries

FORMS = ["grpc", "json", "binary"]
DEPTHS = ["values", "spread", "attributions"]
SIZES = [64, 1]

Figures = dict[str, Any]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench/serving.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["load", "capacity", "soak", "page"], help="page writes SERVING.md alone")
    parser.add_argument("--seconds", type=float, help="of each measurement (load 5, capacity 8, soak 900)")
    parser.add_argument("--rounds", type=int, default=3, help="of load: each case once in each (default 3)")
    parser.add_argument("--steps", type=int, default=6, help="of capacity: rates tried after the first (default 6)")
    parser.add_argument("--limit", type=float, default=100, help="of capacity: p99, in ms (default 100)")
    parser.add_argument("--connections", type=int, default=8, help="requests in progress in closed loops (default 8)")
    parser.add_argument("--every", type=float, default=10, help="of soak: seconds between new model files (default 10)")
    parser.add_argument("--attacks", action="store_true", help="of soak: attack the server meanwhile, in a memory cgroup")
    parser.add_argument("--model", type=Path, help="model of adult, called adult.psi (default: one is trained)")
    parser.add_argument("--other", type=Path, help="another model of adult, for soak (default: one is trained)")
    parser.add_argument("--venv", type=Path, default=KEPT / ".venv", help="of Python's packages (default bench/serving/.venv)")
    parser.add_argument("--psi", type=Path, help="the program (default: built from the source)")
    args = parser.parse_args()
    args.seconds = args.seconds or {"load": 5, "capacity": 8, "soak": 900, "page": 0}[args.what]
    return args


def main() -> int:
    args = arguments()
    python = Path(sys.executable) if args.attacks else packages(args.venv)
    if args.what != "page":
        tools = prepare(args, python)
        with tempfile.TemporaryDirectory() as directory:
            {"load": load, "capacity": capacity, "soak": attacked_soak if args.attacks else soak}[args.what](args, tools, Path(directory))
    if (KEPT / "soak.csv").exists() and not args.attacks:
        subprocess.run([python, KEPT / "plots.py", KEPT / "soak.csv", KEPT / "soak.svg"], check=True)
    text = page()
    (HERE / "SERVING.md").write_text(text)
    if not args.attacks:
        print(text)
        return 0
    found = json.loads(ATTACKED.read_text())
    print(attacked_section(ATTACKED))
    return int(found["outcomes"].get("wrong", 0) > 0 or bool(found["restarts"]))


def packages(venv: Path) -> Path:
    """Python with the packages of serving/requirements.txt."""
    listed, installed = KEPT / "requirements.txt", venv / "installed"
    if not installed.exists() or installed.read_text() != listed.read_text():
        subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
        install = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r", listed]
        subprocess.run([venv / "bin" / "pip", *install], check=True)
        shutil.copy(listed, installed)
    return venv / "bin" / "python"


@dataclass(frozen=True)
class Tools:
    psi: Path
    load: Path
    model: Path
    other: Path
    rows: Path
    python: Path
    peer: Path  # LightGBM's model

    def ask(self, loop: str, *flags: str) -> Figures:
        done = subprocess.run(
            [self.load, loop, *flags, self.model, self.rows], env=ENVIRONMENT, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise RuntimeError(f"load {loop} {' '.join(flags)}: {done.stderr}")
        return json.loads(done.stdout)


def prepare(args: argparse.Namespace, python: Path) -> Tools:
    """Builds the programs and trains the models that are missing."""
    CACHE.mkdir(parents=True, exist_ok=True)
    psi = args.psi or CACHE / "psi"
    for to, package in [(CACHE / "load", "./serve/internal/load")] + ([] if args.psi else [(psi, "./cmd/psi")]):
        run("go", "build", "-o", to, package, cwd=ROOT)
    rows, model, other = CACHE / "adult.csv", args.model or CACHE / "adult.psi", args.other or CACHE / "other.psi"
    if not rows.exists():
        run(psi, "sample", "adult", "-o", rows)
    train = [psi, "train", rows, "--target", "income", "--positive", ">50K"]
    if not model.exists():
        run(*train, "-o", model)
    if args.what == "soak" and not other.exists():
        run(*train, "--seed", "2", "--time-budget", "1m", "-o", other)
    peer = CACHE / "peer.txt"
    if args.what == "capacity" and not peer.exists():
        run(python, KEPT / "peer.py", rows, "income", peer)
    return Tools(psi.resolve(), CACHE / "load", model.resolve(), other.resolve(), rows, python, peer)


def run(*command: Any, **how: Any) -> None:
    subprocess.run([str(c) for c in command], env=ENVIRONMENT, check=True, **how)


@dataclass(frozen=True)
class Service:
    pid: int
    http: str
    grpc: str = ""
    metrics: str = ""

    def flags(self) -> list[str]:
        return ["-pid", str(self.pid), "-http", self.http, "-grpc", self.grpc, "-metrics", self.metrics]


@contextmanager
def started(command: list[Any], log: Path, **more: str) -> Iterator[subprocess.Popen[str]]:
    with log.open("w") as errors:
        process = subprocess.Popen(
            [str(c) for c in command], env=ENVIRONMENT | more, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=KEPT
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def psi_service(tools: Tools, directory: Path) -> Iterator[Service]:
    """psi serve, with a copy of the model as adult.psi in the directory's models."""
    (directory / "models").mkdir()
    shutil.copy(tools.model, directory / "models" / "adult.psi")
    ports = [flag for name in ["http", "grpc", "metrics"] for flag in [f"--{name}", "127.0.0.1:0"]]
    with started([tools.psi, "serve", "--json", *ports, directory / "models"], directory / "psi.log") as process:
        addresses = json.loads(process.stdout.readline())
        yield Service(process.pid, addresses["http"], addresses["grpc"], addresses["metrics"])


@contextmanager
def peer_service(tools: Tools, directory: Path, threads: int) -> Iterator[Service]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [tools.python, "-m", "uvicorn", "peer:app", "--port", port, "--log-level", "warning", "--no-access-log"]
    more = {"PEER_MODEL": str(tools.peer), "PEER_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    with started(command, directory / f"peer{threads}.log", **more) as process:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/docs", timeout=5).read()
                break
            except urllib.error.URLError:
                time.sleep(0.1)
        yield Service(process.pid, f"127.0.0.1:{port}")


def load(args: argparse.Namespace, tools: Tools, directory: Path) -> None:
    """What rows cost the server and what the bare pass of them costs, in turn."""
    lines: list[Figures] = []
    times = ["-warm", "1s", "-for", f"{args.seconds}s"]
    with psi_service(tools, directory) as service:
        for turn in range(args.rounds):
            for rows in SIZES:
                bare = tools.ask("bare", *times, "-rows", str(rows))
                for depth in DEPTHS:
                    cpu, wall = bare["cpu_us_per_row"][depth], bare["wall_us_per_row"][depth]
                    lines.append({"round": turn, "form": "bare", "ask": depth, "request_rows": rows,
                                  "rows_per_second": 1e6 / wall, "server_cpu_us_per_row": cpu})
                for form in FORMS:
                    for depth in DEPTHS:
                        flags = ["-form", form, "-ask", depth, "-rows", str(rows), "-connections", str(args.connections)]
                        got = tools.ask("closed", *flags, *times, *service.flags())
                        outcomes = got.pop("outcomes")
                        lines.append({"round": turn, **got, "failed": sum(outcomes.values()) - outcomes.get("ok", 0)})
                        print(turn, form, depth, rows, f"{got['rows_per_second']:.0f} rows/s",
                              f"{got['server_cpu_us_per_row']:.0f} µs/row", flush=True)
    write_csv(KEPT / "load.csv", lines)


def capacity(args: argparse.Namespace, tools: Tools, directory: Path) -> None:
    """The highest rate of each service that keeps the limit; the services take turns."""
    lines: list[Figures] = []
    cores = len(os.sched_getaffinity(0))
    with (
        psi_service(tools, directory) as psi,
        peer_service(tools, directory, 1) as one,
        peer_service(tools, directory, cores) as all_cores,
    ):
        services = {
            "psi, gRPC": (psi, "grpc"),
            "psi, JSON": (psi, "rows"),
            "LightGBM, 1 thread a request": (one, "rows"),
            f"LightGBM, {cores} threads a request": (all_cores, "rows"),
        }
        for rows in SIZES:
            bounds = {name: [0.0, 0.0] for name in services}  # a rate that is kept, one that is not
            for step in range(args.steps + 1):
                for name, (service, form) in services.items():
                    flags = [*service.flags(), "-form", form, "-rows", str(rows), "-warm", "2s", "-for", f"{args.seconds}s"]
                    if step == 0:
                        got = tools.ask("closed", *flags, "-connections", str(args.connections))
                        bounds[name][1] = 1.2 * got["requests_per_second"]
                        rate = 0.0
                    else:
                        rate = sum(bounds[name]) / 2
                        got = tools.ask("open", *flags, "-connections", "128", "-rate", f"{rate:.3f}")
                    outcomes = got.pop("outcomes")
                    failed = sum(outcomes.values()) - outcomes.get("ok", 0)
                    kept = got["p99_ms"] <= args.limit and failed == 0 and got["requests_per_second"] >= 0.95 * rate
                    if step > 0:
                        bounds[name][0 if kept else 1] = rate
                    lines.append({"service": name, "step": step, **got, "failed": failed, "limit_ms": args.limit, "kept": kept})
                    print(name, rows, f"rate {rate:.1f}", f"{got['rows_per_second']:.0f} rows/s",
                          f"p99 {got['p99_ms']:.1f} ms", "kept" if kept else "not kept", flush=True)
    write_csv(KEPT / "capacity.csv", lines)


def soak(args: argparse.Namespace, tools: Tools, directory: Path) -> None:
    with psi_service(tools, directory) as service:
        found = soaked(args, tools, service, directory / "models" / "adult.psi", KEPT / "soak.csv")
    if found["silent"]:
        raise RuntimeError(f"the server told no metrics for {found['silent']} s: " + (directory / "psi.log").read_text()[-2000:])
    (KEPT / "soak.json").write_text(json.dumps(found, indent=1) + "\n")


def soaked(args: argparse.Namespace, tools: Tools, service: Service, model: Path, samples: Path, *flags: str | Path) -> Figures:
    """Runs a soak of a service that serves the model file."""
    done = subprocess.run(
        [tools.load, "soak", *service.flags(), "-for", f"{args.seconds}s", "-every", f"{args.every}s",
         "-connections", "2048", "-timeout", "30s", "-replace", model, "-samples", samples, *flags,
         tools.model, tools.other, tools.rows],
        env=ENVIRONMENT, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def attacked_soak(args: argparse.Namespace, tools: Tools, directory: Path) -> None:
    """Half the load that the server carries, while the attacks of scripts/faults take turns."""
    sys.path.insert(0, str(ROOT / "scripts"))
    from faults.scene import Scene
    from faults.soak import UnderAttack

    os.environ.update(ENVIRONMENT)
    scene = Scene(tools.psi, tools.load, tools.model, tools.rows, directory)
    with UnderAttack(scene, directory) as attacked:
        server = attacked.server
        service = Service(server.process.pid, *(f"127.0.0.1:{port}" for port in server.ports))
        threading.Timer(CALIBRATES, attacked.begin).start()
        flags = ["-share", "0.5", "-bursts", "0", "-token-file", scene.token_file("operator")]
        found = soaked(args, tools, service, server.models / "adult.psi", directory / "samples.csv", *flags)
    found |= {"restarts": attacked.restarts, "attacks": dict(attacked.runs)}
    ATTACKED.write_text(json.dumps(found, indent=1) + "\n")


def write_csv(to: Path, lines: list[Figures]) -> None:
    columns = list(dict.fromkeys(key for line in lines for key in line))
    with to.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: round(v, 3) if isinstance(v, float) else v for k, v in line.items()} for line in lines)


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def page() -> str:
    text = "# Serving\n\nWritten by `bench/serving.py` from the figures in `bench/serving`; the default model of adult, 12 columns.\n"
    text += "The server, the services beside it and the generator of requests share this machine's two cores.\n"
    for name, section in [("load.csv", load_section), ("capacity.csv", capacity_section), ("soak.json", soak_section),
                          ("attacked.json", attacked_section)]:
        if (KEPT / name).exists():
            text += section(KEPT / name)
    return text


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |\n"


def table(head: list[str], lines: list[list[str]]) -> str:
    return "\n" + row(*head) + row(*["---"] * len(head)) + "".join(row(*line) for line in lines)


def load_section(path: Path) -> str:
    cases: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for line in read_csv(path):
        cases.setdefault((line["request_rows"], line["ask"], line["form"]), []).append(line)

    def middle(lines: list[dict[str, str]], key: str) -> float:
        return median(float(line[key]) for line in lines)

    def ratio(rows: str, a: tuple[str, str], b: tuple[str, str]) -> float:
        """Of CPU time per row, round by round."""
        pairs = zip(cases[rows, *a], cases[rows, *b], strict=True)
        return median(float(x["server_cpu_us_per_row"]) / float(y["server_cpu_us_per_row"]) for x, y in pairs)

    rounds = len(next(iter(cases.values())))
    connections = next(lines[0]["connections"] for lines in cases.values() if lines[0]["form"] != "bare")
    lines = []
    for size in map(str, SIZES):
        for depth in DEPTHS:
            for form in ["bare", *FORMS]:
                case = cases[size, depth, form]
                cells = [size, depth, form, f"{middle(case, 'rows_per_second'):,.0f}"]
                if form == "bare":
                    cells += ["–"] * 4
                else:
                    cells += [f"{middle(case, 'requests_per_second'):,.0f}"]
                    cells += [f"{middle(case, key):.1f}" for key in ["p50_ms", "p99_ms", "p999_ms"]]
                cells += [f"{middle(case, 'server_cpu_us_per_row'):.1f}", f"{ratio(size, (depth, form), (depth, 'bare')):.2f}"]
                cells.append("–" if form == "bare" else str(sum(int(line["failed"]) for line in case)))
                lines.append(cells)
    explained = ratio("64", ("attributions", "grpc"), ("attributions", "bare"))
    predicted = ratio("64", ("attributions", "grpc"), ("values", "grpc"))
    return f"""
## What a row costs

`bench/serving.py load`. Closed loop, {connections} requests always under way, {rounds} round{"s" * (rounds > 1)} in which all cases and the bare
forward pass (`Model.Pass` of rows that are in memory, in a process of its own) took turns; medians. values: `prediction`;
spread: with `prediction_std` and `probability`; attributions: `prediction`, `base`, `attribution_mean` and `attribution_std`.
CPU time is that of the server's process.

Over gRPC, requests of 64 rows: a row explained costs {explained:.2f} times the bare pass and
{predicted:.2f} times a row predicted (bar: at most 2.5); bar: at least 60,000 rows explained a second.
""" + table(["rows", "asked for", "form", "rows/s", "requests/s", "p50, ms", "p99, ms", "p99.9, ms",
             "CPU µs/row", "× bare", "failed"], lines)


def capacity_section(path: Path) -> str:
    tried = read_csv(path)
    best: dict[tuple[str, str], dict[str, str]] = {}
    for line in tried:
        key = (line["request_rows"], line["service"])
        best.setdefault(key, {})
        if line["loop"] == "open" and line["kept"] == "True" and float(line["rate"]) > float(best[key].get("rate", 0)):
            best[key] = line
    lines, bars = [], []
    for size in map(str, SIZES):
        of_peers = [line for line in tried if line["request_rows"] == size and "LightGBM" in line["service"]]
        peers = [float(b["rows_per_second"]) for (s, name), b in best.items() if s == size and b and "LightGBM" in name]
        # Where it never keeps the limit, what it does without one stands for it.
        peers = peers or [float(line["rows_per_second"]) for line in of_peers if line["loop"] == "closed"]
        for (s, name), b in best.items():
            if s != size:
                continue
            if not b:
                lines.append([size, name, "none", "–", "–", "–", "–"])
                continue
            times = float(b["rows_per_second"]) / max(peers)
            lines.append([size, name, f"{float(b['rows_per_second']):,.0f}", f"{float(b['requests_per_second']):,.1f}",
                          f"{float(b['p50_ms']):.1f}", f"{float(b['p99_ms']):.1f}", f"{times:.1f}"])
            if name == "psi, JSON":
                bars.append(f"{times:.1f} with {size} row{'s' if size != '1' else ''} a request")
    return f"""
## How much it carries

`bench/serving.py capacity`. Open loop: requests start at a fixed rate whatever became of those before, and their time counts from
when they were to start. The highest rate found by halving at which the p99 is at most {tried[0]["limit_ms"]} ms and no request fails. The
service beside psi gives predictions with contributions of LightGBM (500 trees of 31 leaves, trained on the same rows) by
FastAPI and uvicorn with one worker (`bench/serving/peer.py`); it and psi over JSON got the same bytes. psi answers with
standard deviations, intervals and probabilities beside each attribution.

Over JSON, rows/s of psi are {", ".join(bars)}, times those of LightGBM's better setting (bar: at least 10). Where
LightGBM keeps the limit at no rate, psi is compared with its rows/s without any limit.
""" + table(["rows", "service", "rows/s", "requests/s", "p50, ms", "p99, ms", "× LightGBM"], lines)


def soak_section(path: Path) -> str:
    found = json.loads(path.read_text())
    samples = read_csv(KEPT / "soak.csv")
    outcomes = dict(found["outcomes"])
    expected = sum(outcomes.pop(key, 0) for key in ["ok", "refused", "cancelled"])
    lines = [[key, f"{count:,}"] for key, count in sorted(found["outcomes"].items())]
    lines += [[f"slow connection, {key}", f"{count:,}"] for key, count in sorted(found["slow"].items())]

    def quarter(key: str, which: int) -> float:
        n = len(samples)
        return median(float(s[key]) for s in samples[n * which // 4 : max(n * (which + 1) // 4, n * which // 4 + 1)])

    flat = []
    for key, name, unit in [("resident_bytes", "resident memory", 2**20), ("heap_bytes", "Go's heap in use", 2**20),
                            ("goroutines", "goroutines", 1), ("files", "open files", 1)]:
        second, last = quarter(key, 1) / unit, quarter(key, 3) / unit
        flat.append([name + (", MiB" if unit > 1 else ""), f"{second:.0f}", f"{last:.0f}", f"{last / second - 1:+.1%}"])
    loads = float(samples[-1]["loads"]) if samples else 0
    return f"""
## Whether it lasts

`bench/serving.py soak`. {found["seconds"]:.0f} s of requests of all forms, depths and of 1, 8 and 64 rows at
{found["rate"]:.0f} a second, {found["rate"] / found["capacity_requests_per_second"]:.0%} of what the server answered when asked without pause; {found["bursts"]} bursts of 3 s at ten
times the rate; the model file replaced {found["swaps"]} times by one of another content ({loads:.0f} loads); {found["aborted"]:,} requests to be
broken off by the caller; 20 connections that send a byte a second. Every answer was checked: its predictions are those of one of the two
models ({found["answers"][0]:,} and {found["answers"][1]:,}), and its attributions sum to them.

{expected:,} requests ended as they should, {sum(outcomes.values()):,} otherwise{": " + found["first_failure"] if outcomes else ""}. Outside
of bursts the p50 was {found["p50_ms"]:.1f} ms, the p99 {found["p99_ms"]:.0f} ms.
""" + table(["outcome", "count"], lines) + table(["median", "second quarter", "last quarter", "change"], flat) + """
![Memory, goroutines and requests over time](serving/soak.svg)
"""


def attacked_section(path: Path) -> str:
    found = json.loads(path.read_text())
    outcomes, restarts = found["outcomes"], found["restarts"]
    during = "".join(f" ({count} during: {name})" for name, count in Counter(restarts).items())
    lines = [[key, f"{count:,}"] for key, count in sorted(outcomes.items(), key=lambda pair: -pair[1])]
    return f"""
## Whether it lasts under attack

`.ci/attacks soak`. {found["seconds"]:.0f} s of requests as above at {found["rate"]:.0f} a second, {found["rate"] / found["capacity_requests_per_second"]:.0%} of what the server
answered when asked without pause, in a memory cgroup of 2 GiB. Meanwhile {len(found["attacks"])} attacks of [docs/faults.md](../docs/faults.md) took
turns, {sum(found["attacks"].values())} in all. Wrong answers: {outcomes.get("wrong", 0)} (bar: 0). Restarts: {len(restarts)} (bar: 0){during}.
The p50 was {found["p50_ms"]:.1f} ms, the p99 {found["p99_ms"]:.0f} ms.
""" + table(["outcome", "count"], lines)


if __name__ == "__main__":
    sys.exit(main())
