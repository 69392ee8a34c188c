"""Pictures: by matplotlib, by the program, and by shap of what to_shap gives."""

import copy
import pickle
import subprocess
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest
import shap
from explaining import random_table, trained

import psishap
from psishap import _canvas, _psi


@pytest.fixture(scope="module", params=["binary", "multiclass"])
def explained(request, tmp_path_factory):
    model, _ = trained(tmp_path_factory.mktemp(request.param), request.param, 4)
    return model.explain(random_table(44, 60)[0])


FIGURES = {
    "bar": lambda e, **o: e.plot.bar(**o),
    "bar of a row": lambda e, **o: e[4].plot.bar(**o),
    "beeswarm": lambda e, **o: e.plot.beeswarm(**o),
    "waterfall": lambda e, **o: e.plot.waterfall(row=4, **o),
    "waterfall of a row": lambda e, **o: e[4].plot.waterfall(**o),
    "force": lambda e, **o: e.plot.force(row=-1, **o),
    "scatter": lambda e, **o: e.plot.scatter("size", **o),
    "scatter of labels": lambda e, **o: e.plot.scatter("town", color="sold", **o),
    "scatter of times": lambda e, **o: e.plot.scatter("sold", color="owned", **o),
    "scatter of booleans": lambda e, **o: e.plot.scatter("owned", color="rooms", **o),
    "heatmap": lambda e, **o: e.plot.heatmap(**o),
    "decision": lambda e, **o: e.plot.decision(**o),
    "decision of a row": lambda e, **o: e[4].plot.decision(**o),
}


@pytest.fixture
def held(explained, monkeypatch):
    """A copy of an explanation whose plots cannot ask the program."""
    e = copy.deepcopy(explained)
    assert e.head == "exact" and e._models[0].classes  # the program has been asked for the manifest
    monkeypatch.setattr(_psi, "run", lambda *_: pytest.fail("the program was asked"))
    yield e
    plt.close("all")


def pixels(ax):
    ax.figure.canvas.draw()
    return np.asarray(ax.figure.canvas.buffer_rgba()).copy()


@pytest.mark.parametrize("kind", FIGURES)
def test_figures_draw_the_numbers_held(held, kind):
    draw = FIGURES[kind]
    before = pixels(draw(held))
    assert np.array_equal(before, pixels(draw(held)))
    held.values[...] *= np.linspace(-1, 2, 6)[:, None] if held.values.ndim == 3 else np.linspace(-1, 2, 6)
    after = pixels(draw(held))
    assert before.shape != after.shape or not np.array_equal(before, after)


@pytest.mark.parametrize("kind", FIGURES)
def test_figures_take_axes_and_titles(held, kind):
    output = held.output_names[-1]
    _, (ax, other) = plt.subplots(1, 2, figsize=(14, 5))
    assert FIGURES[kind](held, ax=ax, output=output, title="A title") is ax
    assert ax.get_title() == "A title" and any(output in text for text in (ax.get_xlabel(), *(a.get_ylabel() for a in ax.figure.axes)))
    assert not other.patches and not other.lines and not other.collections
    with pytest.raises(TypeError, match="maxdisplay"):
        FIGURES[kind](held, maxdisplay=3)
    with pytest.raises(ValueError, match="did you mean"):
        FIGURES[kind](held, output=output + "p")


def test_bar_draws_importance(held):
    one = first(held)
    ax = one.plot.bar(max_display=4)
    sizes = one.importance()
    assert np.allclose([p.get_width() for p in ax.patches], sizes.iloc[:4])
    assert [t.get_text().partition(" (")[0] for t in ax.get_yticklabels()] == list(sizes.index[:4])
    reach = (one.upper - one.values).mean(axis=0)
    (bars,) = errors(ax)
    assert np.allclose([s[1, 0] for s in bars], [sizes[n] + reach[one.feature_names.index(n)] for n in sizes.index[:4]])
    assert "95\u00a0% interval by doubt (epistemic uncertainty), averaged over rows" in caption(ax)
    assert "Not shown: 2 less important features" in caption(ax)
    held.z = 1
    assert "68.3\u00a0%" in caption(first(held).plot.bar())
    if len(held.output_names) > 1:
        widths = np.array([p.get_width() for p in held.plot.bar(max_display=None).patches]).reshape(3, 6)
        assert np.allclose(widths.sum(axis=0), 3 * held.importance())


def test_waterfall_draws_a_row(held):
    one = first(held)
    ax = one[4].plot.waterfall(max_display=None)
    order = np.argsort(-np.abs(one.values[4]), kind="stable")
    widths = np.array([p.get_width() for p in ax.patches])
    assert np.allclose(widths, one.values[4][order])
    assert np.isclose(ax.patches[0].get_x(), one.base_values[4])
    assert np.isclose(ax.patches[-1].get_x() + widths[-1], one.prediction[4], atol=1e-5)
    (bars,) = errors(ax)
    assert np.allclose([np.ptp(s[:, 0]) / 2 for s in bars], (one.upper - one.values)[4][order])
    for label, d in zip(ax.get_yticklabels()[1:-1], order):
        cell, name = one.data[4, d], one.feature_names[d]
        assert label.get_text().startswith(f"{name} missing" if cell is None or cell != cell else f"{name} = ")
    few = one.plot.waterfall(4, max_display=3)
    assert [t.get_text() for t in few.get_yticklabels()][-2:] == ["4 others", "prediction"]
    assert np.isclose(few.patches[-1].get_width(), one.values[4][order[2:]].sum())
    for wrong in (lambda: one.plot.waterfall(60), lambda: one.plot.force(-61), lambda: one[3].plot.waterfall(1)):
        with pytest.raises(IndexError, match="does not exist"):
            wrong()
    with pytest.raises(ValueError, match="at least 1"):
        one.plot.waterfall(max_display=0)


def test_row_of_several_classes(held):
    """The default is the most probable class of the row."""
    for row in (0, 7):
        at = int(held.prediction[row].argmax()) if held.values.ndim == 3 else 0
        assert held.output_names[at] in held.plot.waterfall(row).get_xlabel()


def test_scatter_draws_cells(held):
    one = first(held)
    ax = one.plot.scatter("town")
    dots = ax.collections[-1].get_offsets()
    assert np.allclose(dots[:, 1], one[:, "town"].values)
    texts = [t.get_text() for t in ax.get_xticklabels()]
    assert texts == ["missing", *sorted({v for v in one[:, "town"].data if v is not None})]
    for (x, _), cell in zip(dots, one[:, "town"].data):
        assert texts[round(x) + 1] == ("missing" if cell is None else cell)
    grey = (ax.collections[-1].get_facecolors() == matplotlib.colors.to_rgba(_canvas.MISSING)).all(axis=1)
    assert (grey == [v is None for v in one[:, "town"].data]).all()
    lines = ax.collections[0].get_segments()
    assert np.allclose([s[:, 1] for s in lines], np.stack([one[:, "town"].lower, one[:, "town"].upper], 1))
    assert one[:, "town"].plot.scatter().get_xlabel() == "town"
    legend = one.plot.scatter("size", color="town").get_legend()
    assert {t.get_text() for t in legend.get_texts()} == {*texts}
    with pytest.raises(ValueError, match="did you mean 'town'"):
        one.plot.scatter("towm")
    with pytest.raises(ValueError, match="did you mean 'sold'"):
        one.plot.scatter("town", color="Sold")
    named = copy.deepcopy(one)
    named.feature_names = [name.upper() for name in one.feature_names]
    assert [t.get_text() for t in named.plot.scatter("TOWN").get_xticklabels()] == texts
    with pytest.raises(ValueError, match="no rows"):
        one[:0].plot.scatter("town")
    with pytest.raises(AttributeError, match=r"e\.plot\.svg\('drift'\)"):
        _ = one.plot.drift
    with pytest.warns(FutureWarning, match=r"Plots\.scatter"):
        one.plot.dependence("town", color="sold")


def test_beeswarm_draws_what_is_observed(held):
    one = first(held)
    ax = one.plot.beeswarm(max_display=None)
    dots = [c for c in ax.collections if isinstance(c, matplotlib.collections.PathCollection)]
    for cloud, name in zip(dots, one.importance().index):
        part = one[:, name]
        assert np.allclose(cloud.get_offsets()[:, 0], part.values[part.observed])
    assert any("missing)" in t.get_text() for t in ax.get_yticklabels())


def test_decision_ends_at_predictions(held):
    one = first(held)
    ax = one[:30].plot.decision(max_display=3)
    ends = [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 5]
    assert np.allclose(ends, one.prediction[:30], atol=1e-5)
    assert [t.get_text() for t in ax.get_yticklabels()][-2:] == ["3 others", "base"]


def test_heatmap_has_a_column_for_each_row(held):
    one = first(held)
    image = one.plot.heatmap(max_display=None).images[0].get_array().reshape(6, 5, 60, 4)
    order, columns = np.argsort(-one.prediction, kind="stable"), [one.feature_names.index(n) for n in one.importance().index]
    grey = (image[:, 2] == matplotlib.colors.to_rgba(_canvas.MISSING)).all(axis=2)
    assert (grey == ~one.observed[order][:, columns].T).all()
    tall = (image[:, 1] != 1).any(axis=2)
    assert (tall == ((one.lower * one.upper > 0) | ~one.observed)[order][:, columns].T).all()


def test_figures_without_intervals(held):
    e = first(held)
    e._doubt, e._spread, e.bags = None, np.full_like(e._spread, np.nan), 0  # as for trees of another package
    for kind, draw in FIGURES.items():
        ax = draw(e)
        assert "interval" not in caption(ax) and not errors(ax), kind
        ax.figure.canvas.draw()


def errors(ax):
    return [c.lines[2][0].get_segments() for c in ax.containers if isinstance(c, matplotlib.container.ErrorbarContainer)]


def caption(ax):
    return " ".join(ax.texts[-1].get_text().split("\n"))


def test_matplotlib_is_optional(explained, tmp_path):
    """It is imported for a plot only; without it, the error says what to do, and the program draws."""
    (tmp_path / "e.pickle").write_bytes(pickle.dumps(explained[:9]))
    script = """
import pickle, sys
e = pickle.load(open("e.pickle", "rb"))
repr(e), e.plot, e.attributions(), e._repr_html_()
assert "matplotlib" not in sys.modules
sys.modules["matplotlib"] = None
for draw in (e.plot.bar, e.plot.waterfall):
    try:
        draw()
    except ImportError as err:
        assert "pip install 'psishap[plots]'" in str(err) and 'e.plot.svg("bar")' in str(err), err
    else:
        raise AssertionError
assert e.plot.svg("bar").svg
"""
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)


KINDS = ["bar", "beeswarm", "waterfall", "force", "ranking", "dependence", "interaction", "decision", "heatmap"]


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(explained, kind):
    picture = explained.plot.svg(kind)
    assert picture._repr_svg_().startswith("<?xml") and "</svg>" in picture.svg
    assert picture.exact.startswith("Exact") and picture.title in repr(picture)


def test_options(explained, tmp_path):
    draw = explained.plot.svg
    light = draw("bar", max_display=2)
    assert draw("bar", max_display=2, dark=True).svg != light.svg
    assert draw("bar", max_display=4).svg != light.svg
    assert f"is {explained.prediction[3].max():.3g} " in draw("waterfall", row=3).title
    assert f"Row {len(explained) - 1}" in draw("waterfall", row=-1).title
    assert draw("waterfall", row=3, interactions=True).svg != draw("waterfall", row=3).svg
    assert "sold" in draw("dependence", columns=["sold"]).title and "rooms" in draw("dependence", columns=["sold", "rooms"]).read
    assert draw("waterfall", z=1).svg != draw("waterfall", z=3).svg
    assert "owned" in draw("groups", columns=["owned"]).title
    drift = draw("drift", since=explained[:20])
    assert "before" in drift.title + drift.read
    some = explained[:, ["sold", "rooms"]].plot.svg("bar")
    assert "sold" in some.svg and "owned" not in some.svg
    light.save(tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(IndexError, match="60 rows"):
        draw("waterfall", row=60)
    with pytest.raises(TypeError, match="colour"):
        draw("bar", colour="red")
    with pytest.raises(ValueError, match="needs since="):
        draw("drift")
    with pytest.raises(ValueError, match="beeswarm"):
        draw("swarm")


def test_class_that_is_drawn(explained):
    if len(explained.output_names) == 1:
        pytest.skip("one output")
    for at, output in enumerate(explained.output_names):
        for picture in (explained.plot.svg("waterfall", row=2, output=output), explained.output(output).plot.svg("waterfall", row=2)):
            assert f"is {explained.prediction[2, at]:.3g} " in picture.title
    with pytest.raises(ValueError, match="outputs"):
        explained.plot.svg("bar", output="none")


def test_shap(explained):
    one = first(explained)
    s = one.to_shap()
    assert s.values.shape == (60, 6) and s.base_values.shape == (60,) and s.feature_names == one.feature_names
    assert np.allclose(s.base_values + s.values.sum(axis=1), one.prediction, atol=1e-5)
    assert np.array_equal(s.error_std, one.spread)
    assert np.array_equal(s.lower_bounds, one.lower) and np.array_equal(s.upper_bounds, one.upper)
    assert (np.isnan(s.data) == ~one.observed).all()
    assert s.display_data[3, 2] == (one.data[3, 2] or "missing")
    for key in (3, (slice(None), "size"), (slice(2, 9), ["size", "sold"]), (4, "rooms")):
        assert np.array_equal(one[key].to_shap().values, s[key].values)
        assert np.array_equal(one[key].to_shap().upper_bounds, s[key].upper_bounds)
    if len(explained.output_names) > 1:
        assert explained.to_shap().values.shape == (60, 6, 3)
        assert np.array_equal(explained.to_shap()[:, :, 1].values, explained.values[..., 1])
        assert explained[2].to_shap().values.shape == (6, 3)


def first(explained):
    return explained.output(explained.output_names[0])


SHAP = {
    "bar": lambda s: shap.plots.bar(s, show=False),
    "bar of a row": lambda s: shap.plots.bar(s[0], show=False),
    "beeswarm": lambda s: shap.plots.beeswarm(s, show=False),
    "violin": lambda s: shap.plots.violin(s, show=False),
    "heatmap": lambda s: shap.plots.heatmap(s, show=False),
    "scatter of numbers": lambda s: shap.plots.scatter(s[:, "size"], color=s, show=False),
    "scatter of labels": lambda s: shap.plots.scatter(s[:, "town"], color=s[:, "owned"], show=False),
    "scatter of times": lambda s: shap.plots.scatter(s[:, "sold"], show=False),
    "force": lambda s: shap.plots.force(s[0], matplotlib=True, show=False),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", SHAP)
def test_plots_of_shap(explained, kind, tmp_path):
    plt.close("all")
    SHAP[kind](first(explained).to_shap())
    plt.savefig(tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 4000
    plt.close("all")


@pytest.mark.filterwarnings("ignore")
def test_waterfall_of_shap_has_error_bars(explained):
    plt.close("all")
    s = first(explained).to_shap()
    shap.plots.waterfall(s[0], show=False)
    bars = [c for c in plt.gcf().axes[0].containers if isinstance(c, matplotlib.container.ErrorbarContainer)]
    assert len(bars) == 6
    widths = sorted(np.ptp(c.lines[2][0].get_segments()[0][:, 0]) for c in bars)
    assert np.allclose(widths, np.sort(2 * 2.36468149 * first(explained).doubt[0]), rtol=1e-6, atol=1e-9)  # t₇⁻¹(Φ(1.96))
    plt.close("all")


def test_columns_title_and_size(explained):
    draw = explained.plot.svg
    few = draw("bar", columns=["sold", "rooms"], title="Two of them", size=(8, 5))
    assert few.title == "Two of them" and 'width="576pt" height="360pt"' in few.svg
    assert "sold" in few.svg and "owned" not in few.svg
    assert "owned" in draw("groups", columns=["owned", "sold"]).title
    with pytest.raises(psishap.PsiError, match="did you mean sold"):
        draw("bar", columns=["Sold"])
