"""The command line: tables that are bombs or never arrive, outputs that name an input, and a disk that is full."""

import contextlib
import gzip
import hashlib
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from .confined import MIB, Confined
from .scene import Scene
from .trial import Alone, Case, Line, Outcome, quoted

FEW = ["--set", "steps=2", "--set", "refit_steps=1", "--set", "spread_steps=1"]
READS = 30  # seconds that a command has for a bomb; then SIGTERM must end it
ENDS = 3  # seconds that a command has to end after SIGTERM


@contextlib.contextmanager
def started(scene: Scene, directory: Path, *arguments: str | Path) -> Iterator[Confined]:
    """psi with some arguments, in a memory cgroup. Its output goes to files of the directory."""
    with (directory / "errors").open("w") as errors:
        process = Confined([scene.psi, *arguments], errors, cwd=directory)
    assert process.process.stdout is not None
    reader = threading.Thread(target=process.process.stdout.read, daemon=True)  # so that a full pipe holds nothing up
    reader.start()
    try:
        yield process
    finally:
        if process.alive():
            process.process.kill()
        reader.join(10)
        process.close()


def last_line(directory: Path) -> str:
    lines = [line for line in (directory / "errors").read_text().splitlines() if line.strip()]
    return lines[-1].replace(str(directory), "…")[:140] if lines else ""


def wait(process: Confined, seconds: float) -> int | None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.process.wait(seconds)
    return None


def bombed(
    name: str, make: Callable[[Scene, Path], Path], command: Callable[[Path, Scene], list[str | Path]], seconds: float = READS
) -> Case:
    """A command reads a table that is larger than it looks: it must finish, refuse it, or still work within the memory."""

    def attack(scene: Scene, directory: Path) -> Line:
        table = make(scene, directory)
        with started(scene, directory, *command(table, scene)) as process:
            code = wait(process, seconds)
            took = process.end(10) if code is None else None
            line = Line(name, "", True, table.stat().st_size, 0, process.peak)
            if process.out_of_memory():
                line.harm.append("killed at 2,048 MiB")
            elif code is None:
                line.told = f"still reading after {seconds:.0f} s, with at most {process.peak:,} MiB"
                line.harm += [] if took is not None else ["ignored SIGTERM"]
            else:
                line.told = f"exit code {code}: {quoted(last_line(directory))}"
                line.harm += [] if code in [0, 1, 2] else [f"ended with {code}"]
            line.well = not line.harm
            return line

    return Alone(name, attack)


def predict(table: Path, scene: Scene) -> list[str | Path]:
    return ["predict", scene.model, table, "-o", "out.csv"]


def train(table: Path, scene: Scene) -> list[str | Path]:
    return ["train", table, "--target", "income", *FEW, "-o", "out.psi"]


def parquet(scene: Scene, directory: Path, rows: int) -> Path:
    """A table with the model's columns, of zeros and of one text, in one row group."""
    names, some = scene.table
    columns: dict[str, pa.Array] = {}
    for name in names:
        if any(isinstance(row[name], str) for row in some):
            columns[name] = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), pa.array(["a"]))
        else:
            columns[name] = pa.array(np.zeros(rows, np.float32))
    columns["income"] = pa.DictionaryArray.from_arrays(pa.array(np.arange(rows) % 2, pa.int8()), pa.array(["<=50K", ">50K"]))
    path = directory / "bomb.parquet"
    pq.write_table(pa.table(columns), path, compression="zstd", row_group_size=rows)
    return path


def texts(column: str, rows: int, size: int, groups: int = 1, **how: Any) -> Callable[[Scene, Path], Path]:
    """A table in which one column has a long text in every row."""

    def make(scene: Scene, directory: Path) -> Path:
        path = parquet(scene, directory, rows)
        table = pq.read_table(path)
        text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), pa.array(["a" * size]))
        if not how.get("use_dictionary", True):
            text = pa.array(["a" * size] * rows)
        table = table.set_column(table.column_names.index(column), column, text)
        with pq.ParquetWriter(path, table.schema, compression="zstd", store_schema=False, **how) as writer:
            for _ in range(groups):
                writer.write_table(table)
        return path

    return make


def many_rows(scene: Scene, directory: Path) -> Path:
    return parquet(scene, directory, 1_000_000)


def wide(scene: Scene, directory: Path) -> Path:
    path = directory / "bomb.parquet"
    pq.write_table(pa.table({f"c{i}": pa.array([0.0]) for i in range(20_000)}), path)
    return path


def many_lines(scene: Scene, directory: Path) -> Path:
    path = directory / "bomb.csv.gz"
    million = gzip.compress(b"1,2,3,4\n" * 1_000_000)  # a file may hold several packed parts
    path.write_bytes(gzip.compress(b"a,b,c,income\n0,1,2,3\n3,2,1,0\n") + 52 * million)
    return path


WAITING: dict[str, list[str]] = {
    "predict": ["predict", "model.psi", "table.csv", "-o", "out.csv"],
    "explain": ["explain", "model.psi", "table.csv", "-o", "out.csv"],
    "evaluate": ["evaluate", "model.psi", "table.csv"],
    "report": ["report", "model.psi", "table.csv", "-o", "out.html"],
    "train": ["train", "table.csv", "--target", "income", *FEW, "-o", "out.psi"],
    "batch run": ["batch", "run", "model.psi", "table.csv", "out"],
}


def waits(writer: bool) -> Callable[[Scene, Path], Outcome]:
    """Commands wait for a table that never comes. With a writer the FIFO is open, and silent."""

    def attack(scene: Scene, directory: Path) -> Outcome:
        told, well = [], True
        for name, arguments in WAITING.items():
            own = directory / name.replace(" ", "-")
            own.mkdir()
            shutil.copy(scene.model, own / "model.psi")
            os.mkfifo(own / "table.csv")
            held = os.open(own / "table.csv", os.O_RDWR) if writer else None
            with started(scene, own, *arguments) as process:
                code = wait(process, 1)
                took = process.end(ENDS) if code is None else 0.0
            if held is not None:
                os.close(held)
            if took is None:
                told.append(f"{name} still ran {ENDS} s after SIGTERM")
            elif code is not None:
                told.append(f"{name} refused it ({quoted(last_line(own))})")
            else:
                told.append(f"{name} ended after {took:.1f} s")
            well = well and took is not None and code != 0
        return Outcome("; ".join(told), well)

    return attack


# Commands whose output is one of their inputs. The model is also there under names with the suffixes of other outputs.
OVERWRITES = [
    ["train", "table.csv", "--target", "income", *FEW, "-o", "table.csv"],
    ["train", "table.csv", "--target", "income", *FEW, "-o", "sub/../table.csv"],
    ["train", "table.csv", "--target", "income", *FEW, "-o", "link.csv"],
    ["train", "table.csv", "--target", "income", *FEW, "--validation", "other.csv", "-o", "other.csv"],
    ["train", "table.csv", "--target", "income", "--config", "few.yaml", "-o", "few.yaml"],
    ["predict", "model.psi", "table.csv", "-o", "table.csv"],
    ["predict", "model.csv", "table.csv", "-o", "model.csv"],
    ["predict", "model.psi", "table.csv", "-o", "link.csv"],
    ["explain", "model.psi", "table.csv", "-o", "table.csv"],
    ["explain", "model.csv", "table.csv", "-o", "model.csv"],
    ["plot", "dependence", "model.psi", "table.csv", "--column", "age", "-o", "out.svg", "--data", "table.csv"],
    ["plot", "drift", "model.psi", "table.csv", "--since", "other.csv", "-o", "out.svg", "--data", "other.csv"],
    ["plot", "bar", "model.svg", "table.csv", "-o", "model.svg"],
    ["report", "model.html", "table.csv", "-o", "model.html"],
    ["export", "onnx", "model.onnx", "-o", "model.onnx"],
    ["sample", "synth1", "--rows", "100", "-o", "fresh.csv", "--truth", "fresh.csv"],
    ["batch", "run", "model.psi", "tables/", "tables/"],
    ["batch", "run", "tables/model.psi", "tables/*.csv", "tables/"],
]


def digests(directory: Path) -> dict[str, str]:
    files = [path for path in sorted(directory.rglob("*")) if path.is_file() and not path.is_symlink()]
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def overwrites(scene: Scene, directory: Path) -> Outcome:
    bad = []
    for number, arguments in enumerate(OVERWRITES):
        own = directory / f"{number}"
        (own / "sub").mkdir(parents=True)
        (own / "tables").mkdir()
        rows = "\n".join(scene.rows.read_text().splitlines()[:300]) + "\n"
        for name in ["table.csv", "other.csv", "tables/table.csv"]:
            (own / name).write_text(rows)
        (own / "few.yaml").write_text("steps: 2\nrefit_steps: 1\nspread_steps: 1\n")
        for name in ["model.psi", "model.csv", "model.svg", "model.html", "model.onnx", "tables/model.psi"]:
            shutil.copy(scene.model, own / name)
        (own / "link.csv").symlink_to("table.csv")
        before = digests(own)
        with started(scene, own, *arguments) as process:
            code = wait(process, 60)
        after = digests(own)
        changed = [name for name in before if name != "errors" and after.get(name) != before[name]]
        fresh = (own / "fresh.csv").exists()
        if changed or fresh or code not in [1, 2]:
            lost = f" and lost {', '.join(changed)}" if changed else ""
            bad.append(f"`psi {' '.join(word for word in arguments if word not in FEW)}` exits with {code}{lost}")
    if bad:
        return Outcome(f"{len(bad)} of {len(OVERWRITES)}: {'; '.join(bad)}", False)
    return Outcome(f"{len(OVERWRITES)} commands refused it and changed no input")


def disk_full(scene: Scene, directory: Path) -> Outcome:
    """The disk has room for the model, but not for a second checkpoint beside the first. The training must finish."""
    disk = directory / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True).returncode != 0:
        return Outcome("this user may not mount a small disk", None)
    try:
        (disk / "full").write_bytes(bytes(128 << 10))
        # psi writes a checkpoint every two seconds. Without bags the model is small beside it.
        long = ["--set", "steps=100000", "--bags", "0", "--time-budget", "8s"]
        command: list[str | Path] = ["train", scene.rows, "--target", "income", *long, "-o", disk / "out.psi"]
        with started(scene, directory, *command) as process:
            code = wait(process, 120)
        made = (disk / "out.psi").exists()
        full = "no space left" in (directory / "errors").read_text()
        told = f"exit code {code}, {'a' if made else 'no'} model; {'a checkpoint failed' if full else 'every checkpoint was written'}"
        return Outcome(told + (f": {quoted(last_line(directory))}" if code else ""), code == 0 and made and full)
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


def attacks() -> list[Case]:
    return [
        bombed("`psi predict`: Parquet, a text of 32 MiB in 200 rows of a category", texts("workclass", 200, 32 * MIB), predict),
        bombed("`psi predict`: Parquet, a text of 32 MiB in 200 rows of a number", texts("age", 200, 32 * MIB), predict),
        bombed("`psi train`: Parquet, a text of 32 MiB in 200 rows", texts("workclass", 200, 32 * MIB), train),
        bombed(
            "`psi predict`: Parquet, 16 texts of 128 MiB without a dictionary",
            texts("workclass", 1, 128 * MIB, groups=16, use_dictionary=False), predict,
        ),
        bombed("`psi predict`: Parquet, a million rows in one row group", many_rows, predict),
        bombed("`psi predict`: Parquet, 20,000 columns", wide, predict),
        bombed("`psi train`: csv.gz, 52 million rows in 820 kB", many_lines, train, 3 * READS),
        Alone("commands that wait for a FIFO without a writer, then SIGTERM", waits(False)),
        Alone("commands that wait for a FIFO with a silent writer, then SIGTERM", waits(True)),
        Alone("`-o` equal to an input", overwrites),
        Alone("disk full while `psi train` writes checkpoints", disk_full),
    ]  # fmt: skip
