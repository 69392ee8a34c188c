"""Draw the pictures of docs/python-gallery.md: the plots of shap beside those of psishap, of the same numbers.

    python bench/gallery.py [DIRECTORY]

It needs psishap, matplotlib, pandas and shap. The default directory is docs/gallery/python.
"""

import io
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import shap
from PIL import Image

import psishap

TRAIN, SHOWN = 20_000, 400
MOST = 8  # features in a plot
COLOURS = 256  # of a picture: a palette makes it half as large
ROW = 130  # of the plots of one row: a person whose occupation is not known
SOME = slice(111, 131)  # of the decision plots, which show few rows


def explanation():
    """Return the explanation of some people of the census table, by a model that trains in seconds."""
    table = psishap.sample("adult").sample(TRAIN + SHOWN, random_state=0)
    train, shown = table[:TRAIN], table[TRAIN:].drop(columns="income")
    model = psishap.PsiClassifier(effort="fast", random_state=0, n_jobs=1, verbose=False)
    return model.fit(train.drop(columns="income"), train["income"]).explain(shown)


def of_psishap(e):
    """Return a function for each plot of psishap, which draws on a new figure."""
    return {
        "bar": lambda: e.plot.bar(MOST),
        "beeswarm": lambda: e.plot.beeswarm(MOST),
        "waterfall": lambda: e.plot.waterfall(ROW, max_display=None),
        "scatter": lambda: e.plot.scatter("occupation", color="sex"),
        "heatmap": lambda: e.plot.heatmap(MOST),
        "decision": lambda: e[SOME].plot.decision(MOST),
        "force": lambda: e.plot.force(ROW, MOST),
    }


def of_shap(e):
    """Return a function for each plot of shap."""
    s = e.to_shap()
    few, one = s[SOME], s[ROW]
    return {
        "bar": lambda: shap.plots.bar(s, max_display=MOST + 1, show=False),
        "beeswarm": lambda: shap.plots.beeswarm(s, max_display=MOST + 1, show=False),
        "waterfall": lambda: shap.plots.waterfall(one, max_display=len(one), show=False),
        "scatter": lambda: shap.plots.scatter(s[:, "occupation"], color=s[:, "sex"], show=False),
        "heatmap": lambda: shap.plots.heatmap(s, max_display=MOST + 1, show=False),
        "decision": lambda: shap.plots.decision(
            few.base_values[0], few.values, pd.DataFrame(few.display_data, columns=s.feature_names), show=False
        ),
        "force": lambda: shap.plots.force(
            one.base_values, one.values, one.display_data, s.feature_names, matplotlib=True, figsize=(12, 3), text_rotation=15, show=False
        ),
    }


def draw(directory):
    """Write a PNG for each plot of both packages."""
    directory.mkdir(parents=True, exist_ok=True)
    e = explanation()
    for package, plots in (("psishap", of_psishap(e)), ("shap", of_shap(e))):
        for name, plot in plots.items():
            np.random.seed(0)  # shap jitters dots
            plot()
            drawn, path = io.BytesIO(), directory / f"{name}-{package}.png"
            plt.gcf().savefig(drawn, dpi=90, bbox_inches="tight")
            plt.close("all")
            Image.open(drawn).convert("RGB").quantize(COLOURS).save(path, optimize=True)
            print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    draw(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2] / "docs" / "gallery" / "python")
