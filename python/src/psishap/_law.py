"""Distribution of attributions around their means: by doubt (epistemic uncertainty), or by spread if the doubt is unknown."""

from __future__ import annotations

import math

import numpy as np

from ._cells import Floats


class Law:
    """Distribution of an attribution around its mean, in standard deviations.

    Doubt is estimated from few networks ("bags"), so the distribution is Student's t with bags − 1 degrees of freedom. Without bags
    it is the normal distribution of the spread.
    """

    def __init__(self, bags: int):
        self.freedom = max(1, bags - 1) if bags else 0  # 0 means normal

    def reach(self, z: float) -> float:
        """Return half the width of the interval with the probability of ∓ z standard deviations of a normal distribution."""
        from scipy.special import ndtr, stdtrit

        return -float(stdtrit(self.freedom, ndtr(-z))) if self.freedom else z

    @property
    def width(self) -> float:
        """The standard deviation, √(ν/(ν − 2)) of Student's t."""
        return math.sqrt(self.freedom / max(1, self.freedom - 2)) if self.freedom else 1.0

    def above(self, ratio: Floats) -> Floats:
        """Return P(φ > 0) for attributions with this ratio of mean to standard deviation."""
        from scipy.special import ndtr, stdtr

        return np.asarray(stdtr(self.freedom, ratio) if self.freedom else ndtr(ratio))
