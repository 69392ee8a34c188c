"""Python, the program and its server give the same numbers."""

import json
import subprocess
import urllib.request

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
from explaining import random_table, trained

from psishap import _psi

ROWS = 40


@pytest.fixture(scope="module", params=[("regression", 1), ("binary", 2), ("multiclass", 3)], ids=lambda p: f"{p[0]}-seed{p[1]}")
def served(request, tmp_path_factory):
    """A model, its file, and the address of a server that has it."""
    task, seed = request.param
    directory = tmp_path_factory.mktemp(task)
    model, path = trained(directory, task, seed)
    server = subprocess.Popen(
        [_psi.program(), "serve", path, "--http", "127.0.0.1:0", "--grpc", "", "--metrics", "", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_psi.environment(),
    )
    address = json.loads(server.stdout.readline())["http"]
    yield model, path, address, seed
    server.terminate()
    server.wait()
    model.close()


def of_document(document):
    """Arrays of a psi.explanation/v1 document, in the names and shapes of an explanation."""
    outputs = [row["outputs"] for row in document["rows"]]

    def number(name):
        return np.array([[np.nan if o[name] is None else o[name] for o in row] for row in outputs])

    def attribution(name):
        found = np.array([[[np.nan if a[name] is None else a[name] for a in o["attributions"]] for o in row] for row in outputs])
        return np.moveaxis(found, 1, 2)

    names = {"mean": "values", "std": "spread", "model_std": "doubt", "base": "base_values"}
    found = {name: number(name) for name in ("prediction", "prediction_std", "base", "probability")}
    of_features = ("mean", "std", "model_std", "lower", "upper", "spread_lower", "spread_upper", "p_positive", "observed")
    found |= {name: attribution(name) for name in of_features}
    one = len(outputs[0]) == 1
    return {names.get(name, name): array[..., 0] if one or name == "observed" else array for name, array in found.items()}


def by_program(path, file, unknown):
    return _psi.run("explain", path, str(file), *(f"--unknown={u}" for u in unknown))


def by_server(address, x, unknown):
    cells = x.astype(object).where(x.notna(), None).to_dict("records")
    rows = [{k: v.isoformat() if isinstance(v, pd.Timestamp) else v for k, v in row.items()} for row in cells]
    body = json.dumps({"rows": rows, "unknown": unknown}, default=lambda v: v.item()).encode()
    request = urllib.request.Request(f"http://{address}/explain", body, {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))


@pytest.mark.parametrize("unknown", [[], ["town", "rooms"]], ids=["all", "unknown"])
@pytest.mark.parametrize("draw", range(3))
def test_same_numbers(served, tmp_path, draw, unknown):
    model, path, address, seed = served
    x, _ = random_table(100 * seed + draw, ROWS, unseen=True)
    assert x.isna().any().sum() == 4 and (x["town"] == "Atlantis").any()
    csv, arrow = tmp_path / "rows.csv", written(tmp_path / "rows.arrow", x)
    x.to_csv(csv, index=False)
    table = pa.Table.from_pandas(x, preserve_index=False)
    categories = x.assign(town=x["town"].astype("category"))
    asked = {
        kind: model.explain(frame, unknown=unknown)
        for kind, frame in (("pandas", x), ("category", categories), ("pyarrow", table), ("polars", polars.from_pandas(x)))
    }
    said = {
        "csv": by_program(path, csv, unknown),
        "arrow": by_program(path, arrow, unknown),
        "server": by_server(address, x, unknown),
    }
    e = asked["pandas"]
    for name, document in said.items():
        assert (document["outputs"], document["players"], document["head"], document["exact"], document["z"]) == (
            e.output_names, e.feature_names, e.head, e.exact, e.z,
        )  # fmt: skip
        assert (document["interval"], document["bags"]) == (e.interval, e.bags) == ("doubt", 8)
        assert document["rows"][0]["outputs"][0]["scale"] == e.scale
        for array, want in of_document(document).items():
            for kind, explanation in asked.items():
                got = getattr(explanation, array)
                if got is None:
                    assert np.isnan(want).all()
                    continue
                assert got.shape == want.shape and np.allclose(got, want, rtol=1e-6, atol=1e-6, equal_nan=True), (name, kind, array)


@pytest.mark.parametrize("z", [0.5, 1.96, 4])
@pytest.mark.parametrize("bags", [0, 2, 3, 5])
def test_same_intervals(tmp_path_factory, bags, z):
    """By doubt of few bags, and by spread without any."""
    model, path = of_bags(tmp_path_factory, bags)
    x, _ = random_table(50 + bags, ROWS)
    file = written(tmp_path_factory.mktemp("rows") / "rows.arrow", x)
    e, document = model.explain(x, z=z), _psi.run("explain", path, file, "--z", str(z))
    assert (document["interval"], document["bags"]) == (e.interval, e.bags) == ("doubt" if bags else "spread", bags)
    want = of_document(document)
    assert np.isnan(want.pop("doubt")).all() if not bags else (e.doubt > 0).any()
    assert bags or e.doubt is None
    for array in ("lower", "upper", "p_positive", *(("doubt",) if bags else ())):
        assert np.allclose(getattr(e, array), want[array], rtol=1e-6, atol=1e-6, equal_nan=True), array


models = {}  # by the number of bags


def of_bags(tmp_path_factory, bags):
    if bags not in models:
        models[bags] = trained(tmp_path_factory.mktemp(f"bags{bags}"), "binary", 4, f"--bags={bags}")
    return models[bags]


def written(path, x):
    """Rows in a file in Arrow."""
    table = pa.Table.from_pandas(x, preserve_index=False)
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    return str(path)


def test_same_table(served, tmp_path):
    """The frame has the columns and the numbers that the program writes."""
    model, path, _, seed = served
    x, _ = random_table(7 * seed, ROWS)
    csv, out = tmp_path / "rows.csv", tmp_path / "out.arrow"
    x.to_csv(csv, index=False)
    _psi.run("explain", path, str(csv), "-o", str(out))
    want = read(out)
    e = model.explain(x)
    got = e.to_arrow()
    assert got.column_names == want.column_names
    for name in want.column_names:
        a, b = got.column(name).to_pylist(), want.column(name).to_pylist()
        assert a == b if name == "output" else np.allclose(a, b, rtol=1e-6, atol=1e-6), name
    _psi.run("explain", path, str(csv), "-o", str(out), "--layout", "long", "--force")
    want, long = read(out).drop_columns(["p_top"]), e.to_pandas("long")
    assert list(long.columns) == want.column_names
    for name in ("mean", "std", "model_std", "lower", "upper", "p_positive"):
        assert np.allclose(long[name], want.column(name).to_pandas(), rtol=1e-6, atol=1e-6, equal_nan=True), name


def read(path):
    return pa.ipc.open_file(str(path)).read_all() if path.read_bytes()[:6] == b"ARROW1" else pa.ipc.open_stream(str(path)).read_all()


def test_same_interactions(served, tmp_path):
    model, path, _, seed = served
    x, _ = random_table(9 * seed, 6)
    x.to_csv(tmp_path / "rows.csv", index=False)
    document = _psi.run("explain", path, str(tmp_path / "rows.csv"), "--interactions")
    e = model.explain(x)
    pairs = e.interactions
    assert pairs.shape == ((6, 6, 6, 3) if len(e.output_names) > 1 else (6, 6, 6))
    assert np.array_equal(pairs, np.swapaxes(pairs, 1, 2)) and not pairs[:, range(6), range(6)].any()
    last = model.explain(x).output(e.output_names[-1]).interactions
    pairs = pairs.reshape(6, 6, 6, -1)
    for i, row in enumerate(document["rows"]):
        for c, output in enumerate(row["outputs"]):
            for pair in output["interactions"]:
                a, b = e.feature_names.index(pair["a"]), e.feature_names.index(pair["b"])
                assert abs(pairs[i, a, b, c] - pair["value"]) < 1e-6
    assert np.allclose(last, pairs[..., -1], atol=1e-12)


def test_same_reasons(served, tmp_path):
    """Words of reasons are those that the program shows."""
    model, path, _, seed = served
    x, _ = random_table(11 * seed, 8)
    file = written(tmp_path / "rows.arrow", x)
    e = model.explain(x, z=0.5)
    shown = subprocess.run(
        [_psi.program(), "explain", path, file, "--reasons", "3", "--z", "0.5", "--rows", f"0:{len(x)}"],
        capture_output=True, text=True, check=True, env=_psi.environment() | {"COLUMNS": "400"},
    ).stdout  # fmt: skip
    words = " ".join(shown.split())
    said = e.reasons(3)
    for row in said:
        for place, reason in enumerate(row, 1):
            assert f"{place}. {reason}" in words, (str(reason), shown)
    assert sum(map(len, said)) > 5
