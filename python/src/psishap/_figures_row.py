"""Figures of one row on matplotlib, drawn from the numbers of an explanation."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from ._attributions import Attributions
from ._axes import ROWS
from ._canvas import DOWN, FAINT, INK, SMALL, UP, View, axes, features, number, shortened, words
from ._reasons import digits


def waterfall(e: Attributions, row: int, max_display: int | None, output: str | None, ax: Axes | None, title: str | None) -> Axes:
    """Draw the way from the base, at the top, to the prediction of a row."""
    view = _view(e, row, output)
    steps, reach, names, greys = _steps(view, max_display)
    ends = view.base[0] + np.cumsum(steps)
    starts = ends - steps
    ax = axes(ax, 7.5, 1.9 + 0.34 * (len(steps) + 2))
    lines = 1 + np.arange(len(steps))
    ax.vlines(view.base[0], 0, 1, color=SMALL, linewidth=0.8)
    for y, end in zip(lines, ends):
        ax.vlines(end, y, y + 1, color=FAINT, linewidth=0.8)
    ax.barh(lines, steps, 0.62, left=starts, color=np.where(steps >= 0, UP, DOWN))
    if view.interval:
        ax.errorbar(ends, lines, xerr=reach, fmt="none", ecolor=INK, elinewidth=1, capsize=3)
    write = number(steps)
    for y, step, start, end, half in zip(lines, steps, starts, ends, np.nan_to_num(reach)):
        right = step >= 0
        at = max(start, end + half) if right else min(start, end - half)
        ax.annotate(
            write(step), (at, y), (5 if right else -5, 0), textcoords="offset points", ha="left" if right else "right", va="center",
            fontsize=8.5, color=SMALL,
        )  # fmt: skip
    for line, at in ((0, view.base[0]), (len(steps) + 1, view.prediction[0])):
        ax.plot([at, at], [line - 0.31, line + 0.31], color=INK, linewidth=2)
        ax.annotate(_plain(at, view), (at, line), (6, 0), textcoords="offset points", va="center", fontsize=8.5, color=INK)
    features(ax, ["base", *names, "prediction"], [False, *greys, False])
    ax.margins(x=0.17)  # room for the numbers at both ends
    caption = "From the base at the top, each feature moves the prediction right (orange) or left (blue)."
    caption += f" Thin lines: {view.interval}." if view.interval else ""
    words(ax, title, _title(view), view.quantity, caption)
    return ax


def bar(e: Attributions, max_display: int | None, output: str | None, ax: Axes | None, title: str | None) -> Axes:
    """Draw the attributions of a row, the largest first."""
    view = _view(e, 0, output)
    steps, reach, names, greys = _steps(view, max_display)
    ax = axes(ax, 7, 1.6 + 0.34 * len(steps))
    lines = np.arange(len(steps))
    ax.axvline(0, color=SMALL, linewidth=0.8)
    ax.barh(lines, steps, 0.62, color=np.where(steps >= 0, UP, DOWN))
    if view.interval:
        ax.errorbar(steps, lines, xerr=reach, fmt="none", ecolor=INK, elinewidth=1, capsize=3)
    features(ax, names, greys)
    caption = "Orange features raise the prediction, blue ones lower it." + (f" Thin lines: {view.interval}." if view.interval else "")
    words(ax, title, _title(view), f"attribution to {view.quantity}", caption)
    return ax


def force(e: Attributions, row: int, max_display: int | None, output: str | None, ax: Axes | None, title: str | None) -> Axes:
    """Draw what raises against what lowers the prediction of a row; both meet at it."""
    view = _view(e, row, output)
    steps, reach, names, _ = _steps(view, max_display)
    ax = axes(ax, 9, 2.9)
    meeting = view.prediction[0]
    span = np.abs(steps).sum() or 1.0
    places: list[tuple[float, int, str]] = []  # middle, sign and text of each part
    for sign, colour in ((1, UP), (-1, DOWN)):
        edge = meeting
        for d in np.flatnonzero(sign * steps > 0):
            size = abs(steps[d])
            ax.barh(0, -sign * size, 0.5, left=edge, color=colour, edgecolor="white", linewidth=1.2)
            places.append((edge - sign * size / 2, sign, names[d]))
            edge -= sign * size
            if view.interval and np.isfinite(reach[d]):
                y = -0.17 + 0.34 * (len(places) % 4) / 3
                ax.plot([edge - reach[d], edge + reach[d]], [y, y], color=INK, linewidth=0.8, alpha=0.7)
    lowest = _labels(ax, places, span)
    for at, words_, style in ((meeting, "prediction", "-"), (view.base[0], "base", "--")):
        ax.plot([at, at], [-0.25, 0.42], color=INK if style == "-" else SMALL, linewidth=1.2, linestyle=style, zorder=4)
        ax.annotate(
            f"{words_} {_plain(at, view)}", (at, 0.42), (0, 2), textcoords="offset points", ha="center", va="bottom", fontsize=9,
            color=INK if style == "-" else SMALL,
        )  # fmt: skip
    if abs(meeting - view.base[0]) < 0.16 * span:  # the second word would lie on the first
        ax.texts[-1].set_position((0, 14))
    ax.set_yticks([])
    ax.set_ylim(lowest - 0.2, 0.85)
    ax.margins(x=0.03)
    caption = "Orange features raise the prediction from the left, blue ones lower it from the right; they meet at it."
    caption += f" Thin lines: {view.interval} of the part that ends there." if view.interval else ""
    words(ax, title, _title(view), view.quantity, caption)
    return ax


def _labels(ax: Axes, places: list[tuple[float, int, str]], span: float) -> float:
    """Write the names of parts below them, on lines that have room, and return the height of the lowest."""
    rooms, lowest = [-np.inf] * 5, -0.25
    width = 0.0125 * span  # of a letter, about
    for middle, sign, text in sorted(places):
        text = shortened(text, 30)
        half = width * len(text) / 2
        line = next((k for k, end in enumerate(rooms) if middle - half > end), None)
        if line is None:
            continue
        rooms[line] = middle + half + width
        y = -0.42 - 0.17 * line
        lowest = min(lowest, y)
        ax.plot([middle, middle], [-0.25, y + 0.06], color=FAINT, linewidth=0.8, zorder=0)
        ax.text(middle, y, text, ha="center", va="center", fontsize=8.5, color=UP if sign > 0 else DOWN)
    return lowest


def _view(e: Attributions, row: int, output: str | None) -> View:
    count = len(e._values)
    if not -count <= row < count:
        raise IndexError(f"row {row} does not exist: the explanation has {count} rows")
    if e._dropped[ROWS] and row:
        raise IndexError(f"row {row} does not exist: the explanation has one row")
    if output is None:  # the most probable class
        output = e.output_names[int(e._prediction[row].argmax())]
    return View.of(_alone(e, row), output)


def _alone(e: Attributions, row: int) -> Attributions:
    """Return the row with its own order of features."""
    return e._select([np.array([row % len(e._values)]), *(np.arange(n) for n in e._values.shape[1:])], e._dropped)


def _steps(view: View, max_display: int | None) -> tuple[np.ndarray, np.ndarray, list[str], list[bool]]:
    """Return attributions, reaches, names and whether they are grey, the largest first; the last contains all others."""
    if max_display is not None and max_display < 1:
        raise ValueError(f"max_display is {max_display}: it must be at least 1")
    count = len(view.names)
    shown = count if max_display is None or max_display >= count else max_display - 1
    names = [view.cell(0, d) for d in range(shown)]
    greys = [not view.observed[0, d] for d in range(shown)]
    steps, reach = view.values[0, :shown], view.reach[0, :shown]
    if shown < count:
        steps, reach = np.append(steps, view.values[0, shown:].sum()), np.append(reach, np.nan)
        names, greys = [*names, f"{count - shown} others"], [*greys, True]
    return steps, reach, names, greys


def _plain(value: float, view: View) -> str:
    """Write a prediction with the digits that attributions of its row need."""
    return digits(np.abs(view.values))(value).replace("-", "−")


def _title(view: View) -> str:
    std = view.prediction_std[0]
    sure = "" if np.isnan(std) else f" ± {digits(np.abs(view.values))(std)}"
    return f"Row {view.row_names[0]}: {view.quantity} {_plain(view.prediction[0], view)}{sure}"
