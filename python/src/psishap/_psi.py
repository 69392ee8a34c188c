"""The psi program inside this package: its path, its environment and its errors."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
from typing import Any


class PsiError(ValueError):
    """Error of psi. The text says what is wrong and what to do.

    ``message``, ``remedy``, ``row`` and ``column`` are its parts; they are None if they do not apply.
    """

    def __init__(self, message: str, remedy: str | None = None, row: int | None = None, column: str | None = None):
        place = ", ".join(word for word in (f"row {row}" if row is not None else "", f"column {column!r}" if column else "") if word)
        super().__init__((f"{place}: " if place else "") + message + (f" ({remedy})" if remedy else ""))
        self.message, self.remedy, self.row, self.column = message, remedy, row, column

    def shifted(self, rows: int) -> PsiError:
        """Return the error with a row that is counted from earlier rows on."""
        return self if self.row is None or not rows else PsiError(self.message, self.remedy, self.row + rows, self.column)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.message, self.remedy, self.row, self.column)


def program() -> str:
    """Return the path of the program."""
    path = pathlib.Path(__file__).with_name("bin") / ("psi.exe" if sys.platform == "win32" else "psi")
    if not path.exists():
        raise PsiError(f"{path} does not exist", "install the wheel, or run make wheel in the source tree")
    return str(path)


# On Windows, a process of its own group does not get the Ctrl-C of this one. Elsewhere it has a session of its own.
if sys.platform == "win32":
    GROUP, INTERRUPT = subprocess.CREATE_NEW_PROCESS_GROUP, signal.CTRL_BREAK_EVENT
else:
    GROUP, INTERRUPT = 0, signal.SIGINT


def environment() -> dict[str, str]:
    """Return the environment of the program, without colours in its output."""
    return os.environ | {"NO_COLOR": "1"}


#: Parameters of the estimators and of fit, by the flag of psi train that they become.
PARAMETERS = {
    "--bags": "n_bags",
    "--categorical": "categorical_features",
    "--drop": "drop",
    "--effort": "effort",
    "--group": "groups",
    "--head": "head",
    "--members": "n_members",
    "--missing": "missing",
    "--missing-as-level": "missing_as_level",
    "--order-by": "order_by",
    "--resume": "checkpoint",
    "--seed": "random_state",
    "--set": "settings",
    "--target-scale": "target_scale",
    "--time-budget": "time_budget",
    "--validation": "eval_set",
    "--validation-after": "validation_after",
    "--validation-by": "validation_by",
    "--validation-fraction": "validation_fraction",
    "--weight": "sample_weight",
}

#: Parameters of Model.explain, by the flag of psi explain that they become.
EXPLAIN_PARAMETERS = {"--game": "game", "--reference": "reference", "--unknown": "unknown"}

#: Parameters of from_model, by the flag of psi import that they become.
IMPORT_PARAMETERS = {"--absent": "absent", "--classes": "classes", "--rows": "rows", "--target": "target"}

_PARAMETERS = PARAMETERS | EXPLAIN_PARAMETERS | IMPORT_PARAMETERS
_FLAG = r"(?<![\w-])--[a-z]+(?:-[a-z]+)*"
_VALUES = (
    r"fast|normal|best|exact|learned|identity|log-mean|log|baseline|interventional|cover|missing-branch"  # of flags that choose a word
)

#: Words of Python for what the program says in its own.
_WORDS = (
    (r"psi train --help-config lists", 'model_.manifest["settings"] of a fitted model lists'),
    (r"\bsetting (bags|members)\b", r"n_\1"),
    (r"\bto the missing tokens\b", "to missing"),
    (r"--decimal \S reads it as (.+?), and", r"To read it as \1, convert the column before fit, and"),
    (r"--date-order gives another order, and", "pandas.to_datetime reads another order, and"),
    (
        r"--date-order \w+ or --date-order \w+ (says it|reads those of one order, and the others are missing)",
        "convert them with pandas.to_datetime before fit",
    ),
    (r"(give --backend \w+, or )?train without --resume", "remove the checkpoint directory to train from scratch"),
)


def in_parameters(text: str) -> str:
    """Return a text of psi with parameters of Python in place of flags.

    A flag in parentheses that has no parameter is left out, with the parentheses.
    """
    for said, here in _WORDS:
        text = re.sub(said, here, text)
    text = re.sub(rf" \(({_FLAG})[^)]*\)", lambda m: m[0] if m[1] in _PARAMETERS else "", text)
    text = re.sub(r"\(--drop ([^\s)]+)\)", lambda m: f"(drop={json.dumps(m[1].split(','), ensure_ascii=False)})", text)
    text = re.sub(r"(?<![\w-])--set steps=(\d+)", r"steps=\1", text)
    text = re.sub(r"(?<![\w-])--set (\w+)=(\w+(?:\.\w+)*)", r'settings={"\1": \2}', text)
    text = re.sub(rf"({_FLAG}) ({_VALUES})\b", lambda m: f'{_PARAMETERS[m[1]]}="{m[2]}"' if m[1] in _PARAMETERS else m[0], text)
    return re.sub(_FLAG, lambda m: _PARAMETERS.get(m[0], m[0]), text)


def quoted(name: str) -> str:
    """Quote a name for a list of names, which psi reads as a line of CSV."""
    return '"' + name.replace('"', '""') + '"' if any(c in name for c in ',"\n') else name


def failure(document: str | bytes, otherwise: str) -> PsiError:
    """Return the error of a psi.error/v1 document, or one with the text ``otherwise`` if there is no such document."""
    try:
        said = json.loads(document)
        message, remedy = in_parameters(said["message"]), said.get("remedy")
        return PsiError(message, in_parameters(remedy) if remedy else None, said.get("row"), said.get("column"))
    except (ValueError, KeyError, TypeError):
        return PsiError(in_parameters(otherwise.strip()) or "psi failed without a message")


_TIMEOUT = 3600.0  # seconds that a command may take; training has time_budget instead


def run(*arguments: str) -> dict[str, Any]:
    """Run a command of the program with --json and return the document that it prints."""
    command = [program(), *arguments, "--json"]
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment(), stdin=subprocess.DEVNULL, timeout=_TIMEOUT)
    except subprocess.TimeoutExpired as err:
        raise PsiError(f"psi {arguments[0]} did not end within {_TIMEOUT:.0f} s", "give fewer rows") from err
    if done.returncode != 0:
        raise failure(done.stdout, done.stderr)
    document: dict[str, Any] = json.loads(done.stdout)
    return document
