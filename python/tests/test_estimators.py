"""The estimators: what scikit-learn wants of them, and what psi gives beyond it."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import slow, table_of, target_of
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from test_child import alive, ends

import psishap
from psishap import PsiClassifier, PsiRegressor, _psi

# Ten rows are the least that a training takes, and nine of this check's count. With more of them it would fail too.
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "rows validate by lot and batches are drawn: "
    "a row that counts twice is not the same draw as the row given twice"
}


@slow
@pytest.mark.parametrize("estimator", [PsiRegressor(), PsiClassifier()], ids=["regressor", "classifier"])
def test_check_estimator(estimator):
    begun = time.monotonic()
    results = check_estimator(estimator, expected_failed_checks=EXPECTED)
    states = [r["status"] for r in results]
    print({state: states.count(state) for state in set(states)}, f"{time.monotonic() - begun:.0f} s")


@pytest.mark.parametrize("estimator", [PsiRegressor(steps=5), PsiClassifier(steps=5)], ids=["regressor", "classifier"])
def test_check_estimator_api(estimator):
    check_estimator(estimator, expected_failed_checks=EXPECTED, legacy=False)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "numpy"])
def test_kinds(kind):
    table = table_of(120)
    y = target_of(table)
    make = {
        "pandas": lambda t: t,
        "polars": pl.from_pandas,
        "pyarrow": lambda t: pa.Table.from_pandas(t, preserve_index=False),
        "numpy": lambda t: t.to_numpy(object),
    }[kind]
    model = PsiRegressor(random_state=0, steps=40).fit(make(table), y.to_numpy())
    got = model.predict(make(table))
    assert isinstance(got, np.ndarray) and got.dtype == np.float64
    assert model.n_features_in_ == 3
    if kind != "numpy":
        assert list(model.feature_names_in_) == list(table)
        with pytest.raises(psishap.PsiError, match=r"'a': X lacks this column.*unknown=\['a'\]"):
            model.predict(make(table.rename(columns={"a": "other"})))
        np.testing.assert_array_equal(model.predict(make(table[["town", "b", "a"]].assign(other=1))), got)
    assert model.model_.players == (["x0", "x1", "x2"] if kind == "numpy" else list(table))
    assert model.explain(make(table)).values.shape == (120, 3)
    want = PsiRegressor(random_state=0, steps=40).fit(table, y).predict(table)
    np.testing.assert_array_equal(got, want)


def test_the_seed_is_the_programs(tmp_path):
    """One seed, one model: Python and the program give the same bytes of weights."""
    table = table_of(120)
    fitted = PsiRegressor(random_state=7, settings={"steps": 30, "refit_steps": 5, "spread_steps": 5}).fit(table, target_of(table))
    path = tmp_path / "t.arrow"
    with pa.ipc.new_stream(
        str(path), (rows := pa.Table.from_pandas(table.assign(price=target_of(table)), preserve_index=False)).schema
    ) as w:
        w.write_table(rows)
    out = tmp_path / "m.psi"
    settings = [f"--set={s}" for s in ("steps=30", "refit_steps=5", "spread_steps=5")]
    _psi.run("train", str(path), "--target", "price", "--task", "regression", "--seed", "7", "-o", str(out), *settings)
    np.testing.assert_array_equal(psishap.load(out).predict(table), fitted.predict(table))
    assert fitted.model_.manifest["target"] == "price"


def test_interval_holds_its_share():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(1500, 2))
    y = x[:, 0] + (0.3 + 0.5 * (x[:, 1] > 0)) * rng.normal(size=1500)
    model = PsiRegressor(random_state=0, steps=300).fit(x[:1000], y[:1000])
    for level in (0.5, 0.9):
        low, high = model.predict_interval(x[1000:], level).T
        assert abs(np.mean((low < y[1000:]) & (y[1000:] < high)) - level) < 0.08
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.predict_interval(x, 90)


@pytest.mark.parametrize("power, scale", [(1.2, "log-mean"), (0.1, "identity")])
def test_positive_targets(power, scale):
    rng = np.random.default_rng(6)
    x = rng.normal(size=(800, 2))
    y = np.exp(power * (x[:, 0] + 0.5 * rng.normal(size=800)))
    model = PsiRegressor(random_state=0, steps=200, n_bags=0).fit(x, y)
    assert model.model_.manifest["target_scale"] == scale
    explanation, table = model.explain(x), model.model_.predict_table(x)
    assert explanation.scale == scale
    scores = explanation.prediction[:, 0]
    np.testing.assert_allclose(model.predict(x), np.exp(scores) if scale == "log-mean" else np.maximum(scores, 0), rtol=1e-6)
    for k, name in enumerate(("range_lower", "range_upper")):
        np.testing.assert_allclose(model.predict_interval(x)[:, k], table.column(name).to_numpy(), rtol=1e-6, atol=1e-9)
    wide = model.predict_interval(x, 0.999)
    assert wide.min() >= 0 and np.all(wide[:, 1] > table.column("range_upper").to_numpy())


@pytest.mark.parametrize(
    "labels", [["no", "yes"], [False, True], [-1, 1], [10, 9, 8], ["a", "b", "c"]], ids=["texts", "booleans", "whole", "three", "abc"]
)
def test_labels(labels):
    table = table_of(130)
    y = np.asarray(labels)[np.digitize(target_of(table), np.quantile(target_of(table), np.arange(1, len(labels)) / len(labels)))]
    model = PsiClassifier(random_state=0, steps=80).fit(table, y)
    assert list(model.classes_) == sorted(labels)
    probabilities = model.predict_proba(table)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)
    got = model.predict(table)
    assert got.dtype == y.dtype
    assert model.score(table, y) > 0.6
    if len(labels) > 2:
        one = model.explain(table.head(4), output=labels[1])
        assert one.output_names == [str(labels[1])] and one.values.shape == (4, 3)
        assert model.explain(table.head(4)).values.shape == (4, 3, 3)


def test_pickle_and_file(tmp_path, fitted):
    table = table_of(30)
    want = fitted.predict(table)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(table), want)
    assert again.model_.digest == fitted.model_.digest
    fitted.save(tmp_path / "m.psi")
    loaded = psishap.load(tmp_path / "m.psi")
    assert loaded.digest == fitted.model_.digest == _psi.run("inspect", str(tmp_path / "m.psi"))["digest"]
    np.testing.assert_array_equal(loaded.predict(table), want)
    loaded.save(tmp_path / "again.psi")
    assert (tmp_path / "again.psi").read_bytes() == (tmp_path / "m.psi").read_bytes()


def test_pipeline_and_search():
    rng = np.random.default_rng(9)
    x = rng.normal(size=(120, 2))
    y = x[:, 0] - x[:, 1]
    search = GridSearchCV(make_pipeline(StandardScaler(), PsiRegressor(random_state=0)), {"psiregressor__steps": [2, 100]}, cv=2)
    search.fit(x, y)
    assert search.best_params_ == {"psiregressor__steps": 100}
    assert search.score(x, y) > 0.8


def test_weights_count():
    """Rows that weigh nothing are as if they were not there; the heavy ones decide."""
    x = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.tile([0.0, 10.0], 50)
    weight = np.where(y > 0, 9.0, 1.0)
    fitted = PsiRegressor(random_state=0, steps=300).fit(x, y, sample_weight=weight)
    assert abs(fitted.predict([[0.0]])[0] - 9) < 1
    with pytest.raises(ValueError, match="weight"):
        PsiRegressor(steps=2).fit(x, y, sample_weight=-weight)


def test_parameters_reach_the_program():
    table = table_of(100).assign(zone=np.arange(100) % 3, patient=np.arange(100) // 4)
    model = PsiRegressor(
        effort="fast", n_members=2, n_bags=3, steps=4, validation_fraction=0.3, validation_by="patient",
        categorical_features=["zone"], groups={"place, all": ["town", "zone"]}, missing=["Ur"], missing_as_level=["town"],
        settings={"channels": 8}, random_state=3,
    )  # fmt: skip
    model = clone(model).fit(table, target_of(table))
    said = model.model_.manifest
    assert said["provenance"]["effort"] == "fast"
    assert said["settings"]["members"] == 2 and said["settings"]["bags"] == model.explain(table).bags == 3
    assert said["settings"]["steps"] == 4 and said["settings"]["channels"] == 8
    assert {c["name"]: c["kind"] for c in said["columns"]} == {"a": "number", "b": "number", "town": "category", "zone": "category"}
    assert model.model_.players == ["a", "b", "place, all"]
    assert said["missing"] == ["Ur"] and said["missing_as_level"] == ["town"]
    assert said["provenance"]["seed"] == 3
    assert 20 <= said["provenance"]["validation_rows"] <= 40
    with pytest.raises(psishap.PsiError, match="channel"):
        PsiRegressor(settings={"chanels": 8}).fit(table, target_of(table))


def test_a_time_budget():
    table = table_of(2000)
    begun = time.monotonic()
    model = PsiRegressor(time_budget=3, settings={"steps": 1_000_000}).fit(table, target_of(table))
    assert time.monotonic() - begun < 30
    assert model.model_.manifest["provenance"]["time_budget"] == "3s"


def test_names_that_are_taken():
    table = table_of(60).rename(columns={"a": "y", "b": "weight"})
    model = PsiRegressor(steps=3).fit(table, np.arange(60.0), sample_weight=np.ones(60))
    assert model.model_.columns == ["y", "weight", "town"]
    assert model.model_.manifest["target"] == "y_"


def test_unknown_columns(fitted):
    table = table_of(10)
    explained = fitted.explain(table.drop(columns="b"), unknown="b")
    np.testing.assert_array_equal(explained.values[:, 1], 0)
    np.testing.assert_allclose(explained.prediction, fitted.explain(table.assign(b=np.nan)).prediction, atol=1e-6)


script = """
    import sys, warnings
    sys.path[:0] = [sys.argv[1]]
    from conftest import table_of, target_of
    from psishap import PsiRegressor, _training
    hear = _training._Bar.hear
    def heard(bar, line):
        hear(bar, line)
        if '"fit"' in line:
            print("learning", flush=True)
    _training._Bar.hear = heard
    table = table_of(500)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = PsiRegressor(random_state=0, settings={"steps": 1_000_000}).fit(table, target_of(table))
    print("score", model.score(table, target_of(table)), [str(w.message) for w in said], flush=True)
"""


def training():
    """A Python process in the middle of a long training."""
    here = os.path.dirname(__file__)
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), here], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "learning\n"
    children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
    (psi,) = (int(child) for child in children)
    assert alive(psi)
    return process, psi


def test_ctrl_c_keeps_the_best_model_so_far():
    process, psi = training()
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "keeping the best model so far" in err
    score = next(line for line in out.splitlines() if line.startswith("score"))
    assert float(score.split()[1]) > 0.5
    assert "training was interrupted" in score
    assert ends(psi)


def test_a_second_ctrl_c_gives_it_up():
    process, psi = training()
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0 and "KeyboardInterrupt" in err
    assert ends(psi)


def test_a_training_does_not_outlive_its_python():
    process, psi = training()
    process.kill()
    process.wait()
    assert ends(psi, 5)
    process.communicate()


def test_errors_name_what_is_wrong():
    table = table_of(30)
    with pytest.raises(psishap.PsiError, match="needs at least 10"):
        PsiRegressor().fit(table.head(5), target_of(table.head(5)))
    with pytest.raises(ValueError, match="one class"):
        PsiClassifier().fit(table, ["same"] * 30)
    with pytest.raises(ValueError, match="one class"):
        PsiClassifier().fit(table, np.arange(30) % 2, sample_weight=np.arange(30) % 2)
    with pytest.raises(psishap.PsiError) as caught:
        psishap.Model(b"no model").predict(table)
    assert "model" in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_few_rows():
    """The default training of 21 rows: two of them validate, and σ gets worse at any rate."""
    x, y = make_blobs(21, random_state=0)
    model = PsiRegressor(random_state=0).fit(x, y)
    assert model.score(x, y) > 0.5 and np.isfinite(model.predict_interval(x)).all()


def test_a_missing_cell_is_no_number():
    """Gaps of numpy and pandas are psi's."""
    x = np.array([[0.0, 1.0], [np.nan, 2.0]] * 20)
    y = np.tile([0.0, 5.0], 20)
    model = PsiRegressor(random_state=0, steps=60).fit(x, y)
    assert not model.explain(x[1:2]).observed[0, 0]
    frame = pd.DataFrame(x, columns=["x0", "x1"])
    np.testing.assert_array_equal(model.model_.predict(frame.convert_dtypes()), model.model_.predict(x))
