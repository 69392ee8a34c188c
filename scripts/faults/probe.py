"""Another caller, who asks for one row's attributions every 100 ms over HTTP and as often over gRPC."""

import json
import subprocess
from dataclasses import dataclass
from typing import Any

from .server import Server

EVERY = "100ms"


@dataclass(frozen=True)
class Seen:
    """What the caller saw; times are in ms, the worse of both protocols."""

    asked: int
    answered: int
    wrong: int
    p50: float
    p99: float
    failures: str  # kinds of failures, and the first of them in words
    health: tuple[int, int]  # asked, answered

    def words(self) -> str:
        text = f"{self.answered} of {self.asked}"
        return text + (f"; {self.p50:.0f} and {self.p99:.0f} ms" if self.answered else "")


class Probe:
    """serve/internal/load in a process of its own, so that neither Python nor the attack slows it down."""

    def __init__(self, server: Server) -> None:
        scene = server.scene
        command = [
            scene.load, "probe", "-http", f"127.0.0.1:{server.ports[0]}", "-grpc", f"127.0.0.1:{server.ports[1]}",
            "-token-file", scene.token_file("caller"), "-every", EVERY, "-for", "15m", "-connections", "32", "-timeout", "10s",
            scene.model, scene.rows,
        ]  # fmt: skip
        words = [str(word) for word in command]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def count(self) -> None:
        """Requests count from now on."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> Seen:
        out, errors = self.process.communicate(timeout=60)
        if self.process.returncode != 0:
            raise RuntimeError(f"the probe failed: {errors}")
        found: dict[str, Any] = json.loads(out)
        rows, health = [found["http"], found["grpc"]], [found["health_http"], found["health_grpc"]]
        kinds: dict[str, int] = {}
        for kind, count in (pair for part in rows + health for pair in part["outcomes"].items()):
            if kind != "ok":
                kinds[kind[:60]] = kinds.get(kind[:60], 0) + count
        failures = ", ".join(f"{count} × {kind}" for kind, count in sorted(kinds.items(), key=lambda pair: -pair[1])[:3])
        return Seen(
            asked=sum(part["asked"] for part in rows), answered=sum(part["answered"] for part in rows),
            wrong=kinds.get("wrong", 0), p50=max(part["p50_ms"] for part in rows), p99=max(part["p99_ms"] for part in rows),
            failures=failures, health=(sum(p["asked"] for p in health), sum(p["answered"] for p in health)),
        )  # fmt: skip

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
