"""Figures of many rows on matplotlib, drawn from the numbers of an explanation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize, to_rgba
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import FixedLocator

from ._attributions import Attributions
from ._axes import sample, unknown
from ._canvas import (
    DIVERGING,
    DOWN,
    FAINT,
    INK,
    LABELS,
    MISSING,
    RAMP,
    SMALL,
    View,
    axes,
    features,
    number,
    quantity,
    shortened,
    words,
)
from ._cells import Axis, Floats
from ._reasons import digits

_ROWS = 5000  # more dots make no visible difference
_INTERVALS = 200  # maximum rows with intervals; more would hide the dots
_PATHS = 40  # maximum lines of a decision plot
_HEATMAP_ROWS = 1000


def bar(e: Attributions, max_display: int | None, output: str | None, ax: Axes | None, title: str | None) -> Axes:
    """Draw mean absolute attributions. Those of several outputs are stacked."""
    count = len(e._values)
    if len(e.output_names) > 1 and output is None:
        return _stacked(e, max_display, ax, title)
    view = View.of(e, output)
    shown = _most(view.names, max_display)
    sizes, reach = np.abs(view.values).mean(axis=0)[:shown], view.reach.mean(axis=0)[:shown]
    ax = axes(ax, 7, 1.5 + 0.32 * shown)
    lines = np.arange(shown)
    ax.barh(lines, sizes, 0.62, color=DOWN)
    if view.interval:
        ax.errorbar(sizes, lines, xerr=[np.minimum(reach, sizes), reach], fmt="none", ecolor=INK, elinewidth=1, capsize=3)
    write = digits(sizes)
    for y in lines:  # beside the axes, where a number is not taken for the end of a line
        ax.annotate(write(sizes[y]), (1, y), (8, 0), ("axes fraction", "data"), "offset points", va="center", fontsize=8.5, color=SMALL)
    ax.set_xlim(0)
    features(ax, [view.gap(d) for d in range(shown)])
    caption = "The longer a bar, the more the feature moves predictions, up or down."
    caption += f" Thin lines: {view.interval}, averaged over rows." if view.interval else ""
    words(ax, title, f"Importance, {_rows(count)}", f"mean absolute attribution to {view.quantity}", caption + _rest(view.names, shown))
    return ax


def _stacked(e: Attributions, max_display: int | None, ax: Axes | None, title: str | None) -> Axes:
    sizes = np.abs(e._values).mean(axis=0)  # (features, outputs)
    order = np.argsort(-sizes.sum(axis=1), kind="stable")
    names = [e.feature_names[d] for d in order]
    shown = _most(names, max_display)
    sizes = sizes[order][:shown]
    ax = axes(ax, 7, 1.7 + 0.32 * shown)
    start = np.zeros(shown)
    for c, name in enumerate(e.output_names):
        colour = LABELS[c] if c < len(LABELS) else DIVERGING.resampled(len(e.output_names))(c)
        ax.barh(np.arange(shown), sizes[:, c], 0.62, left=start, color=colour, label=shortened(name))
        start += sizes[:, c]
    features(ax, names[:shown])
    ax.legend(frameon=False, fontsize=8.5, loc="lower right")
    x = "sum over classes of the mean absolute attribution to " + quantity(e.scale, "a class")
    caption = "The longer a bar, the more the feature moves predictions, up or down. output= draws one class, with intervals."
    words(ax, title, f"Importance, {_rows(len(e._values))}", x, caption + _rest(names, shown))
    return ax


def beeswarm(e: Attributions, max_display: int | None, output: str | None, ax: Axes | None, title: str | None) -> Axes:
    """Draw one dot per row and feature, coloured by the cell."""
    view = View.of(e, output, sample(len(e._values), _ROWS))
    shown = _most(view.names, max_display)
    ax = axes(ax, 8, 1.7 + 0.42 * shown)
    ax.axvline(0, color=SMALL, linewidth=0.8)
    categories = gaps = False
    for d in range(shown):
        cells, x = view.cells[d], view.values[:, d]
        there = np.flatnonzero(view.observed[:, d])
        y = d + _swarm(x[there], view.values[:, :shown])
        if view.interval:
            some = sample(len(there), _INTERVALS)
            _intervals(ax, x[there][some], view.reach[there, d][some], y[some], across=False)
        categories |= cells is None or not cells.ordered
        gaps |= cells is not None and bool(np.isnan(cells.positions[there]).any())
        ax.scatter(x[there], y, s=9, c=_ramped(cells, there), linewidths=0, rasterized=len(there) > 1000)
    features(ax, [view.gap(d) for d in range(shown)])
    _colour_bar(ax, RAMP, "feature value", ["low", "high"])
    caption = "Each dot is a row: right of 0 the feature raises the prediction. Colours show its value"
    caption += (", dark grey a category" if categories else "") + (", light grey a missing cell." if gaps else ".")
    caption += _pale(view, _INTERVALS)
    words(
        ax,
        title,
        f"Attributions, {_rows(len(e._values), len(view.values))}",
        f"attribution to {view.quantity}",
        caption + _rest(view.names, shown),
    )
    return ax


def _swarm(x: Floats, every: Floats) -> Floats:
    """Return offsets that keep dots with almost equal values apart, between −0.38 and 0.38."""
    width = float(np.ptp(every)) / 120 if every.size else 0
    if not width or not len(x):
        return np.zeros(len(x))
    bins = np.round((x - x.min()) / width).astype(int)
    order = np.lexsort((np.random.default_rng(0).random(len(x)), bins))
    place = np.empty(len(x), int)
    firsts = np.concatenate([[0], np.cumsum(np.bincount(bins))])
    place[order] = np.arange(len(x)) - firsts[bins[order]]
    layer: Floats = np.where(place % 2, 1.0, -1.0) * ((place + 1) // 2)
    return layer * min(0.09, 0.38 / max(1.0, float(np.abs(layer).max())))


def _ramped(cells: Axis | None, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    """Return colours by the rank of cells; grey for labels without an order, and for missing cells."""
    colours = np.tile(to_rgba(MISSING), (len(rows), 1))
    if cells is None:
        colours[:] = to_rgba(SMALL)
        return colours
    at = cells.positions[rows]
    known = ~np.isnan(at)
    if not cells.ordered:
        colours[known] = to_rgba(SMALL)
    elif known.any():
        low, high = np.nanpercentile(cells.positions, [5, 95])
        if low == high:
            low, high = np.nanmin(cells.positions), np.nanmax(cells.positions)
        colours[known] = RAMP((at[known] - low) / (high - low) if high > low else np.full(known.sum(), 0.5))
    return colours


def scatter(e: Attributions, feature: str | None, color: str | None, output: str | None, ax: Axes | None, title: str | None) -> Axes:
    """Draw the attribution of a feature by its cell, for the most important feature by default."""
    view = View.of(e, output, sample(len(e._values), _ROWS))
    d = 0 if feature is None else _feature(view, feature)
    cells = view.cells[d]
    if cells is None:
        raise ValueError(f"{view.names[d]!r} has no cells to draw: it is a group of columns, or unknown; choose another feature")
    ax = axes(ax, 7.5 if color is None else 8.3, 4.6)
    ax.spines["left"].set_visible(True)
    ax.spines["left"].set_color(SMALL)
    ax.axhline(0, color=FAINT, linewidth=0.8)
    gone = np.isnan(cells.positions)
    x, y = _columns(ax, cells), view.values[:, d]
    if view.interval:
        some = sample(len(x), 2 * _INTERVALS)
        _intervals(ax, y[some], view.reach[some, d], x[some], across=True)
    if color is None:
        ax.scatter(x, y, s=14, c=np.where(gone, MISSING, DOWN), linewidths=0, zorder=2)
    else:
        _coloured(ax, x, y, view, _feature(view, color))
    ax.set_ylabel(f"attribution to {view.quantity}", color=INK)
    caption = "Each dot is a row; dots above each other differ in other features."
    caption += " Light grey: the cell is missing." if gone.any() and color is None else ""
    caption += _pale(view, 2 * _INTERVALS)
    words(ax, title, f"Attributions of {view.names[d]}, {_rows(len(e._values), len(x))}", view.names[d], caption)
    return ax


def _columns(ax: Axes, cells: Axis) -> Floats:
    """Set the ticks of an x axis for cells, and return their positions: labels apart from each other, missing cells at the left."""
    x: Floats = cells.positions.copy()
    gone = np.isnan(x)
    jitter = np.random.default_rng(0).uniform(-0.5, 0.5, len(x))
    if cells.labels is not None:
        x += 0.3 * jitter
        ticks, labels = list(range(len(cells.labels))), [shortened(label, 18) for label in cells.labels]
        if gone.any():
            ticks, labels = [-1, *ticks], ["missing", *labels]
        long = sum(map(len, labels)) > 70
        ax.set_xticks(ticks, labels, rotation=35 if long else 0, ha="right" if long else "center", rotation_mode="anchor")
        ax.set_xlim(ticks[0] - 0.6, ticks[-1] + 0.6)
        x[gone] = -1 + 0.3 * jitter[gone]
        return x
    known = x[~gone]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 1.0)
    span = (high - low) or 1.0
    if cells.times:
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    elif len(np.unique(known)) <= 30 and (known == np.round(known)).all():
        x += min(0.3, 0.012 * span) * jitter  # whole numbers lie on lines
    if gone.any():
        at = low - 0.13 * span
        x[gone] = at + 0.02 * span * jitter[gone]
        ax.annotate(
            "missing", (at, 0), (0, -5), xycoords=("data", "axes fraction"), textcoords="offset points", ha="center", va="top", color=SMALL
        )
        ax.set_xlim(low - 0.19 * span, high + 0.04 * span)
        if not cells.times:  # no tick below the word
            ax.xaxis.set_major_locator(FixedLocator([t for t in ax.get_xticks() if low - 0.03 * span <= t <= high + 0.04 * span]))
    return x


def _coloured(ax: Axes, x: Floats, y: Floats, view: View, d: int) -> None:
    """Draw dots with the colour of the cell of another feature, and a legend or a colour bar."""
    cells = view.cells[d]
    if cells is None:
        raise ValueError(f"{view.names[d]!r} has no cells to colour dots by: it is a group of columns, or unknown")
    gone = np.isnan(cells.positions)
    if gone.any():
        ax.scatter(x[gone], y[gone], s=14, color=MISSING, linewidths=0, zorder=2, label="missing")
    if cells.labels is None and len(values := np.unique(cells.positions[~gone])) <= len(LABELS):  # a legend is clearer
        cells = Axis(np.where(gone, np.nan, np.searchsorted(values, cells.positions)), [cells.text(v) for v in values])
    if cells.labels is None:
        low, high = np.nanpercentile(cells.positions, [2, 98]) if not gone.all() else (0, 1)
        norm = Normalize(low, high if high > low else low + 1)
        ax.scatter(x[~gone], y[~gone], s=14, c=cells.positions[~gone], cmap=RAMP, norm=norm, linewidths=0, zorder=3)
        bar = _bar_of(ax, ScalarMappable(norm, RAMP), view.names[d])
        if cells.times:
            bar.ax.yaxis.set_major_formatter(lambda at, _: cells.text(at))
        if gone.any():
            ax.legend(frameon=False, fontsize=8.5)
        return
    counts = np.bincount(cells.positions[~gone].astype(int), minlength=len(cells.labels))
    top = np.sort(np.argsort(-counts, kind="stable")[: len(LABELS)])
    top = top[counts[top] > 0]
    for colour, label in zip(LABELS, top):
        here = cells.positions == label
        ax.scatter(x[here], y[here], s=14, color=colour, linewidths=0, zorder=3, label=shortened(cells.labels[label], 24))
    rest = ~gone & ~np.isin(cells.positions, top)
    if rest.any():
        ax.scatter(x[rest], y[rest], s=14, color=SMALL, linewidths=0, zorder=2, label="others")
    ax.legend(title=view.names[d], frameon=False, fontsize=8.5, title_fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))


def heatmap(e: Attributions, max_display: int | None, output: str | None, ax: Axes | None, title: str | None) -> Axes:
    """Draw the attributions of many rows as colours, the highest predictions first."""
    view = View.of(e, output, sample(len(e._values), _HEATMAP_ROWS))
    shown = _most(view.names, max_display)
    order = np.argsort(-view.prediction, kind="stable")
    values, reach, observed = (array[order][:, :shown].T for array in (view.values, view.reach, view.observed))
    limit = float(np.percentile(np.abs(values), 99)) if values.size else 0
    limit = limit or float(np.abs(values).max(initial=0)) or 1.0
    # Each feature has five lines of pixels. Cells whose interval contains 0 fill one of them, others three.
    colours = DIVERGING(0.5 + values / limit / 2)
    colours[~observed] = to_rgba(MISSING)
    image = np.ones((shown, 5, len(order), 4))
    unsure = observed & (np.abs(values) <= np.nan_to_num(reach))
    image[:, 1:4] = np.where(unsure[:, None, :, None], 1.0, colours[:, None])
    image[:, 2] = colours
    ax = axes(ax, 8, 2.3 + 0.36 * shown)
    ax.imshow(image.reshape(5 * shown, len(order), 4), aspect="auto", interpolation="nearest", extent=(0, len(order), shown - 0.5, -0.5))
    f = view.prediction[order]
    low, high = f.min(initial=0), f.max(initial=0)
    base = float(view.base.mean()) if len(f) else 0.0
    low, high = min(low, base), max(high, base)

    def height(v: Any) -> Any:  # the curve of predictions lies above the features
        return -1 - 1.2 * (v - low) / ((high - low) or 1)

    ax.plot(np.arange(len(f)) + 0.5, height(f), color=INK, linewidth=1.2)
    ax.axhline(height(base), color=SMALL, linewidth=0.8, linestyle="--")
    features(ax, [view.gap(d) for d in range(shown)])
    ax.set_xlim(0, len(order))
    ax.set_ylim(shown - 0.4, -2.5)
    ax.set_yticks([height(base), *range(shown)], ["prediction", *(shortened(view.gap(d)) for d in range(shown))])
    ax.set_xticks([])
    write = number(np.array([limit]))
    _bar_of(ax, ScalarMappable(Normalize(-limit, limit), DIVERGING), f"attribution to {view.quantity}", [-limit, 0, limit], write)
    caption = "Each column is a row, with its prediction above; the dashed line is the base. Light grey cells are missing."
    caption += f" In short cells, {view.interval} contains 0." if view.interval else ""
    words(
        ax, title, f"Attributions, {_rows(len(e._values), len(f))}", "rows, highest predictions first", caption + _rest(view.names, shown)
    )
    return ax


def decision(e: Attributions, max_display: int | None, output: str | None, ax: Axes | None, title: str | None) -> Axes:
    """Draw the paths of rows from the base, at the bottom, to their predictions."""
    view = View.of(e, output, sample(len(e._values), _PATHS))
    shown = _most(view.names, max_display)
    rest = view.values[:, shown:].sum(axis=1, keepdims=True)
    steps = np.concatenate([view.values[:, :shown], rest] if shown < len(view.names) else [view.values], axis=1)
    count = steps.shape[1]
    # The path reaches its value after feature d at the height d, and the base below the last one.
    after = view.base[:, None] + np.cumsum(steps[:, ::-1], axis=1)[:, ::-1]
    paths = np.concatenate([after, view.base[:, None]], axis=1)
    ax = axes(ax, 7, 1.8 + 0.36 * count)
    ax.axvline(float(view.base.mean()) if len(paths) else 0, color=SMALL, linewidth=0.8, linestyle="--")
    for y in range(count):
        ax.axhline(y, color=FAINT, linewidth=0.6)
    place = np.argsort(np.argsort(view.prediction)) / max(1, len(paths) - 1)
    few = len(paths) <= 3 and bool(view.interval)
    for i, path in enumerate(paths):
        colour = RAMP(place[i]) if len(paths) > 1 else DOWN
        ax.plot(path, np.arange(count + 1), color=colour, linewidth=1.1, alpha=0.85)
        if few:
            ax.errorbar(
                after[i, :shown], np.arange(shown), xerr=view.reach[i, :shown], fmt="none", ecolor=colour, elinewidth=0.8, capsize=2
            )
    gaps = ~view.observed[:, :shown]
    ax.scatter(after[:, :shown][gaps], np.nonzero(gaps)[1], s=12, facecolors="white", edgecolors=MISSING, zorder=3)
    one = len(paths) == 1
    named = [view.cell(0, d) if one else view.gap(d) for d in range(shown)]
    features(ax, [*named, *([f"{len(view.names) - shown} others"] if shown < len(view.names) else []), "base"])
    ax.set_ylim(count + 0.2, -0.4)
    caption = "Each line is a row, read from the base at the bottom to its prediction at the top. Rings are missing cells."
    caption += f" Thin lines: {view.interval} of the step." if few else ""
    words(ax, title, f"From base to prediction, {_rows(len(e._values), len(paths))}", view.quantity, caption)
    return ax


def _intervals(ax: Axes, centre: Floats, reach: Floats, at: Floats, across: bool) -> None:
    """Draw pale intervals, horizontal unless they go ``across``."""
    low, high = np.stack([centre - reach, at], 1), np.stack([centre + reach, at], 1)
    lines = np.stack([low, high], 1)
    ax.add_collection(LineCollection(list(lines[:, :, ::-1] if across else lines), colors=FAINT, linewidths=0.8, zorder=1), autolim=True)
    ax.autoscale_view()


def _colour_bar(ax: Axes, cmap: Any, label: str, ends: Sequence[str]) -> None:
    bar = _bar_of(ax, ScalarMappable(Normalize(0, 1), cmap), label, [0, 1])
    bar.ax.set_yticklabels(ends)


def _bar_of(ax: Axes, of: ScalarMappable, label: str, ticks: Sequence[float] | None = None, write: Any = None) -> Any:
    bar = ax.figure.colorbar(of, ax=ax, aspect=35, pad=0.02, ticks=ticks)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=8.5, colors=INK)
    bar.set_label(label, color=INK, labelpad=0 if ticks else None)
    if write is not None:
        bar.ax.set_yticklabels([write(t) for t in ticks or ()])
    return bar


def _most(names: Sequence[str], max_display: int | None) -> int:
    if max_display is not None and max_display < 1:
        raise ValueError(f"max_display is {max_display}: it must be at least 1")
    return len(names) if max_display is None else min(max_display, len(names))


def _feature(view: View, name: str) -> int:
    if name not in view.names:
        raise ValueError(unknown(name, view.names, "feature"))
    return view.names.index(name)


def _rows(count: int, drawn: int | None = None) -> str:
    """Return the number of rows in words, and how many of them are drawn, if not all."""
    some = "" if drawn in (None, count) else f"{drawn:,} of "
    return f"{some}{count:,} row" + ("" if count == 1 else "s")


def _pale(view: View, most: int) -> str:
    """Return what pale lines mean, and of how many rows they are, if not of all."""
    if not view.interval:
        return ""
    return f" Pale lines: {view.interval}" + (f", for {most} rows." if len(view.values) > most else ".")


def _rest(names: Sequence[str], shown: int) -> str:
    left = len(names) - shown
    return f" Not shown: {left} less important feature{'' if left == 1 else 's'}." if left else ""
