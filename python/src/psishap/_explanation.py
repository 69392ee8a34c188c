"""Explanations: the attributions of each row with their uncertainty, as tables, plots, reasons and reports."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from . import _html, _picture, _plots, _tables
from ._attributions import Attributions
from ._axes import FEATURES, OUTPUTS, ROWS
from ._cells import numeric
from ._frames import from_arrow, kind
from ._reasons import Reason, digits, reasons

if TYPE_CHECKING:
    import pandas
    import shap


class Explanation(Attributions):
    """Attributions of rows, with their uncertainty. :meth:`psishap.Model.explain` returns it.

    In every row, ``base_values`` plus the sum of ``values`` over the features is the ``prediction``. If a cell is missing, the value, the
    spread and the doubt of its feature are 0.

    Arrays have the shapes of shap: ``values`` is (rows, features), ``base_values`` is (rows,). For several outputs, such as three classes,
    both have a last axis for them. ``np.asarray(e)`` and ``e.shape`` are those of ``values``.

    An index selects rows, features and outputs: ``e[3]``, ``e[mask]``, ``e[:, "age"]``, ``e[:10, ["age", "sex"]]``, ``e[..., "yes"]``. As
    in numpy, a number or a name drops its axis: the values of ``e[3]`` have the shape (features,). ``for row in e`` yields rows.

    Attributes
    ----------
    output_names : list of str
        Name of the target for a number, the positive class for two classes, or all classes if there are more.
    scale : str
        Scale of predictions and attributions. For a number: ``identity`` (units of the target), ``log-mean`` (log of its mean) or ``log``
        (mean of its log). For classes: ``logit`` (log odds of the positive class), ``score`` (of a class, before softmax) or ``share``
        (the probability itself, for forests of :func:`from_model`).
    bags : int
        Number of networks, trained on resampled rows, that estimate the doubt; 0 if it is unknown.
    unknown : list of str
        Columns that were treated as missing.
    z : float
        Intervals have the probability of ∓ z standard deviations of a normal distribution: 1.96 is 95 %.
    X
        The explained rows, as passed in.
    """

    # Tables.

    def attributions(self) -> Any:
        """Return a table of the attributions alone, with the names of the features as columns, in the format of the explained rows.

        A pandas frame keeps its index. An array gives a pandas frame, or an array if pandas is not installed. For several outputs, the
        table has one line per row and output, and a first column ``output``.
        """
        return _tables.attributions(self)

    def importance(self) -> pandas.Series | dict[str, float]:
        """Return the mean absolute attribution of each feature over rows and outputs, largest first, as a pandas Series.

        If pandas is not installed, return a dict.
        """
        sizes = self._importance()
        try:
            import pandas as pd
        except ImportError:
            return sizes
        return pd.Series(sizes, dtype=float)

    def _importance(self) -> dict[str, float]:
        size = np.abs(self._values).mean(axis=(ROWS, OUTPUTS)) if self._values.size else np.zeros(len(self.feature_names))
        return {self.feature_names[d]: float(size[d]) for d in np.argsort(-size, kind="stable")}

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table with one line per row and output, and the columns of ``psi explain -o x.arrow``."""
        return _tables.wide(self)

    def to_pandas(self, layout: Literal["wide", "long"] = "wide") -> pandas.DataFrame:
        """Return a pandas data frame: ``wide`` has one line per row and output, ``long`` one per row, output and feature.

        It keeps the index of the explained rows, if they have one.
        """
        if layout not in ("wide", "long"):
            raise ValueError(f"layout is {layout!r}: it must be wide or long")
        return _tables.indexed(self.to_arrow().to_pandas() if layout == "wide" else _tables.long(self), self.X)

    @property
    def frame(self) -> Any:
        """The table of :meth:`to_arrow`, in the format of the explained rows.

        The format is pandas (with its index), polars, pyarrow or numpy.
        """
        return self.to_pandas() if kind(self.X) == "pandas" else from_arrow(self.to_arrow(), self.X)

    # Other representations.

    def to_shap(self) -> shap.Explanation:
        """Convert to a :class:`shap.Explanation`, for the plots of shap.

        ``error_std`` is ``spread``. ``lower_bounds`` and ``upper_bounds`` are ``lower`` and ``upper``, which ``shap.plots.waterfall``
        draws. For labels, ``data`` contains their positions, and ``display_data`` the labels. Ordered categories keep their order; other
        labels are sorted. Times become years, because shap draws numbers. If ``interval`` is ``none``, ``error_std`` and the bounds are
        None.
        """
        import shap

        one, known = self._dropped[OUTPUTS], self.interval != "none"

        def turned(array: Any) -> Any:
            return array[..., 0] if one else array

        data, shown = numeric(self._rows, self._columns, self.unknown)
        whole = shap.Explanation(
            values=turned(self._values),
            base_values=turned(self._base_values),
            data=data,
            display_data=shown,
            feature_names=list(self.feature_names),
            output_names=None if one else list(self.output_names),
            error_std=turned(self._spread) if known else None,
            lower_bounds=turned(self._values - self._reach) if known else None,
            upper_bounds=turned(self._values + self._reach) if known else None,
        )
        kept = tuple(0 if self._dropped[axis] else slice(None) for axis in (ROWS, FEATURES))
        return whole if kept == (slice(None), slice(None)) else whole[kept]

    def reasons(self, k: int = 3, output: str | None = None) -> list[Any]:
        """Return for each row a list of its most important features whose interval does not contain 0: at most k, largest first.

        For a single row, as in ``e[0].reasons()``, return its list. ``str`` of a :class:`Reason` is the text of ``psi explain --reasons``.
        With several outputs, the default is the output with the highest prediction in each row. If ``interval`` is ``none``, all features
        count whose attribution is not 0.
        """
        if k < 1:
            raise ValueError(f"k is {k}: it must be at least 1")
        chosen = np.full(len(self._values), self._output(output)) if output is not None else self._prediction.argmax(axis=1)
        observed = self._observed
        columns = {name: self._rows.column(c) for name, c in zip(self.feature_names, self._columns) if c in self._rows.column_names}

        def of(i: int) -> list[Reason]:
            cells = {name: column[i].as_py() for name, column in columns.items()}
            value, std = self._values[i, :, chosen[i]], self._deviations[i, :, chosen[i]]
            return reasons(self.feature_names, value, std, observed[i], cells, k, self.z, self._law)

        return of(0) if self._dropped[ROWS] else [of(i) for i in range(len(self._values))]

    @property
    def plot(self) -> _plots.Plots:
        """Plots of these numbers, such as ``e.plot.bar()`` and ``e.plot.waterfall(row=3)``; see :class:`Plots`."""
        return _plots.Plots(self)

    def report(self, path: str, *, y: Any = None, by: str | None = None) -> str:
        """Write a report on the model and these rows as one HTML file, and return its path.

        With the true outcomes ``y``, the report also evaluates the predictions. It compares importances between the values of the column
        ``by``. The program psi explains the rows again for it.
        """
        return _picture.report(self, path, y=y, by=by)

    def __repr__(self) -> str:
        rows, features, outputs = self._values.shape
        of = repr(self.output_names[0]) if outputs == 1 else f"{outputs} classes"
        how = "exact Shapley values of the model" if self.exact else "approximate Shapley values of the model (head='learned')"
        if self.game != "observational":
            how += f" ({self.game})"
        sure = "no intervals" if self.interval == "none" else f"intervals by {self.interval}"
        first = f"Explanation of {of}: {rows:,} rows, {features} features, {how}, scale {self.scale}, {sure}"
        top = list(self._importance().items())[:5]
        write = digits(np.array([size for _, size in top]))
        return first + "\nmean absolute attributions: " + ", ".join(f"{name} {write(size)}" for name, size in top)

    def _repr_html_(self) -> str:
        return self._page

    @functools.cached_property
    def _page(self) -> str:
        return _html.page(self, repr(self))
