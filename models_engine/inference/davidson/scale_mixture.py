"""Averages a fit over what is open about the scale of its prior."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["NEARLY_KNOWN", "Mixed", "ScaleMixture", "mix_over_scales"]

Floats = NDArray[np.float64]
Point = tuple[float, float]
Fit = Callable[[float], tuple[float, float, Floats, Callable[[], Floats]] | None]
NEARLY_KNOWN = 0.2  # standard deviation of log prior_sd up to which x changes along a line in it
PROBE = 0.1  # step of log prior_sd for its curvature
SPACING = 1.0  # of nodes, in standard deviations of log prior_sd
LEAST_APART = 1e-6  # of nodes, in their usual distance
LOW = -6.0  # log density, that of the mode 0, below which there are no nodes
HIGH = 1.0  # log density of a node, that of the mode 0, that refutes the mode
MAX_NODES = 12  # on each side


class Mixed(NamedTuple):
    """mean (n,) and covariance (n, n) of x.   along (n,): by how much x changes, on a line, where log prior_sd rises by
    its standard deviation; the outer product is part of the covariance.
    """

    mean: Floats
    covariance: Floats
    along: Floats


@dataclass
class ScaleMixture:
    """Moments of x (n,) under fits at several scales, summed as they come; places are from the first one's."""

    size: int
    weight: float = 0.0
    of_place: Floats = field(init=False)  # sums of the place and of its square
    first: Floats = field(init=False)
    with_place: Floats = field(init=False)
    second: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.of_place, self.first, self.with_place = np.zeros(2), np.zeros(self.size), np.zeros(self.size)
        self.second = np.zeros((self.size, self.size))

    def add(self, weight: float, place: float, x: Floats, covariance: Floats) -> None:
        self.weight += weight
        self.of_place += weight * np.array([place, place**2])
        self.first += weight * x
        self.with_place += weight * place * x
        self.second += weight * (covariance + np.outer(x, x))

    def moments(self) -> Mixed:
        mean, (place, square) = self.first / self.weight, self.of_place / self.weight
        deviation = np.sqrt(max(square - place**2, 0.0))
        along = (self.with_place / self.weight - place * mean) / deviation if deviation else np.zeros(self.size)
        return Mixed(mean, self.second / self.weight - np.outer(mean, mean), along)


def mix_over_scales(mode: float, fit: Fit, lowest: float = -np.inf) -> Mixed | None:
    """Return the moments of x, the scale integrated; None where a fit is not found, or where the density is greater by
    more than e-fold elsewhere, so that nothing is known of the scale.

    mode: log prior_sd of the greatest density p(log prior_sd | labels).   fit: of a log prior_sd, the slope of the log
    density there, what its value lacks (evidence_above_bound), x (n,) and how to compute its covariance (n, n); None
    where it is not found, which ends all.
    lowest: log prior_sd below which the density is 0. Where it still falls at the mode, which is then there, a scale is
    nearly known that it leaves within NEARLY_KNOWN, and the mode stands for all.
    A nearly known scale adds its variance times the square of what x changes by log prior_sd, both told by a second fit
    PROBE above, to the covariance at the mode, which gives standard deviations within 2% on average of what nodes give.
    What the density lacks moves it by its variance times the slope of that.
    Otherwise there are nodes, a standard deviation apart, as far as the density matters. Its log is the integral of its
    slopes, quadratic between nodes; so integrated, a normal density has its moments within a hundredth.
    """
    likeliest, beside_it = fit(mode), fit(mode + PROBE)
    if likeliest is None or beside_it is None:
        return None
    (slope, lacked, x, covariance), (ahead, lacked_ahead, moved, _) = likeliest, beside_it
    deviation = float(np.sqrt(PROBE / max(slope - ahead, PROBE / 4)))  # at most 2, twice that of the prior
    if mode <= lowest:
        deviation = 1 / (1 / deviation + max(-slope, 0.0))
        if deviation <= NEARLY_KNOWN:
            return Mixed(x, covariance(), np.zeros(len(x)))
    if deviation <= NEARLY_KNOWN:
        along = deviation * (moved - x) / PROBE
        shift = deviation * (lacked_ahead - lacked) / PROBE
        return Mixed(x + shift * along, covariance() + np.outer(along, along), along)
    mixture, spacing = ScaleMixture(len(x)), SPACING * deviation
    if mode - lowest < spacing:  # a density that is cut off where it matters
        spacing /= 2

    def below(position: float) -> float:  # the next node, or the end
        return float(np.clip((position - lowest) / spacing, 0.0, 1.0))

    mixture.add((1 + below(mode)) / 2, 0.0, x, covariance())
    beside = mode + PROBE, ahead
    for way in (1, -1):
        last, before, density, beyond = (mode, slope), beside, 0.0, 0.0
        for _ in range(MAX_NODES):
            apart = 1.0 if way > 0 else below(last[0])
            if apart < LEAST_APART:
                break
            step = way * spacing * apart
            position = last[0] + step
            bend = (last[1] - before[1]) / (last[0] - before[0])
            if density + beyond + step * last[1] + step**2 * bend / 2 < LOW:  # the next node's, were the slope a line
                break
            found = fit(position)
            if found is None:
                return None
            after, lacks, x, covariance = found
            beyond = lacks - lacked
            node = position, after
            density += _integrate(last, node, before)
            if density > HIGH:
                return None
            share = 1.0 if way > 0 else (apart + below(position)) / 2  # the trapezoidal rule's
            mixture.add(share * float(np.exp(density + beyond)), position - mode, x, covariance())
            if last[0] == mode:
                beside = node
            last, before = node, last
    return mixture.moments()


def _integrate(start: Point, end: Point, third: Point) -> float:
    """Integrate the quadratic through three points, each (position, value), from start to end."""
    (a, at_a), (b, at_b), (c, at_c) = start, end, third
    bend = ((at_c - at_b) / (c - b) - (at_b - at_a) / (b - a)) / (c - a)
    return (b - a) * (at_a + at_b) / 2 - bend * (b - a) ** 3 / 6
