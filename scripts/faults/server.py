"""A real `psi serve`, and ways to ask it."""

import contextlib
import http.client
import json
import shutil
import socket
import time
from pathlib import Path
from typing import Any

from .confined import Confined
from .scene import MODEL, Scene

MAX_HELD = 512  # MiB, the default of --max-held
DRAIN = 5  # seconds, --drain of these servers


class Server:
    """psi serve on ports of its own, which stay the same when it is started again."""

    def __init__(
        self, scene: Scene, directory: Path, *flags: str,
        places: list[str] | None = None, environment: dict[str, str] | None = None, user: int | None = None,
    ) -> None:  # fmt: skip
        self.scene, self.environment, self.user = scene, environment, user
        self.models = directory / "models"
        self.models.mkdir(parents=True, exist_ok=True)
        if places is None:
            shutil.copy(scene.model, self.models / f"{MODEL}.psi")
        self.log = directory / "server.log"
        self.ports = [free_port() for _ in range(3)]
        names = zip(["http", "grpc", "metrics"], self.ports, strict=True)
        addresses = [word for name, port in names for word in [f"--{name}", f"127.0.0.1:{port}"]]
        self.command: list[str | Path] = [
            scene.psi,
            "serve",
            "--json",
            "--drain",
            f"{DRAIN}s",
            *addresses,
            *flags,
            *(places or [str(self.models)]),
        ]
        if user is None:  # the token file is its owner's alone
            self.command += ["--token-file", str(scene.tokens)]

    def launch(self) -> None:
        """Starts the process without waiting for it to listen."""
        with self.log.open("a") as log:
            self.process = Confined(self.command, log, self.environment, self.user)

    def start(self) -> "Server":
        """Starts the process and waits until it is ready."""
        self.launch()
        assert self.process.process.stdout is not None
        if not self.process.process.stdout.readline() or self.wait("/v2/health/ready", 60) is None:
            raise RuntimeError(f"the server did not become ready: {self.log.read_text()[-2000:]}")
        return self

    def wait(self, path: str, seconds: float) -> float | None:
        """Seconds until a path answers 200; None if it does not in time."""
        start = time.perf_counter()
        while time.perf_counter() - start < seconds and self.process.alive():
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.ask("GET", path, timeout=2)[0] == 200:
                    return time.perf_counter() - start
            time.sleep(0.05)
        return None

    def stop(self) -> None:
        self.process.end(DRAIN + 5)
        self.process.close()

    def __enter__(self) -> "Server":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None,
        token: str | None = "caller", timeout: float = 60,
    ) -> tuple[int, bytes]:  # fmt: skip
        port = self.ports[2] if path == "/metrics" else self.ports[0]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        with contextlib.closing(connection):
            try:
                sent = {"Content-Type": "application/json"} | self.scene.authorization(token) | (headers or {})
                connection.request(method, path, body, sent)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the server may answer before it has read everything
            answer = connection.getresponse()
            return answer.status, answer.read()

    def post(self, path: str, body: Any, headers: dict[str, str] | None = None, token: str | None = "caller") -> tuple[int, bytes]:
        return self.ask("POST", path, body, headers, token)

    def said(self, path: str, body: Any, headers: dict[str, str] | None = None, token: str | None = "caller") -> str:
        """The status and the message of an answer."""
        try:
            status, answer = self.post(path, body, headers, token)
        except (OSError, http.client.HTTPException) as error:
            return f"connection closed ({type(error).__name__})"
        message = ""
        with contextlib.suppress(ValueError, AttributeError):
            message = json.loads(answer).get("message", "")
        return f"{status} {message}".strip()[:140]

    def index(self) -> dict[str, tuple[str, str]]:
        """State and reason of each model."""
        _, answer = self.ask("POST", "/v2/repository/index", b"{}", token="operator", timeout=10)
        return {model["name"]: (model["state"], model.get("reason", "")) for model in json.loads(answer)}

    def state(self, name: str, seconds: float, wanted: str = "") -> tuple[str, str]:
        """State and reason of a model, once it has one, or the wanted one; ("", "") if it does not in time."""
        start = time.perf_counter()
        while time.perf_counter() - start < seconds and self.process.alive():
            with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
                found = self.index().get(name)
                if found and wanted in ["", found[0]]:
                    return found
            time.sleep(0.1)
        return "", ""

    def logged(self, word: str) -> str:
        """The error of the last line in the server's log that has the word."""
        found = [line for line in self.log.read_text().splitlines() if word in line and "error=" in line]
        return found[-1].split("error=", 1)[1].strip('"').partition('" ')[0].replace(str(self.models), "…")[:160] if found else ""

    def metric(self, name: str) -> float:
        _, answer = self.ask("GET", "/metrics", token="operator")
        return sum(float(line.rsplit(" ", 1)[1]) for line in answer.decode().splitlines() if line.startswith(name))

    def hostile(self, kind: str, size: int, calls: int = 1, token: str | None = "attacker") -> dict[str, Any]:
        """Sends messages over gRPC that no honest client sends; see serve/internal/load."""
        return self.load("hostile", kind, "-timeout", "60s", "-bytes", size, "-calls", calls, token=token)

    def load(self, command: str, *arguments: Any, token: str | None = "attacker") -> dict[str, Any]:
        """Runs a command of serve/internal/load against this server; the first argument is what it takes."""
        flags = ["-grpc", f"127.0.0.1:{self.ports[1]}", *map(str, arguments[1:])]
        if token is not None:
            flags += ["-token-file", str(self.scene.token_file(token))]
        return self.scene.run_load(command, *flags, str(arguments[0]))


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
