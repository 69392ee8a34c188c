"""Large JSON over HTTP, many at once."""

import gzip
import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from .confined import MIB
from .scene import MODEL
from .server import Server
from .trial import Case, Outcome, Served, quoted

SIZE = 64 * MIB - 1024  # just within --max-body
AT_ONCE = 20


def posted(
    path: str, body: Callable[[Server], bytes], token: str | None = "attacker", headers: dict[str, str] | None = None,
    calls: int = AT_ONCE, accepted: tuple[str, ...] = ("4", "503", "504", "connection closed"),
) -> Callable[[Server], Outcome]:  # fmt: skip
    """The same body, many times at once. Each must be refused, unless accepted says otherwise."""

    def attack(server: Server) -> Outcome:
        content = body(server)
        with ThreadPoolExecutor(calls) as pool:
            answers = list(pool.map(lambda _: server.said(path, content, headers, token), range(calls)))
        counts = Counter(answers).most_common()
        told = "; ".join(f"{count} × {quoted(answer[:90])}" for answer, count in counts[:3])
        return Outcome(told, all(answer.startswith(accepted) for answer in answers), calls * len(content))

    return attack


def filled(start: str, item: str, end: str, size: int = SIZE) -> Callable[[Server], bytes]:
    """A body that repeats an item up to the size."""
    return lambda _: (start + item * ((size - len(start) - len(end)) // len(item))).encode()[:-1] + end.encode()


def zipped(body: Callable[[Server], bytes]) -> Callable[[Server], bytes]:
    return lambda server: gzip.compress(body(server), 6)


def doubled(server: Server) -> bytes:
    """The rows, again and again under one key: an honest reader keeps the last, a careless one all."""
    rows = json.dumps(server.scene.table[1][:100])
    field = f'"rows":{rows},'
    return f'{{"model":"{MODEL}",{field * (SIZE // len(field) - 1)}"rows":{rows}}}'.encode()


ROWS = filled('{"rows":[[', "1,", "]]}")
GZIP = {"Content-Encoding": "gzip"}


def attacks() -> list[Case]:
    infer = f"/v2/models/{MODEL}/infer"
    tensors = filled('{"inputs":[{"name":"age","datatype":"FP64","shape":[1],"data":[', "1,", "]}]}")
    many = filled('{"inputs":[', "{},", "]}")
    return [
        Served("JSON: 20 bodies of 64 MiB at once, one row of 32 million cells", posted("/explain", ROWS)),
        Served("JSON without a token: 20 bodies of 64 MiB at once", posted("/explain", ROWS, None), "nobody"),
        Served("JSON: 20 bodies of 64 MiB at once, each of millions of rows", posted("/predict", filled('{"rows":[', "[1],", "]}"))),
        Served("JSON: 20 bodies of 64 MiB at once, a tensor of 32 million numbers", posted(infer, tensors)),
        Served("JSON: 20 bodies of 64 MiB at once, 22 million tensors", posted(infer, many)),
        Served("JSON: 20 bodies of 64 MiB at once for `/invocations`", posted("/invocations", filled('{"inputs":[', "[1],", "]}"))),
        Served("JSON: 20 bodies of 64 MiB at once for V1", posted(f"/v1/models/{MODEL}:predict", filled('{"instances":[', "{},", "]}"))),
        Served("JSON: 64 bodies at once that gzip unpacks to 64 MiB each", posted("/explain", zipped(ROWS), headers=GZIP, calls=64)),
        Served(
            "JSON without a token: 64 bodies at once that gzip unpacks to 64 MiB each",
            posted("/explain", zipped(ROWS), None, GZIP, 64), "nobody",
        ),
        Served("JSON: 20 bodies of 64 MiB at once that repeat one key", posted("/explain", doubled)),
        Served("JSON: 20 bodies of 64 MiB at once, the key in capitals", posted("/explain", filled('{"ROWS":[[', "1,", "]]}"))),
    ]  # fmt: skip
