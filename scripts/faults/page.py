"""docs/faults.md."""

from .confined import GO_LIMIT, LIMIT, MIB
from .server import MAX_HELD
from .trial import MEDIAN, MEMORY, READY, Line

VERDICTS = {True: "yes", False: "**no**", None: "not tried"}

START = f"""# What the server does when things go wrong

`.ci/attacks` writes this page. It causes each fault in a real process in {{place}}, with
`GOMEMLIMIT={GO_LIMIT}`: the limits of the Helm chart. Meanwhile another caller with a token requests one row's attributions every
100 ms over HTTP, and as often over gRPC. It also requests the server's health without a token. All programs of the test share the
machine's two cores.

- *others*: how many requests of that caller were answered, then the median and the 99th percentile of their times, for the
  slower protocol. The test compares every answer with the model's own prediction.
- *memory*: resident memory of the server's process in MiB. *Idle* is its peak while only the other caller sends requests.

## Faults

| fault | result | others | memory: idle, peak, after | as expected |
| --- | --- | --- | --- | --- |
"""

ATTACKS = f"""
## Attacks

The server survives an attack if all of these hold. Failures are in bold.

- The process is never killed and never restarts, and `/v2/health/ready` answers 200 within {READY} s of the attack's end.
- Every request of the other caller is answered, half of them within {MEDIAN} ms.
- A caller without a token costs at most {MEMORY["nobody"]} MiB over idle. A caller with a token, or a model file, costs at most
  `--max-held` + 128 MiB, here {MAX_HELD} + 128.
- A command (`psi train`, `psi predict`) stays within the cgroup. The table shows its total peak.

| attack | bytes sent | peak over idle, MiB | others' p50 and p99 | outcome | survived |
| --- | --- | --- | --- | --- | --- |
"""


def page(faults: list[Line], attacks: list[Line], cgroup: str) -> str:
    place = f"a memory cgroup of {LIMIT // MIB:,} MiB"
    if not cgroup:
        place = f"a process that is killed at {LIMIT // MIB:,} MiB (this machine does not allow memory cgroups)"
    text = START.replace("{place}", place)
    for line in faults:
        memory = f"{line.idle}, {line.peak}, {line.after}" if line.idle else ""
        text += row(line.name, line.outcome(), line.others.words() if line.others else "", memory, VERDICTS[line.well])
    text += ATTACKS
    for line in attacks:
        over = f"{max(line.peak - line.idle, 0):,}" if line.peak else ""
        text += row(line.name, size(line.sent), over, line.others.words() if line.others else "", line.outcome(), VERDICTS[line.well])
    return text


def row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |\n"


def size(count: int) -> str:
    if not count:
        return ""
    for unit, name in [(1 << 30, "GiB"), (MIB, "MiB"), (1 << 10, "KiB")]:
        if count >= unit:
            return f"{count / unit:,.1f} {name}"
    return f"{count} B"
