"""Runs fits, each in its own process and on its own core."""

import json
import os
import queue
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import sets
from fit import Job


def run(jobs: list[tuple[Job, Path]], parallel: int) -> int:
    """Runs each job into its file, so many at a time, and returns how many failed."""
    for name, fold in sorted({(job.set, job.fold) for job, _ in jobs}):
        sets.load(name, fold)
    free: queue.SimpleQueue[int] = queue.SimpleQueue()
    for core in cores()[:parallel]:
        free.put(core)

    def one(job: Job, to: Path) -> bool:
        core = free.get()
        try:
            return start(replace(job, core=core), to)
        finally:
            free.put(core)

    with ThreadPoolExecutor(parallel) as pool:
        return list(pool.map(lambda job: one(*job), jobs)).count(False)


def cores() -> list[int]:
    """The cores this process may use, the last first: most programs take the first."""
    return sorted(os.sched_getaffinity(0), reverse=True)


def start(job: Job, to: Path) -> bool:
    """Runs the job in a new process and says how it went."""
    began = time.perf_counter()
    arguments = json.dumps(asdict(job) | {"to": str(to)})
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("fit.py"), arguments], stderr=subprocess.PIPE, text=True
    )
    seconds = time.perf_counter() - began
    print(f"{job.set} {job.fold} {job.tool}: {seconds:.0f} s", "" if done.returncode == 0 else "FAILED", flush=True)
    if done.returncode != 0:
        print(done.stderr[-2000:], file=sys.stderr, flush=True)
    return done.returncode == 0
