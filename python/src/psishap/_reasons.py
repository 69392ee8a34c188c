"""Reasons: which players are sure to have moved a prediction, in words."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._cells import Floats, missing, text
from ._law import Law


@dataclasses.dataclass(frozen=True)
class Reason:
    """A player that is sure to have raised or lowered an output: its interval holds no 0."""

    player: str
    value: Any  #: what the row had, None if the player is a group of columns
    mean: float
    lower: float
    upper: float
    p_larger: float | None  #: probability to outweigh the next reason, None for the last
    words: str  #: as ``psi explain --reasons`` has them

    def __str__(self) -> str:
        return self.words


def reasons(
    players: Sequence[str], mean: Floats, std: Floats, observed: npt.NDArray[np.bool_], cells: Mapping[str, Any], k: int, z: float, law: Law
) -> list[Reason]:
    """The at most k most important players of one row and output whose interval holds no 0, the largest first.

    ``std`` is what ``law`` measures in: doubt, or spread. ``cells`` has what the row holds of the players that are columns.
    """
    half, wide = law.reach(z) * std, law.width * std
    sure = np.flatnonzero(observed & (np.abs(mean) > half))
    sure = sure[np.argsort(-np.abs(mean[sure]), kind="stable")][:k]
    write = digits(np.maximum(np.abs(mean), half / 100))
    out = []
    for place, d in enumerate(sure.tolist()):
        name, size, reach = players[d], abs(mean[d]), half[d]
        value = cells.get(name)
        said = name
        if name in cells:
            said += " missing" if missing(value) else f" = {text(value)}"
        words = f"{said} {'raises' if mean[d] > 0 else 'lowers'} it by {write(size)} ({write(size - reach)} to {write(size + reach)})"
        p = None
        if place + 1 < len(sure):
            after = sure[place + 1]
            p = p_larger(mean[d], wide[d], mean[after], wide[after])
            if p < 0.95:  # what is said to be so is at least so sure
                words += f"; {100 * p:.0f}% sure to outweigh the next"
        out.append(Reason(name, value, float(mean[d]), float(mean[d] - reach), float(mean[d] + reach), p, words))
    return out


def p_larger(mean_a: float, std_a: float, mean_b: float, std_b: float) -> float:
    """P(|A| > |B|) of independent A ~ N(mean_a, std_a²) and B ~ N(mean_b, std_b²).

    U = A + B and V = A − B are normal with correlation ρ = (std_a² − std_b²)/(std_a² + std_b²), and |A| > |B| where both have one
    sign: 1 − Φ(h) − Φ(k) + 2 Φ₂(h, k; ρ), which Owen's T gives.
    """
    from scipy.special import ndtr, owens_t

    if std_a == 0 and std_b == 0:
        return (1 + np.sign(abs(mean_a) - abs(mean_b))) / 2
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
    """How to write numbers so that the largest has three digits."""
    largest = sizes.max(initial=0)
    if not largest > 0:
        return lambda v: f"{v:.3f}"
    magnitude = math.floor(math.log10(largest))
    if magnitude < -6 or magnitude > 8:
        return lambda v: f"{v:.2e}"
    return lambda v: f"{v:.{max(0, 2 - magnitude)}f}"
