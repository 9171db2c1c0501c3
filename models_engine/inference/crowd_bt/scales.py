"""The scales of a crowd model, learned from the labels: spread of utilities and reliabilities, frequency of ties."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import betaln, digamma, expit, log_expit, logit, logsumexp

from models_engine.inference.crowd_bt.reliability import BetaPrior, Reliabilities

__all__ = ["DEFAULT_SCALES", "ScaleLearner", "Scales"]

Floats = NDArray[np.float64]

# Priors of the scales, normal with standard deviation 1 in the logs; wider than the crowds of all our data sets:
# log prior_sd around log 1.5; logit(2 E[eta] - 1) around that of E[eta] = .85; log(alpha + beta) around log 10.
CENTRE = np.array([np.log(1.5), logit(2 * 0.85 - 1), np.log(10.0)])
LOWER_BOUNDS, UPPER_BOUNDS = np.array([-4.0, -3.0, np.log(3.0)]), np.array([4.0, 4.0, np.log(200.0)])


@dataclass(frozen=True)
class Scales:
    """prior_sd: of a utility.   reliability: of an annotator.   log_nu: log of Davidson's nu, -inf without ties."""

    prior_sd: float
    reliability: BetaPrior
    log_nu: float = -np.inf

    def vector(self) -> Floats:
        """Return (log prior_sd, logit(2 E[eta] - 1), log(alpha + beta), log nu)."""
        beta = self.reliability
        skew = logit(np.clip(2 * beta.mean - 1, 1e-6, 1 - 1e-6))
        return np.array([np.log(self.prior_sd), skew, np.log(beta.alpha + beta.beta), self.log_nu])

    @classmethod
    def of(cls, vector: Floats) -> "Scales":
        return cls(float(np.exp(vector[0])), _beta(vector[1:3]), float(vector[3]))


def _beta(v: Floats) -> BetaPrior:
    mean, size = 0.5 + 0.5 * float(expit(v[0])), float(np.exp(v[1]))
    return BetaPrior(mean * size, (1 - mean) * size)


DEFAULT_SCALES = Scales.of(np.append(CENTRE, -np.inf))


@dataclass(frozen=True)
class ScaleLearner:
    """Which scales are learned; the priors of the others are not used. tie_sd: log nu ~ N(0, tie_sd^2)."""

    prior_sd: bool
    reliability: bool
    log_nu: bool
    tie_sd: float

    @property
    def free(self) -> NDArray[np.bool_]:
        """Return which entries of Scales.vector are learned, (4,)."""
        return np.array([self.prior_sd, self.reliability, self.reliability, self.log_nu])

    def log_prior(self, scales: Scales) -> float:
        """Return the log prior of the learned scales, up to constants."""
        off = np.append(scales.vector()[:3] - CENTRE, scales.log_nu / self.tie_sd)[self.free]
        return float(-off @ off / 2)

    def clipped(self, vector: Floats) -> Floats:
        return np.append(np.clip(vector[:3], LOWER_BOUNDS, UPPER_BOUNDS), vector[3:])

    def score(self, scales: Scales, squares: float, n: float, crowd: Reliabilities, score_nu: float) -> Floats:
        """Return the derivative of log evidence plus log prior in Scales.vector, (4,), 0 where not learned."""
        vector = scales.vector()
        _, by_beta = _reliability_loss(crowd)(vector[1:3])
        by_sd = squares / scales.prior_sd**2 - n - (vector[0] - CENTRE[0])
        by_nu = score_nu - scales.log_nu / self.tie_sd**2 if self.log_nu else 0.0
        return np.where(self.free, np.concatenate([[by_sd], -by_beta, [by_nu]]), 0.0)

    def next_scales(
        self, scales: Scales, squares: float, n: float, crowd: Reliabilities, score_nu: float, curvature_nu: float
    ) -> Scales:
        """Return EM's next scales. squares: E[sum of squares] of the n utilities that the labels inform."""
        return Scales(
            _learned_sd(scales.prior_sd, squares, n) if self.prior_sd else scales.prior_sd,
            _learned_reliability(scales, crowd) if self.reliability else scales.reliability,
            _learned_log_nu(scales.log_nu, score_nu, curvature_nu, self.tie_sd) if self.log_nu else scales.log_nu,
        )


def _learned_sd(prior_sd: float, squares: float, n: float) -> float:
    """Find the mode of -n log sd - squares / (2 sd^2) plus the log prior of log sd, by Newton steps."""
    log_sd = np.log(prior_sd)
    for _ in range(50):
        ratio = squares * np.exp(-2 * log_sd)
        step = np.clip((ratio - n - (log_sd - CENTRE[0])) / (2 * ratio + 1), -1.0, 1.0)
        log_sd += step
        if abs(step) < 1e-9:
            break
    return float(np.exp(np.clip(log_sd, LOWER_BOUNDS[0], UPPER_BOUNDS[0])))


def _learned_reliability(scales: Scales, crowd: Reliabilities) -> BetaPrior:
    """Return the Beta prior that maximises the probability of the annotators' wins, given the messages about them."""
    low, high = LOWER_BOUNDS[1:], UPPER_BOUNDS[1:]
    start, bounds = np.clip(scales.vector()[1:3], low, high), list(zip(low, high, strict=True))
    best = minimize(
        _reliability_loss(crowd), start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 30}
    )
    return _beta(best.x)


def _reliability_loss(crowd: Reliabilities) -> Callable[[Floats], tuple[float, Floats]]:
    """Return a function: minus the log probability of wins and (logit(2 E[eta] - 1), log(alpha + beta)), with
    gradient.
    """
    right, wrong = log_expit(crowd.grid.log_odds), log_expit(-crowd.grid.log_odds)
    base, n = crowd.log_likelihoods + crowd.grid.log_width, len(right)

    def loss(v: Floats) -> tuple[float, Floats]:
        beta = _beta(v)
        joint = base + beta.alpha * right + beta.beta * wrong - betaln(beta.alpha, beta.beta)
        total = logsumexp(joint, axis=1)
        mass = np.exp(joint - total[:, None])
        common, size = n * digamma(beta.alpha + beta.beta), beta.alpha + beta.beta
        by_alpha = (mass * right).sum() - n * digamma(beta.alpha) + common
        by_beta = (mass * wrong).sum() - n * digamma(beta.beta) + common
        slope = expit(v[0]) * expit(-v[0]) / 2  # of E[eta] in v[0]
        gradient = np.array([size * slope * (by_alpha - by_beta), beta.alpha * by_alpha + beta.beta * by_beta])
        off = v - CENTRE[1:]
        return float(off @ off / 2 - total.sum()), off - gradient

    return loss


def _learned_log_nu(log_nu: float, score: float, curvature: float, sd: float) -> float:
    """Take one Newton step to the mode under log nu ~ N(0, sd^2), given the likelihood's score and curvature."""
    return log_nu + float(np.clip((score - log_nu / sd**2) / (curvature + 1 / sd**2), -1.0, 1.0))
