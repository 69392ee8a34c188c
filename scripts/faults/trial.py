"""Cases, how they run, and by which bars they are judged."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .confined import LIMIT, MIB
from .probe import Probe, Seen
from .scene import Scene
from .server import MAX_HELD, Server

# Bars. Memory is what the peak may lie above the peak of the same server before the attack, which the other caller kept busy.
MEMORY = {"nobody": 64, "token": MAX_HELD + 128, "operator": MAX_HELD + 128}  # MiB, by who attacks
READY = 5  # seconds after the attack
MEDIAN = 250  # ms that others may wait, in the median

SETTLE = 1.5  # seconds before the attack, in which the other caller asks alone


@dataclass(frozen=True)
class Outcome:
    """What a case itself saw: the server's answers in words, and whether they are as they should be."""

    told: str
    well: bool | None = True  # None is not tried
    sent: int = 0  # bytes


def quoted(message: str) -> str:
    """A message of the program, as a code span."""
    return "`" + message.replace("`", "'") + "`"


@dataclass
class Line:
    """A line of the page."""

    name: str
    told: str
    well: bool | None
    sent: int = 0
    idle: int = 0  # MiB
    peak: int = 0
    after: int = 0
    others: Seen | None = None
    harm: list[str] = field(default_factory=list)  # bars that were missed, in words

    def outcome(self) -> str:
        return "; ".join(part for part in [self.told, *(f"**{harm}**" for harm in self.harm)] if part)


@dataclass(frozen=True)
class Served:
    """Something done to a server while another caller asks."""

    name: str
    do: Callable[[Server], Outcome]
    attacker: str = "token"  # or nobody, who has no token, or operator, who writes model files
    flags: tuple[str, ...] = ()

    def run(self, scene: Scene, directory: Path) -> Line:
        return beside(Server(scene, directory, *self.flags), self)


@dataclass(frozen=True)
class Alone:
    """Something with processes of its own."""

    name: str
    do: Callable[[Scene, Path], Line | Outcome]

    def run(self, scene: Scene, directory: Path) -> Line:
        found = self.do(scene, directory)
        return found if isinstance(found, Line) else Line(self.name, found.told, found.well, found.sent)


Case = Served | Alone


def beside(server: Server, case: Served) -> Line:
    """Runs a case while another caller asks, and judges it."""
    with server:
        process = server.process
        probe = Probe(server)
        try:
            for _ in range(5):
                server.post("/explain", server.scene.body(1))
            process.reset_peak()
            time.sleep(SETTLE)
            idle = process.peak
            process.reset_peak()
            probe.count()
            time.sleep(0.5)
            done = case.do(server)
            ready = server.wait("/v2/health/ready", 30)
            time.sleep(1)
            seen = probe.end()
        finally:
            probe.close()
        lived = process.alive()
        after = process.memory() if lived else 0
        line = Line(case.name, done.told, done.well, done.sent, idle, process.peak, after, seen)
        if not lived:
            reason = f"killed at {LIMIT // MIB:,} MiB" if process.out_of_memory() else f"ended with {process.process.returncode}"
            line.harm.append(reason)
        else:
            if ready is None or ready > READY:
                line.harm.append("not ready" + (f" for {ready:.0f} s" if ready else ""))
            if process.peak - idle > MEMORY[case.attacker]:
                line.harm.append(f"{process.peak - idle:,} MiB where {MEMORY[case.attacker]} are allowed")
            if seen.answered < seen.asked or seen.asked == 0:
                line.harm.append(f"{seen.asked - seen.answered} requests of others failed ({seen.failures})")
            elif seen.p50 > MEDIAN:
                line.harm.append(f"others waited {seen.p50:.0f} ms in the median")
            if seen.health[1] < seen.health[0]:
                line.harm.append(f"{seen.health[0] - seen.health[1]} of {seen.health[0]} questions for health failed")
        if line.well is not None:
            line.well = line.well and not line.harm
        return line
