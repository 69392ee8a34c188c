"""Ray itself: the rows are complete and the program's, whatever dies."""

import pandas as pd
import pyarrow.parquet as pq
import pytest

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install -r python/tests/requirements-ray.txt")

import ray.data  # noqa: E402, F811
from engines import FILES, Killer, Rows, gone, psis, same, slowly  # noqa: E402
from explaining import trained  # noqa: E402

import psishap.ray  # noqa: E402
from psishap import PsiError  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def engine():
    ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1", object_store_memory=200 << 20, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    children = psis()
    ray.shutdown()
    assert gone(children) == []


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return Rows(tmp_path_factory.mktemp("rows"), seed=51)


@pytest.fixture(scope="module", params=["regression", "multiclass"])
def model(request, tmp_path_factory):
    return trained(tmp_path_factory.mktemp(request.param), request.param, 5)


def written(ds, path):
    ds.write_parquet(str(path))
    return pd.read_parquet(path)


def test_worker_killed(model, rows, tmp_path):
    model, path = model
    marks = tmp_path / "marks"
    marks.mkdir()
    wait = slowly(0.7, marks)

    def on(batch):
        wait()
        return batch

    parts = [pq.read_table(path) for path in sorted(rows.directory.iterdir())]
    slow = ray.data.from_arrow(parts).map_batches(on, batch_format="pyarrow", batch_size=None)
    explained = psishap.ray.explain(slow, path, keep="id")
    watch = Killer(marks, 5, lambda now, busy: next((w for w in psis(now).values() if w in busy), None))
    watch.start()
    got = written(explained, tmp_path / "out")
    happened = watch.check(FILES)
    off = same(got, rows.explained(path), rows.seed)
    print(f"{happened}; {len(got)} lines, off by {off:.1e}")


def test_options(model, rows):
    model, path = model
    of = {} if not model.classes else {"output": "top"}
    few = ray.data.read_parquet(str(rows.directory / "part-03.parquet"))
    explained = psishap.ray.explain(few.drop_columns(["town"]), model, keep=["id"], unknown="town", **of)
    want = rows.explained(path, "--unknown=town", *(f"--{k}={v}" for k, v in of.items()))
    got = explained.to_pandas()
    same(got, want[want["id"].isin(got["id"])], rows.seed)
    assert not got["town"].any()


def test_refuses_beforehand(model, rows):
    model, _ = model
    ds = ray.data.read_parquet(str(rows.directory / "part-00.parquet"))
    for said, ask in (
        ("column 'town'.*unknown=\\['town'\\]", lambda: psishap.ray.explain(ds.drop_columns(["town"]).materialize(), model)),
        ("column 'size': explanations have a column", lambda: psishap.ray.explain(ds, model, keep=["id", "size"])),
        ("column 'key'", lambda: psishap.ray.explain(ds, model, keep="key")),
    ):
        with pytest.raises(PsiError, match=said):
            ask()
    assert model._child.pid is None
