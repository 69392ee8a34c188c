"""Calls over gRPC that hold memory or streams, or that grow when they are decoded."""

import contextlib
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from . import http2
from .confined import MIB
from .server import Server
from .trial import Case, Outcome, Served, quoted

MAX_BODY = 64 * MIB  # the default of --max-body
SECONDS = 8  # that calls are held
CONNECTIONS = 32  # that send tiny frames


def ends(found: dict[str, Any]) -> str:
    """How calls ended, in words."""
    counts: Counter[str] = Counter()
    for end, count in found["ends"].items():
        counts["broken off" if end.startswith("broken") else end] += count
    text = ", ".join(f"{count:,} {end[:50]}" for end, count in counts.most_common(4))
    first = (found.get("first_end") or found.get("message") or "").rpartition("desc = ")[2]
    return f"{text} ({quoted(first[:100])})" if first and set(counts) - {"broken off"} else text


def held(method: str, token: str | None, calls: int, sent: int, connections: int = 1) -> Callable[[Server], Outcome]:
    """Calls whose messages claim a little more than is sent, and never end."""

    def attack(server: Server) -> Outcome:
        claim = sent + 99 if sent else 0
        flags = ["-calls", calls, "-connections", connections, "-claim", claim, "-bytes", sent, "-for", f"{SECONDS}s"]
        found = server.load("hold", method, *flags, token=token)
        return Outcome(ends(found), sent=found["sent_bytes"])

    return attack


def tiny(method: str, token: str | None) -> Callable[[Server], Outcome]:
    """Messages in frames of one byte, as many as each connection may send before the server grants it more."""

    def attack(server: Server) -> Outcome:
        start = http2.call(1, f"/inference.GRPCInferenceService/{method}", server.scene.authorization(token))
        claim = http2.frame(http2.DATA, 0, 1, struct.pack(">BI", 0, 10 * MIB))
        flood = http2.frame(http2.DATA, 0, 1, b"a") * (http2.WINDOW - 5)
        content = http2.PREFACE + http2.frame(http2.SETTINGS, 0, 0, b"") + start + claim + flood
        whole = 0
        with contextlib.ExitStack() as open_until_the_end:
            for _ in range(CONNECTIONS):
                connection = open_until_the_end.enter_context(socket.create_connection(("127.0.0.1", server.ports[1]), 10))
                with contextlib.suppress(OSError):  # the server may close it before it has all
                    connection.sendall(content)
                    whole += 1
            time.sleep(3)
        return Outcome(
            f"{whole} of {CONNECTIONS} connections sent all of their {http2.WINDOW - 5:,} frames", sent=CONNECTIONS * len(content)
        )

    return attack


def grown(kind: str, size: int, calls: int) -> Callable[[Server], Outcome]:
    """Messages that are whole, and larger in memory than on the wire."""

    def attack(server: Server) -> Outcome:
        found = server.hostile(kind, size, calls)
        return Outcome(ends(found), sent=found["sent_bytes"])

    return attack


def attacks() -> list[Case]:
    return [
        Served("gRPC: 40 unary calls, each with 60 MiB of a message that never ends", held("ModelInfer", "attacker", 40, 60 * MIB)),
        Served("gRPC: 40 streams, each with 60 MiB of a message that never ends", held("ModelStreamInfer", "attacker", 40, 60 * MIB)),
        Served(
            "gRPC without a token: 40 streams, each with 60 MiB of a message that never ends",
            held("ModelStreamInfer", None, 40, 60 * MIB), "nobody",
        ),
        Served(
            "gRPC without a token: 1,000 streams on 100 connections, each with 1 MiB of a message that never ends",
            held("ModelStreamInfer", None, 1000, MIB, connections=100), "nobody",
        ),
        Served("gRPC: 32 calls in frames of one byte", tiny("ModelInfer", "attacker")),
        Served("gRPC without a token: 32 streams in frames of one byte", tiny("ModelStreamInfer", None), "nobody"),
        Served(
            "gRPC without a token: 1,150 idle streams on 5 connections",
            held("ModelStreamInfer", None, 1150, 0, connections=5), "nobody",
        ),
        Served("gRPC: 1,150 idle streams on 5 connections", held("ModelStreamInfer", "attacker", 1150, 0, connections=5)),
        Served("gRPC: 64 messages at once that gzip unpacks to 64 MiB each", grown("bomb", MAX_BODY - 100, 64)),
        Served("gRPC: 30 million empty inputs in 60 MiB", grown("inputs", 60 * MIB, 1)),
        Served("gRPC: 4 messages at once, each with 30 million empty texts in 60 MiB", grown("texts", 60 * MIB, 4)),
        Served("gRPC: 4 messages at once, each with 60 million numbers of one byte", grown("varints", 60 * MIB, 4)),
    ]  # fmt: skip
