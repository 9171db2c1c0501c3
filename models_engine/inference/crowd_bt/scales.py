"""The scales of a crowd model, learned from the labels: spread of utilities and reliabilities, ties, cut points."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import betaln, digamma, expit, log_expit, logit

from models_engine.inference.crowd_bt.reliability import BetaPrior, Reliabilities
from models_engine.inference.graded.cut_points import CutScores, cuts_from_gaps, log_cut_prior
from models_engine.linalg import normalise_rows

__all__ = ["DEFAULT_SCALES", "ScaleLearner", "Scales"]

Floats = NDArray[np.float64]

# Priors of the scales, normal with standard deviation 1 in the logs; wider than the crowds of all our data sets:
# log prior_sd around log 1.5; logit(2 E[eta] - 1) around that of E[eta] = .85; log(alpha + beta) around log 10.
CENTRE = np.array([np.log(1.5), logit(2 * 0.85 - 1), np.log(10.0)])
GAP_BOUNDS = (-9.0, 4.0)  # of the logs of gaps between cut points
LOWER_BOUNDS, UPPER_BOUNDS = np.array([-4.0, -3.0, np.log(3.0)]), np.array([4.0, 4.0, np.log(200.0)])


@dataclass(frozen=True)
class Scales:
    """prior_sd: of a utility.   reliability: of an annotator.   log_nu: log of Davidson's nu, -inf without ties.

    log_gaps: of the cut points of graded answers, where these count (graded/cut_points.py); log_nu is then -inf in EP.
    """

    prior_sd: float
    reliability: BetaPrior
    log_nu: float = -np.inf
    log_gaps: tuple[float, ...] = ()

    @property
    def cuts(self) -> Floats | None:
        """Return the cut points (n_grades,), None where grades do not count."""
        return cuts_from_gaps(np.array(self.log_gaps)) if self.log_gaps else None

    def vector(self) -> Floats:
        """Return (log prior_sd, logit(2 E[eta] - 1), log(alpha + beta), log nu, log gaps)."""
        beta = self.reliability
        skew = logit(np.clip(2 * beta.mean - 1, 1e-6, 1 - 1e-6))
        return np.array([np.log(self.prior_sd), skew, np.log(beta.alpha + beta.beta), self.log_nu, *self.log_gaps])

    @classmethod
    def of(cls, vector: Floats) -> "Scales":
        return cls(float(np.exp(vector[0])), _beta(vector[1:3]), float(vector[3]), tuple(vector[4:].tolist()))


def _beta(v: Floats) -> BetaPrior:
    mean, size = 0.5 + 0.5 * float(expit(v[0])), float(np.exp(v[1]))
    return BetaPrior(mean * size, (1 - mean) * size)


DEFAULT_SCALES = Scales.of(np.append(CENTRE, -np.inf))


@dataclass(frozen=True)
class ScaleLearner:
    """Which scales are learned; the priors of the others are not used. tie_sd: log nu ~ N(0, tie_sd^2).

    gaps (n_grades,): which of the log gaps between cut points.
    """

    prior_sd: bool
    reliability: bool
    log_nu: bool
    tie_sd: float
    gaps: tuple[bool, ...] = ()

    @property
    def free(self) -> NDArray[np.bool_]:
        """Return which entries of Scales.vector are learned, (4 + n_grades,)."""
        return np.array([self.prior_sd, self.reliability, self.reliability, self.log_nu, *self.gaps])

    def nothing(self) -> "ScaleLearner":
        """Return a learner that keeps every scale as it is."""
        return replace(self, prior_sd=False, reliability=False, log_nu=False, gaps=(False,) * len(self.gaps))

    def log_prior(self, scales: Scales) -> float:
        """Return the log prior of the learned scales, up to constants."""
        off = np.append(scales.vector()[:3] - CENTRE, scales.log_nu / self.tie_sd)[self.free[:4]]
        of_cuts = log_cut_prior(np.array(scales.log_gaps))[0] if any(self.gaps) else 0.0
        return float(-off @ off / 2) + of_cuts

    def bounds(self) -> tuple[Floats, Floats]:
        """Return the least and largest values of Scales.vector, (4 + n_grades,) each."""
        low, high = (np.full(4 + len(self.gaps), gap) for gap in GAP_BOUNDS)
        low[:3], high[:3], low[3], high[3] = LOWER_BOUNDS, UPPER_BOUNDS, -np.inf, np.inf
        return low, high

    def clipped(self, vector: Floats) -> Floats:
        """Return the vector with its learned scales within their bounds, and the others as they are."""
        return np.where(self.free, np.clip(vector, *self.bounds()), vector)

    def score(
        self,
        scales: Scales,
        squares: float,
        n: float,
        crowd: Reliabilities,
        score_nu: float,
        cuts: CutScores | None = None,
    ) -> Floats:
        """Return the derivative of log evidence plus log prior in Scales.vector, 0 where not learned."""
        vector = scales.vector()
        _, by_beta = _reliability_loss(crowd)(vector[1:3])
        by_sd = squares / scales.prior_sd**2 - n - (vector[0] - CENTRE[0])
        by_nu = score_nu - scales.log_nu / self.tie_sd**2 if self.log_nu else 0.0
        by_gaps = np.zeros(0) if cuts is None else _with_prior(cuts, scales).score
        return np.where(self.free, np.concatenate([[by_sd], -by_beta, [by_nu], by_gaps]), 0.0)

    def next_scales(
        self,
        scales: Scales,
        squares: float,
        n: float,
        crowd: Reliabilities,
        score_nu: float,
        curvature_nu: float,
        cuts: CutScores | None = None,
    ) -> Scales:
        """Return EM's next scales. squares: E[sum of squares] of the n utilities that the labels inform."""
        return Scales(
            _learned_sd(scales.prior_sd, squares, n) if self.prior_sd else scales.prior_sd,
            _learned_reliability(scales, crowd) if self.reliability else scales.reliability,
            _learned_log_nu(scales.log_nu, score_nu, curvature_nu, self.tie_sd) if self.log_nu else scales.log_nu,
            scales.log_gaps if cuts is None else _learned_log_gaps(scales, cuts, np.array(self.gaps)),
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
    loss = _reliability_loss(crowd)
    before, _ = loss(start)

    def gain(v: Floats) -> tuple[float, Floats]:
        """Return the loss less that at the start: the search ends by change relative to the size of what it returns."""
        value, gradient = loss(v)
        return value - before, gradient

    best = minimize(gain, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 30})
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
        mass, total = normalise_rows(joint)
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


def _with_prior(cuts: CutScores, scales: Scales) -> CutScores:
    """Return the derivatives of log evidence plus log prior in the log gaps."""
    log_gaps = np.array(scales.log_gaps)
    return (cuts + log_cut_prior(log_gaps)[1]).in_log_gaps(log_gaps)


def _learned_log_gaps(scales: Scales, cuts: CutScores, free: NDArray[np.bool_]) -> tuple[float, ...]:
    """Take one step of at most 1/2 by score over curvature towards the gaps' mode."""
    found, log_gaps = _with_prior(cuts, scales), np.array(scales.log_gaps)
    if not free.any():
        return scales.log_gaps
    curvature = found.curvature[np.ix_(free, free)]
    curvature[np.diag_indices_from(curvature)] += 1e-6 * np.trace(curvature) + 1e-12
    step = np.linalg.solve(curvature, found.score[free])
    log_gaps[free] = np.clip(log_gaps[free] + step * min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-12)), *GAP_BOUNDS)
    return tuple(log_gaps.tolist())
