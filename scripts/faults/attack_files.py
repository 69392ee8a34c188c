"""Things in the served directory that are not model files, and a directory of very many models."""

import os
import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path

from .confined import NOBODY
from .scene import MODEL, Scene
from .server import DRAIN, Server
from .trial import Alone, Case, Outcome, Served

SOON = 10  # seconds until a good file that appears must answer
MODELS = 100
LISTENS = 5  # seconds until the server must answer questions for health
ALL_READY = 120  # seconds until all models must answer


def fifo(path: Path) -> None:
    os.mkfifo(path)


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(path))


def beside_odd(make: Callable[[Path], None]) -> Callable[[Server], Outcome]:
    """A good model that appears later must be loaded all the same."""

    def attack(server: Server) -> Outcome:
        odd, good = server.models / "x.psi", server.models / "second.psi"
        try:
            make(odd)
            time.sleep(3)  # the server looks every 2 s
            shutil.copy(server.scene.model, good)
            state, _ = server.state("second", SOON, "READY")
            told = "a model that appeared later " + ("answers" if state else f"did not answer within {SOON} s")
            return Outcome(told, state == "READY")
        finally:
            odd.unlink(missing_ok=True)
            good.unlink(missing_ok=True)

    return attack


def ends(scene: Scene, directory: Path) -> Outcome:
    """SIGTERM ends a server that has met a FIFO."""
    server = Server(scene, directory).start()
    try:
        os.mkfifo(server.models / "x.psi")
        time.sleep(3)
        took = server.process.end(DRAIN + 10)
    finally:
        server.process.close()
    if took is None:
        return Outcome(f"still ran {DRAIN + 10} s after SIGTERM", False)
    return Outcome(f"ended {took:.1f} s after SIGTERM", took < DRAIN + 2)


def starts(scene: Scene, directory: Path) -> Outcome:
    """A FIFO that is there before the server starts."""
    server = Server(scene, directory)
    os.mkfifo(server.models / "x.psi")
    server.launch()
    try:
        ready = server.wait("/v2/health/ready", SOON)
        return Outcome(f"ready after {ready:.1f} s" if ready else f"not ready within {SOON} s", ready is not None)
    finally:
        server.process.end(1)
        server.process.close()


def forbidden(scene: Scene, directory: Path) -> Outcome:
    """A file that the server may not read at first."""
    if os.getuid() != 0:
        return Outcome("needs root, to run the server as another user", None)
    server = Server(scene, directory, user=NOBODY)
    with server:
        second = server.models / "second.psi"
        shutil.copy(scene.model, directory / "draft")
        (directory / "draft").chmod(0o600)
        (directory / "draft").rename(second)
        state, _ = server.state("second", SOON)
        second.chmod(0o644)
        later, _ = server.state("second", SOON, "READY")
        told = f"{state or 'not listed'} with mode 600; {later or f'still not READY {SOON} s'} after `chmod 644`"
        return Outcome(told, state == "UNAVAILABLE" and later == "READY")


def many(scene: Scene, directory: Path) -> Outcome:
    server = Server(scene, directory)
    for i in range(1, MODELS):
        shutil.copy(scene.model, server.models / f"{MODEL}{i:03}.psi")
    start = time.perf_counter()
    server.launch()
    try:
        listens = server.wait("/v2/health/live", 6 * LISTENS)
        if listens is None:
            return Outcome(f"does not listen after {6 * LISTENS} s (at most {LISTENS})", False)
        ready = server.wait("/v2/health/ready", ALL_READY)
        took = time.perf_counter() - start
        answer = sum(state == "READY" for state, _ in server.index().values())
        if ready is None:
            told = f"listens after {listens:.1f} s, but is not ready within {ALL_READY} s"
            return Outcome(f"{told}: {answer} models answer; peak {server.process.peak} MiB", False)
        told = f"listens after {listens:.1f} s (at most {LISTENS}), ready after {took:.1f} s; then {answer} models answer"
        return Outcome(f"{told}; peak {server.process.peak} MiB", listens <= LISTENS and answer == MODELS)
    finally:
        server.stop()


def attacks() -> list[Case]:
    return [
        Served("FIFO `x.psi` in the served directory", beside_odd(fifo), "operator"),
        Served("symbolic link `x.psi` to itself in the served directory", beside_odd(loop), "operator"),
        Served("socket `x.psi` in the served directory", beside_odd(unix_socket), "operator"),
        Alone("FIFO `x.psi` in the served directory, then SIGTERM", ends),
        Alone("FIFO `x.psi` in the served directory before the start", starts),
        Alone("model file with mode 600 of another user, then `chmod 644`", forbidden),
        Alone(f"{MODELS} models at the start", many),
    ]
