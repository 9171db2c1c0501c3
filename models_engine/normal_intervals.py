"""The chance that a normal variable lies in an interval, and the densities at its ends, accurate in both tails."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

__all__ = ["interval_densities", "log_interval"]

Floats = NDArray[np.float64]


def log_interval(low: ArrayLike, high: ArrayLike) -> Floats:
    """Return log(Phi(high) - Phi(low)), low < high elementwise, ends may be infinite.

    Both ends are turned to the lower tail where the interval lies above 0, as Phi(b) - Phi(a) = Phi(-a) - Phi(-b), so
    that neither is near 1; there log(1 - exp(log Phi(a) - log Phi(b))) loses no digits.
    """
    low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
    turned = low > 0
    below, above = log_ndtr(np.where(turned, -high, low)), log_ndtr(np.where(turned, -low, high))
    return above + np.log(-np.expm1(below - above))


def interval_densities(low: ArrayLike, high: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return log Z, phi(low)/Z and phi(high)/Z, Z = Phi(high) - Phi(low); a density is 0 at an infinite end.

    With (l, h) the last two, log Z has derivatives -l and h in its ends, and second ones low l - l^2, l h and
    -high h - h^2: (log Z)' = -l is minus the ratio phi / Z, whose derivative in low is l^2 - low l.
    """
    value = log_interval(low, high)
    at_low, at_high = (np.exp(-(np.square(end) / 2) - value) / np.sqrt(2 * np.pi) for end in (low, high))
    return value, at_low, at_high
