"""The sets that nobody has looked at: tables from packages, and made ones with fixed seeds.

No recipe, default or rule of psi may be chosen by their figures. internal/benchset reads what is written here and makes the
folds, as it does of all sets; internal/benchset/unseen.go has the task and the categorical columns.
"""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

TARGET = "target"


def write(name: str, directory: Path) -> None:
    """Writes unseen/NAME.csv below the directory, the target last."""
    path = directory / "unseen" / f"{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = MAKERS[name]()
    rows[[*rows.columns.drop(TARGET), TARGET]].to_csv(path, index=False)


def classes(codes: np.ndarray | pd.Series) -> list[str]:
    return [f"c{int(code)}" for code in codes]


def packaged(package: str, path: str) -> pd.DataFrame:
    """A table that a package carries. The package is not imported: what it depends on is not installed."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise LookupError(f"no package {package}: bench/run installs requirements.txt")
    return pd.read_csv(Path(spec.submodule_search_locations[0]) / path)


def diabetes() -> pd.DataFrame:
    """442 patients, progression of diabetes within a year, in the units of the original table (Efron and others 2004)."""
    from sklearn.datasets import load_diabetes

    return load_diabetes(as_frame=True, scaled=False).frame


def wine() -> pd.DataFrame:
    """178 wines of three growers by chemical analysis (UCI)."""
    from sklearn.datasets import load_wine

    frame = load_wine(as_frame=True).frame
    return frame.assign(target=classes(frame[TARGET]))


def digits() -> pd.DataFrame:
    """1,797 handwritten digits of 8 × 8 pixels (UCI)."""
    from sklearn.datasets import load_digits

    frame = load_digits(as_frame=True).frame
    return frame.assign(target=classes(frame[TARGET]))


def diamonds() -> pd.DataFrame:
    """Prices of 53,940 diamonds, as plotnine carries them (MIT licence)."""
    return packaged("plotnine", "data/diamonds.csv").rename(columns={"price": TARGET})


def randhie() -> pd.DataFrame:
    """Visits to a doctor in 20,190 years of insured people, as statsmodels carries them (public domain)."""
    return packaged("statsmodels", "datasets/randhie/randhie.csv").rename(columns={"mdvis": TARGET})


def fair() -> pd.DataFrame:
    """Whether 6,366 married women had an affair, as statsmodels carries them (with the author's permission). How much time
    the affairs took is the target of the original table."""
    frame = packaged("statsmodels", "datasets/fair/fair.csv")
    return frame.drop(columns="affairs").assign(target=classes(frame["affairs"] > 0))


def friedman2() -> pd.DataFrame:
    """5,000 made rows: the impedance of a circuit, with noise of a third of its standard deviation (Friedman 1991)."""
    from sklearn.datasets import make_friedman2

    return numbered(*make_friedman2(n_samples=5_000, noise=125, random_state=1))


def hastie() -> pd.DataFrame:
    """12,000 made rows: whether ten normal numbers lie outside of a sphere (Hastie and others 2009, example 10.2)."""
    from sklearn.datasets import make_hastie_10_2

    x, y = make_hastie_10_2(n_samples=12_000, random_state=1)
    return numbered(x, classes(y > 0))


def numbered(x: np.ndarray, y: np.ndarray | list[str]) -> pd.DataFrame:
    return pd.DataFrame(x, columns=[f"x{i}" for i in range(x.shape[1])]).assign(target=y)


MAKERS: dict[str, Callable[[], pd.DataFrame]] = {
    make.__name__: make for make in (diabetes, diamonds, randhie, friedman2, fair, hastie, wine, digits)
}
