"""Moments of a Gaussian times a Poisson likelihood whose rate is rectified: what one site of EP needs.

Source: Y. J. Ko, thesis, 2.1, with the errata tested here: its recursion is stable for m >= 0 alone, so that a cavity
wider than its mean over the exposure is integrated by the trapezoidal rule in log f instead.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfcx, gammaln, log_ndtr

from models_engine.arrays import read_floats
from models_engine.errors import InvalidData

__all__ = ["hazard", "log_poisson", "read_counts", "tilted_moments"]

Floats = NDArray[np.float64]
Moments = tuple[Floats, Floats, Floats]
MAX_COUNT = 1e15  # beyond it a float64 no longer holds every whole number
MAX_RECURSION = 40  # largest count whose moments are by recursion
N_NODES = 240
LARGE_HAZARD = 6.0  # from here on the continued fraction
N_FRACTIONS = 60
LOG_2_PI = float(np.log(2 * np.pi))


def read_counts(counts: ArrayLike, name: str = "counts") -> Floats:
    """Read whole numbers of 0 or more, shape (n,), as float64. Raises InvalidData naming the row."""
    values = read_floats(counts, name)
    if values.ndim != 1:
        raise InvalidData(f"{name} has shape {values.shape}; give one count per bin, shape (n,).")
    bad = ~(np.isfinite(values) & (values >= 0) & (values <= MAX_COUNT) & (values == np.floor(values)))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        rule = f"a count must be a whole number from 0 to {MAX_COUNT:.0e}"
        raise InvalidData(f"row {row}: {values[row]} is not allowed; {rule}.", row=row, value=float(values[row]))
    return values


def tilted_moments(counts: Floats, exposure: Floats, mean: Floats, variance: Floats) -> Moments:
    """Return (log Z, alpha, beta), each (n,), of Z = E[Poisson(y; e max(0, f))] over f ~ N(mean, variance).

    alpha = d log Z / d mean, beta = -d^2 log Z / d mean^2; beta >= 0, as the likelihood is log-concave. All arguments
    have shape (n,); exposure e > 0 and variance > 0. Within 1e-9 of 40-digit values (relative, or absolute below 1)
    for counts to 400, variances from 1e-3 to 3e3; finite for counts to 1e9.
    """
    shifted = mean - exposure * variance
    result = np.empty((3, len(counts)))
    zero = counts == 0
    by_recursion = ~zero & (shifted >= 0) & (counts <= MAX_RECURSION)
    ways = ((zero, _of_zero), (by_recursion, _by_recursion), (~zero & ~by_recursion, _by_trapezoid))
    for chosen, function in ways:
        if chosen.any():
            result[:, chosen] = function(counts[chosen], exposure[chosen], mean[chosen], variance[chosen])
    return result[0], result[1], np.maximum(result[2], 0.0)


def hazard(k: Floats) -> tuple[Floats, Floats]:
    """Return h(k) = phi(k) / Phi(-k) of the normal and h(k) - k >= 0, neither of which loses digits for large |k|.

    For k > 6 the difference is Laplace's continued fraction 1/(k + 2/(k + 3/(k + ...))).
    """
    small = np.minimum(k, LARGE_HAZARD)
    direct = np.sqrt(2 / np.pi) / erfcx(small / np.sqrt(2))
    large = np.maximum(k, LARGE_HAZARD)
    excess = np.zeros_like(large)
    for r in range(N_FRACTIONS, 0, -1):
        excess = r / (large + excess)
    return np.where(k > LARGE_HAZARD, large + excess, direct), np.where(k > LARGE_HAZARD, excess, direct - small)


def log_poisson(counts: Floats, rate: Floats) -> Floats:
    """Return log Poisson(y; rate) for y >= 1 and rate > 0, by Loader's saddle point, so that large counts lose nothing.

    Loader 2000, "Fast and accurate computation of binomial probabilities".
    """
    excess = rate / counts - 1
    deviance = counts * (excess - np.log1p(excess))
    return np.asarray(-deviance - (np.log(counts) + LOG_2_PI) / 2 - _stirling_error(counts))


def _stirling_error(y: Floats) -> Floats:
    """Return log y! - log(sqrt(2 pi y) (y/e)^y), for y >= 1."""
    small = np.minimum(y, 30.0)
    direct = gammaln(small + 1) - (small + 0.5) * np.log(small) + small - LOG_2_PI / 2
    square = np.maximum(y, 30.0) ** -2
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / np.maximum(y, 30.0)
    return np.where(y <= 30, direct, series)


def _log_z_of_zero_count(exposure: Floats, mean: Floats, variance: Floats, k: Floats) -> Floats:
    """Return A_0 = log int_0^inf exp(-e f) N(f | mean, variance) df, k = (e variance - mean) / sd."""
    positive = -(mean**2) / (2 * variance) + np.log(erfcx(np.maximum(k, 0.0) / np.sqrt(2)) / 2)
    otherwise = exposure * (exposure * variance / 2 - mean) + log_ndtr(-np.minimum(k, 0.0))
    return np.where(k > 0, positive, otherwise)


def _of_zero(_counts: Floats, exposure: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return moments for y = 0: the branch f > 0 and, where the rate is nothing, the branch f <= 0."""
    sd = np.sqrt(variance)
    k, k_below = (exposure * variance - mean) / sd, mean / sd
    (h, excess), (h_below, excess_below) = hazard(k), hazard(k_below)
    log_above = _log_z_of_zero_count(exposure, mean, variance, k)
    log_below = log_ndtr(-k_below)
    log_z = np.logaddexp(log_above, log_below)
    w = np.exp(log_above - log_z)
    alpha_above = np.where(k > 0, excess / sd - mean / variance, h / sd - exposure)
    alpha_below = -h_below / sd
    beta_above, beta_below = h * excess / variance, h_below * excess_below / variance
    alpha = w * alpha_above + (1 - w) * alpha_below
    beta = w * beta_above + (1 - w) * beta_below - w * (1 - w) * (alpha_above - alpha_below) ** 2
    return np.stack([log_z, alpha, beta])


def _by_recursion(counts: Floats, exposure: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return moments for 1 <= y <= 40 and m >= 0, where every term of the recursion of L_r = r I_(r-1) / I_r is
    positive."""
    sd = np.sqrt(variance)
    m = mean - exposure * variance
    k = -m / sd
    log_z = _log_z_of_zero_count(exposure, mean, variance, k) + counts * np.log(exposure)
    before, now = -m / variance, hazard(k)[0] / sd
    for r in range(1, int(counts.max()) + 1):
        going = counts >= r
        before = np.where(going, now, before)
        now = np.where(going, r / (m + variance * before), now)
        log_z = log_z - np.where(going, np.log(now), 0.0)
    return np.stack([log_z, now - exposure, now * (now - before)])


def _by_trapezoid(counts: Floats, exposure: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return moments for y >= 1 by 240 points in u = log f, where the integrand is log-concave, around its mode."""
    m, power = mean - exposure * variance, counts + 1
    c = power * variance
    root = np.sqrt(m**2 + 4 * c)
    with np.errstate(divide="ignore"):
        mode = np.where(m < 0, 2 * c / (root + np.abs(m)), (root + np.abs(m)) / 2)
    width = np.where(m < 0, 1 / np.sqrt(power), 1 / np.sqrt(power + mode**2 / variance))
    low, high = -width * (42 / np.sqrt(power) + 9), 9 * width
    step = (high - low) / (N_NODES - 1)
    d = low[:, None] + step[:, None] * np.arange(N_NODES)
    beyond = mode[:, None] * np.expm1(d)  # f - mode
    slope = (2 * (mode - mean) / variance + 2 * exposure)[:, None]
    log_weight = power[:, None] * d - beyond * (slope + beyond / variance[:, None]) / 2
    weight = np.exp(log_weight)
    total = weight.sum(axis=1)
    centre = (weight * beyond).sum(axis=1) / total
    spread = (weight * (beyond - centre[:, None]) ** 2).sum(axis=1) / total
    log_peak = log_poisson(counts, exposure * mode) - (mode - mean) ** 2 / (2 * variance) + np.log(mode)
    log_z = log_peak + np.log(total * step) - (np.log(variance) + LOG_2_PI) / 2
    return np.stack([log_z, (mode - mean + centre) / variance, (1 - spread / variance) / variance])
