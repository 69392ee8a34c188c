"""Calls over gRPC that hold memory or streams, or that grow when they are decoded."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from .confined import MIB
from .server import Server
from .trial import Case, Outcome, Served

MAX_BODY = 64 * MIB  # the default of --max-body
SECONDS = 8  # that calls are held


def ends(found: dict[str, Any]) -> str:
    """How calls ended, in words."""
    counts: Counter[str] = Counter()
    for end, count in found["ends"].items():
        counts["broken off" if end.startswith("broken") else end] += count
    text = ", ".join(f"{count:,} {end[:50]}" for end, count in counts.most_common(4))
    first = (found.get("first_end") or found.get("message") or "").rpartition("desc = ")[2]
    return f"{text} ({first[:100]})" if first and set(counts) - {"broken off"} else text


def held(method: str, token: str | None, calls: int, sent: int, piece: int = 16 << 10, connections: int = 1) -> Callable[[Server], Outcome]:
    """Calls whose messages claim a little more than is sent, and never end."""

    def attack(server: Server) -> Outcome:
        claim = sent + 99 if sent else 0
        flags = ["-calls", calls, "-connections", connections, "-claim", claim, "-bytes", sent, "-piece", piece, "-for", f"{SECONDS}s"]
        found = server.load("hold", method, *flags, token=token)
        return Outcome(ends(found), sent=found["sent_bytes"])

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
        Served("gRPC: 32 calls in frames of one byte", held("ModelInfer", "attacker", 32, 2 * MIB, piece=1, connections=4)),
        Served("gRPC without a token: 32 streams in frames of one byte", held("ModelStreamInfer", None, 32, 2 * MIB, 1, 4), "nobody"),
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
