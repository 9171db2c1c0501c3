"""Averages a fit over what is open about the scale of its prior."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["SLIGHT", "ScaleMixture", "mix_over_scales"]

Floats = NDArray[np.float64]
Point = tuple[float, float]
SLIGHT = 0.05  # standard deviation of log prior_sd up to which its mode stands for all
PROBE = 0.1  # step of log prior_sd for its curvature
SPACING = 1.0  # of nodes, in standard deviations of log prior_sd
LOW = -6.0  # log density, that of the mode 0, at which nodes end
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
) -> tuple[Floats, Floats] | None:
    """Return mean (n,) and covariance (n, n) of x, the scale integrated; None where the scale is as good as known.

    mode: log prior_sd of the greatest density p(log prior_sd | labels).   fit: of a log prior_sd, the slope of the log
    density there, x (n,) and how to compute its covariance (n, n).
    The log density is the integral of its slopes, quadratic between nodes a standard deviation apart, which PROBE's
    difference of slopes tells; so integrated, a normal density has its moments within a hundredth.
    """
    ahead = fit(mode + PROBE)[0]
    slope, x, covariance = fit(mode)
    deviation = np.sqrt(PROBE / max(slope - ahead, PROBE / 4))  # at most 2, twice that of the prior
    if deviation <= SLIGHT:
        return None
    mixture = ScaleMixture(len(x))
    mixture.add(1.0, x, covariance())
    beside = mode + PROBE, ahead
    for step in (SPACING * deviation, -SPACING * deviation):
        last, before, density = (mode, slope), beside, 0.0
        for _ in range(MAX_NODES):
            position = last[0] + step
            after, x, covariance = fit(position)
            node = position, after
            density += _integrate(last, node, before)
            if density < LOW:
                break
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
