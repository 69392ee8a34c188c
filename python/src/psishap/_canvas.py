"""What all matplotlib figures share: the numbers of one output, in the order of importance, and the style of the program's pictures."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from . import _cells
from ._attributions import Attributions, Bools
from ._axes import Places
from ._cells import Axis, Floats
from ._frames import kind
from ._reasons import digits

# Colours of the program's pictures. UP and DOWN are Okabe and Ito's vermilion and blue, which colour-blind people can distinguish.
INK, SMALL, FAINT, UP, DOWN, MISSING = "#1e1e1e", "#5f5f5f", "#d7d7d7", "#d55e00", "#0072b2", "#b4b4b4"
RAMP = LinearSegmentedColormap.from_list("psi", [DOWN, "#ba82b4", UP])
DIVERGING = LinearSegmentedColormap.from_list("psi-diverging", [DOWN, "#ffffff", UP])
LABELS = (DOWN, UP, "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # of categories, by Okabe and Ito


@dataclasses.dataclass(frozen=True)
class View:
    """The numbers of one output, with a column for each feature, the most important first."""

    names: list[str]
    values: Floats  #: (rows, features)
    reach: Floats  #: half the width of intervals; NaN if there are none
    observed: Bools
    cells: list[Axis | None]  #: positions of the cells of each feature; None for a group of columns
    base: Floats  #: (rows,)
    prediction: Floats
    prediction_std: Floats
    row_names: list[str]
    quantity: str  #: what attributions add up to
    interval: str  #: what intervals are; empty if there are none

    @classmethod
    def of(cls, e: Attributions, output: str | None, rows: Places | None = None) -> View:
        """Return the numbers of an output, by default of the first one, for all rows or some."""
        c = 0 if output is None else e._output(output)
        order = np.argsort(-np.abs(e._values[:, :, c]).mean(axis=0), kind="stable")
        chosen = np.arange(len(e._values)) if rows is None else rows
        part = np.ix_(chosen, order)
        known = set(e._rows.column_names) - set(e.unknown)
        positions = [_cells.axis(e._rows.column(name)) if (name := e._columns[d]) in known else None for d in order]
        return cls(
            names=[e.feature_names[d] for d in order],
            values=e._values[:, :, c][part],
            reach=e._reach[:, :, c][part],
            observed=e._observed[part],
            cells=[None if a is None else a._replace(positions=a.positions[chosen]) for a in positions],
            base=e._base_values[chosen, c],
            prediction=e._prediction[chosen, c],
            prediction_std=e._prediction_std[chosen, c],
            row_names=_row_names(e, chosen),
            quantity=quantity(e.scale, e.output_names[c]),
            interval=""
            if e.interval == "none"
            else f"the {100 * math.erf(e.z / math.sqrt(2)):.3g}\u00a0% interval by {_UNCERTAINTY[e.interval]}",
        )

    def cell(self, row: int, feature: int) -> str:
        """Return the name of a feature with its cell, as text."""
        name, axis = self.names[feature], self.cells[feature]
        if axis is None:
            return name if self.observed[row, feature] else f"{name} unknown"
        at = axis.positions[row]
        if np.isnan(at):
            return f"{name} missing"
        return f"{name} = {axis.text(at)}"

    def gap(self, feature: int) -> str:
        """Return the name of a feature with the number of its missing cells."""
        axis = self.cells[feature]
        count = 0 if axis is None else int(np.isnan(axis.positions).sum())
        return f"{self.names[feature]} ({count:,} missing)" if count else self.names[feature]


_UNCERTAINTY = {"doubt": "doubt (epistemic uncertainty)", "spread": "spread"}


def quantity(scale: str, output: str) -> str:
    """Return what attributions of an output add up to."""
    words = {"logit": "log odds", "score": "score", "share": "probability", "log-mean": "log of the mean", "log": "log"}
    return f"the {words[scale]} of {output}" if scale in words else output


def _row_names(e: Attributions, chosen: Places) -> list[str]:
    """Return labels of the index of a pandas frame, or else positions."""
    if kind(e.X) == "pandas":
        return [str(label) for label in e.X.index[chosen]]
    return [str(row) for row in e._row[chosen]]


def axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes to draw on, of a new figure if there are none."""
    if ax is None:
        ax = plt.subplots(figsize=(width, height), layout="constrained")[1]
    ax.set_axisbelow(True)
    ax.use_sticky_edges = False
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set_color(SMALL)
    ax.tick_params(colors=INK)
    return ax


def features(ax: Axes, names: Sequence[str], grey: Sequence[bool] = ()) -> None:
    """Write the names of features beside the lines of a figure, the first at the top."""
    ax.set_yticks(range(len(names)), [shortened(name) for name in names])
    ax.tick_params(axis="y", length=0)
    for label, is_grey in zip(ax.get_yticklabels(), grey):
        label.set_color(SMALL if is_grey else INK)
    ax.set_ylim(len(names) - 0.4, -0.6)


def shortened(text: str, most: int = 36) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def words(ax: Axes, title: str | None, default: str, x: str, caption: str) -> None:
    """Write the title, the label of the x axis, and a caption below it. An empty title writes none."""
    ax.set_title(default if title is None else title, color=INK, fontsize="medium")
    ax.set_xlabel(x, color=INK)
    inches = ax.bbox.width / ax.figure.dpi
    wrapped = textwrap.fill(caption, max(40, int(19 * inches)))
    ax.annotate(
        wrapped, (0.5, 0), (0, -5), xycoords=ax.xaxis.label, textcoords="offset points", ha="center", va="top", fontsize=7.5, color=SMALL
    )


def number(sizes: Floats) -> Any:
    """Return a format for signed numbers with the digits that their sizes need."""
    write = digits(np.abs(sizes))
    return lambda v: ("+" if v > 0 else "−" if v < 0 else "") + write(abs(v))
