"""MLflow itself, with a tracking server: what is logged comes back, and says what psi says."""

import importlib.metadata
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pandas as pd
import pytest

mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed: pip install -r python/tests/requirements-mlflow.txt")

from engines import free, gone, psis, stop  # noqa: E402
from explaining import random_table, target, trained  # noqa: E402

import psishap.mlflow  # noqa: E402
from psishap import PsiRegressor, _psi  # noqa: E402


def answers(url, process, within=300):
    until = time.monotonic() + within
    while process.poll() is None and time.monotonic() < until:
        try:
            return urllib.request.urlopen(url, timeout=5).status == 200
        except OSError:
            time.sleep(0.5)
    return False


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A tracking server with a database and a store of artefacts."""
    directory, port = tmp_path_factory.mktemp("server"), free()
    command = ["server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    stores = ["--backend-store-uri", f"sqlite:///{directory}/ml.db", "--artifacts-destination", str(directory / "artefacts")]
    with open(directory / "log", "wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "mlflow", *command, *stores], stdout=log, stderr=log, start_new_session=True)
    try:
        assert answers(f"http://127.0.0.1:{port}/health", process), (directory / "log").read_text()[-2000:]
        mlflow.set_tracking_uri(f"http://127.0.0.1:{port}")
        mlflow.set_experiment("psishap")
        yield f"http://127.0.0.1:{port}"
    finally:
        stop(process)


@pytest.fixture(scope="module", params=[("regression", 1), ("binary", 2), ("multiclass", 3)], ids=lambda p: p[0])
def model(request, tmp_path_factory):
    return trained(tmp_path_factory.mktemp(request.param[0]), *request.param)


def table(seed, rows, task):
    x, score = random_table(seed, rows, unseen=True)
    return x, target(task, score)


def by_program(path, file, command="predict"):
    out = file.with_suffix(f".{command}.csv")
    _psi.run(command, path, str(file), "-o", str(out))
    return pd.read_csv(out)


def same(got, want):
    assert list(got.columns) == list(want.columns)
    for name in want.columns:
        a, b = got[name].to_numpy(), want[name].to_numpy()
        assert (
            (a == b).all() if want[name].dtype.kind in "OUST" or want[name].dtype == "str" else np.allclose(a, b, rtol=1e-6, atol=1e-6)
        ), name


def test_round_trip(server, model, tmp_path):
    model, path = model
    x, y = table(71, 60, model.task)
    x.to_csv(tmp_path / "rows.csv", index=False)
    with mlflow.start_run() as run:
        info = psishap.mlflow.log_model(model, X=x, y=y, by="town", registered_model_name=f"psi-{model.task}", tags={"of": "tests"})
    assert info.run_id == run.info.run_id

    for uri in (info.model_uri, f"models:/psi-{model.task}/1"):
        back = psishap.mlflow.load_model(uri)
        assert back.digest == model.digest
    e, want = back.explain(x), model.explain(x)
    assert np.array_equal(e.values, want.values) and np.array_equal(e.spread, want.spread)

    function = mlflow.pyfunc.load_model(info.model_uri)
    got = function.predict(x)
    same(got, by_program(path, tmp_path / "rows.csv").drop(columns="row"))
    same(function.predict(x, params={"explain": True}), by_program(path, tmp_path / "rows.csv", "explain"))
    assert list(got.columns) == function.metadata.get_output_schema().input_names()
    back.close()


def test_what_is_logged(server, model, tmp_path):
    model, _ = model
    x, y = table(72, 40, model.task)
    info = psishap.mlflow.log_model(model, X=x, y=y)
    assert mlflow.active_run() is None
    client = mlflow.MlflowClient()
    run = client.get_run(info.run_id)
    said = model.manifest
    for name, value in said["metrics"].items():
        assert run.data.metrics[name] == pytest.approx(value)
    assert run.data.metrics["audit_relative_rmse"] == pytest.approx(said["audit"]["relative_rmse"])
    logged = client.get_logged_model(info.model_id)
    assert logged.params["digest"] == model.digest and logged.params["channels"] == "16"
    assert {m.key: m.value for m in logged.metrics} == run.data.metrics

    directory = mlflow.artifacts.download_artifacts(info.model_uri, dst_path=str(tmp_path / "model"))
    page = pathlib.Path(directory, "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!") and model.digest[7:19] in page and "<script src" not in page

    inputs = {c.name: (str(c.type), c.required) for c in info.signature.inputs}
    assert inputs == {
        "size": ("DataType.double", False),
        "rooms": ("Any", False),  # whole numbers
        "town": ("DataType.string", False),
        "owned": ("Any", False),  # pandas' own booleans
        "sold": ("DataType.datetime", False),
        "row": ("DataType.double", False),
    }
    needs = pathlib.Path(directory, "requirements.txt").read_text().split()
    assert needs == [f"mlflow=={mlflow.__version__}", f"psishap=={importlib.metadata.version('psishap')}"]
    example = mlflow.models.Model.load(info.model_uri).load_input_example(directory)
    assert len(example) == 5
    mlflow.pyfunc.load_model(info.model_uri).predict(example)


def test_two_models_in_one_run(server, model, tmp_path_factory):
    """Each has its own settings, metrics, example and report."""
    model, _ = model
    other, _ = trained(tmp_path_factory.mktemp("other"), model.task, 9, "--bags=0")
    x, y = table(74, 40, model.task)
    with mlflow.start_run():
        infos = [psishap.mlflow.log_model(m, name, input_example=x.head(3), X=x, y=y) for m, name in ((model, "one"), (other, "two"))]
    assert infos[0].run_id == infos[1].run_id
    client = mlflow.MlflowClient()
    for m, info in zip((model, other), infos):
        logged = client.get_logged_model(info.model_id)
        assert logged.params["digest"] == m.digest and logged.params["bags"] == str(m.manifest["settings"]["bags"])
        assert {k.key: k.value for k in logged.metrics}.items() >= m.manifest["metrics"].items()
        directory = pathlib.Path(mlflow.artifacts.download_artifacts(info.model_uri))
        assert m.digest[7:19] in (directory / "report.html").read_text(encoding="utf-8")
        example = mlflow.models.Model.load(info.model_uri).load_input_example(str(directory))
        assert len(example) == 3
        assert psishap.mlflow.load_model(info.model_uri).digest == m.digest
    assert [client.get_logged_model(info.model_id).params["bags"] for info in infos] == ["8", "0"]


def test_saved(model, tmp_path):
    """A directory without a server."""
    model, path = model
    x, _ = table(75, 20, model.task)
    x.to_csv(tmp_path / "rows.csv", index=False)
    psishap.mlflow.save_model(path, tmp_path / "saved", input_example=x.head(2), metadata={"of": "tests"})
    function = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    same(function.predict(x), by_program(path, tmp_path / "rows.csv").drop(columns="row"))
    assert function.metadata.metadata == {"of": "tests"}
    assert psishap.mlflow.load_model(str(tmp_path / "saved")).digest == model.digest


def test_refuses_others(tmp_path):
    class Other(mlflow.pyfunc.PythonModel):
        def predict(self, context, model_input, params=None):
            return model_input

    mlflow.pyfunc.save_model(str(tmp_path / "other"), python_model=Other(), pip_requirements=[])
    with pytest.raises(ValueError, match="is not a psishap model"):
        psishap.mlflow.load_model(str(tmp_path / "other"))


def test_process_killed(model, tmp_path):
    """The psi below a loaded function: the next call starts another."""
    model, _ = model
    x, _ = table(76, 20, model.task)
    psishap.mlflow.save_model(model, tmp_path / "saved", input_example=x)
    function = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    before = function.predict(x)
    process = model._child.pid  # which copies of a model share
    os.kill(process, signal.SIGKILL)
    with pytest.warns(RuntimeWarning, match="killed by signal 9"):
        pd.testing.assert_frame_equal(function.predict(x), before)
    assert model._child.pid not in (None, process)
    model.close()


def test_signature_by_kinds(model):
    model, _ = model
    s = psishap.mlflow.signature(model)
    assert [(c.name, c.type.name, c.required) for c in s.inputs] == [
        ("size", "double", False), ("rooms", "double", False), ("town", "string", False),
        ("owned", "boolean", False), ("sold", "datetime", False), ("row", "double", False),
    ]  # fmt: skip


def test_absent_columns_are_unknown(server, model):
    model, _ = model
    x, _ = table(73, 30, model.task)
    function = mlflow.pyfunc.load_model(psishap.mlflow.log_model(model, X=x).model_uri)
    less = x.drop(columns=["town", "sold"])
    got = function.predict(less, params={"explain": True})
    want = model.explain(x, unknown=["town", "sold"]).to_pandas()
    assert np.allclose(got["prediction"], want["prediction"], rtol=1e-9) and not got["town"].any()
    assert np.allclose(got["rooms"], want["rooms"], rtol=1e-9, atol=1e-12)
    assert len(function.predict(less)) == 30


def test_served(server, tmp_path):
    """mlflow models serve, over HTTP: rows in JSON, with gaps, and its psi killed between two requests."""
    x, score = random_table(3, 200)
    fitted = PsiRegressor(random_state=0, steps=40, settings={"channels": 16}).fit(x, score)
    uri = psishap.mlflow.log_model(fitted, X=x).model_uri
    port = free()
    command = ["models", "serve", "-m", uri, "--host", "127.0.0.1", "--port", str(port), "--env-manager", "local", "--workers", "1"]
    with open(tmp_path / "log", "wb") as log:
        programs = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
        environment = dict(os.environ, MLFLOW_TRACKING_URI=server, PATH=programs)
        process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", *command], stdout=log, stderr=log, env=environment, start_new_session=True
        )
    try:
        assert answers(f"http://127.0.0.1:{port}/ping", process), (tmp_path / "log").read_text()[-3000:]
        few = x.head(8)
        body = json.dumps({"dataframe_split": json.loads(few.to_json(orient="split", index=False, date_format="iso"))}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}/invocations", body, {"Content-Type": "application/json"})
        for _ in range(2):
            said = json.load(urllib.request.urlopen(request))["predictions"]
            assert [row["prediction"] for row in said] == pytest.approx(list(fitted.predict(few)), rel=1e-6, abs=1e-6)
            (child,) = psis()  # of the server
            os.kill(child, signal.SIGKILL)
            assert gone([child]) == []
    finally:
        stop(process)
