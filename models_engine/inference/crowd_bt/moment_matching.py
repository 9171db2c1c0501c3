"""Updates by one answer: the margin, an annotator's reliability and the log nu of ties, by moment matching."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["NODES", "NODE_WEIGHTS", "MatchedMoments", "match_moments", "rule_for", "update_beta"]

Floats = NDArray[np.float64]
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(9)  # of log nu, and of the log gaps of cut points
NODE_WEIGHTS = NODE_WEIGHTS / NODE_WEIGHTS.sum()
RULES = {n: np.linspace(-6.0, 6.0, n) for n in (17, 33, 65, 129, 257)}
WEIGHTS = {n: np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum() for n, z in RULES.items()}


@dataclass(frozen=True)
class MatchedMoments:
    """Means and variances given the answer: of the margin, of log nu; P(not reversed); log P(the answer)."""

    mean: float
    variance: float
    log_nu: float
    log_nu_variance: float
    right: float
    log_probability: float


def rule_for(variance: float) -> tuple[Floats, Floats]:
    """Return nodes and weights for the standard normal distribution, enough for a margin of this variance."""
    sd = variance**0.5
    points = next((n for n in RULES if sd <= 1.6 * (n - 1) / 16), 257)
    return RULES[points], WEIGHTS[points]


def match_moments(
    mean: float,
    variance: float,
    reliability: float,
    *,
    tie: bool = False,
    weight: float = 1.0,
    log_nu: float = -np.inf,
    log_nu_variance: float = 0.0,
) -> MatchedMoments:
    """Compute the moments of p(d, log nu | answer) for d ~ N(mean, variance), the winner's margin (of a tie: left's).

    log nu ~ N(log_nu, log_nu_variance), -inf without ties; reliability: mean of eta; weight up to 1: a power of P.

    Where Chen et al. (2013, section 4.2) expand around the mean, this integrates, so that variances stay positive.
    Trapezoidal rule in d, Gauss-Hermite in log nu; error of each moment below 1e-4 of its standard deviation.
    """
    unit, p = rule_for(variance)
    d = mean + variance**0.5 * unit
    shift = np.zeros(1)
    decay = np.exp(-np.abs(d) / 2)  # e^(-|d|/2), a factor taken out of all terms
    nu = np.zeros(1)
    if log_nu > -np.inf:
        shift = log_nu_variance**0.5 * NODES
        nu = np.exp(log_nu + shift)[:, None]
        p = NODE_WEIGHTS[:, None] * p
    scale = 1 + decay * decay + nu * decay
    if tie:
        answer, right = nu * decay / scale, reliability
    else:
        agree = np.where(d >= 0, 1.0, decay * decay)
        against = np.where(d >= 0, decay * decay, 1.0)
        answer = (reliability * agree + (1 - reliability) * against) / scale
        good, bad = float((p * agree / scale).sum()), float((p * against / scale).sum())
        right = reliability * good / (reliability * good + (1 - reliability) * bad)
    tilted = p * (answer if weight == 1.0 else answer**weight)
    total = float(tilted.sum())
    tilted = tilted / total
    of_d = tilted if tilted.ndim == 1 else tilted.sum(axis=0)
    new_mean = float(of_d @ d)
    spread = d - new_mean
    new_variance = float(of_d @ (spread * spread))
    if log_nu == -np.inf:
        return MatchedMoments(new_mean, new_variance, log_nu, 0.0, right, float(np.log(total)))
    of_nu = tilted.sum(axis=1)
    moved = float(of_nu @ shift)
    nu_variance = float(of_nu @ (shift - moved) ** 2)
    return MatchedMoments(new_mean, new_variance, log_nu + moved, nu_variance, right, float(np.log(total)))


def update_beta(alpha: float, beta: float, right: float, weight: float = 1.0) -> tuple[float, float]:
    """Return (alpha, beta) of the Beta distribution with the mean and variance of a mixture of two.

    The mixture is right * Beta(alpha + weight, beta) + (1 - right) * Beta(alpha, beta + weight).
    """
    size, wrong = alpha + beta + weight, 1 - right
    mean, rest = (alpha + right * weight) / size, (beta + wrong * weight) / size
    # A sum of positive terms loses no digits, however large the counts are.
    within = (right * (alpha + weight) * beta + wrong * alpha * (beta + weight)) / (size * size * (size + 1))
    variance = within + right * wrong * (weight / size) ** 2
    strength = mean * rest / variance - 1
    return mean * strength, rest * strength
