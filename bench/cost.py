"""What a fit costs. As a program, cost.py COMMAND… runs the command and prints its cost as JSON: a process starts with
the peak of the one that started it, so what measures the memory of another program must be small itself."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def timed(who: int, run: Callable[[], T]) -> tuple[T, dict[str, float]]:
    """What run gives, and what it cost this process or its children: the peak is that of the whole process."""
    before, start = resource.getrusage(who), time.perf_counter()
    value = run()
    wall, after = time.perf_counter() - start, resource.getrusage(who)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return value, {
        "wall_seconds": round(wall, 3),
        "cpu_seconds": round(cpu, 3),
        "peak_mib": after.ru_maxrss // 1024,
    }


if __name__ == "__main__":
    status, cost = timed(
        resource.RUSAGE_CHILDREN, lambda: subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
    )
    print(json.dumps(cost))
    sys.exit(status)
