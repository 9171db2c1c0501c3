"""Averages of Davidson's answer probabilities over a Gaussian margin, with derivatives, as EP needs them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["AnswerMoments", "average_answers", "in_rules"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_NARROW_SD = 0.5  # up to this standard deviation seven Gauss-Hermite points err by under 1e-6
FIRST_WIDTH_SD = 1.6  # up to this one 17 equidistant points do, by under 2e-5; twice the width takes twice the points


@dataclass(frozen=True, eq=False)
class AnswerMoments:
    """Averages over margins N(mean, variance) and their first and second derivatives in the mean, each (3, n).

    right: P(win), g(d) = e^(d/2) / (e^(d/2) + e^(-d/2) + nu).   wrong: the same of -d.
    tie: nu / (e^(d/2) + e^(-d/2) + nu), all zero for nu = 0.
    tied_right, tied_wrong, tied_tie (n,): averages of g(d) tie(d), g(-d) tie(d) and tie(d)^2.
    """

    right: Floats
    wrong: Floats
    tie: Floats
    tied_right: Floats
    tied_wrong: Floats
    tied_tie: Floats


def average_answers(mean: Floats, variance: Floats, log_nu: Floats | float) -> AnswerMoments:
    """Average over margins (n,); error below 3e-5. log_nu, of each or of all: -inf without ties."""
    result = np.empty((12, len(mean)))
    for part, d, weights in in_rules(mean, variance):
        result[:, part] = _averages(d, weights, log_nu[part] if isinstance(log_nu, np.ndarray) else log_nu)
    return AnswerMoments(result[0:3], result[3:6], result[6:9], result[9], result[10], result[11])


def in_rules(mean: Floats, variance: Floats) -> Iterator[tuple[Ints, Floats, Floats]]:
    """Yield (rows, nodes (n, n_nodes), their weights): quadrature over N(mean, variance), like widths together."""
    sd = np.sqrt(np.maximum(variance, 0.0))
    width = np.where(sd <= MAX_NARROW_SD, -1, np.ceil(np.log2(np.maximum(sd, FIRST_WIDTH_SD) / FIRST_WIDTH_SD))).astype(
        np.int64
    )
    for one in np.unique(width):
        rows = np.flatnonzero(width == one)
        nodes, weights = _rule(int(one))
        for part in np.array_split(rows, 1 + len(rows) * len(nodes) // 40_000):
            yield part, mean[part, None] + sd[part, None] * nodes, weights


def _rule(width: int) -> tuple[Floats, Floats]:
    """Return nodes and weights for the standard normal distribution."""
    if width < 0:
        nodes, weights = np.polynomial.hermite_e.hermegauss(7)
    else:
        nodes = np.linspace(-6.0, 6.0, 16 * 2**width + 1)
        weights = np.exp(-(nodes**2) / 2)
    return nodes, weights / weights.sum()


def _averages(d: Floats, weights: Floats, log_nu: Floats | float) -> Floats:
    """Return the rows of AnswerMoments, in its order, (12, n), from margins d (n, n_nodes)."""
    decay, nu = np.exp(-np.abs(d) / 2), np.exp(np.reshape(log_nu, (-1, 1)))
    if not nu.any():
        larger = 1 / (1 + decay * decay)
    else:
        tie = nu * decay
        larger = 1 / (1 + decay * decay + tie)
        tie *= larger
    decay *= decay * larger
    right, wrong = np.where(d >= 0, larger, decay), np.where(d >= 0, decay, larger)
    if not nu.any():
        first = right * wrong
        one, two = first @ weights, (first * (wrong - right)) @ weights
        none = np.zeros_like(one)
        return np.stack([right @ weights, one, two, wrong @ weights, -one, -two] + [none] * 6)
    slope = (right - wrong) / 2  # of log(e^(d/2) + e^(-d/2) + nu)
    square = slope * slope
    bend = (right + wrong) / 4 - square
    curved = square + 0.25 - bend
    rows = [right, right * (0.5 - slope), right * (curved - slope)]
    rows += [wrong, -wrong * (0.5 + slope), wrong * (curved + slope)]
    rows += [tie, -tie * slope, tie * (square - bend), right * tie, wrong * tie, tie * tie]
    return np.stack([row @ weights for row in rows])
