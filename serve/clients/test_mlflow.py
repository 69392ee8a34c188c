"""The bodies that MLflow's scoring client sends, as pandas writes them. test_mlflow_client.py asks with the client itself."""

import json
import urllib.error
import urllib.request

import numpy as np
import pandas as pd
import pytest

import scene

models = pytest.mark.parametrize("model", scene.MODELS)


def frame(model: str) -> pd.DataFrame:
    asked = scene.rows(model)
    return pd.DataFrame(asked.cells, columns=asked.columns)


def invoke(model: str, body: str, kind: str = "application/json") -> dict:
    ask = urllib.request.Request(f"{scene.url}/invocations?model={model}", body.encode(), {"Content-Type": kind})
    with urllib.request.urlopen(ask, timeout=30) as answer:
        assert answer.headers["Content-Type"] == "application/json"
        return json.load(answer)


def check(model: str, got: dict) -> None:
    want = scene.predictions(model, scene.rows(model))
    if model == "synth3":
        np.testing.assert_allclose(got["predictions"], np.array(want["prediction"], float), rtol=1e-5)
        np.testing.assert_allclose(got["prediction_std"], np.array(want["prediction_std"], float), rtol=1e-5)
        return
    assert got["predictions"] == want["prediction"]
    columns = [name for name in want if name.startswith("probability")]
    numbers = np.array([want[name] for name in columns], float).T
    np.testing.assert_allclose(np.array(got["probabilities"]).reshape(numbers.shape), numbers, rtol=1e-5)


@models
def test_dataframe_split(model):
    split = json.loads(frame(model).to_json(orient="split"))
    check(model, invoke(model, json.dumps({"dataframe_split": split})))
    assert "index" in split  # pandas sends it, and it is no column
    written_by_python = json.dumps({"dataframe_split": frame(model).to_dict(orient="split")})
    assert "NaN" in written_by_python  # which is what MLflow's client sends
    check(model, invoke(model, written_by_python))
    backwards = json.loads(frame(model).iloc[:, ::-1].assign(extra=1).to_json(orient="split"))
    check(model, invoke(model, json.dumps({"dataframe_split": backwards})))


@models
def test_dataframe_records(model):
    check(model, invoke(model, json.dumps({"dataframe_records": json.loads(frame(model).to_json(orient="records"))})))


@models
def test_instances(model):
    rows = frame(model)
    check(model, invoke(model, json.dumps({"instances": json.loads(rows.to_json(orient="records"))})))
    check(model, invoke(model, json.dumps({"instances": json.loads(rows.to_json(orient="values"))})))


@models
def test_inputs(model):
    rows = frame(model)
    by_column = {name: json.loads(rows[name].to_json(orient="values")) for name in rows}
    check(model, invoke(model, json.dumps({"inputs": by_column})))
    check(model, invoke(model, json.dumps({"inputs": {name: [[cell] for cell in cells] for name, cells in by_column.items()}})))
    check(model, invoke(model, json.dumps({"inputs": json.loads(rows.to_json(orient="values"))})))


@models
def test_csv(model):
    for kind in ("text/csv", "text/csv; charset=utf-8"):
        check(model, invoke(model, frame(model).to_csv(index=False), kind))


def test_unknown():
    asked = scene.rows("adult")
    hidden = asked.columns[0]
    want = scene.reference("adult", asked, "--unknown", hidden).tensors["probability"][:, 0]
    rows = json.loads(frame("adult").drop(columns=[hidden]).to_json(orient="records"))
    got = invoke("adult", json.dumps({"dataframe_records": rows, "params": {"unknown": [hidden]}}))
    np.testing.assert_allclose(got["probabilities"], want, rtol=1e-5)


@pytest.mark.parametrize("body, says", [
    ({}, "dataframe_split"),
    ({"dataframe_split": {"columns": ["age"], "data": [[1]]}}, "workclass"),
    ({"dataframe_records": [{"age": 1}]}, "workclass"),
    ({"instances": [[1]]}, "row 0"),
    ({"inputs": {"age": [1]}}, "workclass"),
    ({"instances": [], "inputs": []}, "one"),
])
def test_faults(body, says):
    with pytest.raises(urllib.error.HTTPError) as refused:
        invoke("adult", json.dumps(body))
    assert refused.value.code == 400
    assert says in json.load(refused.value)["error"]
