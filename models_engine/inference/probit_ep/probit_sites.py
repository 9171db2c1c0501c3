"""EP sites of the probit pair likelihood: wins in closed form, ties and fractional weights by quadrature."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtr

__all__ = ["SiteUpdate", "log_factor", "log_lapsed_factor", "log_lapsed_win", "probit_ratio", "probit_site"]

Floats = NDArray[np.float64]
SiteUpdate = tuple[Floats, Floats, Floats]
NODES, NODE_WEIGHTS = np.polynomial.hermite.hermgauss(32)
MIN_LAPSE = 1e-12
LOG_NODE_WEIGHTS = np.log(NODE_WEIGHTS) + NODES**2


def probit_ratio(z: ArrayLike) -> Floats:
    """Return phi(z) / Phi(z), the derivative of log Phi; finite and accurate for every finite z."""
    z = np.asarray(z, dtype=np.float64)
    return np.exp(-(z**2) / 2 - log_ndtr(z)) / np.sqrt(2 * np.pi)


def probit_site(
    mean: Floats,
    variance: Floats,
    wins: Floats,
    losses: Floats,
    sharp: NDArray[np.bool_] | None = None,
    lapse: Floats | None = None,
) -> SiteUpdate:
    """Moment-match the factor g(z)^wins g(-z)^losses against the cavity z ~ N(mean, variance), g = l + (1 - 2 l) Phi.

    All arrays of one shape; where `sharp`, Phi is replaced by 1 if z > 0, else 0. lapse: l, 0 to 1, None for 0.
    Returns (log_normaliser, precision, shift): the site exp(shift z - precision z^2 / 2) times the cavity has the
    first two moments of the factor times the cavity (Rasmussen & Williams 2006, 3.52-3.59); where the factor would
    widen the cavity, as an answer against what is known does if some are reversed, only the first, with precision 0.
    """
    noise = 1.0 if sharp is None else np.where(sharp, 0.0, 1.0)
    sign = np.where(losses > 0, -1.0, 1.0)
    if lapse is None:
        log_normaliser, first, second = _closed_form(mean, variance, sign, noise)
    else:
        log_normaliser, first, second = _with_lapses(mean, variance, sign, noise, lapse)
    plain = ((wins == 1) & (losses == 0)) | ((wins == 0) & (losses == 1))
    if not plain.all():
        other = np.nonzero(~plain)
        lapses = None if lapse is None else lapse[other]
        found = _by_quadrature(mean[other], variance[other], wins[other], losses[other], lapses)
        log_normaliser[other], first[other], second[other] = found
    shrink = 1 + variance * second
    return log_normaliser, -second / shrink, (first - mean * second) / shrink


def _closed_form(mean: Floats, variance: Floats, sign: Floats, noise: Floats | float) -> SiteUpdate:
    """Return the log normaliser of Phi(sign z / noise sd), and its two derivatives by the cavity mean."""
    scale = np.sqrt(noise + variance)
    z = sign * mean / scale
    ratio = probit_ratio(z)
    return log_ndtr(z), sign * ratio / scale, -ratio * (z + ratio) / scale**2


def _with_lapses(mean: Floats, variance: Floats, sign: Floats, noise: Floats | float, lapse: Floats) -> SiteUpdate:
    """Do the same for l + (1 - 2 l) Phi(sign z / noise sd), with the second derivative at most 0."""
    scale = np.sqrt(noise + variance)
    log_chance, slope, curvature = log_lapsed_win(sign * mean / scale, lapse)
    return log_chance, sign * slope / scale, np.minimum(curvature / scale**2, 0.0)


def log_factor(z: Floats, wins: Floats, losses: Floats) -> SiteUpdate:
    """Return log of Phi(z)^wins Phi(-z)^losses and its first and second derivatives by z."""
    up, down = probit_ratio(z), probit_ratio(-z)
    value = wins * log_ndtr(z) + losses * log_ndtr(-z)
    return value, wins * up - losses * down, -wins * up * (z + up) - losses * down * (down - z)


def log_lapsed_win(z: Floats, lapse: Floats) -> SiteUpdate:
    """Return `log_lapsed_factor` of one win."""
    bounded = np.clip(lapse, MIN_LAPSE, 1 - MIN_LAPSE)
    up = (1 - 2 * bounded) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    chance = bounded + (1 - 2 * bounded) * ndtr(z)
    up /= chance
    return np.log(chance), up, -up * (z + up)


def log_lapsed_factor(z: Floats, wins: Floats, losses: Floats, lapse: Floats) -> SiteUpdate:
    """Return log of g(z)^wins g(-z)^losses, g = l + (1 - 2 l) Phi, and its first and second derivatives by z.

    g(-z) = 1 - g(z); a lapse below 1e-12 counts as that.
    """
    bounded = np.clip(lapse, MIN_LAPSE, 1 - MIN_LAPSE)
    chance = bounded + (1 - 2 * bounded) * ndtr(z)
    slope = (1 - 2 * bounded) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    up, down = slope / chance, slope / (1 - chance)
    value = wins * np.log(chance) + losses * np.log1p(-chance)
    return value, wins * up - losses * down, -wins * up * (z + up) - losses * down * (down - z)


def _by_quadrature(
    mean: Floats, variance: Floats, wins: Floats, losses: Floats, lapse: Floats | None = None
) -> SiteUpdate:
    """Do the same as _closed_form for any exponents; relative error below 1e-7.

    32 nodes around the mode are not enough above a variance of 4, where the tilted density is not close to Gaussian,
    nor with lapses, whose factors have wider tails.
    """
    result = (np.empty_like(mean), np.empty_like(mean), np.empty_like(mean))
    narrow = (variance <= 4.0) & (lapse is None)
    for rows, rule in ((np.flatnonzero(narrow), _around_mode), (np.flatnonzero(~narrow), _trapezoid)):
        for part in np.array_split(rows, 1 + len(rows) // 20_000):
            if len(part):
                factors = (mean[part, None], variance[part, None], wins[part, None], losses[part, None])
                own = None if lapse is None else lapse[part, None]
                for whole, found in zip(result, _moments(*rule(*factors), *factors, own), strict=True):
                    whole[part] = found
    return result


def _moments(
    z: Floats, log_weight: Floats, mean: Floats, variance: Floats, wins: Floats, losses: Floats, lapse: Floats | None
) -> SiteUpdate:
    value, first, second = log_factor(z, wins, losses) if lapse is None else log_lapsed_factor(z, wins, losses, lapse)
    log_terms = value + log_weight - (z - mean) ** 2 / (2 * variance) - np.log(2 * np.pi * variance) / 2
    top = log_terms.max(axis=1, keepdims=True)
    terms = np.exp(log_terms - top)
    total = terms.sum(axis=1)
    share = terms / total[:, None]
    slope = (share * first).sum(axis=1)
    curvature = (share * (second + (first - slope[:, None]) ** 2)).sum(axis=1)
    return top[:, 0] + np.log(total), slope, np.minimum(curvature, 0.0)


def _around_mode(mean: Floats, variance: Floats, wins: Floats, losses: Floats) -> tuple[Floats, Floats]:
    """Return Gauss-Hermite nodes and log weights centred on the mode of the (log-concave) tilted density."""
    mode, precision = _mode(mean, variance, wins, losses)
    scale = np.sqrt(2 / precision)
    return mode + scale * NODES, LOG_NODE_WEIGHTS + np.log(scale)


def _trapezoid(mean: Floats, variance: Floats, wins: Floats, losses: Floats) -> tuple[Floats, Floats]:
    """Return nodes in steps of at most 0.5 over nine cavity deviations each way: exponentially accurate for
    entire Phi.
    """
    deviation = np.sqrt(variance)
    reach = 9 * deviation + np.zeros_like(wins)
    half = min(2_000, int(np.ceil(float(reach.max()) / 0.5)) + 1)
    step = reach / half
    centre = _mode(mean, variance, wins, losses)[0]
    return centre + step * np.arange(-half, half + 1), np.log(step)


def _mode(mean: Floats, variance: Floats, wins: Floats, losses: Floats) -> tuple[Floats, Floats]:
    """Find the mode of factor times cavity and the precision there, by Newton (strictly concave, bounded steps)."""
    z = mean.copy()
    for _ in range(30):
        _, first, second = log_factor(z, wins, losses)
        precision = 1 / variance - second
        step = (first - (z - mean) / variance) / precision
        z = z + np.clip(step, -10.0, 10.0)
        if np.abs(step).max(initial=0.0) < 1e-8:
            break
    return z, 1 / variance - log_factor(z, wins, losses)[2]
