"""Processes in a memory cgroup, and what they hold."""

import contextlib
import itertools
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

LIMIT = 2 << 30  # bytes of memory, as the chart in deploy/helm sets it
GO_LIMIT = "1800MiB"  # GOMEMLIMIT of the chart
CGROUPS = Path("/sys/fs/cgroup")
MIB = 1 << 20
NOBODY = 65534

numbers = itertools.count()


class MemoryGroup:
    """A memory cgroup for one process. Where cgroups cannot be made, kind is "" and the limit is kept by sampling."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        name = f"psi-faults-{os.getpid()}-{next(numbers)}"
        for kind, parent, key in [("v1", CGROUPS / "memory", "memory.limit_in_bytes"), ("v2", CGROUPS, "memory.max")]:
            self.kind, self.path = kind, parent / name
            if not (parent / "cgroup.procs").exists():
                continue
            with contextlib.suppress(OSError):
                self.path.mkdir()
            with contextlib.suppress(OSError):  # v2 without the memory controller has no such file
                with (self.path / key).open("r+") as file:
                    file.write(str(limit))
                return
            with contextlib.suppress(OSError):
                self.path.rmdir()
        self.kind = ""

    def kills(self) -> int:
        """How many processes of the group the kernel ended for want of memory."""
        if not self.kind:
            return 0
        text = (self.path / ("memory.oom_control" if self.kind == "v1" else "memory.events")).read_text()
        found = re.search(r"^oom_kill (\d+)", text, re.MULTILINE)
        return int(found[1]) if found else 0

    def close(self) -> None:
        if not self.kind:
            return
        for _ in range(50):  # the kernel takes a moment to see that the group is empty
            try:
                self.path.rmdir()
                return
            except OSError:
                time.sleep(0.1)


class Confined:
    """A process in a memory cgroup of its own, whose peak of resident memory is sampled."""

    def __init__(
        self, command: Sequence[str | Path], errors: IO[str], environment: dict[str, str] | None = None,
        user: int | None = None, cwd: Path | None = None, stdin: IO[str] | int | None = subprocess.DEVNULL,
    ) -> None:  # fmt: skip
        self.group = MemoryGroup()
        words = [str(word) for word in command]
        if user is not None:
            words = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--", *words]
        if self.group.kind:
            words = ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(self.group.path), *words]
        self.process = subprocess.Popen(
            words, stdin=stdin, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=cwd,
            env=os.environ | {"GOMEMLIMIT": GO_LIMIT} | (environment or {}),
        )  # fmt: skip
        self.pid = self.process.pid
        self.peak = 0  # MiB
        self.over = False  # ended here for passing the limit, where there is no cgroup
        self.sampler = threading.Thread(target=self.sample, daemon=True)
        self.sampler.start()

    def sample(self) -> None:
        while self.process.returncode is None:
            with contextlib.suppress(OSError, TypeError):  # it ended meanwhile
                self.peak = max(self.peak, self.memory("VmHWM"))
                if not self.group.kind and self.memory("VmRSS") * MIB > self.group.limit:
                    self.over = True
                    self.process.kill()
            time.sleep(0.02)

    def memory(self, key: str = "VmRSS") -> int:
        """MiB that the process holds; VmHWM is the peak since reset_peak."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(rf"{key}:\s+(\d+)", status)[1]) >> 10  # type: ignore[index]

    def reset_peak(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")
        self.peak = 0

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def alive(self) -> bool:
        return self.process.poll() is None

    def out_of_memory(self) -> bool:
        return self.over or self.group.kills() > 0

    def end(self, patience: float, how: signal.Signals = signal.SIGTERM) -> float | None:
        """Sends a signal and returns the seconds until the process ended; None if it had to be killed."""
        start = time.perf_counter()
        if self.alive():
            self.process.send_signal(how)
        try:
            self.process.wait(patience)
            return time.perf_counter() - start
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def close(self) -> None:
        if self.alive():
            self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        self.sampler.join()
        self.group.close()
