"""Models that people already have."""

import numpy as np
import pandas as pd
import pytest
from explaining import random_table
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression

import psishap
from psishap._adopt import Fidelity, _asker, _inside, _r2, _spearman, _split

LEARNED = {"steps": 300, "settings": {"channels": 16}, "verbose": False}
SHORT = {"steps": 20, "settings": {"channels": 16}, "verbose": False}  # where it does not matter how much is learned


def table(rows=1500, seed=3):
    x, score = random_table(seed, rows)
    return x[["size", "rooms", "row"]].assign(size=x["size"].fillna(0)), score


def test_number_of_a_linear_model():
    """Of independent columns and a linear model, attributions are w (x − E x): a truth that nobody has to believe."""
    rng = np.random.default_rng(1)
    x = pd.DataFrame(rng.normal(size=(3000, 3)), columns=list("abc"))
    model = LinearRegression().fit(x, x @ [2, -1, 0.5])
    adopted = psishap.explain_model(model, x, random_state=1, **LEARNED)
    (fidelity,) = adopted.fidelity
    assert fidelity.r2 > 0.97 and fidelity.rank > 0.97 and fidelity.rows == 300 and fidelity.same_class is None
    e = adopted.explain(x[:200])
    want = (x[:200] - x.mean()).to_numpy() * [2, -1, 0.5]
    assert np.sqrt(np.mean((e.values - want) ** 2)) < 0.2 * want.std()
    assert np.allclose(e.prediction, adopted.predict(x[:200]))
    assert e.scale == "identity" and e.output_names == ["output"]


def test_two_classes(capsys):
    """What is said first is how much is reproduced, and it is so."""
    x, score = table()
    x.loc[::5, "size"] = np.nan  # a gap is a value to the model
    y = np.where(score > 0, "up", "down")
    model = HistGradientBoostingClassifier(max_iter=30).fit(x, y)
    adopted = psishap.explain_model(model, x[:1200], test=x[1200:], steps=40, settings={"channels": 16})
    said = capsys.readouterr().out
    assert said.startswith("The surrogate reproduces ") and "'up'" in said.splitlines()[0]
    assert str(adopted) == repr(adopted) == said.rstrip("\n")
    truth = np.log(model.predict_proba(x[1200:])[:, 1] / model.predict_proba(x[1200:])[:, 0])
    guess = adopted.predict(x[1200:])
    (fidelity,) = adopted.fidelity
    assert np.isclose(fidelity.r2, 1 - np.mean((truth - guess) ** 2) / truth.var())
    assert np.isclose(fidelity.rank, pd.Series(truth).corr(pd.Series(guess), method="spearman"))
    assert np.isclose(fidelity.same_class, np.mean(model.predict(x[1200:]) == np.where(guess > 0, "up", "down")))
    e = adopted.explain(x[1200:])
    assert e.scale == "logit" and e.output_names == ["up"] and e.observed.all()
    assert e.plot.svg("waterfall").title and "</iframe>" in e._repr_html_()


def test_more_classes():
    x, score = table(130)
    y = np.digitize(score, [-1, 1])
    model = RandomForestClassifier(30, max_depth=4, random_state=0).fit(x, y)
    adopted = psishap.explain_model(model, x, **SHORT)
    assert len(adopted.models) == 3 and adopted.outputs == ["0", "1", "2"]
    e = adopted.explain(x[:40])
    assert e.shape == (40, 3, 3) and e.scale == "score" and e.prediction.shape == (40, 3)
    assert np.allclose(e.output("2").values, adopted.models[2].explain(x[:40]).values)
    assert np.allclose(e[:6].interactions[..., 1], adopted.models[1].explain(x[:6]).interactions)
    assert e.to_shap().values.shape == (40, 3, 3)
    assert f"is {e.prediction[0, 2]:.3g} " in e.plot.svg("waterfall", output="2").title and "</iframe>" in e._repr_html_()
    with pytest.raises(ValueError, match="each output"):
        e.report("r.html")


def test_functions():
    x, _ = table(50)
    names, scale, said = _asker(lambda rows: np.column_stack([rows["size"], rows["rooms"]]))(x)
    assert names == ["output 0", "output 1"] and scale == "identity" and np.array_equal(said[:, 1], x["rooms"])
    with pytest.raises(ValueError, match="shape"):
        _asker(lambda rows: np.zeros(3))(x)
    with pytest.raises(ValueError, match="not finite"):
        _asker(lambda rows: np.full(50, np.nan))(x)
    with pytest.raises(TypeError, match="no predict"):
        psishap.explain_model(3, x)
    with pytest.raises(TypeError, match="labels"):
        _asker(lambda rows: np.array(["a"] * 50))(x)


def test_probabilities_of_votes():
    """No and all votes have a finite score, beyond that of one vote less."""
    p = np.array([[0, 1], [0.01, 0.99], [0.5, 0.5], [1, 0]])
    inside = _inside(p)
    assert np.allclose(inside.sum(axis=1), 1) and (inside > 0).all()
    score = np.log(inside[:, 1] / inside[:, 0])
    assert np.isclose(score[1], np.log(99)) and score[0] > score[1] and np.isclose(score[3], -score[0]) and score[2] == 0


def test_split_and_measures():
    x, _ = table(100)
    train, held = _split(x, 0.1, 0)
    assert len(held) == 10 and not set(train.index) & set(held.index)
    with pytest.raises(ValueError, match="too few"):
        _split(x[:10], 0.1, 0)
    with pytest.raises(ValueError, match="fraction"):
        _split(x, 1.5, 0)
    assert _r2(np.array([1.0, 2, 3]), np.array([1.0, 2, 3])) == 1 and _spearman(np.arange(9.0), np.exp(np.arange(9.0))) == pytest.approx(1)
    little = psishap._adopt.AdoptedModel([], ["y"], "identity", [Fidelity("y", 0.4, 0.5, None, 7)])
    assert "This is low" in repr(little)
