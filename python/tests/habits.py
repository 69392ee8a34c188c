"""What a user of pandas, scikit-learn and shap types without reading, each call with what it must give.

    python tests/habits.py [WORD]

Runs the habits whose title contains WORD, all by default, prints a line for each, and fails if one does.
"""

from __future__ import annotations

import copy
import functools
import io
import pickle
import re
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable

import matplotlib
import numpy as np
import pandas as pd

matplotlib.use("agg")

import psishap
from psishap import PsiClassifier, PsiRegressor

Habit = Callable[[], None]
HABITS: list[tuple[str, Habit]] = []
QUICK = dict(effort="fast", n_bags=3, steps=150, random_state=0, verbose=False)


def habit(title: str) -> Callable[[Habit], Habit]:
    def add(check: Habit) -> Habit:
        HABITS.append((title, check))
        return check

    return add


def raises(kind: type[BaseException], pattern: str, call: Callable[[], object]) -> str:
    """Return the text of the error that a call must raise. No error names a flag of the program or speaks of HTTP."""
    try:
        call()
    except kind as err:
        assert re.search(pattern, str(err)), f"{err} does not say {pattern!r}"
        assert not re.search(r"(?<![\w-])--[a-z]|HTTP|request|socket", str(err)), err
        return str(err)
    raise AssertionError(f"no {kind.__name__}")


def near(a: object, b: object, apart: float = 1e-5) -> None:
    np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=apart, atol=apart)


# Tables and models that most habits share.


@functools.cache
def people() -> tuple[pd.DataFrame, pd.Series]:
    table = psishap.sample("adult", rows=900)
    table.index = [f"person {i}" for i in range(len(table))]
    return table.drop(columns="income"), table["income"]


@functools.cache
def rentals() -> tuple[pd.DataFrame, pd.Series]:
    table = psishap.sample("bike", rows=900)
    return table.drop(columns="cnt").select_dtypes("number"), table["cnt"]


@functools.cache
def regressor() -> PsiRegressor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PsiRegressor(**QUICK).fit(*rentals())


@functools.cache
def classifier() -> PsiClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PsiClassifier(**QUICK).fit(*people())


@functools.cache
def flowers() -> tuple[pd.DataFrame, np.ndarray]:
    from sklearn.datasets import load_iris

    iris = load_iris(as_frame=True)
    return iris.data, np.array(["setosa", "versicolor", "virginica"])[iris.target]


@functools.cache
def botanist() -> PsiClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PsiClassifier(**QUICK).fit(*flowers())


@functools.cache
def explained() -> psishap.Explanation:
    return regressor().explain(rentals()[0].head(50))


def fitted(X: object, y: object, **parameters: object) -> PsiRegressor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PsiRegressor(**{**QUICK, "steps": 20, "n_bags": 0, **parameters}).fit(X, y)


# pandas


@habit("model.predict(X.iloc[0]): a Series is one row")
def _() -> None:
    X, _ = people()
    assert classifier().predict(X.iloc[0]).shape == (1,)
    assert classifier().predict(X.iloc[0])[0] == classifier().predict(X.head(1))[0]


@habit("model.predict(X.iloc[0].to_dict()): a dict is one row")
def _() -> None:
    X, _ = people()
    near(classifier().predict_proba(X.iloc[3].to_dict()), classifier().predict_proba(X.iloc[[3]]))


@habit("model.explain(X.iloc[0]): so it is for explanations")
def _() -> None:
    X, _ = people()
    e = classifier().explain(X.iloc[0])
    assert len(e) == 1 and e.values.shape == (1, X.shape[1])


@habit("model.predict(X[reversed columns]): columns are matched by name")
def _() -> None:
    X, _ = rentals()
    near(regressor().predict(X[X.columns[::-1]]), regressor().predict(X))


@habit("model.predict(X.assign(extra=1)): other columns do not matter")
def _() -> None:
    X, _ = rentals()
    near(regressor().predict(X.assign(extra=1)), regressor().predict(X))


@habit("model.predict(X.drop(columns='temp')): the error names the column")
def _() -> None:
    X, _ = rentals()
    raises(ValueError, "temp", lambda: regressor().predict(X.drop(columns="temp")))


@habit("model.explain(X, unknown='temp'): columns may be unknown")
def _() -> None:
    X, _ = rentals()
    e = regressor().explain(X.head().drop(columns="temp"), unknown="temp")
    near(e[:, "temp"].values, np.zeros(5))


@habit("model.explain(X, unknown='tmp'): a typing error gets a suggestion")
def _() -> None:
    raises(ValueError, "temp", lambda: regressor().explain(rentals()[0].head(), unknown="tmp"))


@habit("nullable dtypes: Int64, boolean, string with pd.NA")
def _() -> None:
    X = pd.DataFrame(
        {
            "a": pd.array([1, 2, None] * 20, dtype="Int64"),
            "b": pd.array([True, None, False] * 20, dtype="boolean"),
            "c": pd.array(["u", "v", None] * 20, dtype="string"),
        }
    )
    model = fitted(X, np.arange(60.0))
    assert model.predict(X).shape == (60,)


@habit("pandas Sparse columns")
def _() -> None:
    X, _ = rentals()
    sparse = X.assign(holiday=X["holiday"].astype(pd.SparseDtype("float", 0.0)))
    near(regressor().predict(sparse), regressor().predict(X))


@habit("Period columns are times")
def _() -> None:
    months = pd.period_range("2020-01", periods=80, freq="M")
    model = fitted(pd.DataFrame({"month": months, "x": np.arange(80.0)}), np.arange(80.0))
    kinds = {c["name"]: c["kind"] for c in model.model_.manifest["columns"]}
    assert kinds["month"] == "time", kinds


@habit("ordered categories keep their order")
def _() -> None:
    sizes = pd.Categorical(["small", "medium", "large"] * 30, categories=["small", "medium", "large"], ordered=True)
    X = pd.DataFrame({"size": sizes, "x": np.arange(90.0)})
    e = fitted(X, np.tile([1.0, 2, 3], 30)).explain(X)
    assert e.to_shap().data[:3, 0].tolist() == [0, 1, 2]


@habit("missing=[-9]: a number can stand for a missing value")
def _() -> None:
    X = pd.DataFrame({"a": [-9.0, 1, 2, 3] * 20, "b": np.arange(80.0)})
    model = fitted(X, np.arange(80.0), missing=[-9])
    near(model.explain(X)[:, "a"].values[:1], [0.0])


@habit("e.attributions(): a frame with the index and the columns of X")
def _() -> None:
    X, _ = people()
    frame = classifier().explain(X.head(7)).attributions()
    assert list(frame.index) == list(X.index[:7]) and list(frame.columns) == list(X.columns)


@habit("e.importance().head(3): a Series, largest first")
def _() -> None:
    sizes = explained().importance()
    assert isinstance(sizes, pd.Series) and sizes.is_monotonic_decreasing
    near(sizes[sizes.index[0]], np.abs(explained()[:, sizes.index[0]].values).mean())


@habit("pd.DataFrame(e.values, columns=e.feature_names)")
def _() -> None:
    e = explained()
    assert pd.DataFrame(e.values, columns=e.feature_names, index=rentals()[0].index[:50]).shape == (50, len(e.feature_names))


@habit("e.to_pandas(): prediction, base, attributions and their standard deviations")
def _() -> None:
    frame = explained().to_pandas()
    assert {"prediction", "base", "temp", "temp__std", "temp__model_std"} <= set(frame)


# scikit-learn


@habit("PsiRegressor().fit(X, y).score(X, y)")
def _() -> None:
    assert 0.2 < regressor().score(*rentals()) <= 1


@habit("head='exat': the error names the choices")
def _() -> None:
    raises(ValueError, "exact.*learned", lambda: fitted(*rentals(), head="exat"))


@habit("effort='turbo': so it does here")
def _() -> None:
    raises(ValueError, "fast.*normal.*best", lambda: fitted(*rentals(), effort="turbo"))


@habit("cross_val_score(model, X, y, cv=3)")
def _() -> None:
    from sklearn.model_selection import cross_val_score

    X, y = rentals()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cross_val_score(PsiRegressor(**{**QUICK, "steps": 30, "n_bags": 0}), X.head(300), y.head(300), cv=3)
    assert found.shape == (3,) and np.isfinite(found).all()


@habit("GridSearchCV(model, {'n_members': [1, 2]})")
def _() -> None:
    from sklearn.model_selection import GridSearchCV

    X, y = rentals()
    search = GridSearchCV(PsiRegressor(**{**QUICK, "steps": 20, "n_bags": 0}), {"n_members": [1, 2]}, cv=2, error_score="raise")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert search.fit(X.head(200), y.head(200)).best_params_["n_members"] in (1, 2)


@habit("make_pipeline(SimpleImputer(), model): arrays have names too")
def _() -> None:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    X, y = rentals()
    pipe = make_pipeline(SimpleImputer(), PsiRegressor(**{**QUICK, "steps": 20, "n_bags": 0}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipe.fit(X, y)
    assert pipe.predict(X.head(3)).shape == (3,)


@habit("clone(model).get_params()")
def _() -> None:
    from sklearn.base import clone

    assert clone(regressor()).get_params() == regressor().get_params()


@habit("joblib.dump(model, file), joblib.load(file)")
def _() -> None:
    import joblib

    file = io.BytesIO()
    joblib.dump(regressor(), file)
    file.seek(0)
    near(joblib.load(file).predict(rentals()[0].head()), regressor().predict(rentals()[0].head()), 0)


@habit("copy.deepcopy(e), pickle.dumps(e)")
def _() -> None:
    near(pickle.loads(pickle.dumps(explained())).values, explained().values, 0)
    near(copy.deepcopy(explained())[3].values, explained()[3].values, 0)


@habit("permutation_importance(model, X, y)")
def _() -> None:
    from sklearn.inspection import permutation_importance

    X, y = rentals()
    assert permutation_importance(regressor(), X.head(50), y.head(50), n_repeats=2).importances_mean.shape == (X.shape[1],)


@habit("PartialDependenceDisplay.from_estimator(model, X, ['temp'])")
def _() -> None:
    from sklearn.inspection import PartialDependenceDisplay

    PartialDependenceDisplay.from_estimator(regressor(), rentals()[0].head(50), ["temp"], grid_resolution=5)


@habit("model.feature_importances_: adds up to 1, in the order of the columns")
def _() -> None:
    found = regressor().feature_importances_
    assert found.shape == (rentals()[0].shape[1],) and (found >= 0).all()
    near(found.sum(), 1)


@habit("model.get_feature_names_out()")
def _() -> None:
    assert regressor().get_feature_names_out().tolist() == list(rentals()[0])


@habit("clf.predict_proba(X), clf.classes_")
def _() -> None:
    found = classifier().predict_proba(people()[0].head(9))
    near(found.sum(axis=1), np.ones(9))
    assert classifier().classes_.tolist() == sorted(people()[1].unique())


@habit("clf.decision_function(X): above 0 where the second class is predicted")
def _() -> None:
    X, _ = people()
    assert ((classifier().decision_function(X) > 0) == (classifier().predict(X) == classifier().classes_[1])).all()
    assert botanist().decision_function(flowers()[0]).shape == (150, 3)


@habit("clf.fit(X, y == '>50K'): booleans come back as booleans")
def _() -> None:
    X, y = people()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PsiClassifier(**{**QUICK, "steps": 20, "n_bags": 0}).fit(X, y == y.iloc[0])
    assert model.predict(X.head()).dtype == bool


@habit("model.fit(X, y, sample_weight=w)")
def _() -> None:
    X, y = rentals()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PsiRegressor(**{**QUICK, "steps": 20, "n_bags": 0}).fit(X, y, sample_weight=np.linspace(0.5, 2, len(X)))


@habit("model.fit(X, y, eval_set=[(X_val, y_val)])")
def _() -> None:
    X, y = rentals()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PsiRegressor(**{**QUICK, "steps": 20, "n_bags": 0}).fit(X[:700], y[:700], eval_set=[(X[700:], y[700:])])
    assert model.model_.manifest["provenance"]["validation_rows"] == 200


@habit("model.validation_score_, model.stopped_by_, model.history_")
def _() -> None:
    model = regressor()
    assert isinstance(model.validation_score_, float) and -1 < model.validation_score_ <= 1
    assert model.stopped_by_ in ("steps", "validation", "time_budget", "interrupt")
    assert len(model.history_) > 0 and "step" in pd.DataFrame(model.history_)


@habit("time_budget=2: kept, and a ConvergenceWarning says what to do if it was too short")
def _() -> None:
    from sklearn.exceptions import ConvergenceWarning

    table = psishap.sample("bike")
    begun = time.monotonic()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        PsiRegressor(time_budget=2, random_state=0).fit(table.drop(columns="cnt"), table["cnt"])
    assert time.monotonic() - begun < 4
    words = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert any("time_budget" in text for text in words), words


@habit("verbose=True: a line after fit gives the validation score")
def _() -> None:
    err, sys.stderr = sys.stderr, io.StringIO()
    try:
        fitted(*rentals(), verbose=True)
        said = sys.stderr.getvalue()
    finally:
        sys.stderr = err
    assert re.search(r"R²|error", said.strip().splitlines()[-1]), said
    assert "how the columns are read" in said and "psi explain" not in said and ".psi" not in said, said


@habit("drop=['day'], n_jobs=1")
def _() -> None:
    X, y = rentals()
    name = X.columns[0]
    assert name not in fitted(X, y, drop=[name], n_jobs=1).explain(X.head()).feature_names


@habit("categorical_features=['season']")
def _() -> None:
    X, y = rentals()
    kinds = {c["name"]: c["kind"] for c in fitted(X, y, categorical_features=["season"]).model_.manifest["columns"]}
    assert kinds["season"] == "category"


@habit("scipy.sparse matrices: fit, predict, explain")
def _() -> None:
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = sparse.random(200, 6, 0.3, format="csr", random_state=rng)
    model = fitted(X, X.toarray().sum(axis=1))
    near(model.predict(X), model.predict(X.toarray()))
    assert model.explain(X).values.shape == X.shape


@habit("numpy arrays: model.predict(X[0]) says how to give one row")
def _() -> None:
    X = np.random.default_rng(0).normal(size=(80, 3))
    model = fitted(X, X[:, 0])
    raises(ValueError, r"reshape\(1, -1\)", lambda: model.predict(X[0]))
    raises(ValueError, "3 features", lambda: model.predict(X[:, :2]))


@habit("model.predict before fit: NotFittedError")
def _() -> None:
    from sklearn.exceptions import NotFittedError

    raises(NotFittedError, "fit", lambda: PsiRegressor().predict(rentals()[0]))


@habit("polars frames in, polars frames out")
def _() -> None:
    import polars as pl

    frame = pl.from_pandas(rentals()[0].head(20))
    near(regressor().predict(frame), regressor().predict(rentals()[0].head(20)))
    assert isinstance(regressor().explain(frame).attributions(), pl.DataFrame)


# shap


@habit("e.values, e.base_values: attributions that add up to model(X)")
def _() -> None:
    e, X = explained(), rentals()[0].head(50)
    assert e.values.shape == X.shape and e.base_values.shape == (50,) and e.values.dtype == float
    near(e.base_values + e.values.sum(axis=1), regressor()(X), 1e-4)


@habit("e.data, e.feature_names: the cells and the columns")
def _() -> None:
    e, X = explained(), rentals()[0].head(50)
    assert list(e.feature_names) == list(X)
    near(e.data, X.to_numpy())


@habit("np.asarray(e), e.shape, len(e)")
def _() -> None:
    e = explained()
    near(np.asarray(e), e.values, 0)
    assert e.shape == e.values.shape and len(e) == 50


@habit("e[3], e[:10], e[mask]: rows")
def _() -> None:
    e = explained()
    assert e[3].values.shape == (len(e.feature_names),) and np.ndim(e[3].base_values) == 0
    assert len(e[:10]) == 10
    assert len(e[e.values[:, 0] > 0]) == (e.values[:, 0] > 0).sum()


@habit("e[:, 'temp'], e[:, ['temp', 'hum']]: columns")
def _() -> None:
    e = explained()
    at = e.feature_names.index("temp")
    near(e[:, "temp"].values, e.values[:, at], 0)
    assert e[:, ["temp", "hum"]].values.shape == (50, 2)
    raises((KeyError, ValueError), "temp", lambda: e[:, "tmp"])


@habit("e.spread, e.doubt, e.interactions: arrays beside e.values")
def _() -> None:
    e = explained()[:5]
    count = len(e.feature_names)
    assert e.spread.shape == e.doubt.shape == e.values.shape
    assert e.interactions.shape == (5, count, count)
    near(e.interactions, np.swapaxes(e.interactions, 1, 2), 0)


@habit("e.output('virginica'), e[..., 'virginica']: one of several classes")
def _() -> None:
    e = botanist().explain(flowers()[0])
    assert e.values.shape == (150, 4, 3) and e.base_values.shape == (150, 3)
    near(e.output("virginica").values, e.values[:, :, 2], 0)
    near(e[..., "virginica"].values, e.values[:, :, 2], 0)
    raises((KeyError, ValueError), "virginica", lambda: e.output("virgin"))


@habit("e.mean, e.std, e.model_std: old names warn")
def _() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        near(explained().mean[:, 0], explained().values, 0)
    assert caught and "values" in str(caught[0].message)


@habit("shap.plots.beeswarm(e.to_shap()), shap.plots.waterfall(e[0].to_shap())")
def _() -> None:
    import shap

    shap.plots.beeswarm(explained().to_shap(), show=False)
    shap.plots.waterfall(explained()[0].to_shap(), show=False)


@habit("shap.summary_plot(e.values, X), shap.dependence_plot('temp', e.values, X)")
def _() -> None:
    import shap

    X = rentals()[0].head(50)
    shap.summary_plot(explained().values, X, show=False)
    shap.dependence_plot("temp", explained().values, X, show=False)


@habit("shap.Explainer(model, X)(X): shap can call the model")
def _() -> None:
    import shap

    X = rentals()[0]
    found = shap.explainers.Permutation(regressor(), X.iloc[50:60])(X.head(2), max_evals=50)
    near(found.base_values + found.values.sum(axis=1), regressor()(X.head(2)), 1e-3)


@habit("e.plot.bar(max_display=5, ax=ax): matplotlib, with the numbers held")
def _() -> None:
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    assert explained().plot.bar(max_display=5, ax=ax) is ax
    widths = sorted((p.get_width() for p in ax.patches), reverse=True)
    near(widths[0], explained().importance().iloc[0])


@habit("e.plot.beeswarm(), e.plot.waterfall(), e.plot.scatter('temp'), e.plot.heatmap()")
def _() -> None:
    from matplotlib.axes import Axes

    e = explained()
    for ax in (e.plot.beeswarm(), e[0].plot.waterfall(), e.plot.waterfall(row=3), e.plot.scatter("temp"), e.plot.heatmap()):
        assert isinstance(ax, Axes)
    raises(TypeError, "maxdisplay", lambda: e.plot.bar(maxdisplay=3))


@habit("a notebook shows model, explanation and reason")
def _() -> None:
    e = explained()
    assert "temp" in regressor().model_._repr_html_()
    assert "rows.arrow" not in e._repr_html_()
    assert "temp" in e._repr_html_()
    reason = next(r for row in e.reasons() for r in row)
    assert reason.feature in reason._repr_html_()


@habit("psishap.from_model(LGBMRegressor().fit(X, y)).explain(X)")
def _() -> None:
    import lightgbm

    X, y = rentals()
    trees = lightgbm.LGBMRegressor(n_estimators=20, verbose=-1).fit(X, y)
    e = psishap.from_model(trees).explain(X.head(5))
    near(e.values, trees.predict(X.head(5), pred_contrib=True)[:, :-1], 1e-4)


# psi


@habit("model.save('m.psi'), psishap.load('m.psi'), repr")
def _() -> None:
    with tempfile.TemporaryDirectory() as directory:
        regressor().save(f"{directory}/m.psi")
        model = psishap.load(f"{directory}/m.psi")
    near(model.predict(rentals()[0].head()), regressor().predict(rentals()[0].head()), 0)
    assert "cnt" in repr(model)


@habit("psishap.load('absent.psi'): FileNotFoundError")
def _() -> None:
    raises(FileNotFoundError, "absent.psi", lambda: psishap.load("absent.psi"))


@habit("model.export_onnx('m.onnx') runs in onnxruntime")
def _() -> None:
    import onnxruntime

    with tempfile.TemporaryDirectory() as directory:
        regressor().export_onnx(f"{directory}/m.onnx")
        session = onnxruntime.InferenceSession(f"{directory}/m.onnx")
    assert "prediction" in [output.name for output in session.get_outputs()]


@habit("model.evaluate(X, y), model.audit(X), model.ask(X.iloc[0])")
def _() -> None:
    X, y = rentals()
    assert regressor().evaluate(X, y)["rmse"] > 0
    assert regressor().audit(X.head(64))["rows"] > 0
    assert set(regressor().ask(X.iloc[0].drop("temp"))["column"]) == {"temp"}


@habit("psishap.explian: an AttributeError, with a suggestion")
def _() -> None:
    raises(AttributeError, "explain", lambda: psishap.explian)  # type: ignore[attr-defined]


def main() -> None:
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [(title, check) for title, check in HABITS if wanted in title]
    failures = 0
    for title, check in chosen:
        begun = time.monotonic()
        try:
            check()
            result = "ok"
        except Exception as err:
            failures += 1
            text = str(err).strip().splitlines()
            result = f"FAILED {type(err).__name__}: {text[0] if text else ''}"
            if wanted:
                traceback.print_exc()
        print(f"{time.monotonic() - begun:6.2f} s  {title}: {result}", flush=True)
    print(f"{len(chosen) - failures} of {len(chosen)} habits work")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
