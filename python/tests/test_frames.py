"""Tables of every kind become the same rows, and come back as the kind they were."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import table_of
from scipy import sparse

import psishap
from psishap import PsiRegressor, _frames


def cells(table: pa.Table) -> dict:
    """The cells of a table, with None for those that are missing, categories as texts and times without a zone."""

    def plain(cell):
        if cell is None or (isinstance(cell, float) and np.isnan(cell)):
            return None
        if isinstance(cell, datetime.datetime):
            return cell.replace(tzinfo=None)
        if isinstance(cell, datetime.date):
            return datetime.datetime(cell.year, cell.month, cell.day)
        return float(cell) if isinstance(cell, (int, float)) and not isinstance(cell, bool) else cell

    return {name: [plain(cell) for cell in table.column(name).to_pylist()] for name in table.column_names}


WANT = {
    "float": [1.5, None, -2.0],
    "whole": [1.0, 2.0, None],
    "text": ["Ur", None, "Uruk"],
    "category": ["low", "high", None],
    "yes": [True, False, None],
    "when": [datetime.datetime(2020, 2, 29, 12), None, datetime.datetime(1969, 1, 1)],
    "day": [datetime.datetime(2020, 2, 29), None, datetime.datetime(1969, 1, 1)],
    "took": [90.0, None, 0.5],
    "empty": [None, None, None],
}
WHEN = [datetime.datetime(2020, 2, 29, 12), None, datetime.datetime(1969, 1, 1)]
DAY = [datetime.date(2020, 2, 29), None, datetime.date(1969, 1, 1)]
TOOK = [datetime.timedelta(seconds=90), None, datetime.timedelta(seconds=0.5)]


def of_pandas(nullable: bool) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "float": pd.Series([1.5, None, -2.0], dtype="Float64" if nullable else float),
            "whole": pd.Series([1, 2, None], dtype="Int64" if nullable else float),
            "text": pd.Series(["Ur", None, "Uruk"], dtype="string" if nullable else object),
            "category": pd.Categorical(["low", "high", None], categories=["low", "mid", "high"], ordered=True),
            "yes": pd.Series([True, False, None], dtype="boolean" if nullable else object),
            "when": pd.Series(pd.to_datetime(WHEN)),
            "day": pd.Series(DAY, dtype=object),
            "took": pd.Series(pd.to_timedelta(TOOK)),
            "empty": pd.Series([None, None, None], dtype=object),
        }
    )
    return frame.set_axis([10, 20, 30])


def of_polars() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "float": [1.5, float("nan"), -2.0],
            "whole": [1, 2, None],
            "text": ["Ur", None, "Uruk"],
            "category": pl.Series(["low", "high", None], dtype=pl.Categorical),
            "yes": [True, False, None],
            "when": WHEN,
            "day": DAY,
            "took": TOOK,
            "empty": pl.Series([None, None, None], dtype=pl.Null),
        }
    )


def of_pyarrow() -> pa.Table:
    return pa.table(
        {
            "float": [1.5, float("nan"), -2.0],
            "whole": pa.array([1, 2, None], pa.int8()),
            "text": pa.array(["Ur", None, "Uruk"], pa.large_string()),
            "category": pa.array(["low", "high", None]).dictionary_encode(),
            "yes": [True, False, None],
            "when": WHEN,
            "day": DAY,
            "took": TOOK,
            "empty": pa.nulls(3),
        }
    )


KINDS = {
    "pandas": lambda: of_pandas(False),
    "pandas, nullable": lambda: of_pandas(True),
    "pandas of pyarrow": lambda: of_pandas(True).convert_dtypes(dtype_backend="pyarrow"),
    "polars": of_polars,
    "polars, lazy": lambda: of_polars().lazy(),
    "pyarrow": of_pyarrow,
    "a batch": lambda: of_pyarrow().to_batches()[0],
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_cells(make):
    assert cells(_frames.to_arrow(make())) == WANT


def test_categories_that_are_numbers_are_labels():
    frame = pd.DataFrame({"zone": pd.Categorical([3, 1, None, 3])})
    assert _frames.to_arrow(frame).column("zone").to_pylist() == ["3", "1", None, "3"]


def test_arrays():
    assert cells(_frames.to_arrow(np.array([[1, 2], [3, 4]]))) == {"x0": [1.0, 3.0], "x1": [2.0, 4.0]}
    assert cells(_frames.to_arrow(np.array([[1.5, "a"], [None, "b"]], object))) == {"x0": [1.5, None], "x1": ["a", "b"]}
    assert cells(_frames.to_arrow([[1, np.nan]], ["one", "two"])) == {"one": [1.0], "two": [None]}


@pytest.mark.parametrize(
    "frame, says",
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a': two columns"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "'1': two columns"),
        (pd.DataFrame({"a": [1, "x"]}), "'a': its cells have several types"),
        (np.zeros(3), r"shape \[3\]"),
        (np.zeros((2, 2, 2)), r"shape \[2, 2, 2\]"),
    ],
)
def test_faults(frame, says):
    with pytest.raises(psishap.PsiError, match=says):
        _frames.to_arrow(frame)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_the_same_kind_comes_back(kind):
    frame = KINDS[kind]()
    back = _frames.from_arrow(_frames.to_arrow(frame), frame)
    assert type(back) is type(frame)
    if kind == "pandas":
        assert list(back.index) == [10, 20, 30]


def test_every_kind_gives_the_same_numbers():
    """A model is fitted to one kind and asked with all."""
    rng = np.random.default_rng(11)
    rows = 80
    frame = pd.DataFrame(
        {
            "n": np.where(rng.random(rows) < 0.2, np.nan, rng.normal(size=rows)),
            "k": rng.choice(["a", "b"], rows),
            "t": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, rows), "D"),
            "b": rng.random(rows) < 0.5,
        }
    )
    y = frame["n"].fillna(0) + (frame["k"] == "a") + frame["b"]
    model = PsiRegressor(random_state=0, steps=20).fit(frame, y).model_
    assert {c["name"]: c["kind"] for c in model.manifest["columns"]} == {"n": "number", "k": "category", "t": "time", "b": "boolean"}
    want = model.predict(frame)
    assert want.dtype == np.float64 and len(set(want.round(6))) > 10
    for other in (
        frame.astype({"k": "category"}),
        frame.convert_dtypes(),
        frame.convert_dtypes(dtype_backend="pyarrow"),
        frame[["b", "t", "k", "n"]],
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame, preserve_index=False),
        frame.astype(object).to_numpy(),
    ):
        np.testing.assert_array_equal(model.predict(other), want)


def test_a_series_or_a_dict_is_one_row():
    row = {"a": 1.5, "town": "Ur", "when": pd.Timestamp("2020-02-29"), "gone": None, "flag": True}
    want = {"a": [1.5], "town": ["Ur"], "when": [datetime.datetime(2020, 2, 29)], "gone": [None], "flag": [True]}
    assert cells(_frames.to_arrow(row)) == cells(_frames.to_arrow(pd.Series(row, name="Tuesday"))) == want
    assert list(_frames.as_rows(pd.Series(row, name="Tuesday")).index) == ["Tuesday"]
    with pytest.raises(psishap.PsiError, match=r"'a': a dict is one row.*data frame"):
        _frames.to_arrow({"a": [1, 2]})


def test_one_row_gets_the_prediction_of_its_frame(fitted):
    table = table_of(8)
    for row in (table.iloc[5], table.iloc[5].to_dict(), table.iloc[5].drop("b")):
        unknown = [] if "b" in row else ["b"]
        np.testing.assert_array_equal(fitted.predict(row, unknown), fitted.predict(table.iloc[[5]], unknown))
        np.testing.assert_array_equal(
            fitted.predict_interval(row, unknown=unknown), fitted.predict_interval(table.iloc[[5]], unknown=unknown)
        )
    np.testing.assert_array_equal(fitted(table.iloc[5]), fitted(table.iloc[[5]]))
    with pytest.raises(ValueError, match="DataFrame"):
        PsiRegressor().fit(table["a"], table["b"])


def test_sparse_tables():
    dense = np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]])
    want = cells(_frames.to_arrow(dense))
    for kind in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array, sparse.dok_matrix):
        assert cells(_frames.to_arrow(kind(dense))) == want
    frame = pd.DataFrame(dense, columns=["x0", "x1"])
    assert cells(_frames.to_arrow(frame.astype(pd.SparseDtype("float", 0.0)))) == want


def test_periods_are_times():
    months = _frames.to_arrow(pd.DataFrame({"month": pd.PeriodIndex(["2020-01", None, "2020-03"], freq="M")})).column("month")
    assert pa.types.is_timestamp(months.type)
    assert [m and (m.year, m.month, m.day) for m in months.to_pylist()] == [(2020, 1, 1), None, (2020, 3, 1)]


@pytest.mark.parametrize("levels", [["small", "medium", "large"], [3, 1, 2]], ids=["texts", "numbers"])
def test_ordered_categories_keep_their_order(levels):
    column = _frames.to_arrow(pd.DataFrame({"size": pd.Categorical([levels[1], None], categories=levels, ordered=True)})).column("size")
    assert column.type.ordered and column.chunk(0).dictionary.to_pylist() == [str(level) for level in levels]
    assert not _frames.to_arrow(pd.DataFrame({"size": pd.Categorical([levels[1]], categories=levels)})).column("size").type.ordered


def test_errors_name_columns_that_are_not_there(fitted):
    table = table_of(5)
    for call in (fitted.predict, fitted.explain, fitted.model_.predict, fitted.model_.explain):
        with pytest.raises(psishap.PsiError, match=r"column 'town': X lacks this column.*did you mean 'twon'.*unknown=\['town'\]"):
            call(table.rename(columns={"town": "twon"}))
        with pytest.raises(psishap.PsiError, match=r"column 'twon': unknown names a column.*did you mean 'town'"):
            call(table, unknown="twon")
    with pytest.raises(psishap.PsiError, match=r"layout is 'wid'.*'wide' or 'long'.*did you mean 'wide'"):
        fitted.model_.explain_batches([], layout="wid")
    with pytest.raises(psishap.PsiError, match="game is 'base'"):
        fitted.explain(table, game="base")


def test_frames_for_a_model_of_an_array():
    rows = np.random.default_rng(0).normal(size=(40, 2))
    model = PsiRegressor(steps=3, n_bags=0, random_state=0).fit(rows, rows[:, 0])
    for frame in (
        pd.DataFrame(rows, columns=["u", "v"]),
        pl.DataFrame(rows, schema=["u", "v"]),
        pa.table({"u": rows[:, 0], "v": rows[:, 1]}),
    ):
        with pytest.warns(UserWarning, match="fitted without feature names"):
            np.testing.assert_array_equal(model.predict(frame), model.predict(rows))


def test_numbers_that_mean_a_missing_value():
    table = pd.DataFrame({"whole": [-9, 1, 2, 3] * 20, "a": [1.0, -9.0, 2.5, 3] * 20, "text": ["u", "v", "-9", "w"] * 20})
    model = PsiRegressor(steps=3, n_bags=0, random_state=0, missing=[-9.0]).fit(table, np.arange(80.0))
    assert model.model_.manifest["missing"] == ["-9"]
    np.testing.assert_array_equal(model.explain(table.head(4)).observed, ~np.eye(4, 3, dtype=bool))
