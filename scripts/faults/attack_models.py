"""Model files that ask for more than a model needs, or hold weights that overflow."""

import hashlib
import io
import json
import math
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .confined import MIB
from .server import Server
from .trial import Case, Outcome, Served, quoted

NAME = "hostile"
PATIENCE = 40  # seconds that a server has to load or refuse a file
LARGE = 60 * MIB  # bytes of a part when unpacked

Parts = dict[str, bytes]
Change = Callable[[dict[str, Any], Parts], None]


def changed(model: Path, change: Change) -> bytes:
    """A model file with another manifest or other parts, whose sizes and digests are right again."""
    with zipfile.ZipFile(model) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(parts.pop("manifest.json"))
    change(manifest, parts)
    manifest["parts"] = {name: {"size": len(part), "sha256": hashlib.sha256(part).hexdigest()} for name, part in parts.items()}
    text = json.dumps(manifest)
    for items in manifest["content"].values():
        if isinstance(items, Repeated):
            text = text.replace(json.dumps(items), items.text(), 1)
    parts["manifest.json"] = text.encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in sorted(parts):
            packed = zipfile.ZIP_STORED if name.endswith("safetensors") else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), parts[name], packed)
    return file.getvalue()


class Repeated(str):
    """Stands in a manifest for a long list of one item; json would take minutes to write it."""

    def text(self) -> str:
        item = self.removeprefix("repeat ")
        return "[" + ",".join([item] * (LARGE // (len(item) + 1))) + "]"


def many(key: str, item: str) -> Change:
    def change(manifest: dict[str, Any], parts: Parts) -> None:
        manifest["content"][key] = Repeated(f"repeat {item}")

    return change


def audit(manifest: dict[str, Any], parts: Parts) -> None:
    parts["audit.json"] = b'{"schema":"psi.audit/v1","players":[' + b",".join([b"{}"] * (LARGE // 3)) + b"]}"


def history(manifest: dict[str, Any], parts: Parts) -> None:
    parts["history.csv"] = b"0," * LARGE


def weights(value: float) -> Change:
    """All weights become one number."""

    def change(manifest: dict[str, Any], parts: Parts) -> None:
        old = parts["weights.safetensors"]
        start = 8 + struct.unpack("<Q", old[:8])[0]
        parts["weights.safetensors"] = old[:start] + struct.pack("<f", value) * ((len(old) - start) // 4)

    return change


def sizes(manifest: dict[str, Any], parts: Parts) -> None:
    settings = manifest["content"]["settings"]
    for key, value in settings.items():
        if type(value) is int:
            settings[key] = 2**31 - 1


def dropped(change: Change) -> Callable[[Server], Outcome]:
    """The file appears beside the model that others ask; it must be refused."""

    def attack(server: Server) -> Outcome:
        content = changed(server.scene.model, change)
        path, draft = server.models / f"{NAME}.psi", server.models / "draft"
        try:
            draft.write_bytes(content)
            draft.rename(path)
            state, reason = server.state(NAME, PATIENCE)
            if state == "UNAVAILABLE":
                told = f"refused: {quoted(server.logged(NAME) or reason)}"
            elif state == "READY":
                body = json.dumps({"model": NAME, "rows": server.scene.table[1][:1]})
                told = f"loaded, and answers: {server.post('/predict', body)[1][:80].decode()}"
            else:
                told = f"neither loaded nor refused within {PATIENCE} s" if server.process.alive() else ""
            return Outcome(told, state == "UNAVAILABLE", len(content))
        finally:
            path.unlink(missing_ok=True)

    return attack


def attacks() -> list[Case]:
    kinds = {
        "20 million columns": many("columns", "{}"),
        "20 million groups": many("groups", "{}"),
        "20 million words for a missing cell": many("missing", '""'),
        "30 million nodes": many("nodes", "1"),
        "an audit of 20 million columns": audit,
        "a history of 120 MB": history,
        "sizes of 2³¹": sizes,
        "weights of 3e38": weights(3e38),
        "weights that are NaN": weights(math.nan),
    }
    return [Served(f"model file with {name}", dropped(change), "operator") for name, change in kinds.items()]
