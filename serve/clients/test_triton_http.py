"""Every call of Triton's HTTP client."""

import json
import time

import numpy as np
import pytest
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

import scene
from triton import REFUSED, check_answer, check_every_call_is_tested, missing_and_masked, models, usual


@pytest.fixture
def client():
    with triton.InferenceServerClient(scene.http) as c:
        yield c


def inputs(asked: scene.Rows, binary: bool = True, column: bool = False) -> list[triton.InferInput]:
    tensors = []
    for name, datatype, cells in asked.tensors():
        if column:
            cells = cells.reshape(-1, 1)
        if datatype == "FP64" and not binary:  # the client sends no NaN in JSON: texts may be empty
            datatype, cells = "BYTES", np.array(["" if np.isnan(c) else str(c) for c in cells.ravel()], np.object_).reshape(cells.shape)
        tensors.append(tensor(name, datatype, cells, binary))
    return tensors


def tensor(name: str, datatype: str, cells: np.ndarray, binary: bool = True) -> triton.InferInput:
    t = triton.InferInput(name, list(cells.shape), datatype)
    return t.set_data_from_numpy(cells, binary_data=binary)


def outputs(names: list[str], binary: bool = True) -> list[triton.InferRequestedOutput]:
    return [triton.InferRequestedOutput(name, binary_data=binary) for name in names]


def test_calls():
    check_every_call_is_tested(triton.InferenceServerClient, {
        "is_server_live", "is_server_ready", "is_model_ready", "get_server_metadata", "get_model_metadata", "get_model_config",
        "get_model_repository_index", "load_model", "unload_model", "get_inference_statistics", "infer", "async_infer",
        "generate_request_body", "parse_response_body", "plugin", "register_plugin", "unregister_plugin",
    })


def test_health(client):
    assert client.is_server_live() is True
    assert client.is_server_ready() is True
    for model in scene.MODELS:
        assert client.is_model_ready(model) is True
        assert client.is_model_ready(model, "1") is True
        assert client.is_model_ready(model, "2") is False
    assert client.is_model_ready("nobody") is False


def test_server_metadata(client):
    got = client.get_server_metadata()
    assert got["name"] == "psi"
    assert set(got["extensions"]) >= {"binary_tensor_data", "model_repository", "model_configuration", "statistics"}


@models
def test_model_metadata(client, model):
    asked = scene.rows(model)
    want = scene.reference(model, asked)
    for version in ("", "1"):
        got = client.get_model_metadata(model, version)
        assert got["name"] == model and got["versions"] == ["1"] and got["platform"] == "psi"
        assert [(t["name"], t["datatype"]) for t in got["inputs"]] == [(name, datatype) for name, datatype, _ in asked.tensors()]
        assert {t["name"]: tuple(t["shape"][1:]) for t in got["outputs"]} == {name: array.shape[1:] for name, array in want.tensors.items()}
        assert {t["shape"][0] for t in got["inputs"] + got["outputs"]} == {-1}
        assert got["parameters"]["players"] == want.document["players"]
        assert got["parameters"]["outputs"] == want.document["outputs"]
        assert got["parameters"]["digest"] == want.document["model"]
    with pytest.raises(InferenceServerException, match="nobody") as refused:
        client.get_model_metadata("nobody")
    assert refused.value.status() == "404"


@models
def test_model_config(client, model):
    got = client.get_model_config(model)
    assert got == client.get_model_config(model, "1")
    metadata = client.get_model_metadata(model)
    assert got["name"] == model
    for mine, theirs in (("input", "inputs"), ("output", "outputs")):
        assert [(t["name"], t["dims"]) for t in got[mine]] == [(t["name"], t["shape"]) for t in metadata[theirs]]
    assert json.loads(got["parameters"]["players"]["string_value"]) == metadata["parameters"]["players"]


def test_repository(client):
    names = sorted([*scene.MODELS, "spare"])
    assert [(m["name"], m["version"], m["state"]) for m in client.get_model_repository_index()] == [(name, "1", "READY") for name in names]
    client.unload_model("spare")
    assert client.is_model_ready("spare") is False
    with pytest.raises(InferenceServerException, match="spare"):
        client.unload_model("spare", unload_dependents=True)
    with pytest.raises(InferenceServerException, match="spare"):
        client.infer("spare", inputs(scene.rows("synth3")))
    client.load_model("spare")
    assert client.is_model_ready("spare") is True
    with pytest.raises(InferenceServerException, match="nobody"):
        client.load_model("nobody")
    with pytest.raises(InferenceServerException, match="file") as refused:
        client.load_model("spare", config="{}")
    assert refused.value.status() == "400"
    assert client.is_model_ready("spare") is True


@models
def test_infer_binary(client, model):
    asked = scene.rows(model)
    want = scene.reference(model, asked)
    check_answer(client.infer(model, inputs(asked)), model, want, usual(want))
    check_answer(client.infer(model, inputs(asked), model_version="1", outputs=outputs(want.names)), model, want, want.names)
    for name in want.names:
        check_answer(client.infer(model, inputs(asked, column=True), outputs=outputs([name])), model, want, [name])


@models
def test_infer_json(client, model):
    asked = scene.rows(model)
    want = scene.reference(model, asked)
    check_answer(client.infer(model, inputs(asked, binary=False), outputs=outputs(want.names, binary=False)), model, want, want.names)
    for i, name in enumerate(want.names):
        mixed = [triton.InferRequestedOutput(other, binary_data=j == i) for j, other in enumerate(want.names)]
        result = client.infer(model, inputs(asked, binary=False, column=True), outputs=mixed)
        check_answer(result, model, want, want.names)
        assert {o["name"] for o in result.get_response()["outputs"] if "binary_data_size" in o.get("parameters", {})} == {name}


@models
@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("request_packed", [None, "gzip", "deflate"])
@pytest.mark.parametrize("response_packed", [None, "gzip", "deflate"])
def test_compression(client, model, binary, request_packed, response_packed):
    asked = scene.rows(model)
    want = scene.reference(model, asked)
    result = client.infer(
        model, inputs(asked, binary), outputs=outputs(want.names, binary),
        request_compression_algorithm=request_packed, response_compression_algorithm=response_packed,
    )
    check_answer(result, model, want, want.names)


@pytest.mark.parametrize("packing", ["gzip", "deflate"])
def test_answers_are_packed(client, packing):
    asked = scene.rows("adult")
    want = scene.reference("adult", asked)
    body, length = triton.InferenceServerClient.generate_request_body(inputs(asked), outputs=outputs(want.names, binary=False))
    response = client._post("v2/models/adult/infer", body, {"Inference-Header-Content-Length": length, "Accept-Encoding": packing}, None)
    assert response.get("Content-Encoding") == packing
    content = response.read()
    result = triton.InferenceServerClient.parse_response_body(content, content_encoding=packing)
    check_answer(result, "adult", want, want.names)
    assert len(content) < len(json.dumps(result.get_response())) / 2


@models
def test_observed(client, model):
    asked = scene.rows(model)
    want = scene.reference(model, asked)
    whole, mask = missing_and_masked(asked)
    for binary in (True, False):
        tensors = [*inputs(whole, binary), tensor("observed", "BOOL", mask, binary)]
        check_answer(client.infer(model, tensors, outputs=outputs(want.names, binary)), model, want, want.names)


@pytest.mark.parametrize("datatype", [np.float32, np.float64])
@pytest.mark.parametrize("binary", [True, False])
def test_rows_in_one_tensor(client, datatype, binary):
    asked = scene.rows("synth3")
    narrowed = scene.Rows(asked.columns, asked.kinds, [[None if c is None else float(datatype(c)) for c in row] for row in asked.cells])
    want = scene.reference("synth3", narrowed)
    whole, mask = missing_and_masked(narrowed)
    name = {np.float32: "FP32", np.float64: "FP64"}[datatype]
    tensors = [tensor("rows", name, np.array(whole.cells, datatype), binary), tensor("observed", "BOOL", mask, binary)]
    check_answer(client.infer("synth3", tensors, outputs=outputs(want.names, binary)), "synth3", want, want.names)
    if binary:
        gaps = np.array([[np.nan if c is None else c for c in row] for row in narrowed.cells], datatype)
        check_answer(client.infer("synth3", [tensor("rows", name, gaps)], outputs=outputs(want.names)), "synth3", want, want.names)


@models
def test_parameters(client, model):
    asked = scene.rows(model)
    hidden = asked.columns[0]
    kept = [t for t in inputs(asked) if t.name() != hidden]
    want = scene.reference(model, asked, "--z", 0.5, "--unknown", hidden)
    for z in (0.5, "0.5"):
        result = client.infer(model, kept, outputs=outputs(want.names), request_id="α 7", parameters={"z": z, "unknown": hidden})
        check_answer(result, model, want, want.names)
        assert result.get_response()["id"] == "α 7"
        assert result.get_response()["model_name"] == model
        assert result.get_response()["model_version"] == "1"


@models
def test_async(client, model):
    asked = scene.rows(model)
    want = scene.reference(model, asked)
    with triton.InferenceServerClient(scene.http, concurrency=4) as many:
        under_way = [many.async_infer(model, inputs(asked), outputs=outputs(want.names), request_id=str(i)) for i in range(12)]
        for i, one in enumerate(under_way):
            result = one.get_result()
            check_answer(result, model, want, want.names)
            assert result.get_response()["id"] == str(i)


def test_bodies_made_by_hand(client):
    asked = scene.rows("synth3")
    want = scene.reference("synth3", asked)
    body, length = triton.InferenceServerClient.generate_request_body(inputs(asked), outputs=outputs(want.names))
    response = client._post("v2/models/synth3/infer", body, {"Inference-Header-Content-Length": length}, None)
    assert response.status_code == 200
    result = triton.InferenceServerClient.parse_response_body(response.read(), header_length=int(response.get("Inference-Header-Content-Length")))
    check_answer(result, "synth3", want, want.names)


def test_statistics(client):
    def counted(stats: dict) -> int:
        (one,) = stats["model_stats"]
        assert one["name"] == "synth3" and one["version"] == "1"
        assert one["inference_stats"]["success"]["ns"] > 0
        return one["inference_count"]

    asked = scene.rows("synth3")
    client.infer("synth3", inputs(asked))
    before = counted(client.get_inference_statistics("synth3"))
    client.infer("synth3", inputs(asked))
    assert counted(client.get_inference_statistics("synth3", "1")) == before + len(asked)
    assert {m["name"] for m in client.get_inference_statistics()["model_stats"]} >= set(scene.MODELS)


@pytest.mark.parametrize("call", REFUSED)
def test_refused(client, call):
    start = time.monotonic()
    with pytest.raises(InferenceServerException) as refused:
        getattr(client, call)(**REFUSED[call])
    assert time.monotonic() - start < 5
    assert refused.value.status() in ("404", "405"), refused.value
    assert len(refused.value.message()) > 20


def test_shared_memory_of_tensors(client):
    asked = scene.rows("synth3")
    there = inputs(asked)
    there[0].set_shared_memory("region", 64)
    with pytest.raises(InferenceServerException, match="shared memory"):
        client.infer("synth3", there)
    wanted = triton.InferRequestedOutput("prediction")
    wanted.set_shared_memory("region", 64)
    with pytest.raises(InferenceServerException, match="shared memory"):
        client.infer("synth3", inputs(asked), outputs=[wanted])
    with pytest.raises(InferenceServerException, match="classification"):
        client.infer("adult", inputs(scene.rows("adult")), outputs=[triton.InferRequestedOutput("probability", class_count=1)])


@pytest.mark.parametrize("wrong, says", [
    ({"outputs": ["probability"]}, "probability"),
    ({"outputs": ["nothing"]}, "nothing"),
    ({"parameters": {"z": -1}}, '"z"'),
    ({"parameters": {"unknown": "x9"}}, "x9"),
    ({"model_version": "9"}, '"9"'),
])
def test_faults(client, wrong, says):
    if "outputs" in wrong:
        wrong = {"outputs": outputs(wrong["outputs"])}
    with pytest.raises(InferenceServerException, match=says) as refused:
        client.infer("synth3", inputs(scene.rows("synth3")), **wrong)
    assert refused.value.status() in ("400", "404")
