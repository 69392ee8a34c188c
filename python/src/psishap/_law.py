"""How attributions are distributed about their means: by doubt, or by spread where doubt is not known."""

from __future__ import annotations

import math

from ._cells import Floats


class Law:
    """The distribution of an attribution about its mean, in standard deviations.

    Doubt is estimated from few networks ("bags"), so it is Student's t with one degree of freedom less than there are. Without
    bags it is the normal distribution of the spread.
    """

    def __init__(self, bags: int):
        self.freedom = max(1, bags - 1) if bags else 0  # 0 is normal

    def reach(self, z: float) -> float:
        """Half the width of an interval that has as much probability as ∓ z has of a normal distribution."""
        from scipy.special import ndtr, stdtrit

        return -float(stdtrit(self.freedom, ndtr(-z))) if self.freedom else z

    @property
    def width(self) -> float:
        """The standard deviation, √(ν/(ν − 2)) of Student's t."""
        return math.sqrt(self.freedom / max(1, self.freedom - 2)) if self.freedom else 1.0

    def above(self, ratio: Floats) -> Floats:
        """P(φ > 0) of attributions by mean/deviation."""
        from scipy.special import ndtr, stdtr

        return stdtr(self.freedom, ratio) if self.freedom else ndtr(ratio)
