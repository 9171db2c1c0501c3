"""Learns the taste covariance by EM, shrunk to the kernel, and optionally of low rank."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from numpy.typing import NDArray

from models_engine.inference.probit_ep.annotator_blocks import Block
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, run_ep, taste_statistic
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.inference.probit_ep.site_updates import Sites
from models_engine.linalg import cholesky, leading_eigenvectors

__all__ = ["LearnedTaste", "LowRankForm", "learn_taste"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LearnedTaste:
    """A learned taste covariance (n_items, n_items), the EP run at it, and whether the steps converged."""

    taste: Floats
    result: EPResult
    converged: bool


def learn_taste(
    sites: PairSites,
    blocks: list[Block],
    crowd: CrowdPrior,
    pseudo_annotators: float,
    *,
    rank: int | None = None,
    begin: Floats | None = None,
    start: Sites | None = None,
    at: Floats | None = None,
    max_steps: int = 40,
    growth: float = 1.3,
    tolerance: float = 0.003,
    on_step: Callable[[float], None] | None = None,
) -> LearnedTaste:
    """Learn the taste covariance by EM, starting from crowd.taste, to which it is also shrunk.

    E-step: EP. M-step: Sigma <- (nu K + U C) / (nu + U), C = Sigma - Sigma S Sigma / U the mean second moment of the
    tastes (Khan, Ko & Seeger 2014; thesis 3.113 with the consensus integrated), which is the variational posterior
    E[Sigma^-1]^-1 under an inverse-Wishart prior of nu = pseudo_annotators degrees of freedom around K = crowd.taste.
    Steps are lengthened by `growth` while they keep their direction, because EM is slow where labels are few.
    rank: keep so many directions beyond the multiple of K. begin: where to start, by default crowd.taste. start, at:
    sites and consensus mean to start EP from. on_step is called with the log evidence after each step.
    """
    prior = crowd.taste
    form = FullForm() if rank is None or rank >= len(prior) else LowRankForm(prior, rank)
    taste = form.nearest(prior if begin is None else begin)
    n_annotators = len(np.unique(sites.annotator))
    result = run_ep(sites, blocks, crowd.changed(taste=taste), start, at, max_iterations=8, tolerance=1e-2)
    last, stretch, size = np.zeros_like(taste), 1.0, np.inf
    for _ in range(max_steps):
        second = n_annotators * taste - form.around(taste_statistic(result), taste)
        target = (pseudo_annotators * prior + second) / (pseudo_annotators + n_annotators)
        step = target - taste
        stretch = min(stretch * growth, 12.0) if (step * last).sum() > 0 else 1.0
        taste = form.stepped(taste, step, stretch)
        size, last = float(np.linalg.norm(step) / np.linalg.norm(taste)), step
        # one update of the sites per step is enough, because the covariance changes slowly
        result = run_ep(
            sites, blocks, crowd.changed(taste=taste), result.kept_sites(1.0), result.mean, max_iterations=0
        )
        if on_step is not None:
            on_step(result.log_evidence)
        if size < tolerance:
            break
    return LearnedTaste(taste, result, size < tolerance)


class FullForm:
    """Any positive definite matrix."""

    def nearest(self, taste: Floats) -> Floats:
        return taste

    def around(self, statistic: Floats, taste: Floats) -> Floats:
        """Return taste @ statistic @ taste."""
        return taste @ statistic @ taste

    def stepped(self, taste: Floats, step: Floats, stretch: float) -> Floats:
        """Return taste + stretch * step, or the plain step where the long one would not be positive definite."""
        longer = taste + stretch * step
        try:
            np.linalg.cholesky(longer - 1e-3 * np.diag(np.diagonal(taste)))
        except np.linalg.LinAlgError:
            longer = taste + step
        return (longer + longer.T) / 2


class LowRankForm:
    """V V' + rho K, V (n_items, rank) (thesis 3.48, 3.49, 3.81); V and rho of the last one are kept."""

    def __init__(self, kernel: Floats, rank: int) -> None:
        self.kernel, self.rank = kernel, rank
        diagonal = np.diagonal(kernel)
        self._diagonal = diagonal if np.count_nonzero(kernel) == len(kernel) else None
        self._root = np.sqrt(diagonal)
        self._lower = kernel if self._diagonal is not None else cholesky(kernel)
        self.loadings, self.rho = np.zeros((len(kernel), 0)), 1.0

    def nearest(self, taste: Floats) -> Floats:
        """Return the nearest matrix of this form in the kernel's metric."""
        return self._kept(*self._parts(taste))

    def stepped(self, taste: Floats, step: Floats, stretch: float) -> Floats:
        """Return the nearest to taste + stretch * step, or to the plain step where the long one is not of this form."""
        loadings, rho = self._parts(taste + stretch * step)
        return self._kept(loadings, rho) if rho > 1e-3 * self.rho else self.nearest(taste + step)

    def around(self, statistic: Floats, taste: Floats) -> Floats:
        """Return taste @ statistic @ taste; taste: the stored one, statistic: symmetric. Quick where K is diagonal."""
        if self._diagonal is None:
            return taste @ statistic @ taste
        v, weighted = self.loadings, self.rho * self._diagonal
        across = weighted[:, None] * (statistic @ v)
        left, right = np.hstack([v @ (v.T @ statistic @ v) + across, v]), np.hstack([v, across])
        found = weighted[:, None] * statistic
        found *= weighted
        found += left @ right.T
        return found

    def _parts(self, taste: Floats) -> tuple[Floats, float]:
        white = self._white(taste)
        values, vectors = _leading(white, self.rank)
        rho = max(1e-6, float(np.trace(white) - values.sum()) / (len(taste) - self.rank))
        scaled = vectors * np.sqrt(np.maximum(values - rho, 0.0))
        return (self._lower @ scaled if self._diagonal is None else self._root[:, None] * scaled), rho

    def _kept(self, loadings: Floats, rho: float) -> Floats:
        self.loadings, self.rho = loadings, rho
        return loadings @ loadings.T + rho * self.kernel

    def _white(self, taste: Floats) -> Floats:
        """Return L^-1 taste L^-T for K = L L'."""
        if self._diagonal is not None:
            return taste / self._root[:, None] / self._root
        white = scipy.linalg.solve_triangular(self._lower, taste, lower=True)
        white = scipy.linalg.solve_triangular(self._lower, white.T, lower=True)
        return (white + white.T) / 2


def _leading(matrix: Floats, count: int) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues and their eigenvectors, by Lanczos from a fixed start for a large matrix."""
    n = len(matrix)
    if n > 500 and 4 * count < n and matrix.any():
        start = np.cos(np.arange(n, dtype=np.float64))
        values, vectors = scipy.sparse.linalg.eigsh(matrix, count, which="LA", v0=start, tol=1e-6)
        return np.asarray(values), np.asarray(vectors)
    return leading_eigenvectors(matrix, count)
