"""Columns that training does not use are warned of, and rows to predict may have them."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from conftest import table_of, target_of
from sklearn.exceptions import ConvergenceWarning

import psishap
from psishap import PsiRegressor


def test_warnings():
    table = table_of(200)
    y = target_of(table)
    table = table.assign(constant=5, number=np.arange(200), name=[f"n{i}" for i in range(200)])
    with pytest.warns(UserWarning) as said:
        fitted = PsiRegressor(random_state=0, steps=20).fit(table, y)
    texts = [str(w.message) for w in said if w.category is UserWarning]  # 20 steps are too few, which is another one's business
    assert len(texts) == 2, texts
    assert 'column "constant": every cell is the same; column "name": no label is in three rows or more. Not used as features' in texts[0]
    assert 'column "number": it counts the rows. Used as a feature' in texts[1]
    assert all(w.filename == __file__ for w in said)
    assert fitted.model_.columns == ["a", "b", "town", "number"]
    assert fitted.n_features_in_ == 6

    want = fitted.predict(table)
    assert np.array_equal(fitted.predict(table.assign(constant="anything", name=None)), want)
    explanation = fitted.explain(table)
    assert explanation.feature_names == fitted.model_.columns
    assert np.allclose(explanation.values.sum(axis=1) + explanation.base_values, want, atol=1e-5)


def test_nothing_to_warn_of():
    table = table_of(200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        PsiRegressor(random_state=0, steps=20).fit(table, target_of(table))


def test_arrays(tmp_path):
    """An array has all columns of the training, or those of the model alone."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    X[:, 0] = X[:, 2] = 1
    with pytest.warns(UserWarning, match="x0.*x2"):
        fitted = PsiRegressor(random_state=0, steps=20).fit(X, X[:, 1] - X[:, 3])
    want = fitted.predict(X)
    assert np.array_equal(fitted.explain(X).prediction, want)
    fitted.save(tmp_path / "m.psi")
    for model in (psishap.load(tmp_path / "m.psi"), pickle.loads(pickle.dumps(fitted)).model_):
        assert model.columns == ["x1", "x3"]
        assert np.array_equal(model.predict(X), want)
        assert np.array_equal(model.predict(X[:, [1, 3]]), want)
        assert np.array_equal(model.predict(pd.DataFrame(X[:, [3, 1]], columns=["x3", "x1"])), want)
        with pytest.raises(psishap.PsiError, match="columns"):
            model.predict(X[:, :3])
