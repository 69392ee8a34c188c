"""Selection along the axes of an explanation: rows, features and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._choices import nearest

ROWS, FEATURES, OUTPUTS = range(3)

Places = npt.NDArray[np.intp]


def keys(key: Any, count: int) -> list[Any]:
    """Return one key for each of ``count`` axes. As in numpy, an Ellipsis, or the end, stands for all axes that have no key."""
    given = list(key) if isinstance(key, tuple) else [key]
    dots = [at for at, k in enumerate(given) if k is Ellipsis]
    if len(dots) > 1:
        raise IndexError("the index contains ... twice: use it once")
    if len(given) - len(dots) > count:
        raise IndexError(f"the index has {len(given) - len(dots)} parts, but this explanation has {count} axes")
    at = dots[0] if dots else len(given)
    return given[:at] + [slice(None)] * (count - len(given) + len(dots)) + given[at + 1 :]


def places(key: Any, count: int, names: Sequence[str] | None, what: str) -> tuple[Places, bool]:
    """Return the positions that a key selects along an axis, and whether it selects a single one, which drops the axis.

    Keys are those of numpy, and names or lists of names if the axis has ``names``.
    """
    if not isinstance(key, slice):
        key = np.asarray(key)
        if key.dtype == object:  # nullable booleans, or text
            key = np.array(key.tolist())
        if key.dtype.kind in "UT":
            if names is None:
                raise KeyError(f"{what}s are selected by position, not by name: to select a feature, write e[:, {str(key.flat[0])!r}]")
            key = np.array([position(str(name), names, what) for name in key.flat], np.intp).reshape(key.shape)
        elif key.size == 0 and key.dtype.kind == "f":  # an empty list
            key = key.astype(np.intp)
    chosen = np.arange(count)[key]
    if chosen.ndim > 1:
        raise IndexError(f"{what}s are selected by a key of {chosen.ndim} dimensions: use one dimension")
    return np.atleast_1d(chosen), chosen.ndim == 0


def position(name: str, names: Sequence[str], what: str) -> int:
    if name not in names:
        raise KeyError(unknown(name, names, what))
    return names.index(name)


def unknown(name: str, names: Sequence[str], what: str) -> str:
    """Return the message for a name that does not exist, with the name that is nearest to it."""
    near = nearest(name, names)
    if near is not None:
        return f"there is no {what} {name!r}: did you mean {near!r}?"
    listed = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
    return f"there is no {what} {name!r}: the {what}s are {listed}"


def sample(count: int, most: int) -> Places:
    """Return the positions of at most so many rows, drawn at random with a fixed seed."""
    return np.arange(count) if count <= most else np.sort(np.random.default_rng(0).choice(count, most, replace=False))
