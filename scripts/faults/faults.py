"""What happens to every server sooner or later, and requests that are wrong."""

import gzip
import http.client
import json
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .scene import MODEL, Scene
from .server import Server, free_port
from .trial import Alone, Case, Line, Outcome, Served, beside, quoted

GIB = 1 << 30


def killed(scene: Scene, directory: Path) -> Outcome:
    """Four callers ask again until they are answered, while the server is killed and started again."""
    server = Server(scene, directory).start()
    answered, again, stop = [0], [0], threading.Event()
    body = scene.body(1)

    def ask() -> None:
        while not stop.is_set():
            while True:
                try:
                    if server.ask("POST", "/explain", body, timeout=10)[0] == 200:
                        answered[0] += 1
                        break
                except (OSError, http.client.HTTPException):
                    pass
                again[0] += 1
                time.sleep(0.05)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    gaps = []
    try:
        for _ in range(3):
            time.sleep(2)
            server.process.close()
            start = time.perf_counter()
            server.start()
            gaps.append(time.perf_counter() - start)
        time.sleep(2)
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)
        server.stop()
    lost = sum(thread.is_alive() for thread in threads)
    told = f"restarted three times, within {max(gaps):.1f} s each; "
    told += f"{answered[0]:,} requests of four callers were answered after {again[0]:,} retries, {lost} lost"
    return Outcome(told, lost == 0 and answered[0] > 0 and again[0] > 0)


def corrupt(server: Server) -> Outcome:
    good = server.scene.model.read_bytes()
    damaged = bytearray(good)
    damaged[len(good) // 2] ^= 0xFF
    kinds = {"truncated": good[: len(good) // 2], "a byte changed": bytes(damaged), "not a model": b"hello", "empty": b""}

    def loads(outcome: str) -> float:
        return server.metric(f'psi_model_loads_total{{model="{MODEL}",outcome="{outcome}"}}')

    def replaced(content: bytes, outcome: str) -> bool:
        """Whether the content has this outcome within 10 s of replacing the model file."""
        before, start = loads(outcome), time.perf_counter()
        (server.models / "next").write_bytes(content)
        (server.models / "next").rename(server.models / f"{MODEL}.psi")
        while loads(outcome) == before and time.perf_counter() - start < 10:
            time.sleep(0.2)
        return loads(outcome) > before

    refused = [name for name, content in kinds.items() if replaced(content, "failed")]
    again = replaced(good, "loaded")
    told = f"{len(refused)} of {len(kinds)} bad files were refused ({', '.join(refused)}); the good model kept answering; "
    return Outcome(told + f"a good file after them was {'' if again else 'not '}loaded", len(refused) == len(kinds) and again)


def full_disk(scene: Scene, directory: Path) -> Line | Outcome:
    """The disk of the explanation log is full."""
    disk = directory / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], capture_output=True).returncode != 0:
        return Outcome("this user may not mount a small disk", None)

    def do(server: Server) -> Outcome:
        def rows(outcome: str) -> float:
            return server.metric(f'psi_explanation_log_rows_total{{outcome="{outcome}"}}')

        start = time.perf_counter()
        failed = 0
        while time.perf_counter() - start < 30 and rows("dropped") + rows("failed") == 0:
            failed += server.post("/explain", scene.body(100))[0] != 200
        counts = {name: rows(name) for name in ["written", "dropped", "failed"]}
        logged = server.log.read_text().count("no space left")
        told = ", ".join(f"{count:.0f} {name}" for name, count in counts.items())
        well = failed == 0 and counts["dropped"] + counts["failed"] > 0 and 0 < logged < 10
        return Outcome(
            f"all requests answered ({failed} failed); rows of the log: {told}; {logged} line{'s' * (logged != 1)} in the server's log",
            well,
        )

    try:
        server = Server(scene, directory, "--log-dir", str(disk), "--log-sample", "1")
        return beside(server, Served("disk of the explanation log full", do))
    finally:
        subprocess.run(["umount", disk], check=True)


def collector_down(server: Server) -> Outcome:
    before = server.log.read_text().count("\n")
    statuses = {server.post("/explain", server.scene.body(100))[0] for _ in range(50)}
    time.sleep(12)  # batches are sent every few seconds
    logged = server.log.read_text().count("\n") - before
    return Outcome(
        f"50 requests answered {statuses}; traces are dropped, {logged} line{'s' * (logged != 1)} in the server's log",
        statuses == {200} and logged < 20,
    )


def clock(scene: Scene, directory: Path) -> Outcome:
    return Outcome("a test cannot change the clock of a single process, and other programs use the machine's", None)


def large_http(server: Server) -> Outcome:
    def pieces() -> Iterator[bytes]:
        block = b" " * (1 << 20)
        for _ in range(GIB >> 20):
            yield block

    told = server.said("/explain", pieces(), {"Content-Length": str(GIB)})
    chunked = server.said(f"/v2/models/{MODEL}/infer", pieces())  # without a length it is sent in chunks
    well = all(text.startswith(("413", "connection closed")) for text in [told, chunked])
    return Outcome(f"with its length: {quoted(told)}; in chunks: {quoted(chunked)}", well)


def large_grpc(server: Server) -> Outcome:
    told = call(server, "bytes", GIB)
    return Outcome(quoted(told), told.startswith("ResourceExhausted"))


def call(server: Server, kind: str, size: int = GIB) -> str:
    """What the server says to a hostile message over gRPC."""
    said = server.hostile(kind, size)
    return f"{said['code']} {said['message']}"[:160].strip()


def wide(server: Server) -> Outcome:
    columns = {f"c{i}": i for i in range(1_000_000)}
    inputs = [{"name": f"c{i}", "datatype": "FP64", "shape": [1], "data": [1]} for i in range(1_000_000)]
    told = {
        "/explain": server.said("/explain", json.dumps({"rows": [columns]})),
        "V2": server.said(f"/v2/models/{MODEL}/infer", json.dumps({"inputs": inputs})),
        "gRPC": call(server, "columns", 1_000_000),
    }
    well = all(text.startswith(("400", "413", "InvalidArgument", "ResourceExhausted")) for text in told.values())
    return Outcome(together(told), well)


def together(told: dict[str, str]) -> str:
    return "; ".join(f"{name}: {quoted(text)}" for name, text in told.items())


def bomb(server: Server) -> Outcome:
    packed = gzip.compress(bytes(GIB), 1)
    told = server.said("/explain", packed, {"Content-Encoding": "gzip"})
    said = call(server, "bomb")
    return Outcome(
        f"HTTP ({len(packed) >> 10} KiB): {quoted(told)}; gRPC: {quoted(said)}",
        told.startswith("413") and said.startswith("ResourceExhausted"),
    )


def slow_loris(server: Server) -> Outcome:
    sockets = []
    for i in range(2000):
        s = socket.create_connection(("127.0.0.1", server.ports[i % 2]), timeout=10)
        s.sendall(b"POST /explain HTTP/1.1\r\nHost: a\r\nX: " if i % 2 == 0 else b"PRI * HTTP")
        sockets.append(s)
    start = time.perf_counter()
    remaining = sockets
    while remaining and time.perf_counter() - start < 40:
        time.sleep(1)
        remaining = [s for s in remaining if dribble(s)]
    took = time.perf_counter() - start
    for s in sockets:
        s.close()
    return Outcome(f"all but {len(remaining)} of 2,000 connections were closed within {took:.0f} s", not remaining)


def dribble(s: socket.socket) -> bool:
    """Sends a byte; false if the server has closed the connection."""
    try:
        s.send(b"a")
        s.setblocking(False)
        return s.recv(4096) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def refused_bodies(bodies: dict[str, bytes], path: str = "/explain") -> Callable[[Server], Outcome]:
    def fault(server: Server) -> Outcome:
        told = {name: server.said(path, body) for name, body in bodies.items()}
        return Outcome(together(told), all(text.startswith("400") for text in told.values()))

    return fault


def invalid_text(server: Server) -> Outcome:
    row = json.dumps({"rows": [server.scene.table[1][0] | {"workclass": "MARK"}]}).encode().replace(b"MARK", b"\xff\xfe")
    told, said = server.said("/explain", row), call(server, "utf8")
    return Outcome(
        f"HTTP: {quoted(told)}; gRPC: {quoted(said)}", told.startswith("400") and said.startswith(("InvalidArgument", "Internal"))
    )


def no_numbers(server: Server) -> Outcome:
    told: dict[str, str] = {}
    for text in ["NaN", "Infinity", "1e999", '"inf"']:
        body = json.dumps({"rows": [server.scene.table[1][0] | {"age": "MARK"}]}).replace('"MARK"', text)
        told[f"JSON {text}"] = server.said("/explain", body.encode())
    well = all(text.startswith("400") for text in told.values())
    told["gRPC infinite"] = infinite = call(server, "infinite")
    told["gRPC NaN, a missing cell"] = missing = call(server, "nan")
    return Outcome(together(told), well and infinite.startswith("InvalidArgument") and missing.startswith("OK"))


def deep() -> dict[str, bytes]:
    openings: list[bytes] = [b"[", b'{"a":', b'{"rows":[']
    return {f"`{opening.decode()}` a million times": opening * 1_000_000 for opening in openings}


def faults() -> list[Case]:
    collector: tuple[str, Any] = ("--otlp", f"http://127.0.0.1:{free_port()}")
    return [
        Alone("killed (`kill -9`) and restarted under load", killed),
        Served("broken model files in the place of a good one", corrupt, "operator"),
        Alone("disk of the explanation log full", full_disk),
        Served("trace collector not reachable", collector_down, flags=collector),
        Alone("clock jumps", clock),
        Served("body of 1 GiB over HTTP", large_http),
        Served("message of 1 GiB over gRPC", large_grpc),
        Served("a million columns", wide),
        Served("gzip bomb: small, and 1 GiB when unpacked", bomb),
        Served("slow-loris: 2,000 connections that send a byte a second", slow_loris, "nobody"),
        Served("deep JSON", refused_bodies(deep())),
        Served("text that is not UTF-8", invalid_text),
        Served("NaN and infinite", no_numbers),
    ]
