"""Arrow streams that are small on the wire."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pyarrow as pa

from .attack_json import posted
from .scene import MODEL
from .server import Server
from .trial import Case, Outcome, Served

TYPE = {"Content-Type": "application/vnd.apache.arrow.stream"}
PATH = f"/predict?model={MODEL}"
SOON = ("--timeout", "8s")  # so that a request that keeps the server busy until then does not take the default's 30 s here
BROKEN = "connection closed"  # an answer that is half sent can only be broken off
MARK = 1_234_567  # rows, a number that is found again in the stream's metadata


def columns(server: Server) -> dict[str, bool]:
    """Names of the columns, and whether they are text."""
    names, rows = server.scene.table
    return {name: any(isinstance(row[name], str) for row in rows) for name in names}


def stream(batches: list[pa.RecordBatch], compression: str | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue())


def texts(rows: int) -> pa.Array:
    """Empty texts."""
    return pa.Array.from_buffers(pa.utf8(), rows, [None, pa.py_buffer(np.zeros(rows + 1, np.int32)), pa.py_buffer(b"")])


@cache
def packed_zeros(compression: str, names: tuple[tuple[str, bool], ...]) -> bytes:
    rows = 1 << 26
    numbers, empty = pa.array(np.zeros(rows)), texts(rows)
    return stream([pa.record_batch([empty if text else numbers for _, text in names], names=[name for name, _ in names])], compression)


def zeros(compression: str) -> Callable[[Server], bytes]:
    return lambda server: packed_zeros(compression, tuple(columns(server).items()))


def nulls(server: Server) -> bytes:
    """A batch that claims 2⁴⁰ rows of columns that need no bytes."""
    batch = pa.record_batch([pa.nulls(MARK)] * len(columns(server)), names=list(columns(server)))
    return stream([batch]).replace(MARK.to_bytes(8, "little"), (1 << 40).to_bytes(8, "little"))


def dictionaries(server: Server) -> bytes:
    """One row, and a dictionary of 2²⁶ empty texts for each text column."""
    entries, code = texts(1 << 26), pa.array([0], pa.int32())
    cells = [pa.DictionaryArray.from_arrays(code, entries) if text else pa.array([0.0]) for text in columns(server).values()]
    return stream([pa.record_batch(cells, names=list(columns(server)))], "zstd")


def honest(server: Server) -> bytes:
    """A million rows as pandas would send them, in batches of 10,000."""
    _, rows = server.scene.table
    cells = {name: [row[name] for row in rows[:100]] * 100 for name in columns(server)}
    batch = pa.record_batch([pa.array(list(map(str, c)) if columns(server)[n] else c) for n, c in cells.items()], names=list(cells))
    return stream([batch] * 100, "zstd")


def sent(
    body: Callable[[Server], bytes], calls: int, path: str = PATH, accepted: tuple[str, ...] = ("4", "503", "504")
) -> Callable[[Server], Outcome]:
    return posted(path, body, headers=TYPE, calls=calls, accepted=accepted)


def attacks() -> list[Case]:
    return [
        Served("Arrow: a batch that zstd unpacks to 4.5 GB", sent(zeros("zstd"), 1)),
        Served("Arrow: a batch that lz4 unpacks to 4.5 GB", sent(zeros("lz4"), 1)),
        Served("Arrow: dictionaries that zstd unpacks to 1.9 GB", sent(dictionaries, 1)),
        Served("Arrow: four batches at once that claim 2⁴⁰ rows of nulls", sent(nulls, 4), flags=SOON),
        Served("Arrow: four times a million honest rows at once", sent(honest, 4, accepted=("200", "413", "429", BROKEN)), flags=SOON),
        Served(
            "Arrow: four times a million honest rows at once for `/invocations`, which `--max-rows` bounds",
            sent(honest, 4, f"/invocations?model={MODEL}", ("413", "429")),
        ),
    ]  # fmt: skip
