"""A bucket of models that fails for a while, or stalls."""

import contextlib
import http.client
import time
from pathlib import Path

from .bucket import ENVIRONMENT, Bucket
from .scene import MODEL, Scene
from .server import DRAIN, Server
from .trial import Alone, Case, Outcome, quoted

FAILS = 6  # seconds that the bucket fails
RECOVERS = 30  # seconds after that until the model must answer
LOADS = 15  # seconds until a model must answer though another stalls


def ready(server: Server) -> bool:
    """Whether /v2/health/ready says 200 now; a server that does not listen is not ready."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        return server.ask("GET", "/v2/health/ready", timeout=2)[0] == 200
    return False


def recovers(scene: Scene, directory: Path) -> Outcome:
    """Reads fail with 503 when the server starts, and later succeed."""
    bucket = Bucket({f"{MODEL}.psi": scene.model.read_bytes()})
    bucket.failing = True
    server = Server(scene, directory, places=[bucket.url], environment=ENVIRONMENT)
    server.launch()
    try:
        start = time.perf_counter()
        early = False
        while time.perf_counter() - start < FAILS:
            early = early or ready(server)
            time.sleep(0.2)
        lives = server.process.alive()
        bucket.failing = False
        start = time.perf_counter()
        state, _ = server.state(MODEL, RECOVERS, "READY")
        took = time.perf_counter() - start
        told = f"meanwhile {'ready without a model' if early else 'not ready'}; " if lives else "ended when the bucket failed; "
        told += f"the model answers {took:.0f} s after the bucket" if state else f"the model does not answer {RECOVERS} s after the bucket"
        return Outcome(told, lives and not early and state == "READY")
    finally:
        server.process.end(DRAIN + 5)
        server.process.close()
        bucket.close()


def stalls(scene: Scene, directory: Path) -> Outcome:
    """One object stalls in mid-body; another of the same bucket must load, and SIGTERM must end the server."""
    content = scene.model.read_bytes()
    bucket = Bucket({"a-stalled.psi": content, f"{MODEL}.psi": content})
    bucket.stalled = {"a-stalled.psi"}
    server = Server(scene, directory, places=[bucket.url], environment=ENVIRONMENT)
    server.launch()
    try:
        state, _ = server.state(MODEL, LOADS, "READY")
        told = "another model answers" if state else f"another model does not answer within {LOADS} s"
        ended, well = terminated(server)
        return Outcome(f"{told}; {ended}", well and state == "READY")
    finally:
        server.process.close()
        bucket.close()


def later(scene: Scene, directory: Path) -> Outcome:
    """The bucket works at the start; then a new object stalls, and one after it appears."""
    content = scene.model.read_bytes()
    bucket = Bucket({f"{MODEL}.psi": content})
    server = Server(scene, directory, places=[bucket.url], environment=ENVIRONMENT)
    server.start()
    try:
        bucket.stalled = {"a-stalled.psi"}
        bucket.objects = bucket.objects | {"a-stalled.psi": content}
        time.sleep(3)  # the server looks every 2 s
        bucket.objects = bucket.objects | {"second.psi": content}
        state, _ = server.state("second", LOADS, "READY")
        answers = server.said("/predict", scene.body(1))
        ended, well = terminated(server)
    finally:
        server.process.close()
        bucket.close()
    told = f"the first model answers {quoted(answers)}; one that appeared later " + ("answers" if state else f"does not within {LOADS} s")
    return Outcome(f"{told}; {ended}", well and state == "READY" and answers.startswith("200"))


def terminated(server: Server) -> tuple[str, bool]:
    """Sends SIGTERM: what happened, and whether it was soon enough."""
    took = server.process.end(DRAIN + 10)
    if took is None:
        return f"still ran {DRAIN + 10} s after SIGTERM", False
    return f"ended {took:.1f} s after SIGTERM", took < DRAIN + 2


def attacks() -> list[Case]:
    return [
        Alone(f"bucket that answers 503 for {FAILS} s from the start", recovers),
        Alone("bucket with an object that stalls in mid-body from the start, then SIGTERM", stalls),
        Alone("bucket in which an object that stalls appears, then another, then SIGTERM", later),
    ]
