"""Plots of an explanation."""

from __future__ import annotations

from collections.abc import Sequence

from . import _picture
from ._attributions import Attributions
from ._picture import Kind, Picture


class Plots:
    """Plots of an explanation. ``e.plot`` returns it."""

    def __init__(self, explanation: Attributions):
        self._e = explanation

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
