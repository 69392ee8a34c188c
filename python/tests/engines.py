"""What tests of engines share: a table in many files, what the program says of it, and a look at who runs."""

import os
import pathlib
import signal
import socket
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from explaining import random_table

from psishap import _psi

FILES, EACH = 16, 2000


class Rows:
    """A table in Parquet, of so many files, and the order of its rows in ``id``."""

    def __init__(self, directory, seed, files=FILES, each=EACH):
        self.directory = pathlib.Path(directory, "rows")
        self.directory.mkdir()
        self.count, self.seed = files * each, seed
        table, _ = random_table(seed, self.count, unseen=True)
        table.insert(0, "id", np.arange(self.count))
        whole = pa.Table.from_pandas(table, preserve_index=False)
        for k in range(files):
            pq.write_table(whole.slice(k * each, each), self.directory / f"part-{k:02}.parquet", coerce_timestamps="us")
        self.file = pathlib.Path(directory, "all.parquet")
        pq.write_table(whole, self.file, coerce_timestamps="us")

    def explained(self, model, *flags):
        """What psi explain writes of them."""
        out = self.file.with_suffix(".arrow")
        _psi.run("explain", str(model), str(self.file), "-o", str(out), *flags)
        try:
            table = pa.ipc.open_file(str(out)).read_all()
        except pa.ArrowInvalid:
            table = pa.ipc.open_stream(str(out)).read_all()
        frame = table.to_pandas()
        frame.insert(0, "id", frame.pop("row").astype(np.int64))
        return frame


def same(got, want, seed):
    """Every row once, with the numbers of the program."""
    by = ["id", "output"] if "output" in want else ["id"]
    got, want = (f.sort_values(by).reset_index(drop=True) for f in (got, want))
    assert list(got.columns) == list(want.columns), seed
    assert len(got) == len(want) and (got["id"] == want["id"]).all(), seed
    if "output" in want:
        assert (got["output"] == want["output"]).all(), seed
    numbers = [name for name in want.columns if name not in by]
    a, b = got[numbers].to_numpy(float), want[numbers].to_numpy(float)
    assert np.isfinite(b).all() and np.allclose(a, b, rtol=1e-6, atol=1e-6), (seed, np.abs(a - b).max())
    return np.abs(a - b).max()


def slowly(seconds, marks):
    """Takes a while, and leaves a mark when it begins and one when it ends: a job that something can happen to."""

    def wait():
        mark = pathlib.Path(marks, f"{os.getpid()}-{time.time_ns()}")
        mark.touch()
        time.sleep(seconds)
        mark.with_suffix(".ended").touch()

    return wait


def begun(marks):
    """How many times a wait was begun, and the processes that wait now."""
    names = {path.name for path in marks.iterdir()}
    starts = {name for name in names if not name.endswith(".ended")}
    return len(starts), {int(name.split("-")[0]) for name in starts if f"{name}.ended" not in names}


def processes():
    """Parent and command of every process that runs below this one."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            state = (path / "stat").read_text().rsplit(")", 1)[1].split()
            if state[0] != "Z":
                found[int(path.name)] = (int(state[1]), (path / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue

    def mine(pid):
        while pid in found:
            if pid == os.getpid():
                return True
            pid = found[pid][0]
        return False

    return {pid: of for pid, of in found.items() if mine(pid)}


def psis(among=None):
    """Those of psi, and the worker that each belongs to."""
    serving = {pid: parent for pid, (parent, command) in (among or processes()).items() if command.startswith(_psi.program())}
    return {pid: parent for pid, parent in serving.items() if parent != os.getpid()}


def gone(pids, within=5):
    """Which of the processes run still after so many seconds."""
    until = time.monotonic() + within
    left = list(pids)
    while left and time.monotonic() < until:
        left = [pid for pid in left if running(pid)]
        time.sleep(0.1)
    return left


def running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def free():
    """A port that nobody listens at."""
    with socket.socket() as at:
        at.bind(("127.0.0.1", 0))
        return at.getsockname()[1]


def listens(port, server, within=300):
    """Whether the server listens at the port, at the latest after so many seconds."""
    until = time.monotonic() + within
    while server.poll() is None and time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
            return True
        except OSError:
            time.sleep(0.5)
    return False


def stop(server):
    """End a server that has a process group of its own."""
    if server.poll() is None:
        os.killpg(server.pid, signal.SIGTERM)
    server.wait()


class Killer(threading.Thread):
    """Kills, once so many batches are begun, what ``victim`` names among the processes, and looks at psi all the while.

    ``victim`` is given the processes and those of them that are at work on a batch.
    """

    def __init__(self, marks, after, victim):
        super().__init__(daemon=True)
        self.marks, self.after, self.victim = marks, after, victim
        self.killed, self.left, self.before, self.seen, self.done = None, None, 0, {}, threading.Event()

    def run(self):
        others = psis()  # of another model, before
        while not self.done.is_set():
            now = processes()
            self.seen |= {pid: worker for pid, worker in psis(now).items() if pid not in others}
            count, busy = begun(self.marks)
            victim = self.victim(now, busy) if self.killed is None and count >= self.after else None
            if victim is not None:
                os.kill(victim, signal.SIGKILL)
                self.killed, self.before = victim, count
                self.left = gone([victim, *(pid for pid in psis(now) if descends(pid, victim, now))])
            time.sleep(0.1)

    def check(self, batches):
        """That it happened in mid-job, that something was done again, and that every Python had one psi."""
        self.done.set()
        self.join()
        assert self.killed is not None and self.before < batches, "nothing was killed in mid-job"
        assert self.left == [], "a psi outlived its worker"
        assert begun(self.marks)[0] > batches, "no part was done again"
        assert len(self.seen) == len(set(self.seen.values())), "a worker had two psi"
        return f"killed {self.killed} after {self.before} of {batches} batches; {len(self.seen)} workers with a psi"


def descends(pid, from_, among):
    while pid in among:
        if pid == from_:
            return True
        pid = among[pid][0]
    return False
