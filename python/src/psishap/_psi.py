"""The psi program inside this package: where it is, what it is run under, and how it says that it failed."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
from typing import Any


class PsiError(ValueError):
    """psi refused or failed; the text says what to do.

    ``message``, ``remedy``, ``row`` and ``column`` are its parts, None where there is none.
    """

    def __init__(self, message: str, remedy: str | None = None, row: int | None = None, column: str | None = None):
        place = ", ".join(word for word in (f"row {row}" if row is not None else "", f"column {column!r}" if column else "") if word)
        super().__init__((f"{place}: " if place else "") + message + (f" ({remedy})" if remedy else ""))
        self.message, self.remedy, self.row, self.column = message, remedy, row, column

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.message, self.remedy, self.row, self.column)


def program() -> str:
    """Path of the program."""
    path = pathlib.Path(__file__).with_name("bin") / "psi"
    if not path.exists():
        raise PsiError(f"{path} is not there", "install the wheel, or run make wheel in the sources")
    return str(path)


def environment() -> dict[str, str]:
    """What the program is run under where its words are read by this package."""
    return os.environ | {"NO_COLOR": "1"}


def failure(document: str | bytes, otherwise: str) -> PsiError:
    """The error that a psi.error/v1 document tells of; otherwise is its text if there is no such document."""
    try:
        said = json.loads(document)
        return PsiError(said["message"], said.get("remedy"), said.get("row"), said.get("column"))
    except (ValueError, KeyError, TypeError):
        return PsiError(otherwise.strip() or "psi failed and did not say why")


def run(*arguments: str) -> dict[str, Any]:
    """Runs a command of the program with --json and returns the document that it prints."""
    done = subprocess.run([program(), *arguments, "--json"], capture_output=True, text=True, env=environment(), stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise failure(done.stdout, done.stderr)
    return json.loads(done.stdout)
