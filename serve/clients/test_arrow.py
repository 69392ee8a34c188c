"""Arrow in and out: a table of many rows over TCP and over a socket in the file system."""

import http.client
import io
import json
import os
import socket

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import scene

ARROW = "application/vnd.apache.arrow.stream"
COUNT = {"adult": 50_000, "synth3": 50_000, "relationship": 5_000}  # the last one has six outputs


class Local(http.client.HTTPConnection):
    """HTTP over a socket in the file system."""

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(scene.serving_local["http"])


def over_tcp() -> http.client.HTTPConnection:
    return http.client.HTTPConnection(scene.http, timeout=120)


def over_a_file() -> http.client.HTTPConnection:
    return Local("localhost", timeout=120)


ways = pytest.mark.parametrize("connect", [over_tcp, over_a_file])
models = pytest.mark.parametrize("model", scene.MODELS)


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    """COUNT rows of each model's table, which is repeated."""
    all_ = {}
    for model, name in scene.TABLES.items():
        once = pyarrow.csv.read_csv(scene.here / name, convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=True))
        all_[model] = pa.concat_tables([once] * (COUNT[model] // once.num_rows + 1)).slice(0, COUNT[model]).combine_chunks()
    return all_


def packed(table: pa.Table, rows: int = 4096) -> bytes:
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    return stream.getvalue()


def ask(connection: http.client.HTTPConnection, path: str, body: bytes, **headers: str) -> http.client.HTTPResponse:
    connection.request("POST", path, body, {"Content-Type": ARROW, **headers})
    return connection.getresponse()


def answered(response: http.client.HTTPResponse) -> pa.Table:
    assert response.status == 200, response.read()[:500]
    assert response.getheader("Content-Type") == ARROW
    return pa.ipc.open_stream(response.read()).read_all()


def check_equal(got: pa.Table, want: pa.Table) -> None:
    """The numbers are the same to the last bit: a row's do not depend on its neighbours in a pass."""
    assert got.schema.equals(want.schema)
    assert got.num_rows == want.num_rows
    for name in want.column_names:
        a, b = got[name].combine_chunks(), want[name].combine_chunks()
        if pa.types.is_floating(b.type):
            assert a.is_null().equals(b.is_null()), name
            np.testing.assert_array_equal(a.to_numpy(zero_copy_only=False), b.to_numpy(zero_copy_only=False), name)
        else:
            assert a.equals(b), name


@models
@pytest.mark.parametrize("layout, connect", [("wide", over_tcp), ("long", over_tcp), ("wide", over_a_file)])
def test_explain(tables, model, layout, connect):
    source, out = scene.here / "many.arrow", scene.here / "explained.arrow"
    body = packed(tables[model])
    source.write_bytes(body)
    scene.psi("explain", scene.here / "models" / f"{model}.psi", source, "--layout", layout, "-o", out)
    got = answered(ask(connect(), f"/explain?model={model}&layout={layout}", body))
    check_equal(got, read(out))
    assert np.array_equal(np.unique(got["row"].to_numpy()), np.arange(COUNT[model]))


def read(path) -> pa.Table:
    open_ = pa.ipc.open_file if path.read_bytes()[:6] == b"ARROW1" else pa.ipc.open_stream
    return open_(path).read_all()


@ways
@models
def test_predict(tables, connect, model):
    few = tables[model].slice(0, 500)
    got = answered(ask(connect(), f"/predict?model={model}", packed(few)))
    path = scene.here / f"{model}-few.arrow"
    path.write_bytes(packed(few))
    out = scene.here / f"{model}-few.csv"
    scene.psi("predict", scene.here / "models" / f"{model}.psi", path, "-o", out)
    want = pyarrow.csv.read_csv(out)
    assert got.column_names == want.column_names
    for name in want.column_names:
        if pa.types.is_floating(want[name].type):
            scene.same(got[name].to_numpy(), want[name].to_numpy(), name)
        else:
            assert got[name].to_pylist() == want[name].to_pylist()


@ways
def test_json_of_arrow_and_back(tables, connect):
    few = tables["adult"].slice(0, 20)
    response = ask(connect(), "/explain?model=adult", packed(few), Accept="application/json")
    assert response.getheader("Content-Type") == "application/json"
    document = json.loads(response.read())
    assert document["schema"] == "psi.explanation/v1" and len(document["rows"]) == 20
    connection = connect()
    body = json.dumps({"model": "adult", "rows": few.drop_columns(["income"]).to_pylist()})
    connection.request("POST", "/explain", body, {"Accept": ARROW})
    wide = answered(connection.getresponse())
    want = scene.of_document(document).tensors
    scene.same(wide["prediction"].to_numpy(), want["prediction"][:, 0], "prediction")
    for j, player in enumerate(document["players"]):
        scene.same(wide[player].to_numpy(), want["attribution_mean"][:, 0, j], player)
        scene.same(wide[player + "__std"].to_numpy(), want["attribution_std"][:, 0, j], player)
        scene.same(wide[player + "__model_std"].to_numpy(), want["attribution_model_std"][:, 0, j], player)


def test_from_pandas(tables):
    frame = tables["adult"].slice(0, 100).to_pandas()
    got = answered(ask(over_tcp(), "/explain?model=adult", packed(pa.Table.from_pandas(frame, preserve_index=False))))
    want = answered(ask(over_tcp(), "/explain?model=adult", packed(tables["adult"].slice(0, 100))))
    check_equal(got, want)


@pytest.mark.parametrize("body, says", [
    (b"", "not in its format"),
    (b"not a stream of Arrow at all", "not in its format"),
    (packed(pa.table({"age": [1.0]})), "workclass"),
    (packed(pa.table({"x1": ["a"], "x2": [0.0], "x3": [0.0]})), "x1"),
])
def test_faults(body, says):
    model = "synth3" if says == "x1" else "adult"
    response = ask(over_tcp(), f"/explain?model={model}", body)
    assert response.status == 400
    assert says in json.loads(response.read())["error"]


def test_a_stream_that_ends_too_soon(tables):
    body = packed(tables["synth3"])
    response = ask(over_tcp(), "/explain?model=synth3", body[: len(body) // 2])
    if response.status == 200:  # the first answers were on their way: the end must not look like one
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            response.read()
    else:
        assert response.status == 400


def test_the_socket_is_its_owners():
    assert os.stat(scene.serving_local["http"]).st_mode & 0o777 == 0o600
