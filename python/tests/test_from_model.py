"""Trees of other packages: psi's predictions and attributions are those of the package that trained them."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import shap
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import psishap

xgboost, lightgbm, catboost = (pytest.importorskip(name) for name in ("xgboost", "lightgbm", "catboost"))

TOWNS = np.array(["Ur", "Uruk", "Nippur", "Lagash, old"])
CLASSES = np.array(["mid", "top", "low"])  # in no order


def table(rows=400, seed=1):
    """Numbers with gaps, booleans, labels with gaps, and labels that are numbers."""
    rng = np.random.default_rng(seed)
    x = pd.DataFrame(
        {
            "size": np.where(rng.random(rows) < 0.15, np.nan, rng.normal(size=rows)),
            "age": rng.integers(0, 90, rows),
            "sold": rng.random(rows) < 0.5,
            "town": pd.Categorical(np.where(rng.random(rows) < 0.1, None, TOWNS[rng.integers(0, 4, rows)])),
            "zone": pd.Categorical(rng.choice([3, 10, 7], rows)),
        },
        index=[f"id{i}" for i in range(rows)],
    )
    score = 2 * x["size"].fillna(-1) + x["sold"] * (x["town"] == "Ur") * 3 - (x["zone"] == 10) + x["age"] / 30 + rng.normal(size=rows) / 2
    return x, score.astype(float).rename("price")


def numbers(rows=400, seed=1):
    x, y = table(rows, seed)
    return x[["size", "age", "sold"]].astype(float).assign(noise=np.random.default_rng(seed).normal(size=rows)), y


def classes_of(score, count):
    return CLASSES[np.digitize(score, [1.5] if count == 2 else [0, 2.5])]


def off(got, want):
    """The root mean square of the difference, relative to what should be there."""
    got, want = np.asarray(got, float), np.asarray(want, float)
    assert got.shape == want.shape
    return math.sqrt(np.mean((got - want) ** 2) / max(np.mean(want**2), 1e-30))


def agrees(model, x, contributions, predictions):
    """Contributions are [rows, players + 1], or [rows, classes, players + 1], the base last."""
    e = model.explain(x)
    assert e.exact and e.game == "path-dependent" and e.interval == "none"
    contributions = np.moveaxis(np.asarray(contributions, float).reshape(len(x), len(e.output_names), -1), 1, 2)
    assert off(e.values, contributions[:, :-1].reshape(e.shape)) < 1e-4
    assert off(e.base_values, contributions[:, -1].reshape(e.base_values.shape)) < 1e-4
    assert off(e.base_values + e.values.sum(axis=1), e.prediction) < 1e-5
    found = model.predict_proba(x) if model.classes else model.predict(x)
    assert np.abs(found - predictions).max() < 1e-5 * max(1, np.abs(predictions).max())
    return e


def by_hand(predict, row, reference):
    """Shapley values of the baseline game from all subsets of columns."""
    names = list(row.columns)
    subsets = [s for k in range(len(names) + 1) for s in itertools.combinations(range(len(names)), k)]
    mixed = pd.concat([reference] * len(subsets), ignore_index=True)
    for d, name in enumerate(names):
        took = np.array([d in s for s in subsets])
        mixed[name] = mixed[name].where(~took, row[name].iloc[0])
    mixed = mixed.astype(row.dtypes.to_dict())
    value = dict(zip(subsets, np.asarray(predict(mixed), float)))
    phi = np.zeros(len(names))
    for s in subsets:
        for d in set(range(len(names))) - set(s):
            weight = math.factorial(len(s)) * math.factorial(len(names) - len(s) - 1) / math.factorial(len(names))
            phi[d] += weight * (value[tuple(sorted((*s, d)))] - value[s])
    return phi


# XGBoost.


def xgboost_contributions(model, x, **options):
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    return booster.predict(xgboost.DMatrix(x, enable_categorical=True), pred_contribs=True, **options)


def test_xgboost_number():
    x, y = table()
    model = xgboost.XGBRegressor(n_estimators=40, max_depth=4, enable_categorical=True).fit(x, y)
    ours = psishap.from_model(model, target="price")
    agrees(ours, x, xgboost_contributions(model, x), model.predict(x))
    assert repr(ours).startswith("<psishap.Model of 'price': regression, 5 columns")
    for row, reference in ((0, 5), (7, 1)):
        got = ours.explain(x.iloc[[row]], game="baseline", reference=x.iloc[reference])
        assert off(got.values[0], by_hand(model.predict, x.iloc[[row]], x.iloc[[reference]])) < 1e-4


@pytest.mark.parametrize("count", [2, 3])
def test_xgboost_classes(count):
    x, score = numbers()
    names, y = np.unique(classes_of(score, count), return_inverse=True)
    model = xgboost.XGBClassifier(n_estimators=15, max_depth=3).fit(x, y)
    ours = psishap.from_model(model, target="kind")
    assert ours.classes == [str(k) for k in range(count)]
    agrees(ours, x, xgboost_contributions(model, x), model.predict_proba(x))
    named = psishap.from_model(model, target="kind", classes=names)
    assert named.classes == names.tolist() and named.predict(x).tolist() == names[model.predict(x)].tolist()
    e = named.explain(x[:3], output=names[-1])
    assert e.output_names == [names[-1]] and off(e.values, ours.explain(x[:3]).output(count - 1).values) < 1e-6


def test_xgboost_poisson_and_numpy():
    x, y = numbers()
    model = xgboost.XGBRegressor(n_estimators=15, objective="count:poisson").fit(x.to_numpy(), np.exp(y / 3))
    ours = psishap.from_model(model, target="price")
    assert ours.columns == ["f0", "f1", "f2", "f3"]
    e = agrees(ours, x.to_numpy(), xgboost_contributions(model, x.to_numpy()), model.predict(x.to_numpy()))
    assert e.scale == "log-mean"


def test_xgboost_numbered_labels(monkeypatch):
    """Categories that are numbers, in an array without names. Older versions do not say which text a number stands for."""
    x, y = numbers()
    codes = np.column_stack([x["age"] // 15, x.drop(columns="age")])
    rows = xgboost.DMatrix(codes, y, feature_types=["c", "q", "q", "q"], enable_categorical=True)
    model = xgboost.train({"max_depth": 3, "max_cat_to_onehot": 1}, rows, 15)
    ours = psishap.from_model(model, target="price")
    agrees(ours, codes, model.predict(rows, pred_contribs=True), model.predict(rows))
    monkeypatch.delattr(xgboost.Booster, "get_categories")
    with pytest.raises(psishap.PsiError, match=r"before 3\.1"):
        psishap.from_model(model, target="price")


def test_xgboost_stopped_early():
    x, y = numbers()
    model = xgboost.XGBRegressor(n_estimators=300, learning_rate=0.5, early_stopping_rounds=2)
    model.fit(x[:200], y[:200], eval_set=[(x[200:], y[200:])], verbose=False)
    best = model.best_iteration + 1
    assert best < model.get_booster().num_boosted_rounds()
    for of in (model, model.get_booster()):
        ours = psishap.from_model(of, target="price")
        assert ours.manifest["imported"]["trees"] == best
        agrees(ours, x, xgboost_contributions(model, x, iteration_range=(0, best)), model.predict(x))


def test_xgboost_other_missing():
    x, y = numbers(60)
    model = xgboost.XGBRegressor(n_estimators=2, missing=-1).fit(x, y)
    with pytest.raises(psishap.PsiError, match="takes -1 for missing"):
        psishap.from_model(model, target="price")


# LightGBM.


def test_lightgbm_number():
    x, y = table()
    model = lightgbm.LGBMRegressor(n_estimators=40, min_child_samples=5, verbose=-1).fit(x, y)
    for of in (model, model.booster_):
        agrees(psishap.from_model(of, target="price"), x, model.predict(x, pred_contrib=True), model.predict(x))


@pytest.mark.parametrize("count", [2, 3])
def test_lightgbm_classes(count):
    """The wrapper encodes labels, and the file does not have them."""
    x, score = table()
    y = classes_of(score, count)
    model = lightgbm.LGBMClassifier(n_estimators=15, min_child_samples=5, verbose=-1).fit(x, y)
    ours = psishap.from_model(model, target="kind")
    assert ours.classes == model.classes_.tolist() == sorted(set(y))
    agrees(ours, x, model.predict(x, pred_contrib=True), model.predict_proba(x))
    assert ours.predict(x).tolist() == model.predict(x).tolist()


def test_lightgbm_stopped_early():
    x, y = numbers()
    model = lightgbm.LGBMRegressor(n_estimators=300, learning_rate=0.5, verbose=-1)
    model.fit(x[:200], y[:200], eval_set=[(x[200:], y[200:])], callbacks=[lightgbm.early_stopping(2, verbose=False)])
    ours = psishap.from_model(model, target="price")
    assert ours.manifest["imported"]["trees"] == model.best_iteration_ < 300
    agrees(ours, x, model.predict(x, pred_contrib=True), model.predict(x))


def test_lightgbm_numbered_labels():
    """Categories that are numbers, in an array without names."""
    x, y = numbers()
    codes = np.column_stack([x["age"] // 15, x.drop(columns="age")])
    model = lightgbm.LGBMRegressor(n_estimators=15, min_child_samples=5, verbose=-1).fit(codes, y, categorical_feature=[0])
    ours = psishap.from_model(model, target="price")
    agrees(ours, codes, model.predict(codes, pred_contrib=True), model.predict(codes))


# CatBoost.


def catboost_contributions(model, pool):
    return model.get_feature_importance(pool, type="ShapValues")


def test_catboost_number():
    x, y = numbers()
    model = catboost.CatBoostRegressor(iterations=40, depth=4, verbose=False, allow_writing_files=False).fit(x, y)
    ours = psishap.from_model(model, target="price")
    agrees(ours, x, catboost_contributions(model, catboost.Pool(x)), model.predict(x))


@pytest.mark.parametrize("count", [2, 3])
def test_catboost_classes(count):
    x, score = numbers()
    y = classes_of(score, count)
    model = catboost.CatBoostClassifier(iterations=20, depth=3, verbose=False, allow_writing_files=False)
    model.fit(x[:200], y[:200], eval_set=(x[200:], y[200:]), early_stopping_rounds=3)
    ours = psishap.from_model(model, target="kind")
    assert ours.classes == list(model.classes_) == sorted(set(y))
    agrees(ours, x, catboost_contributions(model, catboost.Pool(x)), model.predict_proba(x))


def test_catboost_labels():
    x, y = table()
    x = x.assign(town=x["town"].astype(object).fillna("none there"), zone=x["zone"].astype(int), sold=x["sold"].astype(float))
    model = catboost.CatBoostRegressor(iterations=30, depth=3, max_ctr_complexity=1, verbose=False, allow_writing_files=False)
    model.fit(x, y, cat_features=["town", "zone"])
    with pytest.raises(psishap.PsiError, match="give rows that have all labels"):
        psishap.from_model(model, target="price")
    ours = psishap.from_model(model, target="price", rows=x.assign(price=y))
    pool = catboost.Pool(x, cat_features=["town", "zone"])
    e = ours.explain(x)
    assert np.abs(ours.predict(x) - model.predict(x)).max() < 1e-4
    assert off(e.values, catboost_contributions(model, pool)[:, :-1]) < 1e-4


# scikit-learn.

REGRESSORS = [
    DecisionTreeRegressor(max_depth=6),
    RandomForestRegressor(12, max_depth=6, random_state=0),
    ExtraTreesRegressor(12, max_depth=6, random_state=0),
    GradientBoostingRegressor(n_estimators=25, random_state=0),
    HistGradientBoostingRegressor(max_iter=25, random_state=0),
    HistGradientBoostingRegressor(max_iter=10, loss="poisson", random_state=0),
]


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda m: f"{type(m).__name__}-{getattr(m, 'loss', '')}")
def test_sklearn_number(model):
    x, y = numbers()
    if isinstance(model, GradientBoostingRegressor):
        x = x.fillna(0)
    y = np.exp(y / 3) if getattr(model, "loss", "") == "poisson" else y
    model.fit(x, y)
    ours = psishap.from_model(model, target="price")
    assert ours.columns == x.columns.tolist()
    e = ours.explain(x)
    scores = np.log(model.predict(x)) if e.scale == "log-mean" else model.predict(x)
    assert off(ours.predict(x), model.predict(x)) < 1e-5 and off(e.prediction, scores) < 1e-5
    explainer = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
    assert off(e.values, explainer.shap_values(x, check_additivity=False)) < 1e-4
    assert off(e.base_values, np.full(len(x), explainer.expected_value)) < 1e-4


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(n_estimators=12, random_state=0),
        GradientBoostingClassifier(n_estimators=12, loss="exponential", random_state=0),
        HistGradientBoostingClassifier(max_iter=12, random_state=0),
    ],
    ids=lambda m: f"{type(m).__name__}-{m.loss}",
)
@pytest.mark.parametrize("count", [2, 3])
def test_sklearn_boosted_classes(model, count):
    if count == 3 and model.loss == "exponential":
        pytest.skip("has two classes")
    x, score = numbers()
    x = x.fillna(0)
    model.fit(x, classes_of(score, count))
    ours = psishap.from_model(model, target="kind")
    assert ours.classes == model.classes_.tolist()
    assert np.abs(ours.predict_proba(x) - model.predict_proba(x)).max() < 1e-5
    assert ours.predict(x).tolist() == model.predict(x).tolist()
    e = ours.explain(x)
    slope = 2 if model.loss == "exponential" else 1
    assert off(e.prediction, slope * model.decision_function(x)) < 1e-5
    if count == 2 or isinstance(model, HistGradientBoostingClassifier):  # shap has no more classes of GradientBoostingClassifier
        values = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent").shap_values(x, check_additivity=False)
        assert off(e.values, slope * values) < 1e-4


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=5, random_state=0),
        RandomForestClassifier(9, max_depth=5, random_state=0),
        ExtraTreesClassifier(9, max_depth=5, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.parametrize("count", [2, 3])
def test_sklearn_votes(model, count):
    """Forests average probabilities, so attributions are of probabilities."""
    x, score = numbers()
    model.fit(x, classes_of(score, count))
    ours = psishap.from_model(model, target="kind")
    assert ours.classes == model.classes_.tolist()
    assert np.abs(ours.predict_proba(x) - model.predict_proba(x)).max() < 1e-5
    values = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent").shap_values(x, check_additivity=False)
    e = ours.explain(x)
    assert e.scale == "share" and off(e.prediction, e.probability) < 1e-6
    assert off(e.values, values[:, :, 1] if count == 2 else values) < 1e-4
    measured = psishap.from_model(model, target="kind", rows=x.assign(kind=classes_of(score, count)))
    assert math.isclose(measured.manifest["metrics"]["accuracy"], model.score(x, classes_of(score, count)), abs_tol=1e-6)


def test_sklearn_labels():
    """Histogram boosting computes with labels before numbers, and takes unknown labels for missing."""
    x, y = table()
    model = HistGradientBoostingRegressor(max_iter=30, min_samples_leaf=5, random_state=0).fit(x, y)
    ours = psishap.from_model(model, target="price")
    assert off(ours.predict(x), model.predict(x)) < 1e-5
    new = x[:40].assign(town=pd.Categorical(["Atlantis"] * 20 + [None] * 20), size=np.nan)
    assert off(ours.predict(new), model.predict(new)) < 1e-5
    got = ours.explain(x.iloc[[2]], game="baseline", reference=x.iloc[[9]])
    assert off(got.values[0], by_hand(model.predict, x.iloc[[2]], x.iloc[[9]])) < 1e-4
    assert off(got.base_values, model.predict(x.iloc[[9]])) < 1e-5


def test_sklearn_starts():
    x, y = numbers(100)
    x = x.fillna(0)
    for init in ("zero", DummyRegressor(strategy="constant", constant=4.0)):
        model = GradientBoostingRegressor(n_estimators=3, init=init).fit(x, y)
        assert off(psishap.from_model(model, target="price").predict(x), model.predict(x)) < 1e-5
    model = GradientBoostingRegressor(n_estimators=3, init=LinearRegression()).fit(x, y)
    with pytest.raises(psishap.PsiError, match="init"):
        psishap.from_model(model, target="price")


# Games.


@pytest.mark.parametrize(
    "model",
    [
        xgboost.XGBRegressor(n_estimators=20, max_depth=4),
        lightgbm.LGBMRegressor(n_estimators=20, verbose=-1),
        RandomForestRegressor(8, max_depth=6, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_interventional(model):
    x, y = numbers()
    x = x.fillna(0).astype("float32").astype(float)  # XGBoost's precision, which shap's own trees do not round to
    model.fit(x, y)
    ours = psishap.from_model(model, target="price")
    e = ours.explain(x[:60], game="interventional", reference=x[200:220])
    assert (e.game, e.interval) == ("interventional", "none") and "(interventional)" in repr(e)
    explainer = shap.TreeExplainer(model, x[200:220], feature_perturbation="interventional")
    assert off(e.values, explainer.shap_values(x[:60], check_additivity=False)) < 1e-4
    assert off(e.base_values, np.full(60, explainer.expected_value)) < 1e-4
    assert np.array_equal(ours.explain(x[:60], reference=x[200:220]).values, e.values)
    assert np.array_equal(e[5:7].values, e.values[5:7]) and e[5:7].game == "interventional"
    pairs = e[:3].interactions
    assert pairs.shape == (3, 4, 4) and off(pairs, ours.explain(x[:3]).interactions) > 1e-3


def test_games_of_networks(fitted):
    """Models that psi trained have games with reference rows too."""
    x = pd.DataFrame({"a": [0.5, -1.0], "b": [1.0, 2.0], "town": ["Ur", "Uruk"]})
    reference = {"a": 0.0, "b": -1.0, "town": "Nippur"}
    e = fitted.explain(x, game="baseline", reference=reference)
    assert e.game == "baseline" and fitted.explain(x).game == "observational"
    assert np.allclose(e.base_values, fitted.predict(pd.DataFrame([reference])), atol=1e-5)
    assert np.allclose(e.prediction, fitted.predict(x), atol=1e-5)


def test_wrong_games():
    x, y = numbers(100)
    ours = psishap.from_model(xgboost.XGBRegressor(n_estimators=2).fit(x, y), target="price")
    for options, words in (
        ({"game": "baseline"}, r"give a table in reference"),
        ({"game": "baseline", "reference": x[:3]}, r'choose game="interventional"'),
        ({"game": "observational"}, r"choose one of path-dependent, baseline, interventional"),
        ({"game": "some"}, r"game is 'some' \(choose 'observational'"),
        ({"game": "path-dependent", "reference": x[:3]}, r'choose game="baseline" or game="interventional", or leave reference out'),
        ({"game": "interventional", "reference": x[:0]}, r"no reference rows"),
    ):
        with pytest.raises(psishap.PsiError, match=words):
            ours.explain(x[:2], **options)


# What a model of trees lacks, and has.


@pytest.fixture(scope="module")
def boosted():
    x, y = table()
    return x, y, xgboost.XGBRegressor(n_estimators=10, max_depth=3, enable_categorical=True).fit(x, y)


def test_unknown_uncertainty(boosted):
    x, _, model = boosted
    ours = psishap.from_model(model, target="price")
    e = ours.explain(x[:20])
    for unknown in (e.spread, e.lower, e.upper, e.spread_lower, e.p_positive, e.prediction_std):
        assert np.isnan(unknown).all()
    assert e.doubt is None and e.bags == 0 and e.observed.all()
    assert "no intervals" in repr(e) and "exact Shapley values of the model (path-dependent)" in repr(e)
    wide = e.to_arrow()
    assert wide.column("age__std").null_count == wide.column("prediction_std").null_count == 20
    assert e.to_pandas("long")[["std", "lower", "upper", "p_positive"]].isna().all(axis=None)
    reasons = e.reasons(2)[0]
    assert [r.feature for r in reasons] == [e.feature_names[d] for d in np.argsort(-np.abs(e.values[0]))[:2]]
    assert str(reasons[0]).split(" it by ")[1].replace(".", "").isdigit() and math.isnan(reasons[0].lower) and reasons[0].p_larger is None
    with pytest.raises(psishap.PsiError, match="pass rows with the target to from_model"):
        ours.predict_interval(x)


def test_unknown_columns(boosted):
    x, _, model = boosted
    ours = psishap.from_model(model, target="price")
    e = ours.explain(x[:20].drop(columns="size"), unknown="size")
    assert not e.observed[:, 0].any() and e.observed[:, 1:].all() and (e.values[:, 0] == 0).all()
    assert ours.explain(x[:20].assign(size=np.nan)).values[:, 0].any()  # a missing cell is a value
    with pytest.raises(ValueError, match="a value of its own"):
        e.plot.svg("bar")


def test_to_shap(boosted):
    x, _, model = boosted
    values = psishap.from_model(model, target="price").explain(x[:20]).to_shap()
    assert values.values.shape == (20, 5) and values.error_std is None and values.lower_bounds is None
    assert off(values.base_values + values.values.sum(axis=1), model.predict(x[:20])) < 1e-5
    assert values.feature_names == x.columns.tolist()
    import matplotlib

    matplotlib.use("Agg")
    for draw in (shap.plots.beeswarm, shap.plots.bar, lambda v, show: shap.plots.waterfall(v[0], show=show)):
        draw(values, show=False)
        matplotlib.pyplot.close("all")


def test_measured(boosted, tmp_path):
    x, y, model = boosted
    ours = psishap.from_model(model, target="price", rows=x.assign(price=y, other="unused"))
    assert ours.manifest["imported"]["rows"] == len(x) and ours.manifest["audit"]["relative_rmse"] < 1e-5
    error = model.predict(x) - y
    assert math.isclose(ours.manifest["metrics"]["rmse"], math.sqrt(np.mean(error**2)), rel_tol=1e-4)
    inside = np.mean((ours.predict_interval(x) - y.to_numpy()[:, None] > 0) == [False, True], axis=0)
    assert ((inside > 0.9) & (inside < 0.99)).all()
    assert not np.isnan(ours.explain(x[:3]).prediction_std).any()
    ours.save(tmp_path / "model.psi")
    again = psishap.load(tmp_path / "model.psi")
    assert np.array_equal(again.predict(x), ours.predict(x)) and again.game == "path-dependent"
    with pytest.raises(psishap.PsiError, match="target names it"):
        psishap.from_model(model, target="price", rows=x)


def test_measured_classes():
    x, score = numbers()
    y = classes_of(score, 3)
    model = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1).fit(x, y)
    rows = x.assign(kind=y)[y != "low"]  # rows need not have all classes
    ours = psishap.from_model(model, target="kind", rows=rows)
    assert math.isclose(ours.manifest["metrics"]["accuracy"], np.mean(model.predict(x)[y != "low"] == y[y != "low"]), abs_tol=1e-6)


@pytest.mark.parametrize("absent", ["missing-branch", "other"])
def test_wrong_absent(boosted, absent):
    x, y, model = boosted
    with pytest.raises(psishap.PsiError, match="no missing cell" if absent == "missing-branch" else "absent"):
        psishap.from_model(model, target="price", rows=x.assign(price=y), absent=absent)


def test_missing_branch():
    x, y = numbers()
    x = x.mask(np.random.default_rng(0).random(x.shape) < 0.3)
    model = xgboost.XGBRegressor(n_estimators=10, max_depth=3).fit(x, y)
    ours = psishap.from_model(model, target="price", rows=x.assign(price=y), absent="missing-branch")
    e = ours.explain(x[:10])
    assert ours.game == e.game == "missing-branch"
    assert off(e.base_values, model.predict(pd.DataFrame(np.nan, x.index[:10], x.columns))) < 1e-5


def test_plots_and_report(boosted, tmp_path):
    x, y, model = boosted
    e = psishap.from_model(model, target="price").explain(x[:30])
    for kind in ("bar", "beeswarm", "waterfall", "dependence", "heatmap"):
        assert "<svg" in e.plot.svg(kind).svg
    assert "</iframe>" in e._repr_html_()
    e.report(str(tmp_path / "report.html"), y=y[:30])
    other = psishap.from_model(model, target="price").explain(x[:5], reference=x[100:110])
    assert f"base of {other.base_values[1]:.3g}" in other.plot.svg("waterfall", row=1).title


def test_what_is_not_read():
    x, y = numbers(50)
    with pytest.raises(TypeError, match=r"sklearn.pipeline.Pipeline .* its last step"):
        psishap.from_model(make_pipeline(StandardScaler(), DecisionTreeRegressor()).fit(x, y), target="price")
    with pytest.raises(TypeError, match="surrogate"):
        psishap.from_model(LinearRegression(), target="price")
    with pytest.raises(psishap.PsiError, match="several targets"):
        psishap.from_model(RandomForestRegressor(2).fit(x, np.column_stack([y, y])), target="price")
    with pytest.raises(psishap.PsiError, match="leave classes out"):
        psishap.from_model(xgboost.XGBRegressor(n_estimators=1).fit(x, y), target="price", classes=["a", "b"])


@pytest.mark.parametrize(
    "model", [lightgbm.LGBMRegressor(n_estimators=10, min_child_samples=5, verbose=-1), HistGradientBoostingRegressor()]
)
def test_labels_that_are_no_text(model):
    """pandas has categories of numbers and of booleans, and LightGBM underscores for spaces in names."""
    x, y = table()
    x["zone"] = pd.Categorical(np.arange(400) % 3 / 2)
    x["is sold"] = pd.Categorical(x.pop("sold"))
    y += 3 * (x["zone"] == 0.5) + 2 * x["is sold"].astype(int)
    model.fit(x, y)
    ours = psishap.from_model(model, target="price", rows=x.assign(price=y))
    assert off(ours.predict(x), model.predict(x)) < 1e-5
    assert off(psishap.from_model(model, target="price").predict(x), model.predict(x)) < 1e-5
