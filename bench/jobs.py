"""Runs fits, each in its own process and on its own core."""

import json
import os
import queue
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import results
import sets
from fit import Job


def run(jobs: list[Job], parallel: int) -> int:
    """Runs the jobs, so many at a time, stores each result when it is there, and returns how many jobs failed."""
    for name, fold in sorted({(job.set, job.fold) for job in jobs}):
        sets.load(name, fold)
    free: queue.SimpleQueue[int] = queue.SimpleQueue()
    for core in cores()[:parallel]:
        free.put(core)

    def one(job: Job) -> bool:
        core = free.get()
        try:
            result = start(replace(job, core=core))
        finally:
            free.put(core)
        if result is not None:
            results.add(result)
        return result is not None

    with ThreadPoolExecutor(parallel) as pool:
        return list(pool.map(one, jobs)).count(False)


def cores() -> list[int]:
    """The cores this process may use, the last first: most programs take the first."""
    return sorted(os.sched_getaffinity(0), reverse=True)


def start(job: Job) -> results.Result | None:
    """Runs the job in a new process, prints how it went, and returns its result, or None if it failed."""
    began = time.perf_counter()
    with tempfile.NamedTemporaryFile() as file:
        command = [sys.executable, Path(__file__).with_name("fit.py"), json.dumps(asdict(job)), file.name]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        seconds = time.perf_counter() - began
        print(f"{job.set} {job.fold} {job.tool}: {seconds:.0f} s", "" if done.returncode == 0 else "FAILED", flush=True)
        if done.returncode == 0:
            return json.loads(file.read())
    print(done.stderr[-2000:], file=sys.stderr, flush=True)
    return None
