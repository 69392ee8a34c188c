"""What an explanation holds, and what it turns into."""

import copy
import html
import itertools
import math
import pathlib
import pickle
import re
import sys

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
from explaining import QUICK, random_table, target, trained
from scipy.integrate import quad

import psishap
from psishap import Explanation, PsiClassifier, _html, _psi
from psishap._law import Law
from psishap._reasons import p_larger
from psishap._tables import value_names


@pytest.fixture(scope="module", params=["regression", "multiclass"])
def model(request, tmp_path_factory):
    yield trained(tmp_path_factory.mktemp(request.param), request.param, 5)[0]


@pytest.fixture(scope="module")
def rows():
    x, _ = random_table(55, 30)
    x.index = [f"id{i}" for i in range(len(x))]
    return x


def test_adds_up(model, rows):
    e = model.explain(rows)
    assert e.shape == e.values.shape == ((30, 6, 3) if model.classes else (30, 6)) and len(e) == 30
    assert e.base_values.shape == e.prediction.shape == ((30, 3) if model.classes else (30,))
    assert np.allclose(e.base_values + e.values.sum(axis=1), e.prediction, atol=1e-5)
    assert (e.lower <= e.values).all() and (e.upper >= e.values).all()
    hidden = rows[["size", "town", "owned", "sold"]].isna().to_numpy()
    assert (e.observed[:, [0, 2, 3, 4]] == ~hidden).all()
    assert e.probability is None or np.allclose(e.probability.sum(axis=1), 1)


def test_unknown(model, rows):
    hidden = model.explain(rows, unknown=["town", "rooms"])
    absent = model.explain(rows.drop(columns=["town", "rooms"]), unknown=["town", "rooms"])
    gaps = model.explain(rows.assign(town=None, rooms=np.nan))
    for e in (absent, gaps):
        assert np.allclose(hidden.values, e.values, atol=1e-6)
    assert not hidden.observed[:, [1, 2]].any()
    assert not hidden.interactions[:, [1, 2]].any()
    assert "importance" in hidden.plot.svg("bar").title


def test_rows(model, rows):
    e = model.explain(rows)
    mask = np.arange(30) % 7 == 0
    for key, want in ((slice(2, 9, 3), [2, 5, 8]), ([4, 1], [4, 1]), (mask, range(0, 30, 7)), (pd.Series(mask), range(0, 30, 7)), ([], [])):
        part, at = e[key], list(want)
        assert part.row.tolist() == at and np.array_equal(part.values, e.values[at]) and part.shape == e.values[at].shape
        assert np.array_equal(part.doubt, e.doubt[at]) and np.array_equal(part.lower, e.lower[at])
        assert part.X.index.tolist() == part.frame.index.unique().tolist() == [f"id{i}" for i in at]
    for key in (3, -1, np.int64(7)):
        one, at = e[key], key % 30
        assert one.row == at and one.X.index.tolist() == [f"id{at}"] and one.frame.index[0] == f"id{at}"
        for name in ARRAYS:
            assert np.array_equal(getattr(one, name), getattr(e, name)[key], equal_nan=name != "data"), name
        assert len(one) == len(e.feature_names) and one["town"].values.shape == e.values.shape[2:]
    assert [r.row for r in e] == list(range(30))
    assert np.array_equal(e[:4].interactions, e.interactions[:4]) and np.array_equal(e[[7, 2]].interactions, e.interactions[[7, 2]])
    with pytest.raises(IndexError, match="out of bounds"):
        e[30]
    with pytest.raises(IndexError, match="4 parts"):
        e[0, 0, 0, 0]
    with pytest.raises(KeyError, match="e\\[:, 'town'\\]"):
        e["town"]


ARRAYS = ("values", "spread", "doubt", "lower", "upper", "p_positive", "base_values", "prediction", "prediction_std", "data", "observed")


def test_features(model, rows):
    e = model.explain(rows)
    assert np.array_equal(e[:, "town"].values, e.values[:, 2]) and e[:, "town"].feature_names == ["town"]
    assert e[:, "town"].data.tolist() == e[:, 2].data.tolist() == [None if v != v else v for v in rows["town"]]
    some = e[::2, ["sold", "size"]]
    assert np.array_equal(some.values, e.values[::2][:, [4, 0]]) and some.feature_names == ["sold", "size"]
    assert np.array_equal(some.prediction, e.prediction[::2])
    assert np.array_equal(some.interactions, e.interactions[::2][:, [4, 0]][:, :, [4, 0]])
    assert np.array_equal(some.interactions, model.explain(rows)[::2, ["sold", "size"]].interactions) and some.interactions.any()
    assert list(some.attributions()) == ["output", "sold", "size"][0 if model.classes else 1 :]
    with pytest.raises(KeyError, match="did you mean 'town'"):
        e[:, "Towm"]
    with pytest.raises(KeyError, match="'size', 'rooms'"):
        e[:, ["size", "zzz"]]


def test_other_names(model, rows):
    """Names can be assigned, as in shap; cells and interactions are still those of the columns."""
    e, want = model.explain(rows), model.explain(rows)
    e.feature_names = pd.Index([name.upper() for name in e.feature_names])
    assert np.array_equal(e[:, "TOWN"].values, want[:, "town"].values) and e[[2, 1]][:, ["TOWN", "SIZE"]].feature_names == ["TOWN", "SIZE"]
    assert e.data.tolist() == want.data.tolist() and np.array_equal(e[:3].interactions, want[:3].interactions)
    assert list(e.importance().index) == [name.upper() for name in want.importance().index] and "TOWN" in e.attributions()
    assert [str(r).lower() for row in e.reasons() for r in row] == [str(r).lower() for row in want.reasons() for r in row]
    assert e.to_shap().feature_names[2] == "TOWN" and np.array_equal(e.to_shap().data, want.to_shap().data, equal_nan=True)
    with pytest.raises(ValueError, match="6 different names"):
        e.feature_names = ["a"] * 6


def test_outputs(model, rows):
    e = model.explain(rows)
    name = e.output_names[-1]
    last = e.output(name)
    assert last.output_names == [name] and last.values.shape == (30, 6) and last.bags == e.bags == 8
    if model.classes:
        for same in (e[..., name], e[:, :, -1], e[..., 2]):
            assert np.array_equal(same.values, last.values) and np.array_equal(same.prediction, e.prediction[:, -1])
        assert np.array_equal(last.doubt, e.doubt[..., -1]) and np.array_equal(last.interactions, e.interactions[..., -1])
        assert e[3, "town", name].values.shape == () and e[..., [name]].values.shape == (30, 6, 1)
        with pytest.raises(KeyError, match=r"e\.output"):
            e[:, name]
    with pytest.raises(ValueError, match=f"did you mean '{name}'"):
        e.output(name + "p")
    with pytest.raises(ValueError, match="the outputs are"):
        e.output("nothing like it")


def test_array(model, rows):
    """numpy and pandas take an explanation for its values."""
    e = model.explain(rows)
    assert np.array_equal(np.asarray(e), e.values) and np.asarray(e, np.float32).dtype == np.float32
    assert np.shares_memory(np.asarray(e), e.values) and not np.shares_memory(np.array(e), e.values)
    assert np.abs(e).sum() == np.abs(e.values).sum()
    with pytest.raises(ValueError, match="copy"):
        e.__array__(np.float32, copy=False)
    e.values[0] = 7
    assert (e[0].values == 7).all() and (e.attributions().iloc[0, -6:] == 7).all()


def test_cells(model, rows):
    e = model.explain(rows)
    assert e.data.dtype == object and [v is None for v in e.data[:, 0]] == rows["size"].isna().tolist()
    numbers = model.explain(rows[["size", "rooms", "row"]], unknown=["town", "owned", "sold"])[:, ["size", "rooms"]]
    assert numbers.data.dtype == float and np.array_equal(numbers.data, rows[["size", "rooms"]], equal_nan=True)


def test_ordered_categories(tmp_path):
    """Positions on an axis follow the order of ordered categories, and the alphabet otherwise."""
    order = ["small", "medium", "large"]
    x = pd.DataFrame({"size": pd.Categorical(order * 30, categories=order, ordered=True), "count": np.arange(90.0)})
    x["age"] = pd.Categorical([10, 9, 8] * 30, categories=[10, 9, 8, 7], ordered=True)
    x["plain"] = x["size"].astype(str).astype("category")
    x.assign(y=np.arange(90)).to_csv(tmp_path / "t.csv", index=False)
    _psi.run("train", str(tmp_path / "t.csv"), "--target", "y", "-o", str(tmp_path / "m.psi"), "--categorical", "age", *QUICK, "--bags=0")
    e = psishap.load(tmp_path / "m.psi").explain(x)
    s = e[:, ["size", "age", "plain"]].to_shap()
    assert s.data[:3].tolist() == [[0, 0, 2], [1, 1, 1], [2, 2, 0]]
    assert s.display_data[:3, 1].tolist() == ["10", "9", "8"]
    assert e[60:][:, "size"].to_shap().data[:3].tolist() == [0, 1, 2]


@pytest.mark.parametrize("old", ["mean", "std", "model_std", "base", "players", "outputs"])
def test_former_names(model, rows, old):
    e = model.explain(rows)
    new = {"mean": "values", "std": "spread", "model_std": "doubt", "base": "base_values", "players": "feature_names"}.get(
        old, "output_names"
    )
    with pytest.warns(FutureWarning, match=f"Explanation.{old} is now {new}") as said:
        found = getattr(e, old)
    assert said[0].filename == __file__
    if old in ("mean", "std", "model_std"):
        want = getattr(e, new)
        assert np.array_equal(found, np.moveaxis(want, 2, 1) if model.classes else want[:, None])
    elif old == "base":
        assert np.array_equal(found, e.base_values.reshape(30, -1))
    else:
        assert found == getattr(e, new)


def test_former_reason(model, rows):
    reason = next(r for row in model.explain(rows).reasons() for r in row)
    with pytest.warns(FutureWarning, match="Reason.feature"):
        assert reason.player == reason.feature
    with pytest.raises(AttributeError, match="nothing"):
        _ = model.explain(rows).nothing


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "numpy"])
def test_kind_of_frame(model, rows, kind):
    numeric = rows[["size", "rooms", "row"]].astype(float)
    x = {
        "pandas": lambda: numeric,
        "polars": lambda: polars.from_pandas(numeric),
        "pyarrow": lambda: pa.Table.from_pandas(numeric, preserve_index=False),
    }
    unknown = ["town", "owned", "sold"]
    if kind == "numpy":
        cells = np.full((30, 6), np.nan)
        cells[:, [0, 1, 5]] = numeric.to_numpy()
        e = model.explain(cells, unknown=unknown)
        assert isinstance(e.frame, np.ndarray) and len(e.frame) == 30 * len(e.output_names)
    else:
        e = model.explain(x[kind](), unknown=unknown)
        assert type(e.frame).__module__.startswith(kind)
        assert list(e.frame.columns if kind != "pyarrow" else e.frame.column_names)[-3:] == [
            "row__mean", "row__std", "row__model_std",
        ]  # fmt: skip
    assert np.array_equal(e[[5, 2]].values, e.values[[5, 2]]) and len(e[[5, 2]].X) == 2


@pytest.mark.parametrize("make", [lambda x: x, polars.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "pyarrow"])
def test_attributions(model, rows, make):
    x = make(rows)
    e = model.explain(x)
    table = e.attributions()
    assert type(table) is type(x)
    frame = table if isinstance(table, pd.DataFrame) else table.to_pandas()
    if model.classes:
        assert frame.pop("output").tolist() == e.output_names * 30
    assert list(frame) == e.feature_names and np.array_equal(frame, np.moveaxis(e.values, 1, -1).reshape(-1, 6))
    if table is frame:
        assert frame.index.unique().tolist() == rows.index.tolist()


def test_importance(model, rows, monkeypatch):
    e = model.explain(rows)
    sizes = e.importance()
    assert sizes.is_monotonic_decreasing and set(sizes.index) == set(e.feature_names)
    assert all(np.isclose(size, np.abs(e[:, name].values).mean()) for name, size in sizes.items())
    monkeypatch.setitem(sys.modules, "pandas", None)  # not installed
    assert e.importance() == sizes.to_dict()


def test_long(model, rows):
    e = model.explain(rows)
    long = e.to_pandas("long")
    assert len(long) == e.values.size
    one = long[(long["output"] == e.output_names[-1]) & (long["player"] == "town")]
    assert np.array_equal(one["mean"], e.output(e.output_names[-1]).values[:, 2])
    assert one["value"].fillna("").tolist() == rows["town"].fillna("").tolist()
    assert one.index.tolist() == rows.index.tolist()
    with pytest.raises(ValueError, match="wide or long"):
        e.to_pandas("broad")


def test_groups(tmp_path, rows):
    model, _ = trained(tmp_path, "regression", 6, "--group=home=rooms,town")
    e = model.explain(rows)
    assert e.feature_names == ["size", "home", "owned", "sold", "row"]
    assert set(e.data[:, 1]) == {None}
    assert np.isnan(e.to_shap().data[:, 1]).all()
    assert all(r.value is None and r.words.startswith("home ") for row in e.reasons(5) for r in row if r.feature == "home")
    assert e.interactions.shape == (30, 5, 5)


def test_interaction_of_two(model, rows):
    """In a game of two players, I = v(ab) − v(a) − v(b) + v() = 2 (φ_a − v(a) + v())."""
    others = [c for c in model.players if c not in ("rooms", "town")]
    both = model.explain(rows[:5], unknown=others)
    alone = model.explain(rows[:5], unknown=[*others, "town"])
    pair = both.interactions[:, 1, 2]
    assert np.allclose(pair, 2 * (both.values[:, 1] - alone.values[:, 1]), atol=1e-5) and pair.any()


@pytest.mark.parametrize("seed", range(20))
def test_p_larger(seed):
    rng = np.random.default_rng(seed)
    (a, b), (s, t) = rng.normal(size=2), rng.exponential(size=2)
    if seed % 5 == 0:
        a, b = [(0, 0), (a, -a), (a, a), (0, b)][seed // 5]
    if seed in (1, 2):
        s, t = (0, t) if seed == 1 else (s, 0)
    n = 400_000
    share = np.mean(np.abs(a + s * rng.normal(size=n)) > np.abs(b + t * rng.normal(size=n)))
    assert abs(p_larger(a, s, b, t) - share) < 5 * np.sqrt(0.25 / n), (a, s, b, t)
    assert p_larger(2, 0, -1, 0) == 1 and p_larger(1, 0, -1, 0) == 0.5


def test_join(rows, tmp_path):
    """Doubt is known if it is of all; of the fewest bags, it is the widest."""
    eight, five, none = (trained(tmp_path, "regression", 5, f"--bags={bags}", "--force")[0].explain(rows) for bags in (8, 5, 0))
    both = Explanation.join([eight, five], ["a", "b"], "score")
    assert np.array_equal(both.doubt[..., 0], eight.doubt) and np.array_equal(both.doubt[..., 1], five.doubt)
    assert (both.bags, both.interval) == (5, "doubt") and np.array_equal(both.lower[..., 1], five.lower)
    assert (both.lower[..., 0] <= eight.lower).all()
    assert both[3, :, "b"].bags == 5 and np.array_equal(both[3, :, "b"].doubt, five.doubt[3])
    part = Explanation.join([eight, none], ["a", "b"], "score")
    assert (part.doubt, part.bags, part.interval) == (None, 0, "spread") and np.array_equal(part.upper, part.spread_upper)
    assert part[0].doubt is None and "intervals by spread" in repr(part)


@pytest.mark.parametrize("bags", [0, 2, 4, 8, 30])
def test_law(bags):
    """Student's t, by its density; its deviation, where there is one; and the normal distribution without bags."""
    law, z = Law(bags), 1.5
    freedom = bags - 1 if bags else 1e9

    def density(x):
        scale = (
            math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
            if bags
            else 0.3989422804014327
        )
        return scale * (1 + x * x / freedom) ** (-(freedom + 1) / 2)

    def below(x):
        return 0.5 + quad(density, 0, x)[0]

    assert math.isclose(2 * below(law.reach(z)) - 1, math.erf(z / math.sqrt(2)), abs_tol=1e-7)
    assert np.allclose(law.above(np.array([-2, 0, 0.7])), [below(-2), 0.5, below(0.7)], atol=1e-7)
    if bags == 0 or bags > 3:
        assert math.isclose(law.width**2, 2 * quad(lambda x: x * x * density(x), 0, np.inf if bags else 20)[0], rel_tol=1e-5)


def test_names():
    """Names of deviations are taken, whether they are known or not."""
    assert value_names(["a", "a__model_std", "b__std", "b", "base"]) == ["a", "a__model_std__mean", "b__std__mean", "b", "base__mean"]


def test_reasons(model, rows):
    e = model.explain(rows)
    for i, row in enumerate(e.reasons(2)):
        one = e[i] if e.values.ndim == 2 else e[i, :, int(e.prediction[i].argmax())]
        sure = [d for d in np.argsort(-np.abs(one.values)) if one.observed[d] and one.lower[d] * one.upper[d] > 0]
        assert [r.feature for r in row] == [e.feature_names[d] for d in sure[:2]] and row == one.reasons(2)
        for r, after in itertools.pairwise(row):
            assert ("sure to outweigh" in str(r)) == (r.p_larger < 0.95) and abs(r.mean) >= abs(after.mean)
        for r in row:
            assert r._repr_html_() == f"<p><b>{r.feature}</b>{html.escape(str(r)[len(r.feature) :])}</p>"
    with pytest.raises(ValueError, match="at least 1"):
        e.reasons(0)


def test_pickle(model, rows):
    want = model.explain(rows)
    for e in (pickle.loads(pickle.dumps(want)), copy.deepcopy(want)):
        assert np.array_equal(e[3].values, want.values[3]) and e.plot.svg("bar").svg.startswith("<?xml") and e.interactions.any()
    e.values[:] = 0
    assert want.values.any()


def test_words(model, rows):
    first, second = repr(model.explain(rows)).splitlines()
    assert "30 rows, 6 features, exact Shapley values" in first and second.startswith("mean absolute attributions: ")
    assert first.endswith("intervals by doubt")


def test_notebook(model, rows):
    """The viewer lies in the cell, and loads nothing from anywhere."""
    e = model.explain(pd.concat([rows] * 10))
    page = e._repr_html_()
    assert page is e._repr_html_() and "200 of these rows" in page
    assert re.search(r'<iframe [^>]*sandbox="allow-scripts"[^>]*srcdoc="&lt;!doctype html&gt;', page)
    assert not re.search(r"(src|href)=(&quot;|&#x27;)https?:", page) and len(page) < 700_000
    assert "300 rows of a pandas frame" not in page and "a pandas frame" in page and "rows.arrow" not in page
    assert "<p>" in e[:0]._repr_html_() and "</iframe>" not in e[:, ["size"]]._repr_html_()


def test_notebook_shows_a_model(model):
    page = model._repr_html_()
    m = model.manifest
    assert all(name in page for name in ("size", "town", "of kind category", "linear model", "Audit on"))
    metric = "log_loss" if model.classes else "rmse"
    for measured in (m["metrics"], *(b["metrics"] for b in m["baselines"])):
        assert f">{measured[metric]:.4g}</td>" in page
    odd = {**m, "target": "<script>", "columns": [{"name": "a<b", "kind": "number"}], "metrics": {}, "audit": None, "warnings": []}
    assert "<script>" not in _html.model(odd) and "a&lt;b" in _html.model(odd) and "Audit" not in _html.model(odd)


def test_report(model, rows, tmp_path):
    x, score = random_table(56, 120)
    y = target(model.task, score)
    path = model.explain(x).report(str(tmp_path / "r.html"), y=y, by="town")
    page = pathlib.Path(path).read_text()
    assert '"labelled":120' in page and '"by":{"column":"town"' in page
    with pytest.raises(ValueError, match="y has 3"):
        model.explain(x).report(str(tmp_path / "r.html"), y=y[:3])
    other = model.explain(x.assign(wing="west")).report(str(tmp_path / "s.html"), by="wing")
    assert '"by":{"column":"wing"' in pathlib.Path(other).read_text()


@pytest.mark.parametrize("labels", [[False, True], [1, 2], ["no", "yes"]], ids=str)
def test_report_of_labels(tmp_path, labels):
    """The outcomes are of the labels that the classifier was fitted with, whatever their type."""
    x, score = random_table(57, 150)
    y = np.array(labels)[(score > 0).astype(int)]
    model = PsiClassifier(steps=40, settings={"channels": 16}, random_state=0).fit(x, y)
    page = pathlib.Path(model.explain(x).report(str(tmp_path / "r.html"), y=y)).read_text()
    assert '"labelled":150' in page and f'"classes":["{labels[0]}","{labels[1]}"]' in page


def test_other_tables(model, rows):
    """Lists, lazy frames and single batches are rows too."""
    want = model.explain(rows)
    cells = rows[["size", "rooms", "row"]].astype(float)
    numbers = [[a, b, None, None, None, c] for a, b, c in cells.to_numpy().tolist()]
    lazy = polars.from_pandas(rows).lazy()
    batch = pa.RecordBatch.from_pandas(rows, preserve_index=False)
    for x in (lazy, batch):
        e = model.explain(x)
        assert np.allclose(e.values, want.values, atol=1e-6) and len(e[[3, 1]].X) == 2 and len(e[2].frame)
    few = model.explain(numbers, unknown=["town", "owned", "sold"])
    assert np.allclose(few.values, model.explain(rows, unknown=["town", "owned", "sold"]).values, atol=1e-6)
    assert len(few[[3, 1]].X) == 2


def test_missing_as_level(tmp_path, rows):
    model, _ = trained(tmp_path, "regression", 8, "--missing-as-level=town")
    e = model.explain(rows)
    assert e.observed[:, 2].all()
    assert e.plot.svg("bar").title
    with pytest.raises(ValueError, match="'town'"):
        model.explain(rows, unknown="town").plot.svg("bar")
    assert "plots cannot treat the column as unknown" in model.explain(rows, unknown="town")._repr_html_()
