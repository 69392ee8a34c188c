"""Real parts for batches: NATS servers, an S3 server and workers, as processes that can be killed."""

import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CACHE = HERE.parent / ".cache" / "batch"
ENVIRONMENT = os.environ | {"CGO_ENABLED": "0"}
KEYS = {"AWS_ACCESS_KEY_ID": "psi", "AWS_SECRET_ACCESS_KEY": "psi-batch-secret"}


def build(program: Path | None) -> Path:
    """The program, built from the source unless one is given."""
    if program:
        return program.resolve()
    CACHE.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-o", CACHE / "psi", "./cmd/psi"], cwd=ROOT, env=ENVIRONMENT, check=True)
    return CACHE / "psi"


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def wait_for(port: int, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


class Queue:
    """NATS servers, clustered if there are several, each a process."""

    def __init__(self, directory: Path, servers: int) -> None:
        program = CACHE / "nats-server"
        CACHE.mkdir(parents=True, exist_ok=True)
        subprocess.run(["go", "build", "-o", program, "github.com/nats-io/nats-server/v2"], cwd=ROOT, env=ENVIRONMENT, check=True)
        self.program, self.directory = program, directory
        self.ports = [free_port() for _ in range(servers)]
        self.monitors = [free_port() for _ in range(servers)]
        self.routes = [free_port() for _ in range(servers)]
        self.processes: list[subprocess.Popen[bytes] | None] = [None] * servers
        for i in range(servers):
            self.start(i)
        for port in self.ports:
            wait_for(port)
        while servers > 1 and not self.leader("meta"):
            time.sleep(0.1)

    @property
    def url(self) -> str:
        return ",".join(f"nats://127.0.0.1:{p}" for p in self.ports)

    def start(self, i: int) -> None:
        home = self.directory / f"n{i}"
        home.mkdir(parents=True, exist_ok=True)
        text = f"""
server_name: n{i}
listen: "127.0.0.1:{self.ports[i]}"
http: "127.0.0.1:{self.monitors[i]}"
jetstream {{ store_dir: "{home}" }}
"""
        if len(self.ports) > 1:
            routes = ", ".join(f'"nats://127.0.0.1:{p}"' for p in self.routes)
            text += f'cluster {{ name: psi, listen: "127.0.0.1:{self.routes[i]}", routes: [{routes}] }}\n'
        (home / "server.conf").write_text(text)
        with (home / "log").open("ab") as log:
            self.processes[i] = subprocess.Popen([self.program, "-c", home / "server.conf"], stdout=log, stderr=log)

    def ask(self, i: int, what: str) -> dict[str, Any]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.monitors[i]}/{what}", timeout=5) as answer:
            return dict(json.load(answer))

    def leader(self, what: str) -> str | None:
        """The server that leads: the cluster's meta group, or the stream of units."""
        for i, process in enumerate(self.processes):
            if process is None:
                continue
            try:
                told = self.ask(i, "jsz?streams=true&accounts=true")
            except OSError:
                continue
            if what == "meta":
                if leader := told.get("meta_cluster", {}).get("leader"):
                    return str(leader)
                continue
            for account in told.get("account_details", []):
                for stream in account.get("stream_detail", []):
                    if stream["name"] == "PSI_WORK" and (leader := stream.get("cluster", {}).get("leader")):
                        return str(leader)
        return None

    def kill(self, i: int, how: int = signal.SIGKILL) -> None:
        process = self.processes[i]
        if process:
            process.send_signal(how)
            process.wait()
        self.processes[i] = None

    def close(self) -> None:
        for i in range(len(self.ports)):
            self.kill(i)


class Store:
    """versitygw, an S3 server on a directory, with one bucket."""

    def __init__(self, directory: Path, port: int | None = None) -> None:
        found = subprocess.run([ROOT / "scripts" / "fetch-versitygw"], check=True, stdout=subprocess.PIPE, text=True)
        self.program, self.directory, self.port = Path(found.stdout.strip()), directory, port or free_port()
        (directory / "bucket").mkdir(parents=True, exist_ok=True)
        ENVIRONMENT.update(KEYS)
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        access = ["--access", KEYS["AWS_ACCESS_KEY_ID"], "--secret", KEYS["AWS_SECRET_ACCESS_KEY"]]
        self.process = subprocess.Popen(
            [self.program, "--port", f"127.0.0.1:{self.port}", *access, "-q", "posix", self.directory],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        wait_for(self.port)

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None

    def url(self, path: str) -> str:
        return f"s3://bucket/{path}?endpoint=http://127.0.0.1:{self.port}&s3ForcePathStyle=true&region=us-east-1"


class Worker:
    """psi batch worker, on one core and with one thread if told so."""

    def __init__(self, psi: Path, queue: str, log: Path, core: int | None = None, user: str | None = None) -> None:
        self.metrics_port = free_port()
        command: list[Any] = [psi, "batch", "worker", "--queue", queue, "--metrics", f"127.0.0.1:{self.metrics_port}"]
        if core is not None:
            command = ["taskset", "-c", str(core), *command]
        if user:
            command = ["setpriv", f"--reuid={user}", "--regid=nogroup", "--clear-groups", *command]
        self.log = log
        with log.open("ab") as to:
            self.process = subprocess.Popen(command, env=ENVIRONMENT | {"GOMAXPROCS": "1"}, stderr=to, stdout=to)

    def metric(self, name: str) -> float:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=2) as answer:
                text = answer.read().decode()
        except OSError:
            return 0
        return sum(float(m) for m in re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE))

    def memory(self) -> float:
        """Resident memory, in MB."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return 0
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(found[1]) / 1e3 if found else 0

    def cpu(self) -> float:
        """CPU seconds so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def run(psi: Path, *words: Any, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run([psi, *map(str, words)], env=ENVIRONMENT, check=check, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def status(psi: Path, queue: str, job: str) -> dict[str, Any]:
    """How far a job is; whoever asks while the queue is away asks again."""
    answer = run(psi, "batch", "status", "--queue", queue, job, "--json", check=False)
    try:
        return dict(json.loads(answer.stdout))
    except json.JSONDecodeError:
        return {"state": "unknown", "done": 0, "failed": 0, "message": answer.stderr}


def digest(directory: Path) -> tuple[str, int, int]:
    """Of all parts, by name and content; how many, and how many bytes."""
    total, parts, size = hashlib.sha256(), 0, 0
    for path in sorted(directory.glob("part-*.parquet")):
        total.update(path.name.encode())
        with path.open("rb") as f:
            total.update(hashlib.file_digest(f, "sha256").digest())
        parts, size = parts + 1, size + path.stat().st_size
    return total.hexdigest(), parts, size


def fresh(directory: Path) -> Path:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory
