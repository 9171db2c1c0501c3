"""The von Mises-Fisher distribution on the unit sphere in p dimensions: normaliser, mean length, draws; any kappa."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, i0e, i1e, ive

__all__ = ["log_sphere_mean", "mean_length", "sample_directions"]

Floats = NDArray[np.float64]
TINY = 1e-280  # below it scaled Bessel functions lose digits


def log_sphere_mean(kappa: ArrayLike, p: int) -> Floats:
    """Return log E[exp(kappa u'm)], u uniform on the sphere in p dimensions: log 0F1(; p/2; kappa^2/4), 0 at kappa = 0.

    The von Mises-Fisher density against the uniform one is exp(kappa u'm - this). With I the modified Bessel function
    and nu = p/2 - 1 it is log I_nu(kappa) - nu log(kappa/2) + lnGamma(nu + 1); never computed from I itself.
    """
    k = np.abs(np.asarray(kappa, dtype=np.float64))
    if p == 1:
        return np.logaddexp(k, -k) - np.log(2)
    nu = p / 2 - 1
    small, large = k**2 < nu + 1, k > _largest_argument(nu)
    scaled = _scaled_bessel(nu, np.where(small | large, 1.0, k))
    by_bessel = np.log(np.maximum(scaled, TINY)) + k - nu * np.log(np.maximum(k, TINY) / 2) + gammaln(nu + 1)
    if large.any():
        far = np.log(_hankel_sum(nu, np.maximum(k, 1.0))) - np.log(2 * np.pi * np.maximum(k, 1.0)) / 2
        by_bessel = np.where(large, far + k - nu * np.log(np.maximum(k, 1.0) / 2) + gammaln(nu + 1), by_bessel)
    if (scaled <= TINY).any():
        by_bessel = np.where(scaled > TINY, by_bessel, _uniform_expansion(nu, np.maximum(k, 1.0)))
    return np.where(small, _series(nu, np.where(small, k, 0.0)), by_bessel) if small.any() else by_bessel


def _scaled_bessel(nu: float, k: Floats) -> Floats:
    """Return exp(-k) I_nu(k); of the orders 0 and 1 by their own functions, many times as quick."""
    return np.asarray(i0e(k) if nu == 0 else i1e(k) if nu == 1 else ive(nu, k))


def _largest_argument(nu: float) -> float:
    """Return the argument from which three terms of Hankel's expansion give all digits, and scipy's ive may be nan."""
    return 1e5 * (1 + nu**2)


def _hankel_sum(nu: float, k: Floats) -> Floats:
    """Return exp(-k) I_nu(k) sqrt(2 pi k) for large k (DLMF 10.40.1)."""
    mu, z = 4 * nu**2, 1 / (8 * k)
    return 1 - (mu - 1) * z * (1 - (mu - 9) * z / 2 * (1 - (mu - 25) * z / 3))


def _series(nu: float, k: Floats) -> Floats:
    """Sum the power series of 0F1; its terms decrease by a factor of at least 4 j for k^2 < nu + 1."""
    term, total = np.ones_like(k), np.ones_like(k)
    for j in range(1, 20):
        term = term * (k**2 / 4) / (j * (nu + j))
        total = total + term
    return np.log(total)


def _uniform_expansion(nu: float, k: Floats) -> Floats:
    """Evaluate Debye's expansion of I_nu(nu z) for large orders (DLMF 10.41.3) to the third term."""
    if nu == 0:
        return np.zeros_like(k)
    z = k / nu
    root = np.sqrt(1 + z**2)
    t = 1 / root
    u1 = (3 * t - 5 * t**3) / 24
    u2 = (81 * t**2 - 462 * t**4 + 385 * t**6) / 1152
    log_bessel = nu * (root + np.log(z / (1 + root))) - np.log(2 * np.pi * nu) / 2 - np.log(root) / 2
    return log_bessel + np.log1p(u1 / nu + u2 / nu**2) - nu * np.log(k / 2) + gammaln(nu + 1)


def mean_length(kappa: ArrayLike, p: int) -> Floats:
    """Return A_p(kappa) = I_{p/2}(kappa) / I_{p/2-1}(kappa), the mean length and the derivative of log_sphere_mean.

    The ratio of Bessel functions where it is accurate, else Gauss's continued fraction, which converges fast there;
    tanh(kappa) for p = 1.
    """
    k = np.asarray(kappa, dtype=np.float64)
    if p == 1:
        return np.tanh(k)
    nu = p / 2 - 1
    large = k > _largest_argument(nu + 1)
    if large.all():
        return np.asarray(_hankel_sum(nu + 1, k) / _hankel_sum(nu, k), dtype=np.float64)
    if large.any():
        far = _hankel_sum(nu + 1, np.maximum(k, 1.0)) / _hankel_sum(nu, np.maximum(k, 1.0))
        return np.where(large, far, mean_length(np.where(large, 1.0, k), p))
    above, below = _scaled_bessel(nu + 1, k), _scaled_bessel(nu, k)
    usable = (above > TINY) & (below > TINY) & (k > 1e-3)
    if usable.all():
        return np.asarray(above / below, dtype=np.float64)
    rest = k[~usable]
    fraction = np.zeros_like(rest)
    for j in range(200, 0, -1):
        fraction = rest / (2 * (nu + j) + rest * fraction)
    ratio = np.asarray(above / np.where(usable, below, 1.0))
    ratio[~usable] = fraction
    return ratio


def sample_directions(mean: Floats, kappa: Floats, rng: np.random.Generator) -> Floats:
    """Draw unit vectors (n, p) from von Mises-Fisher distributions of one mean direction (p,) and kappas (n,).

    Wood (1994), Simulation of the von Mises Fisher distribution, algorithm VM*, all draws at once.
    """
    n, p = len(kappa), len(mean)
    if p == 1:
        return np.where(rng.random((n, 1)) < 1 / (1 + np.exp(-2 * kappa[:, None])), mean, -mean)
    b = (p - 1) / (2 * kappa + np.sqrt(4 * kappa**2 + (p - 1) ** 2))
    # By 1 - w, w being the cosine: for a large kappa it is far below the rounding error of w.
    level = (p - 1) * (np.log(4 * b) - 2 * np.log1p(b))  # (p-1) log(1 - x0^2), x0 = (1-b)/(1+b)
    gap, open_rows = np.empty(n), np.arange(n)
    while len(open_rows):
        z = rng.beta((p - 1) / 2, (p - 1) / 2, size=len(open_rows))
        bo = b[open_rows]
        below = 2 * bo * z / (1 - (1 - bo) * z)
        inner = (below + bo * (2 - below)) / (1 + bo)  # 1 - x0 w
        score = kappa[open_rows] * (2 * bo / (1 + bo) - below) + (p - 1) * np.log(inner) - level[open_rows]
        accepted = score >= np.log(rng.random(len(open_rows)))
        gap[open_rows[accepted]] = below[accepted]
        open_rows = open_rows[~accepted]
    across = rng.standard_normal((n, p))
    across -= (across @ mean)[:, None] * mean
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    return (1 - gap)[:, None] * mean + np.sqrt(gap * (2 - gap))[:, None] * across
