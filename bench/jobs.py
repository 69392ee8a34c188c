"""Runs fits, each in its own process and on its own core."""

import json
import os
import queue
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import results
import sets
import tuning
from fit import Job
from peers import PEERS

AnyJob = TypeVar("AnyJob", Job, tuning.Job)
making = Lock()  # of environments


def run(jobs: list[Job], parallel: int) -> int:
    """Runs the fits, so many at a time, stores each result when it is there, and returns how many failed."""
    return on_cores(jobs, parallel, fit)


def fit(job: Job) -> bool:
    found = start(job)
    if found is not None:
        results.add(found)
    return found is not None


def search(jobs: list[tuning.Job], parallel: int) -> int:
    """Tunes peers on their sets, so many at a time, and returns how many searches failed. They store their trials."""
    return on_cores(jobs, parallel, lambda job: child("tuning.py", job, f"{job.set} {job.tool}: search") is not None)


def on_cores(jobs: list[AnyJob], parallel: int, do: Callable[[AnyJob], bool]) -> int:
    """Does each job on a core of its own, so many at a time, and returns how many failed."""
    for name, fold in sorted({(job.set, job.fold) for job in jobs}):
        sets.load(name, fold)
    free: queue.SimpleQueue[int] = queue.SimpleQueue()
    for core in cores()[:parallel]:
        free.put(core)

    def one(job: AnyJob) -> bool:
        core = free.get()
        try:
            return do(replace(job, core=core))
        finally:
            free.put(core)

    with ThreadPoolExecutor(parallel) as pool:
        return list(pool.map(one, jobs)).count(False)


def cores() -> list[int]:
    """The cores this process may use, the last first: most programs take the first."""
    return sorted(os.sched_getaffinity(0), reverse=True)


def start(job: Job) -> results.Result | None:
    """Fits in a new process, prints how it went, and returns the result, or None if it failed."""
    return child("fit.py", job, f"{job.set} {job.fold} {job.tool}")


def child(program: str, job: Job | tuning.Job, what: str) -> dict[str, Any] | None:
    began = time.perf_counter()
    with tempfile.NamedTemporaryFile() as file:
        command = [interpreter(job.tool), Path(__file__).with_name(program), json.dumps(asdict(job)), file.name]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        seconds = time.perf_counter() - began
        print(f"{what}: {seconds:.0f} s", "" if done.returncode == 0 else "FAILED", flush=True)
        if done.returncode == 0:
            return json.loads(file.read())
    print(done.stderr[-2000:], file=sys.stderr, flush=True)
    return None


def interpreter(tool: str) -> str:
    """Python with the packages of a tool: of most this one, of the others an environment that is made when it is needed."""
    listed = PEERS[tool].requirements if tool in PEERS else "requirements.txt"
    if listed == "requirements.txt":
        return sys.executable
    with making:
        packages, directory = results.HERE / listed, sets.CACHE / Path(listed).stem
        python, installed = str(directory / "bin" / "python"), directory / "installed"
        if not installed.exists() or installed.read_text() != packages.read_text():
            subprocess.run([sys.executable, "-m", "venv", "--clear", directory], check=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "-r", packages], check=True)
            installed.write_text(packages.read_text())
        return python
