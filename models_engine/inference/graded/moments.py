"""Averages of graded answers' probabilities over a Gaussian margin, with derivatives, as EP needs them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from models_engine.inference.davidson.moments import in_rules

__all__ = ["GradedMoments", "average_between"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GradedMoments:
    """P(low < d + noise < high), noise logistic, averaged over margins d ~ N(mean, variance), and derivatives.

    between (3, n): the average, and its first and second derivative in the mean.
    by_low, by_high (n,): its derivatives in the thresholds; by_high is 0 where high is infinite.
    """

    between: Floats
    by_low: Floats
    by_high: Floats

    @property
    def reversed(self) -> "GradedMoments":
        """Return the same of margins -d, if these are those of N(-mean, variance)."""
        return GradedMoments(self.between * np.array([[1.0], [-1.0], [1.0]]), self.by_low, self.by_high)


def average_between(mean: Floats, variance: Floats, low: Floats, high: Floats) -> GradedMoments:
    """Average over margins (n,); low < high (n,), high may be infinite. Error below 3e-5.

    s(d - low) - s(d - high) = s(d - low) s(high - d) (1 - exp(low - high)), s the logistic, which loses no digits.
    """
    result = np.empty((5, len(mean)))
    gap = -np.expm1(low - high)
    for part, d, weights in in_rules(mean, variance):
        above, below = expit(d - low[part, None]), expit(high[part, None] - d)
        answer = above * below * gap[part, None]
        by_low, by_high = above * (1 - above), below * (1 - below)
        slope = below - above  # of log(answer), and its bend is by_low + by_high
        rows = (answer, answer * slope, answer * (slope**2 - by_low - by_high), -by_low, by_high)
        result[:, part] = [row @ weights for row in rows]
    return GradedMoments(result[:3], result[3], result[4])
