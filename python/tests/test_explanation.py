"""What an explanation holds, and what it turns into."""

import itertools
import math
import pathlib
import pickle
import re

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
from explaining import random_table, target, trained
from scipy.integrate import quad

from psishap import Explanation, PsiClassifier
from psishap._explanation import _mean_names
from psishap._law import Law
from psishap._reasons import p_larger


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
    assert e.shape == (30, 3 if model.classes else 1, 6) and len(e) == 30
    assert np.allclose(e.base + e.mean.sum(axis=2), e.prediction, atol=1e-5)
    assert (e.lower <= e.mean).all() and (e.upper >= e.mean).all()
    hidden = rows[["size", "town", "owned", "sold"]].isna().to_numpy()
    assert (e.observed[:, [0, 2, 3, 4]] == ~hidden).all()
    assert e.probability is None or np.allclose(e.probability.sum(axis=1), 1)


def test_unknown(model, rows):
    hidden = model.explain(rows, unknown=["town", "rooms"])
    absent = model.explain(rows.drop(columns=["town", "rooms"]), unknown=["town", "rooms"])
    gaps = model.explain(rows.assign(town=None, rooms=np.nan))
    for e in (absent, gaps):
        assert np.allclose(hidden.mean, e.mean, atol=1e-6)
    assert not hidden.observed[:, [1, 2]].any()
    assert hidden.interactions()[:, :, [1, 2]].any() == False  # noqa: E712
    assert "importance" in hidden.plot.bar().title


def test_some_rows(model, rows):
    e = model.explain(rows)
    for key, want in ((3, [3]), (-1, [29]), (slice(2, 9, 3), [2, 5, 8]), ([4, 1], [4, 1]), (np.arange(30) % 7 == 0, range(0, 30, 7))):
        part = e[key]
        assert part.row.tolist() == list(want) and np.array_equal(part.mean, e.mean[list(want)])
        assert np.array_equal(part.model_std, e.model_std[list(want)]) and np.array_equal(part.lower, e.lower[list(want)])
        assert part.data.index.tolist() == [f"id{i}" for i in want]
        assert part.frame.index.unique().tolist() == part.data.index.tolist()
    assert [len(r) for r in e][:2] == [1, 1]
    assert np.array_equal(e[:4].interactions(), e.interactions()[:4])
    last = e[:, e.outputs[-1]]
    assert last.outputs == e.outputs[-1:] and np.array_equal(last.mean[:, 0], e.mean[:, -1])
    assert np.array_equal(e[:, -1].prediction, last.prediction)
    assert np.array_equal(last.model_std[:, 0], e.model_std[:, -1]) and last.bags == e.bags == 8
    with pytest.raises(IndexError):
        e[30]
    with pytest.raises(ValueError, match="outputs"):
        e[:, "nothing"]


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
        assert isinstance(e.frame, np.ndarray) and len(e.frame) == 30 * len(e.outputs)
    else:
        e = model.explain(x[kind](), unknown=unknown)
        assert type(e.frame).__module__.startswith(kind)
        assert list(e.frame.columns if kind != "pyarrow" else e.frame.column_names)[-3:] == [
            "row__mean", "row__std", "row__model_std",
        ]  # fmt: skip
    assert np.array_equal(e[[5, 2]].mean, e.mean[[5, 2]]) and len(e[[5, 2]].data) == 2


def test_long(model, rows):
    e = model.explain(rows)
    long = e.to_pandas("long")
    assert len(long) == e.mean.size
    one = long[(long["output"] == e.outputs[-1]) & (long["player"] == "town")]
    assert np.array_equal(one["mean"], e.mean[:, -1, 2])
    assert one["value"].fillna("").tolist() == rows["town"].fillna("").tolist()
    assert one.index.tolist() == rows.index.tolist()
    with pytest.raises(ValueError, match="wide or long"):
        e.to_pandas("broad")


def test_groups(tmp_path, rows):
    model, _ = trained(tmp_path, "regression", 6, "--group=home=rooms,town")
    e = model.explain(rows)
    assert e.players == ["size", "home", "owned", "sold", "row"]
    assert set(e.values[:, 1]) == {None}
    assert np.isnan(e.to_shap().data[:, 1]).all()
    assert all(r.value is None and r.words.startswith("home ") for row in e.reasons(5) for r in row if r.player == "home")
    assert e.interactions().shape == (30, 1, 5, 5)


def test_interaction_of_two(model, rows):
    """In a game of two players, I = v(ab) − v(a) − v(b) + v() = 2 (φ_a − v(a) + v())."""
    others = [c for c in model.players if c not in ("rooms", "town")]
    both = model.explain(rows[:5], unknown=others)
    alone = model.explain(rows[:5], unknown=[*others, "town"])
    pair = both.interactions()[:, :, 1, 2]
    assert np.allclose(pair, 2 * (both.mean[:, :, 1] - alone.mean[:, :, 1]), atol=1e-5) and pair.any()


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
    assert np.array_equal(both.model_std[:, 0], eight.model_std[:, 0]) and np.array_equal(both.model_std[:, 1], five.model_std[:, 0])
    assert (both.bags, both.interval) == (5, "doubt") and np.array_equal(both.lower[:, 1], five.lower[:, 0])
    assert (both.lower[:, 0] <= eight.lower[:, 0]).all()
    assert both[3, "b"].bags == 5 and np.array_equal(both[3, "b"].model_std[0, 0], five.model_std[3, 0])
    part = Explanation.join([eight, none], ["a", "b"], "score")
    assert (part.model_std, part.bags, part.interval) == (None, 0, "spread") and np.array_equal(part.upper, part.spread_upper)
    assert part[0].model_std is None and "intervals by spread" in repr(part)


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
    assert _mean_names(["a", "a__model_std", "b__std", "b", "base"]) == ["a", "a__model_std__mean", "b__std__mean", "b", "base__mean"]


def test_reasons(model, rows):
    e = model.explain(rows)
    for i, row in enumerate(e.reasons(2)):
        c = int(e.prediction[i].argmax())
        sure = [d for d in np.argsort(-np.abs(e.mean[i, c])) if e.observed[i, d] and e.lower[i, c, d] * e.upper[i, c, d] > 0]
        assert [r.player for r in row] == [e.players[d] for d in sure[:2]]
        for r, after in itertools.pairwise(row):
            assert ("sure to outweigh" in str(r)) == (r.p_larger < 0.95) and abs(r.mean) >= abs(after.mean)
    with pytest.raises(ValueError, match="at least 1"):
        e.reasons(0)


def test_pickle(model, rows):
    e = pickle.loads(pickle.dumps(model.explain(rows)))
    assert e.plot.bar().svg.startswith("<?xml") and e.interactions().any()


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
    assert "<p>" in e[:0]._repr_html_()


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
        assert np.allclose(e.mean, want.mean, atol=1e-6) and len(e[[3, 1]].data) == 2 and len(e[2].frame)
    few = model.explain(numbers, unknown=["town", "owned", "sold"])
    assert np.allclose(few.mean, model.explain(rows, unknown=["town", "owned", "sold"]).mean, atol=1e-6)
    assert len(few[[3, 1]].data) == 2


def test_missing_as_level(tmp_path, rows):
    model, _ = trained(tmp_path, "regression", 8, "--missing-as-level=town")
    e = model.explain(rows)
    assert e.observed[:, 2].all()
    assert e.plot.bar().title
    with pytest.raises(ValueError, match="'town'"):
        model.explain(rows, unknown="town").plot.bar()
    assert "plots cannot treat the column as unknown" in model.explain(rows, unknown="town")._repr_html_()
