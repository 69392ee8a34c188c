"""Parts of a table, as an engine hands them over."""

import pathlib

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from explaining import random_table, trained

from psishap import PsiError, _child, _parts


@pytest.fixture(scope="module", params=["regression", "multiclass"])
def model(request, tmp_path_factory):
    model, _ = trained(tmp_path_factory.mktemp(request.param), request.param, 8)
    yield model
    model.close()


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """What an engine says, and what is set by it: it is as before in other tests."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("GOMAXPROCS", "1")


def batches(table, sizes):
    start = 0
    for size in sizes:
        yield pa.RecordBatch.from_pandas(table.iloc[start : start + size], preserve_index=False)
        start += size


def test_every_row_keeps_its_key(model):
    sizes = [3, 0, 1, 500, 0, 0, 9000, 7, 1]
    table, _ = random_table(81, sum(sizes))
    table.insert(0, "key", [f"k{i}" for i in range(len(table))])
    asked = _parts.plan(model, list(table.columns), ["key"], None, None)
    got = pa.concat_tables(asked.explain(model.data, batches(table, sizes))).to_pandas()
    e = model.explain(table)
    assert list(got["key"]) == list(table["key"].repeat(len(e.output_names)))
    want = e.to_pandas().drop(columns="row").reset_index(drop=True)
    assert list(got.columns) == ["key", *want.columns]
    pd.testing.assert_frame_equal(got[want.columns], want, check_dtype=False, rtol=1e-9, atol=1e-9)


def test_holds_a_few_batches(model):
    """However long the part is."""
    table, _ = random_table(82, 100)
    given, most = 0, 0

    def endless():
        nonlocal given
        for _ in range(200):
            given += 1
            yield pa.RecordBatch.from_pandas(table, preserve_index=False)

    asked = _parts.plan(model, list(table.columns), (), None, None)
    for taken, _ in enumerate(asked.explain(model.data, endless()), 1):
        most = max(most, given - taken)
    assert taken == 200 and most <= 5


def test_cores_are_the_task_s(model, monkeypatch):
    table, _ = random_table(83, 10)
    asked = _parts.plan(model, list(table.columns), (), None, None)
    for cores, given in (("1", None), ("3", None), ("2", 2)):
        monkeypatch.setenv("OMP_NUM_THREADS", cores if given is None else "1")
        before = {id(child) for child in _child._used}
        list(asked.answers(model.data, batches(table, [4, 6]), given))
        child = _child._used[-1]
        assert cores == "1" or id(child) not in before
        environment = pathlib.Path(f"/proc/{child.pid}/environ").read_text().split("\0")
        assert f"GOMAXPROCS={cores}" in environment


def test_unknown_columns_are_not_sent(model):
    asked = _parts.plan(model, model.columns, (), "town", None)
    assert asked.columns == [name for name in model.columns if name != "town"]
    assert asked.schema.names[-6:] == ["sold", "sold__std", "sold__model_std", "row__mean", "row__std", "row__model_std"]


def test_says_beforehand(model):
    names = [*model.columns, "key"]
    for said, how in (
        ("column 'town'", dict(names=[n for n in names if n != "town"], keep=())),
        ("column 'kee'", dict(names=names, keep="kee")),
        ("column 'key': .*kept twice", dict(names=names, keep=["key", "key"])),
        ("column 'size__std'", dict(names=[*names, "size__std"], keep=["size__std"])),
        ("height", dict(names=names, keep=(), unknown="height")),
        ("all columns are unknown", dict(names=names, keep=(), unknown=model.columns)),
    ):
        with pytest.raises(PsiError, match=said):
            _parts.plan(model, **{"unknown": None, "output": None, **how})
    with pytest.raises(TypeError, match=r"psishap\.Model"):
        _parts.model_of(3)
    assert np.array_equal(_parts.model_of(model).players, model.players)
