"""Writes what real clients send. They register the same messages, so that each needs a process of its own.

    pip install 'tritonclient[http,grpc]==2.73.0' kserve==0.21.0
    python capture.py triton && python capture.py kserve

Each request is of the same three rows. NAME.http is a body with the length of its JSON in NAME.length, if it has one;
NAME.grpc is a serialized ModelInferRequest.
"""

import pathlib
import sys

import numpy as np

here = pathlib.Path(__file__).parent
age = np.array([39, 50, np.nan], np.float32)
hours = np.array([40, 13, 45], np.int64)
job = np.array(["Private", "Self-émp", ""], np.object_)
member = np.array([True, False, True])
columns = [("age", "FP32", age), ("hours", "INT64", hours), ("job", "BYTES", job), ("member", "BOOL", member)]
outputs = ["prediction", "probability", "attribution_mean"]


def save(name, body, length=None):
    (here / (name + ".http")).write_bytes(body)
    if length is not None:
        (here / (name + ".length")).write_text(f"{length}\n")


def triton_http():
    import tritonclient.http as thttp

    for binary in (True, False):
        inputs = []
        for name, datatype, values in columns:
            if name == "age" and not binary:
                values = np.nan_to_num(values, nan=39)
            i = thttp.InferInput(name, list(values.shape), datatype)
            i.set_data_from_numpy(values, binary_data=binary)
            inputs.append(i)
        wanted = [thttp.InferRequestedOutput(o, binary_data=binary) for o in outputs]
        kind = "binary" if binary else "json"
        save(f"triton_{kind}", *thttp.InferenceServerClient.generate_request_body(inputs, outputs=wanted, request_id="a1"))
        if binary:
            save("triton_no_outputs", *thttp.InferenceServerClient.generate_request_body(inputs, parameters={"unknown": "city", "z": "2.5"}))


def triton_grpc():
    import tritonclient.grpc as tgrpc
    from tritonclient.grpc._utils import _get_inference_request

    inputs = []
    for name, datatype, values in columns:
        i = tgrpc.InferInput(name, [3, 1], datatype)
        i.set_data_from_numpy(values.reshape(3, 1))
        inputs.append(i)
    request = _get_inference_request(
        model_name="adult", inputs=inputs, model_version="", request_id="a1",
        outputs=[tgrpc.InferRequestedOutput(o) for o in outputs],
        sequence_id=0, sequence_start=False, sequence_end=False, priority=0, timeout=None,
        parameters={"z": 2.5, "unknown": "city"},
    )
    (here / "triton.grpc").write_bytes(request.SerializeToString(deterministic=True))


def kserve():
    import orjson
    from kserve import InferInput, InferRequest

    for binary in (True, False):
        inputs = []
        for name, datatype, values in columns:
            i = InferInput(name, list(values.shape), datatype)
            i.set_data_from_numpy(values, binary_data=binary)
            inputs.append(i)
        request = InferRequest("adult", inputs, request_id="a1")
        body, length = request.to_rest()
        if isinstance(body, dict):
            body = orjson.dumps(body)  # as its REST client does
        save("kserve_" + ("binary" if binary else "json"), body, length)
        kind = "raw" if binary else "typed"
        (here / f"kserve_{kind}.grpc").write_bytes(request.to_grpc().SerializeToString(deterministic=True))


if sys.argv[1] == "kserve":
    kserve()
else:
    triton_http()
    triton_grpc()
