"""Expectation propagation for counts whose rate is a Gaussian process, with its evidence and gradients.

Source: Y. J. Ko, thesis, 2.1; Rasmussen & Williams 2006, 3.6 (the form of B and the evidence). All sites are updated at
once and damped; they start where the last hyper-parameters left them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from models_engine.inference.rectified_poisson import tilted_moments

__all__ = ["CountPosterior", "Moments", "Sites", "run_count_ep"]

Floats = NDArray[np.float64]
Moments = Callable[[Floats, Floats, Floats, Floats], tuple[Floats, Floats, Floats]]
"""moments(counts, exposure, mean, variance): log Z, alpha = dlogZ/dmean, beta = -d2logZ/dmean2 of each site."""
DAMPING, MIN_DAMPING = 0.9, 0.05
FALL, SLOWER, FASTER = 0.3, 0.7, 1.15  # damping is cut where the change does not fall by this share of it
MAX_ITERATIONS = 100
MIN_SHARE = 1e-10  # least share of a marginal's variance that its cavity and its tilt keep


@dataclass(frozen=True)
class Sites:
    """Gaussian factors exp(nu g - tau g^2 / 2) of the bins, each (n_bins,); tau >= 0."""

    tau: Floats
    nu: Floats


@dataclass(frozen=True)
class CountPosterior:
    """Approximate posterior of g = f - constant at the bins.

    mean, variance: (n_bins,) of g. log_evidence: log Z_EP. weights: b = K^-1 mean, (n_bins,). precision: R of (K +
    T^-1)^-1, (n_bins, n_bins), so that the covariance is K - K R K. converged: the marginals came to rest.
    """

    mean: Floats
    variance: Floats
    log_evidence: float
    weights: Floats
    precision: Floats
    sites: Sites
    n_iterations: int
    converged: bool

    def evidence_slope(self, change: Floats) -> float:
        """Return d log Z_EP for a change (n_bins, n_bins) of the covariance K, at the fixed point."""
        return float(self.weights @ change @ self.weights - np.vdot(self.precision, change)) / 2

    @property
    def constant_slope(self) -> float:
        """d log Z_EP / d constant, at the fixed point."""
        return float(self.weights.sum())


def run_count_ep(
    counts: Floats,
    exposure: Floats,
    covariance: Floats,
    constant: float,
    *,
    start: Sites | None = None,
    moments: Moments = tilted_moments,
    tolerance: float = 1e-6,
) -> CountPosterior:
    """Approximate the posterior of g ~ N(0, covariance) given counts ~ Poisson(exposure * max(0, constant + g)).

    counts, exposure: (n_bins,); a bin of exposure 0 says nothing. tolerance: of the marginals' means and standard
    deviations between two iterations, in prior standard deviations. Never raises for want of convergence: see
    `converged`.
    """
    n = len(counts)
    open_bins = exposure > 0
    y, e = counts[open_bins], exposure[open_bins]
    tau, nu = (start.tau.copy(), start.nu.copy()) if start is not None else (np.zeros(n), np.zeros(n))
    scale = np.sqrt(np.diagonal(covariance).mean())
    last_mean, last_sd, change, damping = np.full(n, np.inf), np.full(n, np.inf), np.inf, DAMPING
    for iteration in range(1, MAX_ITERATIONS + 1):
        state = _marginals(covariance, tau, nu)
        mean, variance = state[0], state[1]
        v = variance[open_bins] / np.maximum(1 - tau[open_bins] * variance[open_bins], MIN_SHARE)
        m = v * (mean[open_bins] / variance[open_bins] - nu[open_bins])
        log_z, alpha, beta = moments(y, e, m + constant, v)
        sd = np.sqrt(variance)
        before, change = change, float(max(np.abs(mean - last_mean).max(), np.abs(sd - last_sd).max()) / scale)
        if change < tolerance or iteration == MAX_ITERATIONS:
            break
        last_mean, last_sd = mean, sd
        slow = change > before * (1 - FALL * damping)
        damping = max(damping * SLOWER, MIN_DAMPING) if slow else min(damping * FASTER, DAMPING)
        shrunk = np.maximum(1 - beta * v, MIN_SHARE)
        tau[open_bins] += damping * (beta / shrunk - tau[open_bins])
        nu[open_bins] += damping * ((alpha + beta * m) / shrunk - nu[open_bins])
    own = _site_evidence(log_z, tau[open_bins], nu[open_bins], m, v)
    evidence = own - state[2] + float(nu @ mean) / 2
    precision = _precision(state[3], tau)
    weights = nu - precision @ (covariance @ nu)
    return CountPosterior(mean, variance, evidence, weights, precision, Sites(tau, nu), iteration, change < tolerance)


def _marginals(covariance: Floats, tau: Floats, nu: Floats) -> tuple[Floats, Floats, float, Floats]:
    """Return mean and variance of g, sum log L_ii and L, where B = I + T^(1/2) K T^(1/2) = L L'."""
    root = np.sqrt(tau)
    scaled = root[:, None] * covariance
    b = scaled * root
    b[np.diag_indices_from(b)] += 1
    lower = scipy.linalg.cholesky(b, lower=True, overwrite_a=True, check_finite=False)
    half = scipy.linalg.solve_triangular(lower, scaled, lower=True, overwrite_b=True, check_finite=False)
    variance = np.diagonal(covariance) - np.einsum("ij,ij->j", half, half)
    prior = covariance @ nu
    mean = prior - half.T @ (half @ nu)
    floor = MIN_SHARE * np.diagonal(covariance)
    return mean, np.maximum(variance, floor), float(np.log(np.diagonal(lower)).sum()), lower


def _precision(lower: Floats, tau: Floats) -> Floats:
    """Return R = T^(1/2) B^-1 T^(1/2)."""
    root = np.sqrt(tau)
    half = scipy.linalg.solve_triangular(lower, np.diag(root), lower=True, overwrite_b=True, check_finite=False)
    return np.asarray(half.T @ half)


def _site_evidence(log_z: Floats, tau: Floats, nu: Floats, m: Floats, v: Floats) -> float:
    """Return the sum over sites of log Z_j less that of its Gaussian under the cavity N(m, v)."""
    spread = 1 + tau * v
    return float((log_z + np.log(spread) / 2 - (nu**2 * v / 2 + nu * m - tau * m**2 / 2) / spread).sum())
