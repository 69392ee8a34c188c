"""Reasons: the features that moved a prediction beyond their uncertainty, in words."""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _former
from ._cells import Floats, missing, text
from ._law import Law


@dataclasses.dataclass(frozen=True)
class Reason:
    """A column or group that raised or lowered an output beyond its uncertainty: its interval does not contain 0.

    If the uncertainty is unknown, ``lower`` and ``upper`` are NaN.
    """

    feature: str
    value: Any  #: cell of the row, None for a group of columns
    mean: float
    lower: float
    upper: float
    p_larger: float | None  #: probability of outweighing the next reason, None for the last one or if it is unknown
    words: str  #: text of ``psi explain --reasons``

    def __str__(self) -> str:
        return self.words

    def _repr_html_(self) -> str:
        before, feature, after = self.words.partition(self.feature)
        return f"<p>{html.escape(before)}<b>{html.escape(feature)}</b>{html.escape(after)}</p>"

    if not TYPE_CHECKING:

        @property
        def player(self) -> str:
            _former.warn("Reason.player", "Reason.feature")
            return self.feature


def reasons(
    features: Sequence[str],
    mean: Floats,
    std: Floats,
    observed: npt.NDArray[np.bool_],
    cells: Mapping[str, Any],
    k: int,
    z: float,
    law: Law,
) -> list[Reason]:
    """Return the most important features of one row and output whose interval does not contain 0: at most k, largest first.

    ``std`` is the doubt or the spread, as ``law`` needs it, or NaN. ``cells`` contains the cells of the features that are columns.
    """
    half, wide = law.reach(z) * std, law.width * std
    sure = np.flatnonzero(observed & (np.abs(mean) > np.nan_to_num(half)))
    sure = sure[np.argsort(-np.abs(mean[sure]), kind="stable")][:k]
    write = digits(np.fmax(np.abs(mean), half / 100))
    out = []
    for place, d in enumerate(int(d) for d in sure):
        name, size, reach = features[d], float(abs(mean[d])), float(half[d])
        value = cells.get(name)
        said = name
        if name in cells:
            said += " missing" if missing(value) else f" = {text(value)}"
        words = f"{said} {'raises' if mean[d] > 0 else 'lowers'} it by {write(size)}"
        if not math.isnan(reach):
            words += f" ({write(size - reach)} to {write(size + reach)})"
        p = None
        if place + 1 < len(sure) and not math.isnan(reach):
            after = sure[place + 1]
            p = p_larger(float(mean[d]), float(wide[d]), float(mean[after]), float(wide[after]))
            if p < 0.95:  # an order without a percentage is at least 95 % sure
                words += f"; {100 * p:.0f}% sure to outweigh the next"
        out.append(Reason(name, value, float(mean[d]), float(mean[d] - reach), float(mean[d] + reach), p, words))
    return out


def p_larger(mean_a: float, std_a: float, mean_b: float, std_b: float) -> float:
    """Return P(|A| > |B|) for independent A ~ N(mean_a, std_a²) and B ~ N(mean_b, std_b²).

    U = A + B and V = A − B are normal with correlation ρ = (std_a² − std_b²)/(std_a² + std_b²). |A| > |B| if both have the same sign,
    with the probability 1 − Φ(h) − Φ(k) + 2 Φ₂(h, k; ρ), which Owen's T gives.
    """
    from scipy.special import ndtr, owens_t

    if std_a == 0 and std_b == 0:
        return float(1 + np.sign(abs(mean_a) - abs(mean_b))) / 2
    if std_b == 0:
        return float(ndtr((mean_a - abs(mean_b)) / std_a) + ndtr((-mean_a - abs(mean_b)) / std_a))
    if std_a == 0:
        return 1 - p_larger(mean_b, std_b, mean_a, std_a)
    both = std_a**2 + std_b**2
    rho, root = (std_a**2 - std_b**2) / both, 2 * std_a * std_b / both
    h, k = (mean_a + mean_b) / math.sqrt(both), (mean_a - mean_b) / math.sqrt(both)
    if h == 0 and k == 0:
        return 0.5 + math.asin(rho) / math.pi

    def tail(x: float, y: float) -> float:
        slope = (y - rho * x) / (x * root) if x != 0 else math.copysign(math.inf, y)
        return float(owens_t(x, slope))

    apart = 0 if h * k > 0 or (h * k == 0 and h + k >= 0) else 1
    return 1 - apart - 2 * tail(h, k) - 2 * tail(k, h)


def digits(sizes: Floats) -> Callable[[float], str]:
    """Return a format for numbers that gives the largest of them three digits."""
    largest = sizes.max(initial=0)
    if not largest > 0:
        return lambda v: f"{v:.3f}"
    magnitude = math.floor(math.log10(largest))
    if magnitude < -6 or magnitude > 8:
        return lambda v: f"{v:.2e}"
    return lambda v: f"{v:.{max(0, 2 - magnitude)}f}"
