"""Base and scale set anew; validation by order; drift by groups of rows."""

import numpy as np
import pandas as pd
import pytest
from conftest import table_of, target_of

import psishap
from psishap import PsiRegressor


def test_recalibrate(model):
    table = table_of(200, seed=8)
    y = 50 + 1.5 * target_of(table)
    fresh = model.recalibrate(table, y)
    said = fresh.manifest["recalibrations"][-1]
    assert said["rows"] == 200 and said["after"]["rmse"] < 3 < 40 < said["before"]["rmse"]
    before, after = model.explain(table), fresh.explain(table)
    assert np.allclose(after.values, said["factor"] * before.values, atol=1e-5)
    assert np.allclose(after.base_values + after.values.sum(axis=1), after.prediction, atol=1e-3)
    assert abs(fresh.predict(table).mean() - y.mean()) < 1e-3
    assert model.manifest["recalibrations"] == []
    with pytest.raises(psishap.PsiError, match="20 rows have an outcome"):
        model.recalibrate(table[:20], y[:20])
    with pytest.raises(ValueError, match="3 values"):
        model.recalibrate(table, y[:3])


def test_order_by():
    table = table_of(200).assign(day=pd.date_range("2024-01-01", periods=200))
    y = target_of(table)
    newest = PsiRegressor(random_state=0, steps=20, order_by="day").fit(table, y).model_
    assert newest.manifest["provenance"]["validation"] == "the newest fraction of 0.1 in day" and newest.validation_by is None
    after = PsiRegressor(random_state=0, steps=20, order_by="day", validation_after="2024-06-30").fit(table, y).model_
    assert after.manifest["provenance"]["validation_rows"] == 18


def test_drift_by_groups():
    table = table_of(240)
    table["patient"] = [f"p{i // 12}" for i in range(240)]
    model = PsiRegressor(random_state=0, steps=20, validation_by="patient").fit(table, target_of(table)).model_
    assert model.validation_by == "patient" and "patient" not in model.columns
    now, then = model.explain(table[:120]), model.explain(table[120:])
    assert "Rows with the same patient may be alike" in repr(now.plot.svg("drift", since=then))
    without = model.explain(table[120:].drop(columns="patient"))
    assert "Rows with the same patient" not in repr(now.plot.svg("drift", since=without))


def test_target_scale():
    table = table_of(200)
    y = np.exp(target_of(table) / 10)
    median = PsiRegressor(random_state=0, steps=20, target_scale="log").fit(table, y).model_
    assert median.manifest["target_scale"] == "log" and (median.predict(table) > 0).all()
    with pytest.raises(psishap.PsiError, match="choose 'auto', 'identity', 'log-mean' or 'log'"):
        PsiRegressor(random_state=0, steps=20, target_scale="cube").fit(table, y)
