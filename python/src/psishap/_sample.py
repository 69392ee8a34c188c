"""Example tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _psi
from ._directory import Directory

if TYPE_CHECKING:
    import pandas


def sample(name: str, rows: int | None = None, seed: int = 0) -> pandas.DataFrame:
    """Return an example table, as ``psi sample`` writes it.

    Parameters
    ----------
    name
        Real tables from UCI (CC BY 4.0): ``bike`` (hourly bicycle rentals, target ``cnt``) and ``adult`` (people, target ``income``).
        Simulated tables with columns ``x1``, ``x2``, ``x3``, … and the target ``y``: ``synth1`` … ``synth5``, ``synth5-paper``,
        ``synth1-binary``, ``gauss``, ``copy``, ``null``, ``logit`` and ``gaps``. ``psi sample --help`` describes them.
    rows
        Number of rows. The default is all rows of a real table, or 8,000 rows of a simulated one.
    seed
        Random seed. The same seed gives the same table.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as err:
        raise ModuleNotFoundError("psishap.sample returns a pandas.DataFrame: install pandas", name=err.name) from None

    with Directory() as directory:
        path = directory / "sample.csv"
        _psi.run("sample", name, "-o", str(path), "--seed", str(seed), *(["--rows", str(rows)] if rows is not None else []))
        return pd.read_csv(path)
