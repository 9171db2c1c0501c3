"""EP sites of graded answers under normal noise: the perceived margin lies between two cut points."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models_engine.normal_intervals import interval_densities, log_interval

__all__ = ["IntervalMoments", "interval_moments", "log_interval_chance"]

Floats = NDArray[np.float64]
MIN_LAPSE = 1e-12
REACH, MAX_STEP, MAX_NODES = 9.0, 0.25, 2_000  # of the rule for powers: cavity deviations, units of noise, each way
MAX_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class IntervalMoments:
    """Log normaliser of each factor against its cavity, its two derivatives in the cavity mean, and those in the lower
    and the upper end, (n,) each."""

    log_normaliser: Floats
    first: Floats
    second: Floats
    by_low: Floats
    by_high: Floats


def interval_moments(
    mean: Floats, variance: Floats, low: Floats, high: Floats, exponent: Floats, lapse: Floats | None = None
) -> IntervalMoments:
    """Match g(z)^exponent against the cavity z ~ N(mean, variance), g(z) = (1 - l) P(z) + l P(-z), P(z) = Phi(high - z)
    - Phi(low - z).

    All arrays (n,); low < high, high may be infinite; lapse: l, None for 0: a reversed answer keeps its grade. In
    closed form with exponent 1, as P averages to Phi((high - mean) / s) - Phi((low - mean) / s), s^2 = 1 + variance.
    A second derivative above 0, as lapses make it, is returned as 0, so that an answer against what is known does not
    widen the cavity.
    """
    found = _closed_form(mean, variance, low, high, lapse)
    other = np.flatnonzero(exponent != 1)
    for rows in np.array_split(other, 1 + len(other) // MAX_ROWS):
        if len(rows):
            own = None if lapse is None else lapse[rows]
            power = _by_quadrature(mean[rows], variance[rows], low[rows], high[rows], exponent[rows], own)
            for whole, part in zip(_columns(found), _columns(power), strict=True):
                whole[rows] = part
    return replace(found, second=np.minimum(found.second, 0.0))


def log_interval_chance(margin: Floats, low: Floats, high: Floats, lapse: Floats) -> Floats:
    """Return log g(margin), (n,), g as in `interval_moments`: its log normaliser where there is no variance."""
    bounded = np.clip(lapse, MIN_LAPSE, 1 - MIN_LAPSE)
    both = np.stack([margin, -margin])
    kept, turned = log_interval(low - both, high - both)
    return np.logaddexp(np.log1p(-bounded) + kept, np.log(bounded) + turned)


def _columns(moments: IntervalMoments) -> tuple[Floats, ...]:
    return moments.log_normaliser, moments.first, moments.second, moments.by_low, moments.by_high


def _closed_form(mean: Floats, variance: Floats, low: Floats, high: Floats, lapse: Floats | None) -> IntervalMoments:
    kept = _one_way(mean, variance, low, high)
    if lapse is None:
        value, first, square, by_low, by_high = kept
        return IntervalMoments(value, first, square - first**2, by_low, by_high)
    bounded = np.clip(lapse, MIN_LAPSE, 1 - MIN_LAPSE)
    turned = _one_way(-mean, variance, low, high)
    log_kept, log_turned = np.log1p(-bounded) + kept[0], np.log(bounded) + turned[0]
    value = np.logaddexp(log_kept, log_turned)
    right, wrong = np.exp(log_kept - value), np.exp(log_turned - value)
    first = right * kept[1] - wrong * turned[1]
    square, by_low, by_high = (right * one + wrong * other for one, other in zip(kept[2:], turned[2:], strict=True))
    return IntervalMoments(value, first, square - first**2, by_low, by_high)


def _one_way(mean: Floats, variance: Floats, low: Floats, high: Floats) -> tuple[Floats, ...]:
    """Return log Z, its slope, Z'' / Z, and its derivatives in both ends."""
    scale = np.sqrt(1 + variance)
    a, b = (low - mean) / scale, (high - mean) / scale
    value, at_low, at_high = interval_densities(a, b)
    bend = a * at_low - np.where(np.isfinite(b), b, 0.0) * at_high
    return value, (at_low - at_high) / scale, bend / scale**2, -at_low / scale, at_high / scale


def _by_quadrature(
    mean: Floats, variance: Floats, low: Floats, high: Floats, exponent: Floats, lapse: Floats | None
) -> IntervalMoments:
    """Do the same for powers, by the trapezoidal rule around the mode without lapses: error below 1e-6."""
    reach = REACH * np.sqrt(variance)
    half = min(MAX_NODES, int(np.ceil(float(reach.max()) / MAX_STEP)) + 1)
    step = (reach / half)[:, None]
    z = _mode(mean, variance, low, high, exponent)[:, None] + step * np.arange(-half, half + 1)
    shape, power = z.shape, exponent[:, None]
    low, high = (np.broadcast_to(end[:, None], shape) for end in (low, high))
    lapses = None if lapse is None else np.broadcast_to(lapse[:, None], shape)
    at = _closed_form(z, np.zeros(shape), low, high, lapses)
    cavity = (z - mean[:, None]) ** 2 / variance[:, None] + np.log(2 * np.pi * variance)[:, None]
    log_terms = power * at.log_normaliser + np.log(step) - cavity / 2
    top = log_terms.max(axis=1, keepdims=True)
    terms = np.exp(log_terms - top)
    total = terms.sum(axis=1)
    share = terms / total[:, None]
    first = power * at.first
    slope = (share * first).sum(axis=1)
    curvature = (share * (power * at.second + (first - slope[:, None]) ** 2)).sum(axis=1)
    by_low, by_high = ((share * power * ends).sum(axis=1) for ends in (at.by_low, at.by_high))
    return IntervalMoments(top[:, 0] + np.log(total), slope, curvature, by_low, by_high)


def _mode(mean: Floats, variance: Floats, low: Floats, high: Floats, exponent: Floats) -> Floats:
    """Find the mode by Newton (strictly concave, bounded steps)."""
    z = mean.copy()
    for _ in range(30):
        at = _closed_form(z, np.zeros(len(z)), low, high, None)
        step = (exponent * at.first - (z - mean) / variance) / (1 / variance - exponent * at.second)
        z = z + np.clip(step, -10.0, 10.0)
        if np.abs(step).max(initial=0.0) < 1e-8:
            break
    return z
