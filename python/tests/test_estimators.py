"""The estimators: what scikit-learn wants of them, and what psi gives beyond it."""

import doctest
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
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from test_child import alive, ends

import psishap
from psishap import PsiClassifier, PsiRegressor, _estimators, _psi, _training

# Ten rows are the least that a training takes, and nine of this check's count. With more of them it would fail too.
EXPECTED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "rows validate by lot and batches are drawn: "
    "a row that counts twice is not the same draw as the row given twice"
    for kind in ("dense", "sparse")
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
    scores = explanation.prediction
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
    with pytest.warns(ConvergenceWarning, match="time_budget"):
        model = PsiRegressor(time_budget=3, settings={"steps": 1_000_000}).fit(table, target_of(table))
    assert time.monotonic() - begun < 30
    assert model.model_.manifest["provenance"]["time_budget"] == "3s"
    assert model.stopped_by_ == model.model_.stopped_by == "time_budget"


def test_training_tells_how_it_went(fitted, capsys):
    manifest = fitted.model_.manifest
    assert fitted.validation_score_ == manifest["metrics"]["r2"]
    assert fitted.stopped_by_ == "steps"
    history = pd.DataFrame(fitted.history_)
    assert list(history) == ["member", "phase", "step", "loss", "score"]
    assert history.query("phase == 'fit'")["step"].max() == 60
    assert not history.query("phase == 'fit'")["score"].isna().any()
    table = table_of(100)
    y = np.where(target_of(table) > 0, "high", "low")
    assert capsys.readouterr().err == ""
    model = PsiClassifier(steps=5, n_bags=0, random_state=0, verbose=True).fit(table, y)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("PsiClassifier of 'y', 3 columns, 90 rows, ")
    assert f"validation accuracy {model.validation_score_:.3f} on 10 rows; " in last
    best = max(b["metrics"]["accuracy"] for b in model.model_.manifest["baselines"])
    assert last.endswith(f"model has {best:.3f}") or last.endswith(f"the mean has {best:.3f}")
    PsiClassifier(steps=5, n_bags=0, random_state=0).fit(table, y)
    assert capsys.readouterr().err == ""


def test_a_notebook_shows_the_score(monkeypatch):
    shown = []
    monkeypatch.setattr(_training, "_notebook", lambda: True)
    monkeypatch.setattr("IPython.display.display", lambda data, **_: shown.append(data))
    table = table_of(60).rename(columns={"a": "<a>"})
    PsiRegressor(steps=5, n_bags=0, random_state=0).fit(table, table["b"].rename("<b>"))
    assert shown[-1]["text/plain"].startswith("PsiRegressor of '<b>', 3 columns, 54 rows, ")
    assert shown[-1]["text/html"].startswith("PsiRegressor of &#x27;&lt;b&gt;&#x27;, ")


def test_training_stops_when_the_validation_error_does_not_fall():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 2))
    model = PsiRegressor(steps=400, n_bags=0, validation_fraction=0.5, random_state=0).fit(rows, rng.normal(size=600))
    assert model.stopped_by_ == "validation"


@pytest.mark.parametrize("wrap", [list, tuple])
@pytest.mark.parametrize("labels", [False, True], ids=["numbers", "labels"])
def test_validation_rows_of_ones_own(wrap, labels):
    table = table_of(160)
    y = target_of(table)
    if labels:
        y = y > 0
    estimator = (PsiClassifier if labels else PsiRegressor)(steps=40, n_bags=0, random_state=0)
    pair = (table[100:][["town", "b", "a"]], y[100:])
    model = estimator.fit(table[:100], y[:100], eval_set=pair if wrap is tuple else [pair], sample_weight=np.ones(100))
    made = model.model_.manifest["provenance"]
    assert (made["training_rows"], made["validation_rows"]) == (100, 60)
    assert model.validation_score_ == pytest.approx(model.score(table[100:], y[100:]), abs=1e-6)
    sizes = np.abs(model.explain(table[100:]).values).mean(axis=0)
    np.testing.assert_allclose(model.feature_importances_, sizes / sizes.sum(), rtol=1e-4)


def test_wrong_validation_rows():
    table = table_of(60)
    y = np.arange(60) % 2
    for parameters, pair, words in (
        ({"validation_by": "town"}, (table, y), "eval_set and validation_by"),
        ({}, [(table, y), (table, y)], r"\(X_val, y_val\)"),
        ({}, (table.drop(columns="a"), y), "'a'"),
        ({}, (table, y + 1), "class 2"),
        ({}, (table, y[:9]), "inconsistent"),
    ):
        with pytest.raises(ValueError, match=words):
            PsiClassifier(steps=2, **parameters).fit(table, y, eval_set=pair)


def test_importances_of_groups_and_unused_columns():
    table = table_of(120).assign(same=1, other=np.arange(120) % 7)
    model = PsiRegressor(steps=20, n_bags=0, random_state=0, groups={"both": ["a", "town"]}, drop=["other"])
    model.fit(table, target_of(table), eval_set=(table, target_of(table)))
    found = dict(zip(model.get_feature_names_out(), model.feature_importances_))
    e = model.explain(table)
    sizes = dict(zip(e.feature_names, np.abs(e.values).mean(axis=0)))
    assert (found["a"] + found["town"]) / found["b"] == pytest.approx(sizes["both"] / sizes["b"], rel=1e-4)
    assert list(found) == list(table) and sum(found.values()) == pytest.approx(1)
    assert found["same"] == found["other"] == 0 < found["a"] == found["town"]
    again = PsiRegressor(steps=2, n_bags=0, drop=[-1], categorical_features=[0]).fit(table.to_numpy(object), target_of(table))
    assert again.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3", "x4"]
    assert again.model_.manifest["columns"][0]["kind"] == "category" and "x4" not in again.model_.columns
    rows = table.to_numpy(object)
    np.testing.assert_array_equal(again.predict(rows), again.predict(table.set_axis(range(5), axis=1)))
    assert again.explain(rows).values.shape[1] == len(again.model_.columns) == 3
    unnamed = PsiRegressor(steps=2, n_bags=0).fit(table.set_axis(range(5), axis=1), target_of(table))
    assert unnamed.feature_importances_.sum() == pytest.approx(1) and unnamed.predict(rows).shape == (120,)


def test_scores(fitted):
    table = table_of(90)
    e = fitted.explain(table)
    np.testing.assert_allclose(fitted(table), e.base_values + e.values.sum(axis=1), rtol=1e-4)
    y = np.digitize(target_of(table), [-1, 1])
    for labels in (y > 0, y):
        model = PsiClassifier(steps=40, n_bags=0, random_state=0).fit(table, labels)
        scores, e = model.decision_function(table), model.explain(table)
        if labels.dtype == bool:
            np.testing.assert_array_equal(scores > 0, model.predict(table))
            np.testing.assert_allclose(1 / (1 + np.exp(-scores)), model.predict_proba(table)[:, 1], rtol=1e-9)
            np.testing.assert_allclose(model(table), e.base_values + e.values.sum(axis=1), rtol=1e-4, atol=1e-4)
        else:
            np.testing.assert_array_equal(scores.argmax(axis=1), model.predict(table))
            np.testing.assert_allclose(scores.sum(axis=1), 0, atol=1e-9)
            np.testing.assert_allclose(model(table), e.base_values + e.values.sum(axis=1), rtol=1e-4, atol=1e-4)


def test_commands(fitted, tmp_path):
    table = table_of(80, seed=8)
    metrics = fitted.evaluate(table, target_of(table))
    assert metrics["r2"] == pytest.approx(fitted.score(table, target_of(table)), abs=1e-6)
    assert metrics["rmse"] == pytest.approx(np.sqrt(np.mean((fitted.predict(table) - target_of(table)) ** 2)))
    assert fitted.audit(table, rows=7)["rows"] == 7 and "loss_importance" not in fitted.audit(table)
    assert {found["player"] for found in fitted.audit(table, target_of(table))["loss_importance"]} == set(table)
    fitted.export_onnx(tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").stat().st_size > 1000


def test_ask(fitted):
    table = table_of(80, seed=8)
    questions = fitted.ask(table.iloc[3].drop(["b", "town"]))
    assert isinstance(questions, pd.DataFrame) and questions["column"].tolist() == ["b", "town"]
    assert len(fitted.ask(table.head(2).drop(columns=["b", "town"]), most=1)) == 2
    assert isinstance(fitted.ask({"b": 1.0}), pa.Table)
    again = pickle.loads(pickle.dumps(fitted))
    with pytest.raises(psishap.PsiError, match="reference"):
        again.ask(table.iloc[3].drop("b"))
    assert set(again.ask(table.iloc[3].drop("b"), reference=table)["column"]) == {"b"}


def test_wrong_parameters_do_not_start_the_program(monkeypatch):
    table = table_of(30)
    monkeypatch.setattr(_estimators, "train", lambda *_, **__: pytest.fail("started"))
    for parameters, words in (
        ({"head": "exat"}, r"head is 'exat' \(choose 'exact' or 'learned'; did you mean 'exact'\?\)"),
        ({"effort": "turbo"}, r"effort is 'turbo' \(choose 'fast', 'normal' or 'best'\)"),
        ({"target_scale": "logs"}, r"target_scale is 'logs'.*did you mean 'log'"),
        ({"drop": ["twon"]}, r"'twon': drop names a column that X does not have; did you mean 'town'"),
        ({"categorical_features": ["twon"]}, r"'twon': categorical_features names"),
        ({"categorical_features": [3]}, r"categorical_features names column 3, but X has 3 columns"),
        ({"groups": {"g": ["twon"]}}, r"'twon': groups names"),
        ({"missing_as_level": ["twon"]}, r"'twon': missing_as_level names"),
        ({"order_by": "day"}, r"'day': order_by names"),
        ({"validation_by": "day"}, r"'day': validation_by names"),
        ({"checkpoint": "here"}, r"integer random_state"),
        ({"time_budget": 0}, r"time_budget is 0 \(give seconds"),
    ):
        with pytest.raises(psishap.PsiError, match=words):
            PsiRegressor(**parameters).fit(table, target_of(table))


def test_cores(monkeypatch):
    table = table_of(30)
    seen = []
    popen = subprocess.Popen
    monkeypatch.setattr(_training.subprocess, "Popen", lambda *a, **k: seen.append(k["env"].get("GOMAXPROCS")) or popen(*a, **k))
    monkeypatch.setenv("GOMAXPROCS", "7")
    for jobs in (None, 1, -1):
        PsiRegressor(steps=2, n_bags=0, n_jobs=jobs).fit(table, target_of(table))
    assert seen == ["7", "1", str(effective_n_jobs(-1))]


def test_a_killed_training_continues(tmp_path, monkeypatch):
    table = table_of(400)
    kept = tmp_path / "deep" / "kept"
    parameters = dict(steps=1000, n_bags=0, random_state=0, checkpoint=str(kept))
    code = f"""
        from conftest import table_of, target_of
        from psishap import PsiRegressor
        table = table_of(400)
        PsiRegressor(**{parameters}).fit(table, target_of(table))
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], cwd=os.path.dirname(__file__))
    while not (kept / "model.psi.checkpoint").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    with pytest.raises(psishap.PsiError, match=r"another training.*remove the checkpoint directory"):
        PsiRegressor(**parameters).fit(table.head(200), target_of(table.head(200)))
    said = []
    hear = _training._Bar.hear
    monkeypatch.setattr(_training._Bar, "hear", lambda bar, line: said.append(line) or hear(bar, line))
    model = PsiRegressor(**parameters).fit(table, target_of(table))
    assert any("resumed from" in line for line in said)
    assert not kept.exists()
    again = PsiRegressor(**{**parameters, "checkpoint": None}).fit(table, target_of(table))
    np.testing.assert_array_equal(model.predict(table), again.predict(table))


@pytest.mark.parametrize("name", ["PsiRegressor", "PsiClassifier", "Model", "from_model", "explain_model"])
def test_examples_of_the_docstrings(name):
    example = doctest.DocTestParser().get_doctest(getattr(psishap, name).__doc__, {}, name, None, 0)
    assert len(example.examples) >= 3
    assert doctest.DocTestRunner().run(example).failed == 0


def test_names_of_the_module():
    with pytest.raises(AttributeError, match="has no attribute 'from_modle'; did you mean 'from_model'"):
        psishap.from_modle  # noqa: B018
    assert {*psishap.__all__, "__version__"} < set(dir(psishap))


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
    print("score", model.score(table, target_of(table)), model.stopped_by_, [str(w.message) for w in said], flush=True)
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
    assert score.split()[2] == "interrupt" and "training was interrupted" in score
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
