"""A short run of the installed package: tests/environments runs it with old and new versions of what the package needs.

It uses only scikit-learn's methods and ``explain``. Packages that are not installed are left out.
"""

import importlib.metadata
import importlib.util
import pickle

import numpy as np

import psishap
from psishap import PsiClassifier, PsiRegressor

ROWS, COLUMNS = 300, 3
PACKAGES = ["numpy", "pyarrow", "scikit-learn", "pandas", "polars", "matplotlib", "shap"]


def installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def arrays() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS))
    y = X[:, 0] + 2 * X[:, 1] * X[:, 2]
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def check(model, X, y) -> None:
    """Fit, predict, explain and pickle."""
    model.fit(X, y)
    predicted = model.predict(X)
    assert np.shape(predicted) == (ROWS,)
    assert len(model.explain(X)) == ROWS
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), predicted)


def main() -> None:
    X, y = arrays()
    check(PsiRegressor(random_state=0, time_budget=2), X, y)
    check(PsiClassifier(random_state=0, time_budget=2), X, np.where(y > 0, "high", "low"))
    names = ["first", "second", "third"]
    if installed("polars"):
        import polars

        check(PsiRegressor(random_state=0, time_budget=2), polars.DataFrame(dict(zip(names, X.T))), y)
    if installed("pandas"):
        import pandas

        frame = pandas.DataFrame(X, columns=names).assign(town=pandas.Categorical(["Ur", "Uruk", None] * (ROWS // 3)))
        check(PsiRegressor(random_state=0, time_budget=2), frame, pandas.Series(y))
        assert len(psishap.sample("synth1", rows=10)) == 10
    else:
        try:
            psishap.sample("synth1", rows=10)
        except ModuleNotFoundError as err:
            assert "pandas" in str(err)
        else:
            raise AssertionError("a table of pandas without pandas")
    if installed("shap") and installed("matplotlib"):
        import matplotlib
        import shap

        matplotlib.use("Agg")
        shap.plots.bar(PsiRegressor(random_state=0, time_budget=2).fit(X, y).explain(X).to_shap(), show=False)
    print(*(importlib.metadata.version(name) if installed(name.replace("scikit-learn", "sklearn")) else "-" for name in PACKAGES))


if __name__ == "__main__":
    main()
