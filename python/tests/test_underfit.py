"""A model that learned too little is warned of, in the words of psi train."""

import warnings

import numpy as np
import pytest
from conftest import table_of, target_of
from sklearn.exceptions import ConvergenceWarning

from psishap import PsiRegressor


def test_a_linear_model_is_better():
    table = table_of(200)
    with pytest.warns(ConvergenceWarning) as said:
        PsiRegressor(random_state=0, steps=5, n_bags=0).fit(table, target_of(table))
    first = said[0]
    assert str(first.message).startswith("The model predicts no better than a linear model: rmse ")
    assert str(first.message).endswith('Train with more rows or more effort (effort="best"), or use a linear model instead.')
    assert first.filename == __file__


def test_nothing_to_warn_of():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PsiRegressor(random_state=0, steps=500, n_bags=0).fit(X, np.sign(X[:, 0] * X[:, 1]) + 0.5 * rng.normal(size=1500))
