"""Pages that need no token, asked for again and again."""

import contextlib
import http.client
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from .server import Server
from .trial import Case, Outcome, Served

THREADS = 8
SECONDS = 5
COST = 2.0  # ms of CPU that a request may cost, in the mean


def hammered(path: str) -> Callable[[Server], Outcome]:
    def attack(server: Server) -> Outcome:
        start = server.process.cpu_seconds()
        time.sleep(1)
        before = server.process.cpu_seconds()
        others = before - start  # that the other caller costs in a second
        until = time.perf_counter() + SECONDS

        def ask(_: int) -> int:
            count = 0
            connection = http.client.HTTPConnection("127.0.0.1", server.ports[0], timeout=10)
            with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
                while time.perf_counter() < until:
                    connection.request("GET", path)
                    connection.getresponse().read()
                    count += 1
            return count

        with ThreadPoolExecutor(THREADS) as pool:
            count = sum(pool.map(ask, range(THREADS)))
        cost = 1000 * (server.process.cpu_seconds() - before - SECONDS * others) / max(count, 1)
        return Outcome(f"{count / SECONDS:,.0f} requests a second, {cost:.1f} ms of CPU each (at most {COST:.0f})", cost <= COST)

    return attack


def attacks() -> list[Case]:
    return [
        Served("`/openapi.json` without a token, on 8 connections without pause", hammered("/openapi.json"), "nobody"),
        Served("`/ui` without a token, on 8 connections without pause", hammered("/ui"), "nobody", ("--ui",)),
    ]
