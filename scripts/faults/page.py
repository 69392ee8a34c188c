"""docs/faults.md."""

from .confined import GO_LIMIT, LIMIT, MIB
from .server import MAX_HELD
from .trial import MEDIAN, MEMORY, READY, Line

VERDICTS = {True: "yes", False: "**no**", None: "not tried"}

START = f"""# What the server does when things go wrong

Written by `.ci/attacks`, which does each of these to a real process in {{place}}, with
`GOMEMLIMIT={GO_LIMIT}`: the limits of the Helm chart. Meanwhile another caller, who has a token, asks for one row's attributions every
100 ms over HTTP and as often over gRPC, and for the server's health without a token. The machine's two cores are shared by all
programs of the test.

- *others*: how many requests of that caller were answered, then the median and the 99th percentile of their times, for the
  slower protocol. Every answer is compared with the model's own prediction.
- *memory*: resident memory of the server's process in MiB. *Idle* is its peak while the other caller asks alone.

## Faults

| what was done | what the server did | others | memory: idle, peak, after | as it should |
| --- | --- | --- | --- | --- |
"""

ATTACKS = f"""
## Attacks

An attack is survived if all of these hold; what was missed is in bold.

- The process is never killed and never restarts, and `/v2/health/ready` answers 200 within {READY} s of the attack's end.
- Every request of the other caller is answered, half of them within {MEDIAN} ms.
- A caller without a token costs at most {MEMORY["nobody"]} MiB over idle. One with a token costs at most `--max-held` + 128 MiB, here
  {MAX_HELD} + 128, and so does a model file.
- A command (`psi train`, `psi predict`) stays within the cgroup. Its figure is its whole peak.

| attack | bytes sent | peak over idle, MiB | others' p50 and p99 | outcome | survived |
| --- | --- | --- | --- | --- | --- |
"""


def page(faults: list[Line], attacks: list[Line], cgroup: str) -> str:
    place = f"a memory cgroup of {LIMIT // MIB:,} MiB"
    if not cgroup:
        place = f"a process that is ended when it holds {LIMIT // MIB:,} MiB (this machine lets no memory cgroup be made)"
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
