"""Averages a fit over what is open about the scale of its prior."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["NEARLY_KNOWN", "ScaleMixture", "mix_over_scales"]

Floats = NDArray[np.float64]
Point = tuple[float, float]
NEARLY_KNOWN = 0.2  # standard deviation of log prior_sd up to which x changes along a line in it
PROBE = 0.1  # step of log prior_sd for its curvature
SPACING = 1.0  # of nodes, in standard deviations of log prior_sd
LOW = -6.0  # log density, that of the mode 0, below which there are no nodes
MAX_NODES = 12  # on each side


@dataclass
class ScaleMixture:
    """Mean (n,) and covariance (n, n) of x under fits at several scales, summed as they come."""

    size: int
    weight: float = 0.0
    first: Floats = field(init=False)
    second: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.first, self.second = np.zeros(self.size), np.zeros((self.size, self.size))

    def add(self, weight: float, x: Floats, covariance: Floats) -> None:
        self.weight += weight
        self.first += weight * x
        self.second += weight * (covariance + np.outer(x, x))

    def moments(self) -> tuple[Floats, Floats]:
        mean = self.first / self.weight
        return mean, self.second / self.weight - np.outer(mean, mean)


def mix_over_scales(
    mode: float, fit: Callable[[float], tuple[float, Floats, Callable[[], Floats]]]
) -> tuple[Floats, Floats]:
    """Return mean (n,) and covariance (n, n) of x, the scale integrated.

    mode: log prior_sd of the greatest density p(log prior_sd | labels).   fit: of a log prior_sd, the slope of the log
    density there, x (n,) and how to compute its covariance (n, n).
    A nearly known scale adds its variance times the square of what x changes by log prior_sd, both told by a second fit
    PROBE above, to the covariance at the mode, which gives standard deviations within 2% on average of what nodes give.
    Otherwise there are nodes, a standard deviation apart, as far as the density matters. Its log is the integral of its
    slopes, quadratic between nodes; so integrated, a normal density has its moments within a hundredth.
    """
    slope, x, covariance = fit(mode)
    ahead, moved, _ = fit(mode + PROBE)
    deviation = np.sqrt(PROBE / max(slope - ahead, PROBE / 4))  # at most 2, twice that of the prior
    if deviation <= NEARLY_KNOWN:
        along = deviation * (moved - x) / PROBE
        return x, covariance() + np.outer(along, along)
    mixture = ScaleMixture(len(x))
    mixture.add(1.0, x, covariance())
    beside = mode + PROBE, ahead
    for step in (SPACING * deviation, -SPACING * deviation):
        last, before, density = (mode, slope), beside, 0.0
        for _ in range(MAX_NODES):
            position = last[0] + step
            bend = (last[1] - before[1]) / (last[0] - before[0])
            if density + step * last[1] + step**2 * bend / 2 < LOW:  # the next node's, were the slope a line
                break
            after, x, covariance = fit(position)
            node = position, after
            density += _integrate(last, node, before)
            mixture.add(float(np.exp(density)), x, covariance())
            if last[0] == mode:
                beside = node
            last, before = node, last
    return mixture.moments()


def _integrate(start: Point, end: Point, third: Point) -> float:
    """Integrate the quadratic through three points, each (position, value), from start to end."""
    (a, at_a), (b, at_b), (c, at_c) = start, end, third
    bend = ((at_c - at_b) / (c - b) - (at_b - at_a) / (b - a)) / (c - a)
    return (b - a) * (at_a + at_b) / 2 - bend * (b - a) ** 3 / 6
