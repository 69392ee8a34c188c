"""Parameters that choose a word, and suggestions for names with typing errors."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, get_args

from ._psi import PsiError

Head: TypeAlias = Literal["exact", "learned"]
Effort: TypeAlias = Literal["fast", "normal", "best"]
TargetScale: TypeAlias = Literal["auto", "identity", "log-mean", "log"]
GameName: TypeAlias = Literal["observational", "path-dependent", "missing-branch", "baseline", "interventional"]
Layout: TypeAlias = Literal["wide", "long"]
Absent: TypeAlias = Literal["cover", "missing-branch"]


def check(parameter: str, value: object, choices: Any) -> None:
    """Raise an error that names the choices, a Literal type, if a value is none of them."""
    words = get_args(choices)
    if value not in words:
        listed = ", ".join(map(repr, words[:-1])) + f" or {words[-1]!r}"
        raise PsiError(f"{parameter} is {value!r}", f"choose {listed}{suggestion(value, words)}")


def check_columns(parameter: str, names: Iterable[str], columns: Iterable[str]) -> None:
    """Raise an error for the first name that is not a column."""
    columns = list(columns)
    for name in names:
        if name not in columns:
            raise PsiError(f"{parameter} names a column that X does not have{suggestion(name, columns)}", "check the spelling", column=name)


def nearest(name: object, names: Iterable[object]) -> str | None:
    """Return the name that resembles a name most, if need be in another case; None if none does."""
    known = [str(n) for n in names]
    if near := difflib.get_close_matches(str(name), known, 1):
        return near[0]
    folded = {n.casefold(): n for n in known}
    near = difflib.get_close_matches(str(name).casefold(), folded, 1)
    return folded[near[0]] if near else None


def suggestion(name: object, names: Iterable[object]) -> str:
    """Return ``; did you mean …?`` if a name resembles one of others, else an empty text."""
    near = nearest(name, names)
    return "" if near is None else f"; did you mean {near!r}?"
