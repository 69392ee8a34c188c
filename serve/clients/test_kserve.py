"""Every call of KServe's clients."""

import asyncio
import inspect

import httpx
import numpy as np
import pytest
from kserve import InferenceGRPCClient, InferenceRESTClient, InferInput, InferOutput, InferRequest, RESTConfig
from kserve.protocol.infer_type import RequestedOutput

import scene

models = pytest.mark.parametrize("model", scene.MODELS)


def run(ask):
    """Asks through clients that live as long as the question."""
    async def asking():
        v1, v2, grpc = InferenceRESTClient(RESTConfig(protocol="v1")), InferenceRESTClient(RESTConfig(protocol="v2")), InferenceGRPCClient(scene.grpc)
        async with v1, v2, grpc:
            return await ask(v1, v2, grpc)

    return asyncio.run(asking())


def request(model: str, asked: scene.Rows, binary: bool, **more) -> InferRequest:
    inputs = []
    for name, datatype, cells in asked.tensors():
        i = InferInput(name, list(cells.shape), datatype)
        i.set_data_from_numpy(cells, binary_data=binary)
        inputs.append(i)
    return InferRequest(model, inputs, request_id="a 7", **more)


def check(model: str, outputs: list[InferOutput], want: scene.Reference, names: list[str]) -> None:
    got = {o.name: o.as_numpy() for o in outputs}
    assert set(got) == set(names)
    for name in names:
        scene.same(got[name].astype(np.float32), want.tensors[name], f"{model}: {name}")


def public(client: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(client, inspect.isfunction) if not name.startswith("_")}


def test_calls():
    assert public(InferenceGRPCClient) == {"close", "infer", "is_server_ready", "is_server_live", "is_model_ready"}
    assert public(InferenceRESTClient) == public(InferenceGRPCClient) | {"explain"}


def test_health():
    async def ask(v1, v2, grpc):
        assert await v1.is_server_live(scene.url) is True
        for rest in (v1, v2):
            for model in scene.MODELS:
                assert await rest.is_model_ready(scene.url, model) is True
        assert await v2.is_server_live(scene.url) is True
        assert await v2.is_server_ready(scene.url) is True
        assert await v2.is_model_ready(scene.url, "nobody") is False
        with pytest.raises(httpx.HTTPStatusError, match="nobody"):
            await v1.is_model_ready(scene.url, "nobody")
        assert await grpc.is_server_live() is True
        assert await grpc.is_server_ready() is True
        assert await grpc.is_model_ready("adult") is True
        assert await grpc.is_model_ready("nobody") is False

    run(ask)


@models
@pytest.mark.parametrize("binary", [True, False])
def test_infer(model, binary):
    asked = scene.rows(model)
    want = scene.reference(model, asked)
    usual = [name for name in scene.OUTPUTS[:3] if name in want.names]

    async def ask(v1, v2, grpc):
        for answer in (await v2.infer(scene.url, request(model, asked, binary), model_name=model), await grpc.infer(request(model, asked, binary))):
            assert answer.id == "a 7" and answer.model_name == model
            check(model, answer.outputs, want, usual)
        for binary_out in (True, False):
            wanted = [RequestedOutput(name, {"binary_data": binary_out}) for name in want.names]
            answer = await v2.infer(scene.url, request(model, asked, binary, request_outputs=wanted), model_name=model)
            check(model, answer.outputs, want, want.names)

    run(ask)


@models
@pytest.mark.parametrize("objects", [True, False])
def test_v1(model, objects):
    asked = scene.rows(model)
    want = scene.reference(model, asked)
    body = {"instances": asked.objects() if objects else asked.cells}

    async def ask(v1, v2, grpc):
        return await v1.infer(scene.url, body, model_name=model), await v1.explain(scene.url, model, body)

    predicted, explained = run(ask)
    check_predictions(model, asked, predicted)
    assert explained["predictions"] == predicted["predictions"]
    check_document(explained, want)


def check_predictions(model: str, asked: scene.Rows, got: dict) -> None:
    table = scene.predictions(model, asked)
    if "prediction_std" in table:
        np.testing.assert_allclose(got["predictions"], np.array(table["prediction"], float), rtol=1e-5)
        np.testing.assert_allclose(got["prediction_std"], np.array(table["prediction_std"], float), rtol=1e-5)
        return
    assert got["predictions"] == table["prediction"]
    columns = [name for name in table if name.startswith("probability")]
    want = np.array([table[name] for name in columns], float).T
    np.testing.assert_allclose(np.array(got["probabilities"]).reshape(want.shape), want, rtol=1e-5)


def check_document(explained: dict, want: scene.Reference) -> None:
    explained = {**explained, "rows": explained["explanations"]}
    for name, array in scene.of_document(explained).tensors.items():
        scene.same(array, want.tensors[name], name)
    for field in ("schema", "model", "head", "mode", "exact", "z", "outputs", "players"):
        assert explained[field] == want.document[field]
    for got, wanted in zip(explained["rows"], want.document["rows"]):
        for a, b in zip(got["outputs"][0]["attributions"], wanted["outputs"][0]["attributions"]):
            assert (a["player"], a["value"], a["observed"]) == (b["player"], b["value"], b["observed"])


def test_v1_with_an_escaped_colon():
    asked = scene.rows("adult")
    for verb in ("predict", "explain"):
        plain, escaped = (httpx.post(f"{scene.url}/v1/models/adult{colon}{verb}", json={"instances": asked.cells}) for colon in (":", "%3A"))
        assert plain.status_code == escaped.status_code == 200
        assert plain.json() == escaped.json()


def test_v1_parameters():
    asked = scene.rows("adult")
    hidden = asked.columns[0]
    want = scene.reference("adult", asked, "--z", 0.5, "--unknown", hidden)
    rows = [{name: cell for name, cell in row.items() if name != hidden} for row in asked.objects()]

    async def ask(v1, v2, grpc):
        return await v1.explain(scene.url, "adult", {"instances": rows, "parameters": {"z": 0.5, "unknown": [hidden]}})

    check_document(run(ask), want)


def test_faults():
    async def ask(v1, v2, grpc):
        for call in (v1.explain(scene.url, "nobody", {"instances": [[1]]}), v1.infer(scene.url, {"instances": [[1]]}, model_name="nobody")):
            with pytest.raises(httpx.HTTPStatusError, match="nobody"):
                await call
        for body in ({"instances": [[1]]}, {"instances": []}, {"rows": []}):
            with pytest.raises(httpx.HTTPStatusError, match="400 Bad Request"):
                await v1.explain(scene.url, "adult", body)

    run(ask)
