"""What all cases share: the programs, a model and its table, callers' tokens, and requests made of real rows."""

import json
import os
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

MODEL = "adult"  # its name on the server


@dataclass
class Scene:
    psi: Path
    load: Path  # serve/internal/load
    model: Path
    rows: Path
    directory: Path

    def __post_init__(self) -> None:
        lines = []
        for name, rights in [("caller", "infer"), ("attacker", "infer"), ("operator", "infer,admin,metrics")]:
            done = subprocess.run([self.psi, "token", name, "--allow", rights, "--json"], capture_output=True, text=True, check=True)
            drawn = json.loads(done.stdout)
            self.token_file(name).write_text(drawn["token"])
            lines.append(drawn["line"] + "\n")
        self.tokens.write_text("".join(lines))
        self.tokens.chmod(0o600)

    @property
    def tokens(self) -> Path:
        return self.directory / "tokens"

    def token_file(self, name: str) -> Path:
        return self.directory / f"{name}.token"

    def authorization(self, name: str | None) -> dict[str, str]:
        """The header by which a caller is known; None is a caller without a token."""
        return {} if name is None else {"Authorization": f"Bearer {self.token_file(name).read_text()}"}

    @cached_property
    def table(self) -> tuple[list[str], list[dict[str, Any]]]:
        """The columns without the target, which is the last, and the first rows."""
        head, *lines = self.rows.read_text().splitlines()[:200]
        names = head.split(",")[:-1]
        return names, [dict(zip(names, map(cell, line.split(",")[:-1]), strict=True)) for line in lines]

    def body(self, rows: int) -> bytes:
        return json.dumps({"model": MODEL, "rows": self.table[1][:rows]}).encode()

    def run_load(self, *arguments: str | Path, timeout: float = 180) -> dict[str, Any]:
        """Runs serve/internal/load and returns what it prints."""
        command = [str(word) for word in [self.load, *arguments]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=os.environ | {"GOGC": "200"})
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
        printed: dict[str, Any] = json.loads(done.stdout)
        return printed


def cell(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text or None
