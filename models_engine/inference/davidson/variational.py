"""The Gaussian nearest to a Bradley-Terry-Davidson posterior: natural-gradient steps on the evidence bound."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from models_engine.inference.davidson.mode import Curvature, DavidsonProblem, ProblemState
from models_engine.inference.graded.problem import GradedProblem

__all__ = ["VariationalGaussian", "find_nearest_gaussian", "start_gaussian"]

Floats = NDArray[np.float64]
Problem = DavidsonProblem | GradedProblem
MIN_STEP = 0.01
SWING = 0.5  # of the last step that the next one takes back, from which steps are too long


@dataclass(frozen=True, eq=False)
class VariationalGaussian:
    """q(f) = N(m, C), C^-1 = D' diag(weights) D + prior (Opper & Archambeau 2009, eq. 9-10); nuisances are points.

    state: the problem, averaged over the margins under q, at x = (m, nuisances).   covariance: C (n_items, n_items).
    bound: E log likelihood - KL(q | prior), below the log evidence; with nuisances, plus their log prior.
    """

    problem: Problem
    weights: Floats
    state: ProblemState
    covariance: Floats
    bound: float

    @property
    def curvature(self) -> Curvature:
        """Return the whole curvature, with C^-1 as its item block."""
        found = self.state.curvature
        return replace(found, precision=replace(found.precision, weights=self.weights))

    @property
    def whole_covariance(self) -> Floats:
        """Return the covariance of x, (n_x, n_x): utilities, then nuisances."""
        return self.covariance if len(self.state.x) == len(self.covariance) else self.curvature.inverse


def start_gaussian(problem: Problem, x: Floats, weights: Floats) -> VariationalGaussian:
    """Build q with this mean and these weights of the pairs."""
    return _evaluated(problem, weights, _cholesky(problem, weights), lambda covariance: x)


def find_nearest_gaussian(
    start: VariationalGaussian, *, tolerance: float, limit: int, step_done: Callable[[float], None]
) -> tuple[VariationalGaussian, bool]:
    """Increase the bound until neither the mean nor a margin's variance changes by more than tolerance.

    One step of size r mixes r of the expected curvature into the weights and moves the mean by r C gradient (Khan &
    Lin 2017, eq. 13-14). r is halved while the bound would decrease, shrinks where steps oscillate widely, and grows
    otherwise.
    """
    at, size, last = start, 1.0, np.zeros(1)
    for _ in range(limit):
        new = _step(at, size)
        while new.bound < at.bound - 1e-11 * abs(at.bound) and size > MIN_STEP:
            size /= 2
            new = _step(at, size)
        moved = np.concatenate([new.state.x - at.state.x, _variance(new) - _variance(at)]) / size
        swings = len(last) == len(moved) and float(last @ moved) < -SWING * float(last @ last)
        at, size, last = new, max(MIN_STEP, 0.6 * size) if swings else min(1.0, 1.3 * size), moved
        step_done(at.bound)
        if np.abs(moved).max(initial=0.0) < tolerance:
            return at, True
    return at, False


def _step(at: VariationalGaussian, size: float) -> VariationalGaussian:
    curvature = at.state.curvature
    weights = (1 - size) * at.weights + size * curvature.precision.weights

    def mean(covariance: Floats) -> Floats:
        return at.state.x + size * _newton(covariance, curvature, at.state.gradient)

    return _evaluated(at.problem, weights, _cholesky(at.problem, weights), mean)


def _newton(covariance: Floats, curvature: Curvature, gradient: Floats) -> Floats:
    """Solve the block matrix (item block C^-1, border, corner) for the gradient."""
    n, border = len(covariance), curvature.border
    step = covariance @ gradient[:n]
    if not border.shape[1]:
        return step
    reach = covariance @ border
    nuisance = np.linalg.solve(curvature.corner - border.T @ reach, gradient[n:] - border.T @ step)
    return np.concatenate([step - reach @ nuisance, nuisance])


def _cholesky(problem: Problem, weights: Floats) -> Floats:
    precision = problem.counts.graph.dense(weights, problem.prior[: problem.n_items])
    lower, failed = scipy.linalg.lapack.dpotrf(precision.T, lower=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("the precision of the utilities is not positive definite.")
    return np.asarray(lower.T)


def _evaluated(
    problem: Problem, weights: Floats, lower: Floats, mean: Callable[[Floats], Floats]
) -> VariationalGaussian:
    log_determinant = 2 * np.log(np.diagonal(lower)).sum()
    half, _ = scipy.linalg.lapack.dpotri(lower.T, lower=0, overwrite_c=1)  # 0 on the other side of its diagonal
    covariance = np.asarray(half + half.T)
    np.fill_diagonal(covariance, np.diagonal(half))
    low, high = problem.counts.graph.low, problem.counts.graph.high
    diagonal = np.diagonal(covariance)
    by_pair = np.maximum(diagonal[low] + diagonal[high] - 2 * covariance[low, high], 0.0)
    averaged = problem.with_variance(by_pair[problem.counts.pair])
    state = averaged.at(mean(covariance))
    prior = problem.prior[: problem.n_items]
    bound = state.value + (np.log(prior).sum() - log_determinant) / 2 + (problem.n_items - prior @ diagonal) / 2
    return VariationalGaussian(averaged, weights, state, covariance, float(bound))


def _variance(at: VariationalGaussian) -> Floats:
    variance = at.problem.variance
    return np.zeros(0) if variance is None else variance
