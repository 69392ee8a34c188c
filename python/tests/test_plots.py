"""Pictures: by matplotlib, by the program, and by shap of what to_shap gives."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest
import shap
from explaining import random_table, trained

import psishap


@pytest.fixture(scope="module", params=["binary", "multiclass"])
def explained(request, tmp_path_factory):
    model, _ = trained(tmp_path_factory.mktemp(request.param), request.param, 4)
    return model.explain(random_table(44, 60)[0])


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
