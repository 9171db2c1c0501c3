"""Gaussians over utilities f = root w, prior w ~ N(0, I), given choices: by bounds (Algorithm 1) or at the mode."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from models_engine.inference.plackett_luce.bounds import ChoiceBounds
from models_engine.linalg import cholesky

__all__ = ["GaussianFit", "fit_bound", "fit_mode", "maximise_bound_gaussian"]

Floats = NDArray[np.float64]
OnStep = Callable[[float], None]


class ConcaveLikelihood(Protocol):
    """A concave log likelihood of utilities (n_items,)."""

    def objective(self, f: Floats) -> float: ...
    def gradient(self, f: Floats) -> Floats: ...
    def curvature_times(self, f: Floats, columns: Floats) -> Floats: ...


@dataclass(frozen=True, eq=False)
class GaussianFit:
    """Gaussian w ~ N(w_mean, (factor factor')^-1); factor lower. root (n_items, r).

    evidence: log p(labels), bounded from below (fit_bound) or by Laplace's method (fit_mode).
    """

    root: Floats
    w_mean: Floats
    factor: Floats
    evidence: float
    converged: bool = True

    @property
    def mean(self) -> Floats:
        """Return the mean of f, (n_items,)."""
        return self.root @ self.w_mean

    def covariance(self) -> Floats:
        """Return the covariance of f, (n_items, n_items)."""
        half = scipy.linalg.solve_triangular(self.factor, self.root.T, lower=True)
        return half.T @ half

    def w_root(self) -> Floats:
        """Return a root of the covariance of w, (r, r)."""
        return scipy.linalg.solve_triangular(self.factor, np.eye(len(self.w_mean)), lower=True).T


def maximise_bound_gaussian(root: Floats, bounds: ChoiceBounds) -> GaussianFit:
    """Apply steps (17) and (18) of Guo et al.; the evidence is the bound (25) at prior mean 0."""
    factor = cholesky(np.eye(root.shape[1]) + root.T @ bounds.precision() @ root)
    target = root.T @ bounds.linear()
    mean = scipy.linalg.cho_solve((factor, True), target)
    bound = bounds.constant() - _half_log_determinant(factor) + float(mean @ target) / 2
    return GaussianFit(root, mean, factor, bound)


def fit_bound(
    root: Floats, bounds: ChoiceBounds, start: Floats, *, tolerance: float, max_iterations: int, on_step: OnStep
) -> GaussianFit:
    """Run Algorithm 1 from mean `start` (n_items,): tighten the bound and fit the Gaussian in turn until converged.

    After each step the mean's levels are set to those most likely by the prior, with which the bound never decreases:
    alpha holds them near where they were, so that by steps alone they would get there in thousands.
    tolerance: largest change of a mean or standard deviation, in standard deviations. on_step is given the bound.
    """
    mean, covariance, sd = start, root @ root.T, np.zeros(len(start))
    level = _level_directions(root, bounds.levels)
    for step in range(max_iterations):
        bounds.tighten(mean, covariance)
        fit = maximise_bound_gaussian(root, bounds)
        on_step(fit.evidence)
        fit = replace(fit, w_mean=fit.w_mean - level @ (level.T @ fit.w_mean))
        mean_before, sd_before = mean, sd
        mean, covariance = fit.mean, fit.covariance()
        sd = np.sqrt(np.maximum(np.diagonal(covariance), 1e-300))
        still = np.maximum(np.abs(mean - mean_before), np.abs(sd - sd_before)) < tolerance * sd
        if step and still.all():
            return fit
    return GaussianFit(root, fit.w_mean, fit.factor, fit.evidence, converged=False)


def fit_mode(
    root: Floats,
    likelihood: ConcaveLikelihood,
    start: Floats,
    *,
    tolerance: float,
    max_iterations: int,
    on_step: OnStep,
) -> GaussianFit:
    """Maximise log p(labels | root w) - w'w / 2 by Newton steps, halved if needed; Laplace covariance and evidence."""
    w: Floats = np.asarray(np.linalg.lstsq(root, start, rcond=None)[0], dtype=np.float64)
    value, converged = likelihood.objective(root @ w) - float(w @ w) / 2, False
    for _ in range(max_iterations):
        factor = _posterior_factor(root, likelihood, w)
        step, size = scipy.linalg.cho_solve((factor, True), root.T @ likelihood.gradient(root @ w) - w), 1.0
        while size > 1e-8:
            proposed = w + size * step
            new = likelihood.objective(root @ proposed) - float(proposed @ proposed) / 2
            if new >= value - 1e-12 * abs(value):
                w, value = proposed, new
                break
            size /= 2
        on_step(value - _half_log_determinant(factor))
        if size == 1.0 and np.abs(step).max(initial=0.0) < tolerance:
            converged = True
            break
    factor = _posterior_factor(root, likelihood, w)
    return GaussianFit(root, w, factor, value - _half_log_determinant(factor), converged)


def _level_directions(root: Floats, levels: Floats) -> Floats:
    """Return an orthonormal basis (r, p) of the w for which root w is one of the levels (n_items, .).

    Those that the root cannot give are left out: features alone are centred, and have no common level.
    """
    if levels.shape[1] == 0:
        return np.zeros((root.shape[1], 0))
    w = scipy.linalg.lstsq(root, levels, lapack_driver="gelsy")[0]
    given = np.abs(root @ w - levels).max(axis=0, initial=0.0) < 1e-6
    return np.asarray(np.linalg.qr(w[:, given])[0])


def _posterior_factor(root: Floats, likelihood: ConcaveLikelihood, w: Floats) -> Floats:
    return cholesky(np.eye(len(w)) + root.T @ likelihood.curvature_times(root @ w, root))


def _half_log_determinant(factor: Floats) -> float:
    return float(np.log(np.diagonal(factor)).sum())
