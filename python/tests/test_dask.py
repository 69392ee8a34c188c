"""Dask itself, with worker processes: the rows are complete and the program's, whatever dies."""

import pandas as pd
import pytest

pytest.importorskip("distributed", reason="Dask is not installed: pip install -r python/tests/requirements-dask.txt")

import dask.dataframe as dd
import distributed
from engines import FILES, Killer, Rows, gone, psis, same, slowly
from explaining import trained

import psishap.dask
from psishap import PsiError


@pytest.fixture(scope="module", autouse=True)
def engine():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
        children = psis()
    assert gone(children) == []


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return Rows(tmp_path_factory.mktemp("rows"), seed=53)


@pytest.fixture(scope="module", params=["regression", "multiclass"])
def model(request, tmp_path_factory):
    return trained(tmp_path_factory.mktemp(request.param), request.param, 7)


def read(rows, parts="part-*.parquet"):
    return dd.read_parquet(str(rows.directory / parts), split_row_groups=True, aggregate_files=False)


def test_worker_killed(model, rows, tmp_path):
    model, path = model
    marks = tmp_path / "marks"
    marks.mkdir()
    wait = slowly(0.7, marks)

    def on(frame):
        wait()
        return frame

    ddf = read(rows)
    assert ddf.npartitions == FILES
    slow = ddf.map_partitions(on, meta=ddf)
    explained = psishap.dask.explain(slow, path, keep="id")
    watch = Killer(marks, 5, lambda now, busy: next((w for w in psis(now).values() if w in busy), None))
    watch.start()
    explained.to_parquet(str(tmp_path / "out"), write_index=False)
    happened = watch.check(FILES)
    got = pd.read_parquet(tmp_path / "out")
    off = same(got, rows.explained(path), rows.seed)
    print(f"{happened}; {len(got)} lines, off by {off:.1e}")


def test_options(model, rows):
    model, path = model
    of = {} if not model.classes else {"output": "top"}
    few = read(rows, "part-03.parquet").drop(columns="town")
    explained = psishap.dask.explain(few, model, keep=["id"], unknown="town", **of)
    want = rows.explained(path, "--unknown=town", *(f"--{k}={v}" for k, v in of.items()))
    got = explained.compute()
    same(got, want[want["id"].isin(got["id"])], rows.seed)
    assert not got["town"].any()


def test_meta(model, rows):
    """Types, index and divisions are known beforehand, and kept columns have theirs."""
    model, _ = model
    frame = pd.read_parquet(rows.directory / "part-01.parquet")
    frame["kept"] = pd.Categorical(frame["rooms"].astype(str))
    frame["when"] = frame["sold"].dt.tz_localize("UTC")
    ddf = dd.from_pandas(frame.set_index("id"), npartitions=3)
    explained = psishap.dask.explain(ddf, model, keep=["kept", "when"])
    assert explained.divisions == ddf.divisions and explained.index.name == "id"
    assert list(explained.columns[:2]) == ["kept", "when"]
    none = psishap.dask.explain(ddf[ddf["size"] > 1e9], model, keep=["kept", "when"])
    for part in [*(explained.partitions[i].compute() for i in range(3)), none.compute()]:
        pd.testing.assert_series_equal(part.dtypes, explained.dtypes)
    got, want = explained.compute(), model.explain(frame).to_pandas()
    assert list(got.index) == [frame["id"].iloc[row] for row in want["row"].astype(int)]
    assert list(got["kept"]) == [frame["kept"].iloc[row] for row in want["row"].astype(int)]
    assert got["size"].to_numpy() == pytest.approx(want["size"].to_numpy(), rel=1e-6, abs=1e-6)
    model.close()


def test_empty_partitions(model, rows):
    model, path = model
    some = read(rows)
    some = some[some["id"] < 10]
    got = psishap.dask.explain(some, model, keep="id").compute()
    want = rows.explained(path)
    same(got, want[want["id"] < 10], rows.seed)


def test_in_this_process(model, rows):
    """Dask without a cluster: threads share one psi."""
    model, path = model
    explained = psishap.dask.explain(read(rows, "part-0*.parquet"), model, keep="id")
    got = explained.compute(scheduler="threads")
    want = rows.explained(path)
    same(got, want[want["id"].isin(got["id"])], rows.seed)
    assert len(set(got["id"])) == 10 * rows.count // FILES


def test_cores_are_the_worker_s(engine):
    assert engine.submit(psishap.dask._cores, pure=False).result() == 1


def test_refuses_beforehand(model, rows):
    model, _ = model
    ddf = read(rows)
    for said, ask in (
        ("column 'town'.*unknown=\\['town'\\]", lambda: psishap.dask.explain(ddf.drop(columns="town"), model)),
        ("column 'size': explanations have a column", lambda: psishap.dask.explain(ddf, model, keep=["id", "size"])),
        ("column 'key'", lambda: psishap.dask.explain(ddf, model, keep="key")),
    ):
        with pytest.raises(PsiError, match=said):
            ask()
    assert model._child.pid is None
