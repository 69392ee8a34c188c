"""Plots of an explanation: by matplotlib from its numbers, or by the program psi."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, get_args

from . import _former, _picture
from ._attributions import Attributions
from ._axes import ROWS
from ._picture import Kind, Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Plots:
    """Plots of an explanation, such as ``e.plot.bar()``. They draw the numbers of the explanation, and explain nothing again.

    Each method draws with matplotlib on ``ax``, or on a new figure, and returns the axes. ``e.plot.bar().figure.savefig("bar.png")`` writes
    a file. Methods have these parameters where they apply:

    - ``max_display``: maximum number of features to show; None shows all.
    - ``output``: class to show, if there are several. The default is the most probable class for plots of a row, and the first for others.
    - ``ax``: axes of matplotlib to draw on.
    - ``title``: title of the plot; an empty text writes none.

    Intervals have the probability of ∓ ``z`` standard deviations of a normal distribution, as ``lower`` and ``upper`` of the explanation.
    The caption of each plot says what they mean. Plots of many rows show at most 5,000 rows, drawn at random with a fixed seed.
    """

    def __init__(self, explanation: Attributions):
        self._e = explanation

    def bar(self, max_display: int | None = 10, *, output: str | None = None, ax: Axes | None = None, title: str | None = None) -> Axes:
        """Plot the importance of features: their mean absolute attributions.

        The bars of several classes are stacked. For a single row, as in ``e[0].plot.bar()``, plot its attributions.
        """
        many, one = self._figures()
        drawn: Axes = (one if self._e._dropped[ROWS] else many).bar(self._e, max_display, output, ax, title)
        return drawn

    def beeswarm(
        self, max_display: int | None = 10, *, output: str | None = None, ax: Axes | None = None, title: str | None = None
    ) -> Axes:
        """Plot one dot per row and feature: its attribution, coloured by its cell."""
        drawn: Axes = self._figures()[0].beeswarm(self._e, max_display, output, ax, title)
        return drawn

    def waterfall(
        self, row: int = 0, max_display: int | None = 10, *, output: str | None = None, ax: Axes | None = None, title: str | None = None
    ) -> Axes:
        """Plot one row, from the base to its prediction."""
        drawn: Axes = self._figures()[1].waterfall(self._e, row, max_display, output, ax, title)
        return drawn

    def force(
        self, row: int = 0, max_display: int | None = 10, *, output: str | None = None, ax: Axes | None = None, title: str | None = None
    ) -> Axes:
        """Plot what raises against what lowers the prediction of one row."""
        drawn: Axes = self._figures()[1].force(self._e, row, max_display, output, ax, title)
        return drawn

    def scatter(
        self,
        feature: str | None = None,
        color: str | None = None,
        *,
        output: str | None = None,
        ax: Axes | None = None,
        title: str | None = None,
    ) -> Axes:
        """Plot the attribution of a feature by its cell. The default is the most important feature; ``color`` names a second one."""
        drawn: Axes = self._figures()[0].scatter(self._e, feature, color, output, ax, title)
        return drawn

    def heatmap(self, max_display: int | None = 10, *, output: str | None = None, ax: Axes | None = None, title: str | None = None) -> Axes:
        """Plot the attributions of many rows as colours, at most 1,000 rows."""
        drawn: Axes = self._figures()[0].heatmap(self._e, max_display, output, ax, title)
        return drawn

    def decision(
        self, max_display: int | None = 20, *, output: str | None = None, ax: Axes | None = None, title: str | None = None
    ) -> Axes:
        """Plot the paths of rows from the base to their predictions, at most 40 rows."""
        drawn: Axes = self._figures()[0].decision(self._e, max_display, output, ax, title)
        return drawn

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name == "dependence":
                _former.warn("Plots.dependence", "Plots.scatter")
                return self.scatter
            if name in get_args(Kind):
                raise AttributeError(f"the program draws this picture: write e.plot.svg({name!r})", name=name, obj=self)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def svg(
        self,
        kind: Kind,
        *,
        row: int = 0,
        columns: Sequence[str] | None = None,
        max_display: int | None = None,
        output: str | None = None,
        interactions: bool = False,
        since: Attributions | None = None,
        title: str | None = None,
        size: tuple[float, float] | None = None,
        z: float | None = None,
        dark: bool = False,
    ) -> Picture:
        """Return a picture that the program psi draws: without matplotlib, with a caption, as SVG, PNG or PDF.

        The program explains the rows again: the picture shows its numbers, not changes of the arrays of this explanation. Pictures of many
        rows show at most 5,000 rows, drawn at random with a fixed seed.

        Parameters
        ----------
        kind
            ``bar``, ``beeswarm``, ``waterfall``, ``force``, ``dependence``, ``decision`` and ``heatmap``, as the methods of this class
            draw them. ``ranking``: the order of the columns of a row for different interval widths. ``interaction``: interactions between
            pairs of columns. ``groups``: importance by the values of a column. ``drift``: changes in attributions since earlier rows.
        row
            Row of a picture of one row: ``waterfall``, ``force`` or ``ranking``.
        columns
            Columns to show; the default is the most important ones. For ``dependence``, the second column colours the dots. For
            ``groups``, the first column defines the groups.
        max_display
            Maximum number of columns to show.
        output
            Class to show, if there are several.
        interactions
            Whether a ``waterfall`` splits attributions into main effects and pairwise interactions.
        since
            Explanation of earlier rows, for ``drift``. If the model was trained with ``validation_by`` and both explained tables have that
            column, the picture compares groups of rows with equal values instead of single rows.
        title
            Title of the picture.
        size
            Width and height in inches.
        z
            Intervals have the probability of ∓ z standard deviations of a normal distribution; the default is that of the explanation.
        dark
            Whether to draw on a dark background.
        """
        return _picture.draw(
            self._e,
            kind,
            row=row,
            columns=columns,
            max_display=max_display,
            output=output,
            interactions=interactions,
            since=since,
            title=title,
            size=size,
            z=z,
            dark=dark,
        )

    def _figures(self) -> tuple[ModuleType, ModuleType]:
        """Return the modules that draw many rows and one row. They import matplotlib."""
        if not len(self._e._values):
            raise ValueError("the explanation has no rows: explain at least one")
        try:
            from . import _figures, _figures_row
        except ModuleNotFoundError as err:
            raise ModuleNotFoundError(
                "matplotlib is not installed: run pip install 'psishap[plots]', or draw without it, as in e.plot.svg(\"bar\")",
                name=err.name,
            ) from err
        return _figures, _figures_row
