#!/usr/bin/env python3
"""Measures `psi batch`: what it survives, how it grows with workers, and what a row costs.

batch.py kill    20 million rows through three NATS servers, an S3 server and four workers; workers, the stream's leader and
                 the S3 server are killed meanwhile, and the result is compared with that of an undisturbed run
batch.py cores   two workers against one, each on a core of its own
batch.py cost    CPU of a row in a unit against that of the bare passes
batch.py memory  of a worker on a file of 2 GB, and on one row group of 5 million rows

Each keeps its figures in bench/batch and writes BATCH.md anew. Needs Python with batch/requirements.txt.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
KEPT = HERE / "batch"
sys.path.insert(0, str(KEPT))

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from scene import CACHE, ENVIRONMENT, ROOT, Queue, Store, Worker, build, digest, fresh, run, status  # noqa: E402

Figures = dict[str, Any]
ROWS, FILES = 20_000_000, 40


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/batch.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["kill", "cores", "cost", "memory", "page"], help="page writes BATCH.md alone")
    parser.add_argument("--rows", type=int, default=ROWS, help="of kill (default 20 million)")
    parser.add_argument("--psi", type=Path, help="the program (default: built from the source)")
    parser.add_argument("--adult", type=Path, help="default model of adult (default: one is trained)")
    parser.add_argument("--california", type=Path, help="default model of california (default: one is trained)")
    return parser.parse_args()


def main() -> int:
    args = arguments()
    if args.what != "page":
        psi = build(args.psi)
        with tempfile.TemporaryDirectory(dir=CACHE) as directory:
            figures = {"kill": kill, "cores": cores, "cost": cost, "memory": memory}[args.what](args, psi, Path(directory))
        (KEPT / f"{args.what}.json").write_text(json.dumps(figures, indent=1) + "\n")
    text = page()
    (HERE / "BATCH.md").write_text(text)
    print(text)
    return 0


def model(psi: Path, given: Path | None, name: str, *more: str) -> Path:
    """A default model of a set, trained once."""
    if given:
        return given.resolve()
    kept = CACHE / f"{name}.psi"
    if not kept.exists():
        rows = table(psi, name)
        with rows.open() as f:
            target = f.readline().strip().split(",")[-1]
        run(psi, "train", rows, "--target", target, *more, "-o", kept)
    return kept


def table(psi: Path, name: str) -> Path:
    kept = CACHE / f"{name}.csv"
    if not kept.exists():
        if name == "california":
            fold = CACHE / name
            fold.mkdir(exist_ok=True)
            subprocess.run(["go", "run", "./internal/benchset/foldcsv", name, "0", fold], cwd=ROOT, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
            kept.write_text((fold / "train.csv").read_text())
        else:
            run(psi, "sample", name, "-o", kept)
    return kept


def many(source: Path, rows: int, to: Path, group: int, seed: int) -> None:
    """A Parquet file of rows drawn from a table."""
    import pyarrow.csv

    whole = pyarrow.csv.read_csv(source)
    rng = np.random.default_rng(seed)
    with pq.ParquetWriter(to, whole.schema) as out:
        left = rows
        while left:
            n = min(left, group)
            out.write_table(whole.take(pa.array(rng.integers(0, whole.num_rows, n))), row_group_size=group)
            left -= n


def await_end(psi: Path, queue: str, job: str, each: float = 1.0, seen: Any = None) -> Figures:
    while True:
        now = status(psi, queue, job)
        if now["state"] in ("finished", "failed", "cancelled"):
            return now
        if seen:
            seen(now)
        time.sleep(each)


def kill(args: argparse.Namespace, psi: Path, directory: Path) -> Figures:
    """Everything dies once; nothing is lost."""
    small = CACHE / "synth3.psi"
    if not small.exists():
        run(psi, "sample", "synth3", "--rows", 20000, "-o", CACHE / "synth3.csv")
        run(psi, "train", CACHE / "synth3.csv", "--target", "y", "--set", "steps=300", "-o", small)
    store = Store(directory / "s3")
    bucket = directory / "s3" / "bucket"
    (bucket / "in").mkdir()
    for i in range(FILES):
        drawn = np.random.default_rng(i).uniform(-1, 1, (3, args.rows // FILES))
        pq.write_table(pa.table({f"x{d + 1}": drawn[d] for d in range(3)}), bucket / "in" / f"rows-{i:02d}.parquet", row_group_size=1 << 17)
    queue = Queue(fresh(directory / "nats"), 3)
    figures: Figures = {"rows": args.rows, "files": FILES}
    try:
        for disturbed in (False, True):
            name = "disturbed" if disturbed else "undisturbed"
            figures[name] = once(psi, store, queue, small, directory, name, disturbed)
            print(name, figures[name], flush=True)
    finally:
        queue.close()
        store.kill()
    figures["equal"] = figures["disturbed"]["digest"] == figures["undisturbed"]["digest"]
    return figures


def once(psi: Path, store: Store, queue: Queue, small: Path, directory: Path, name: str, disturbed: bool) -> Figures:
    log = directory / f"{name}.log"
    workers = [Worker(psi, queue.url, log) for _ in range(4)]
    start = time.monotonic()
    job = run(psi, "batch", "submit", "--queue", queue.url, small, store.url("in/"), store.url(name)).stdout.strip()
    killed: list[str] = []

    def disturb(now: Figures) -> None:
        share = now["done"] / max(1, now.get("units", 1))
        after = f"at {100 * share:.0f} %"
        if share > 0.15 and len(killed) == 0:
            for w in workers[:2]:
                w.kill()
            workers[:2] = [Worker(psi, queue.url, log) for _ in range(2)]
            killed.append(f"two workers {after}, two others started")
        elif share > 0.35 and len(killed) == 1:
            leader = queue.leader("stream")
            if leader is None:
                return
            i = int(leader[1:])
            queue.kill(i)
            time.sleep(10)
            queue.start(i)
            killed.append(f"the stream's leader {after}, started again after 10 s")
        elif share > 0.6 and len(killed) == 2:
            store.kill()
            time.sleep(15)
            store.start()
            killed.append(f"the S3 server {after}, started again after 15 s")

    end = await_end(psi, queue.url, job, 0.5, disturb if disturbed else None)
    seconds = time.monotonic() - start
    redelivered = sum(w.metric("psi_batch_redelivered_total") for w in workers)
    done = sum(w.metric("psi_batch_units_total") for w in workers)
    for w in workers:
        w.stop()
    out = store.directory / "bucket" / name
    total, parts, size = digest(out)
    rows = sum(pq.read_metadata(p).num_rows for p in out.glob("part-*.parquet"))
    return {
        "state": end["state"], "units": end["units"], "failed": end["failed"], "parts": parts, "rows": rows, "megabytes": round(size / 1e6),
        "digest": total, "seconds": round(seconds, 1), "redelivered": redelivered, "units_by_living_workers": done, "killed": killed,
        "success": (out / "_SUCCESS").exists(),
    }


def cores(args: argparse.Namespace, psi: Path, directory: Path) -> Figures:
    """Rows a second of two workers and of one, in pairs."""
    adult = model(psi, args.adult, "adult", "--positive", ">50K")
    tables = fresh(directory / "in")
    rows = 600_000
    for i in range(4):
        many(table(psi, "adult"), rows // 4, tables / f"rows-{i}.parquet", 25_000, i)
    queue = Queue(fresh(directory / "nats"), 1)
    pairs = []
    try:
        for pair in range(3):
            one, two = (rate(psi, queue, adult, tables, directory / f"out-{pair}-{n}", n, rows) for n in (1, 2))
            pairs.append({"one": one, "two": two, "ratio": two["rows_per_second"] / (2 * one["rows_per_second"])})
            print(pairs[-1], flush=True)
    finally:
        queue.close()
    return {"rows": rows, "pairs": pairs, "ratio": median(p["ratio"] for p in pairs)}


def rate(psi: Path, queue: Queue, adult: Path, tables: Path, out: Path, n: int, rows: int) -> Figures:
    workers = [Worker(psi, queue.url, out.with_suffix(".log"), core) for core in range(n)]
    time.sleep(1)
    job = run(psi, "batch", "submit", "--queue", queue.url, adult, tables, out).stdout.strip()
    start = time.monotonic()
    while sum(w.metric("psi_batch_rows_total") for w in workers) < rows:
        time.sleep(0.1)
    seconds = time.monotonic() - start
    await_end(psi, queue.url, job, 0.2)
    cpu = sum(w.cpu() for w in workers)
    for w in workers:
        w.stop()
    return {"rows_per_second": rows / seconds, "seconds": seconds, "cpu_seconds": cpu}


def cost(args: argparse.Namespace, psi: Path, directory: Path) -> Figures:
    """CPU of a row, by what it is spent on."""
    figures: Figures = {}
    for name, more, given in [("adult", ["--positive", ">50K"], args.adult), ("california", [], args.california)]:
        many(table(psi, name), 100_000, directory / f"{name}.parquet", 100_000, 0)
        wanted = {
            "PSI_COST_MODEL": str(model(psi, given, name, *more)), "PSI_COST_TABLE": str(directory / f"{name}.parquet"),
            "PSI_COST_OUT": str(directory / f"{name}.json"),
        }
        subprocess.run(
            ["go", "test", "-count=1", "-run", "TestCostOfAUnit", "-v", "./batch"], cwd=ROOT, env=ENVIRONMENT | wanted, check=True
        )
        figures[name] = json.loads((directory / f"{name}.json").read_text())
    return figures


def memory(args: argparse.Namespace, psi: Path, directory: Path) -> Figures:
    """Resident memory of a worker, every half second."""
    adult = model(psi, args.adult, "adult", "--positive", ">50K")
    queue = Queue(fresh(directory / "nats"), 1)
    figures: Figures = {}
    try:
        for name, rows, group, wide in [("one row group of 5 million rows", 5_000_000, 5_000_000, 0), ("a file of 2 GB", 3_000_000, 200_000, 80)]:
            tables = fresh(directory / "in")
            big(table(psi, "adult"), rows, tables / "rows.parquet", group, wide)
            out = directory / f"out-{group}"
            w = Worker(psi, queue.url, directory / "worker.log")
            seen: list[float] = []
            job = run(psi, "batch", "submit", "--queue", queue.url, adult, tables, out).stdout.strip()
            await_end(psi, queue.url, job, 0.5, lambda _, w=w, seen=seen: seen.append(w.memory()))
            w.stop()
            quarter = len(seen) // 4
            figures[name] = {
                "rows": rows, "megabytes": round((tables / "rows.parquet").stat().st_size / 1e6), "peak": max(seen),
                "second_quarter": median(seen[quarter : 2 * quarter]), "last_quarter": median(seen[-quarter:]), "seconds": len(seen) / 2,
            }
            print(name, figures[name], flush=True)
    finally:
        queue.close()
    return figures


def big(source: Path, rows: int, to: Path, group: int, wide: int) -> None:
    """A file whose rows have columns that the model does not know, too, of numbers that do not pack."""
    import pyarrow.csv

    whole = pyarrow.csv.read_csv(source)
    rng = np.random.default_rng(0)
    extra = [pa.field(f"noise{i}", pa.float64()) for i in range(wide)]
    schema = pa.schema([*whole.schema, *extra])
    with pq.ParquetWriter(to, schema, use_dictionary=[f.name for f in whole.schema]) as out:
        for first in range(0, rows, group):
            n = min(group, rows - first)
            drawn = whole.take(pa.array(rng.integers(0, whole.num_rows, n)))
            for f in extra:
                drawn = drawn.append_column(f, pa.array(rng.random(n)))
            out.write_table(drawn.cast(schema), row_group_size=group)


def page() -> str:
    kept = {f.stem: json.loads(f.read_text()) for f in sorted(KEPT.glob("*.json"))}
    text = ["# What `psi batch` costs and survives", "", "Written by `bench/batch.py`, which says how; figures are kept in bench/batch.", ""]
    if k := kept.get("kill"):
        text += [
            f"## Killed on the way (`bench/batch.py kill`)", "",
            f"{k['rows']:,} rows in {k['files']} Parquet files in an S3 bucket, three NATS servers, four workers, on two cores.", "",
            "| run | seconds | units | parts | rows | failed | redelivered | digest of all parts |", "| --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        for name in ("undisturbed", "disturbed"):
            r = k[name]
            text.append(f"| {name} | {r['seconds']} | {r['units']} | {r['parts']} | {r['rows']:,} | {r['failed']} | {r['redelivered']:.0f} | {r['digest'][:16]} |")
        text += ["", "Killed by SIGKILL: " + "; ".join(k["disturbed"]["killed"]) + f". The digests are {'equal' if k['equal'] else '**not equal**'}.", ""]
    if c := kept.get("cores"):
        text += [
            "## Two workers against one (`bench/batch.py cores`)", "",
            f"{c['rows']:,} rows of adult, default model, files on disk, each worker pinned to a core, GOMAXPROCS=1, one thread.", "",
            "| pair | rows/s of one | rows/s of two | ratio to twice one | CPU µs a row, one | two |", "| --- | --- | --- | --- | --- | --- |",
        ]
        for i, p in enumerate(c["pairs"]):
            one, two = p["one"], p["two"]
            text.append(
                f"| {i + 1} | {one['rows_per_second']:,.0f} | {two['rows_per_second']:,.0f} | {p['ratio']:.3f} | "
                f"{1e6 * one['cpu_seconds'] / c['rows']:.1f} | {1e6 * two['cpu_seconds'] / c['rows']:.1f} |"
            )
        text += ["", f"Median of the ratios: {c['ratio']:.3f}.", ""]
    if c := kept.get("cost"):
        names = [n for n in next(iter(c.values())) if n != "rows"]
        text += ["## CPU of a row (`bench/batch.py cost`)", "", "Microseconds, one thread, medians of three interleaved rounds.", ""]
        text += ["| | " + " | ".join(c) + " |", "| --- |" + " --- |" * len(c)]
        text += [f"| {n} | " + " | ".join(f"{c[s][n]:.1f}" for s in c) + " |" for n in names]
        text += ["| **passes alone ÷ whole unit** | " + " | ".join(f"**{c[s]['passes alone'] / c[s]['whole unit']:.2f}**" for s in c) + " |", ""]
    if m := kept.get("memory"):
        text += [
            "## Memory of a worker (`bench/batch.py memory`)", "", "Resident, in MB, sampled every half second.", "",
            "| input | rows | MB | peak | second quarter, median | last quarter, median |", "| --- | --- | --- | --- | --- | --- |",
        ]
        text += [f"| {n} | {r['rows']:,} | {r['megabytes']:,} | {r['peak']:.0f} | {r['second_quarter']:.0f} | {r['last_quarter']:.0f} |" for n, r in m.items()]
        text.append("")
    return "\n".join(text)


if __name__ == "__main__":
    sys.exit(main())
