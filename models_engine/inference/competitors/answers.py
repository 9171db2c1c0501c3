"""Davidson's answer to a pair averaged over a Gaussian margin: log normaliser, its slope and curvature, ties."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_engine.linalg import chunk_slices

__all__ = ["Averages", "average_answers"]

Floats = NDArray[np.float64]
N_POINTS = 11  # of Gauss-Hermite: at a variance of 4 every figure errs by under 2e-3, the total by under 2e-4
MAX_MARGIN = 400.0  # larger margins are clipped, which does not change probabilities and keeps exp() finite


@dataclass(frozen=True, eq=False)
class Averages:
    """Over z ~ N(mean, variance), each (n,), of L = log(e^(z/2) + e^(-z/2) + nu).

    total: E L.   slope, curvature: E dL/dz, E d2L/dz2.   tie: E dL/dlog nu, which is P(tie).
    tie_slope: E d2L/dz dlog nu.   tie_curvature: E d2L/dlog nu^2.
    """

    total: Floats
    slope: Floats
    curvature: Floats
    tie: Floats
    tie_slope: Floats
    tie_curvature: Floats


def average_answers(mean: Floats, variance: Floats, log_nu: float) -> Averages:
    """Average for margins (n,). log_nu = -inf: no ties.

    P(left) : P(right) : P(tie) = e^(z/2) : e^(-z/2) : nu (Davidson 1970).
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(N_POINTS)
    weights = weights / weights.sum()
    sd, result = np.sqrt(np.maximum(variance, 0.0)), np.empty((6, len(mean)))
    for part in chunk_slices(len(mean), N_POINTS, budget=200_000):
        z = np.clip(mean[part] + sd[part] * nodes[:, None], -MAX_MARGIN, MAX_MARGIN)
        for row, values in enumerate(_at(z, log_nu)):
            result[row, part] = weights @ values
    return Averages(*result)


def _at(z: Floats, log_nu: float) -> list[Floats]:
    """Return the six rows of Averages at margins z (n_points, n)."""
    up = np.exp(z / 2)
    down = 1 / up
    total = up + down + np.exp(log_nu)
    slope, tie = (up - down) / (2 * total), np.exp(log_nu) / total
    curvature = (up + down) / (4 * total) - slope * slope
    return [np.log(total), slope, curvature, tie, -tie * slope, tie * (1 - tie)]
