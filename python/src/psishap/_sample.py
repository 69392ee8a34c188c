"""Tables to try psi on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _psi
from ._directory import Directory

if TYPE_CHECKING:
    import pandas


def sample(name: str, rows: int | None = None, seed: int = 0) -> pandas.DataFrame:
    """A table to try psi on, as ``psi sample`` writes it.

    Parameters
    ----------
    name
        ``bike`` (hours of a bicycle rental, target ``cnt``), ``adult`` (people, target ``income``), both of UCI under CC BY 4.0;
        or a simulated table with columns ``x1``, ``x2``, ``x3``, … and the target ``y``: ``synth1`` … ``synth5``, ``synth5-paper``,
        ``synth1-binary``, ``gauss``, ``copy``, ``null``, ``logit``, ``gaps``. ``psi sample --help`` says what they are.
    rows
        How many; without it all of a real table, or 8,000 of a simulated one.
    seed
        One seed gives one table.
    """
    import pandas as pd

    with Directory() as directory:
        path = directory / "sample.csv"
        _psi.run("sample", name, "-o", str(path), "--seed", str(seed), *(["--rows", str(rows)] if rows is not None else []))
        return pd.read_csv(path)
