"""Every call of Triton's gRPC client."""

import json
import queue
import time

import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

import scene
from triton import REFUSED, check_answer, check_every_call_is_tested, missing_and_masked, models, usual


@pytest.fixture
def client():
    with triton.InferenceServerClient(scene.grpc) as c:
        yield c


def inputs(asked: scene.Rows, column: bool = False) -> list[triton.InferInput]:
    return [tensor(name, datatype, cells.reshape(-1, 1) if column else cells) for name, datatype, cells in asked.tensors()]


def tensor(name: str, datatype: str, cells: np.ndarray) -> triton.InferInput:
    t = triton.InferInput(name, list(cells.shape), datatype)
    return t.set_data_from_numpy(cells)


def outputs(names: list[str]) -> list[triton.InferRequestedOutput]:
    return [triton.InferRequestedOutput(name) for name in names]


def test_calls():
    check_every_call_is_tested(triton.InferenceServerClient, {
        "is_server_live", "is_server_ready", "is_model_ready", "get_server_metadata", "get_model_metadata", "get_model_config",
        "get_model_repository_index", "load_model", "unload_model", "get_inference_statistics", "infer", "async_infer",
        "start_stream", "stop_stream", "async_stream_infer", "plugin", "register_plugin", "unregister_plugin",
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
    assert got.name == "psi"
    assert set(got.extensions) >= {"binary_tensor_data", "model_repository", "model_configuration", "statistics"}
    assert client.get_server_metadata(as_json=True)["name"] == "psi"


@models
def test_model_metadata(client, model):
    asked = scene.rows(model)
    want = scene.reference(model, asked)
    for version in ("", "1"):
        got = client.get_model_metadata(model, version)
        assert got.name == model and list(got.versions) == ["1"] and got.platform == "psi"
        assert [(t.name, t.datatype, list(t.shape)) for t in got.inputs] == [(name, datatype, [-1]) for name, datatype, _ in asked.tensors()]
        assert {t.name: tuple(t.shape) for t in got.outputs} == {name: (-1, *array.shape[1:]) for name, array in want.tensors.items()}
    with pytest.raises(InferenceServerException, match="nobody") as refused:
        client.get_model_metadata("nobody")
    assert refused.value.status() == "StatusCode.NOT_FOUND"


@models
def test_model_config(client, model):
    got = client.get_model_config(model).config
    assert got == client.get_model_config(model, "1").config
    want = scene.reference(model, scene.rows(model))
    assert got.name == model
    assert {t.name: tuple(t.dims) for t in got.output} == {name: (-1, *array.shape[1:]) for name, array in want.tensors.items()}
    assert json.loads(got.parameters["players"].string_value) == want.document["players"]
    assert json.loads(got.parameters["outputs"].string_value) == want.document["outputs"]


def test_repository(client):
    names = sorted([*scene.MODELS, "spare"])
    assert [(m.name, m.version, m.state) for m in client.get_model_repository_index().models] == [(name, "1", "READY") for name in names]
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
    assert refused.value.status() == "StatusCode.INVALID_ARGUMENT"
    assert client.is_model_ready("spare") is True


@models
def test_infer(client, model):
    asked = scene.rows(model)
    want = scene.reference(model, asked)
    check_answer(client.infer(model, inputs(asked)), model, want, usual(want))
    check_answer(client.infer(model, inputs(asked), model_version="1", outputs=outputs(want.names)), model, want, want.names)
    for name in want.names:
        check_answer(client.infer(model, inputs(asked, column=True), outputs=outputs([name])), model, want, [name])


@models
@pytest.mark.parametrize("packed", ["gzip", "deflate"])
def test_compression(client, model, packed):
    asked = scene.rows(model)
    want = scene.reference(model, asked)
    check_answer(client.infer(model, inputs(asked), outputs=outputs(want.names), compression_algorithm=packed), model, want, want.names)


@models
def test_observed(client, model):
    asked = scene.rows(model)
    want = scene.reference(model, asked)
    whole, mask = missing_and_masked(asked)
    tensors = [*inputs(whole), tensor("observed", "BOOL", mask)]
    check_answer(client.infer(model, tensors, outputs=outputs(want.names)), model, want, want.names)


@pytest.mark.parametrize("datatype", [np.float32, np.float64])
def test_rows_in_one_tensor(client, datatype):
    asked = scene.rows("synth3")
    narrowed = scene.Rows(asked.columns, asked.kinds, [[None if c is None else float(datatype(c)) for c in row] for row in asked.cells])
    want = scene.reference("synth3", narrowed)
    whole, mask = missing_and_masked(narrowed)
    name = {np.float32: "FP32", np.float64: "FP64"}[datatype]
    gaps = np.array([[np.nan if c is None else c for c in row] for row in narrowed.cells], datatype)
    for tensors in ([tensor("rows", name, np.array(whole.cells, datatype)), tensor("observed", "BOOL", mask)], [tensor("rows", name, gaps)]):
        check_answer(client.infer("synth3", tensors, outputs=outputs(want.names)), "synth3", want, want.names)


@models
def test_parameters(client, model):
    asked = scene.rows(model)
    hidden = asked.columns[0]
    kept = [t for t in inputs(asked) if t.name() != hidden]
    want = scene.reference(model, asked, "--z", 0.5, "--unknown", hidden)
    for z in (0.5, "0.5"):
        result = client.infer(model, kept, outputs=outputs(want.names), request_id="α 7", parameters={"z": z, "unknown": hidden})
        check_answer(result, model, want, want.names)
        assert result.get_response().id == "α 7"
        assert result.get_response().model_name == model
        assert result.get_response().model_version == "1"


@models
def test_async(client, model):
    asked = scene.rows(model)
    want = scene.reference(model, asked)
    done = queue.Queue()
    for i in range(12):
        client.async_infer(model, inputs(asked), lambda result, error: done.put((result, error)), outputs=outputs(want.names), request_id=str(i))
    ids = set()
    for _ in range(12):
        result, error = done.get(timeout=30)
        assert error is None
        check_answer(result, model, want, want.names)
        ids.add(result.get_response().id)
    assert ids == {str(i) for i in range(12)}


@models
def test_stream(client, model):
    asked = scene.rows(model)
    want = scene.reference(model, asked)
    done = queue.Queue()
    client.start_stream(lambda result, error: done.put((result, error)))
    wrong = [1, 4]  # a fault is the answer to one request and not the end of the stream
    for i in range(6):
        client.async_stream_infer(model, inputs(asked)[:1] if i in wrong else inputs(asked), outputs=outputs(want.names), request_id=str(i))
    for i in range(6):
        result, error = done.get(timeout=30)
        if i in wrong:
            assert "lacks the column" in error.message()
            continue
        assert error is None
        check_answer(result, model, want, want.names)
        assert result.get_response().id == str(i)
    client.stop_stream()


def test_statistics(client):
    def counted(stats) -> int:
        (one,) = stats.model_stats
        assert one.name == "synth3" and one.version == "1"
        assert one.inference_stats.success.ns > 0
        return one.inference_count

    asked = scene.rows("synth3")
    client.infer("synth3", inputs(asked))
    before = counted(client.get_inference_statistics("synth3"))
    client.infer("synth3", inputs(asked))
    assert counted(client.get_inference_statistics("synth3", "1")) == before + len(asked)
    assert {m.name for m in client.get_inference_statistics().model_stats} >= set(scene.MODELS)


@pytest.mark.parametrize("call", REFUSED)
def test_refused(client, call):
    start = time.monotonic()
    with pytest.raises(InferenceServerException) as refused:
        getattr(client, call)(**REFUSED[call])
    assert time.monotonic() - start < 5
    assert refused.value.status() == "StatusCode.UNIMPLEMENTED", refused.value
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
    assert refused.value.status() in ("StatusCode.INVALID_ARGUMENT", "StatusCode.NOT_FOUND")
