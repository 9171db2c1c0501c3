"""Learns sizes of consensus and tastes, and the components, by EM and scores between sweeps of EP."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from models_engine.inference.item_factors.conjugate import solve_by_gradients
from models_engine.inference.item_factors.ep import FactorEP
from models_engine.inference.item_factors.local import TasteFactors
from models_engine.inference.item_factors.shape import (
    TasteStatistics,
    add_statistics,
    loading_product,
    node_residuals,
    statistics_of,
)

__all__ = [
    "Components",
    "OwnSize",
    "answer_scale",
    "consensus_variance",
    "first_components",
    "improve_components",
    "taste_statistics",
]

Floats = NDArray[np.float64]
MIN_SIGNAL = 1.0  # of a component: mean square of its loadings over what is open about them
MAX_STEP = 0.4  # of the log of a variance
GRADIENT_STEPS = 5  # of the loadings, in one round
START = 0.3  # first size of a component's loadings


@dataclass(frozen=True, eq=False)
class Components:
    """Learned components: loadings (n_items, c), their variances a priori (c,), and what is open about each item's
    loadings, summed over components, (n_items,)."""

    loadings: Floats
    variances: Floats
    open: Floats

    @property
    def size(self) -> float:
        """Return the variance of a taste that components explain, the mean over items."""
        return float((self.loadings**2).sum() / len(self.loadings) + self.open.mean())

    def within(self, size: float) -> "Components":
        """Return the same, made smaller where they explain more than `size`."""
        share = min(1.0, size / max(self.size, 1e-300))
        return Components(np.sqrt(share) * self.loadings, share * self.variances, share * self.open)

    @property
    def count(self) -> int:
        return self.loadings.shape[1]


def first_components(ep: FactorEP, count: int, variance: float) -> Components:
    """Start along the leading directions in which annotators differ from the consensus, as 0 is a saddle point.

    These are the leading right singular vectors of the annotators' residuals over items, each item's scaled by the
    square root of the information about it.
    """
    if ep.system is None:
        raise ValueError("there was no sweep yet.")
    do = ep.executor
    parts = do.gather(do.map(node_residuals, ep.kept, ep.solved, shared=[len(ep.moments.mean)]))
    residuals = scipy.sparse.vstack(parts).tocsr()
    count = min(count, min(residuals.shape) - 1)
    n = residuals.shape[1]
    if count < 1:
        return Components(np.zeros((n, 0)), np.zeros(0), np.zeros(n))
    scale = 1 / np.sqrt(np.maximum(ep.system.information.direct.diagonal(), 1e-9))
    scaled = residuals @ scipy.sparse.diags_array(scale)
    start = np.random.default_rng(0).standard_normal(min(residuals.shape))
    _, values, found = scipy.sparse.linalg.svds(scaled, k=count, v0=start)
    loadings = found[np.argsort(-values)].T * START * np.sqrt(n)
    signs = np.sign(loadings[np.abs(loadings).argmax(axis=0), np.arange(count)])
    return Components(loadings * signs, np.full(count, variance / count), np.zeros(n))


def taste_statistics(ep: FactorEP) -> tuple[TasteStatistics, Any]:
    """Return the statistics of all annotators and, kept beside them, E[w w']."""
    do = ep.executor
    shared = [do.share(ep.tastes), do.share(ep.moments)]
    found = do.map(statistics_of, ep.kept, ep.solved, shared=shared)
    total, _ = do.map_reduce(_first, _add, found)
    return total, do.map(_second, found)


def improve_components(
    ep: FactorEP, now: Components, statistics: TasteStatistics, second: Any, *, prune: bool
) -> Components:
    """Return components after a step of EM, given the moments of the scores; `ep.tastes` may have more loadings beside.

    Loadings maximise the expected log probability, v_c ~ N(0, variance_c unit), by a few conjugate gradients; what is
    open about an item's is (sum J_ii E[w w'] + prior)^-1. A component's variance is the mean of both; then scores are
    scaled to unit second moments (parameter-expanded EM; Liu, Rubin & Wu 1998). prune: whether components whose
    loadings are no larger than what is open about them are dropped.
    """
    n, c = now.loadings.shape
    beside = ep.tastes.loadings[:, c:]
    do, unit = ep.executor, ep.unit

    def moved(loadings: Floats) -> Floats:
        shared = [do.share(loadings)]
        return np.asarray(do.map_reduce(loading_product, np.add, ep.kept, ep.solved, second, shared=shared))[:, :c]

    aim = statistics.aim[:, :c]
    if beside.shape[1]:
        aim = aim - moved(np.hstack([np.zeros((n, c)), beside]))
    blocks = statistics.blocks[:, :c, :c].copy()
    np.einsum("ncc->nc", blocks)[...] += unit.inverse_diagonal[:, None] / now.variances
    open_ = np.linalg.inv(blocks)

    def product(flat: Floats) -> Floats:
        loadings = flat.reshape(n, c)
        padded = np.hstack([loadings, np.zeros_like(beside)])
        return (moved(padded) + unit.solve(loadings) / now.variances).reshape(-1, 1)

    def precondition(flat: Floats) -> Floats:
        return np.asarray(np.matmul(open_, flat.reshape(n, c, 1))).reshape(-1, 1)

    right, start = aim.reshape(-1, 1), now.loadings.reshape(-1, 1)
    found = solve_by_gradients(product, precondition, right, start, tolerance=1e-3, max_steps=GRADIENT_STEPS)
    return _scaled(found.reshape(n, c), np.einsum("ncc->nc", open_), unit, statistics, prune=prune)


def _scaled(loadings: Floats, open_: Floats, unit: Any, statistics: TasteStatistics, *, prune: bool) -> Components:
    n, c = loadings.shape
    squares = (loadings * unit.solve(loadings)).sum(axis=0) + (unit.inverse_diagonal[:, None] * open_).sum(axis=0)
    root = np.linalg.cholesky(statistics.second[:c, :c] / max(statistics.count, 1))
    scale = np.einsum("cc->c", statistics.second)[:c] / max(statistics.count, 1)
    variances = np.maximum(squares / n, 1e-12) * scale
    loadings, open_ = loadings @ root, open_ * scale
    if prune:
        kept = (loadings**2).mean(axis=0) > MIN_SIGNAL * open_.mean(axis=0)
        loadings, variances, open_ = loadings[:, kept], variances[kept], open_[:, kept]
    return Components(loadings, variances, open_.sum(axis=1))


def answer_scale(before: TasteFactors, after: TasteFactors) -> float:
    """Return by how much utilities grow with what is a person's alone, so that answers stay about as probable.

    An answer about two items not met again is Phi(margin / sqrt(1 + 2 own)).
    """
    return float(np.sqrt((1 + 2 * after.own.mean()) / (1 + 2 * before.own.mean())))


def consensus_variance(ep: FactorEP, median: float, log_sd: float) -> float:
    """Return the variance of the consensus after a step of EM; its standard deviation is log-normal a priori.

    The expected square is t' K^-1 t plus the trace of K^-1 times the covariance, K being `ep.unit`. Through inducing
    points that trace, of what is known by draws, would be mostly their noise, and EM slow: there the square of the mean
    is set equal to the number of directions that the answers tell (MacKay 1992).
    """
    moments, unit = ep.moments, ep.unit
    n, log_variance = float(len(moments.mean)), np.log(ep.variance)
    if unit.reach.shape[1] and ep.system is not None:
        square, n = float(moments.mean @ unit.solve(moments.mean[:, None])[:, 0]), ep.system.known(moments)
    else:
        columns = np.column_stack([moments.mean, moments.factor])
        square = float((columns * unit.solve(columns)).sum() + unit.inverse_diagonal @ moments.rest)
    for _ in range(20):
        part = square / (2 * np.exp(log_variance))
        slope = part - n / 2 - (log_variance / 2 - np.log(median)) / (2 * log_sd**2)
        log_variance += np.clip(slope / (part + 1 / (4 * log_sd**2)), -0.5, 0.5)
    return float(np.exp(log_variance))


@dataclass(frozen=True)
class OwnSize:
    """The variance of a taste without components, by scoring steps; damping: of the information, less while all steps
    go the same way, as the size of tastes and that of utilities trade off."""

    variance: float
    damping: float = 1.0
    direction: float = 0.0

    def improved(self, statistics: TasteStatistics, median: float, log_sd: float, shape: float = 0.0) -> "OwnSize":
        """Return the size after one step up the log evidence and the prior.

        The standard deviation of a whole taste, whose variance is `shape` more, is log-normal a priori.
        """
        share = self.variance / (self.variance + shape)
        pull = share * (np.log(self.variance + shape) / 2 - np.log(median)) / (2 * log_sd**2)
        slope = statistics.size_score - pull
        information = statistics.size_squares + 1 / (4 * log_sd**2)
        direction = float(np.sign(slope))
        turned = direction != self.direction
        damping = min(1.0, 2 * self.damping) if turned else max(0.2, 0.7 * self.damping)
        step = float(np.clip(slope / (damping * information), -MAX_STEP, MAX_STEP))
        return replace(self, variance=self.variance * np.exp(step), damping=damping, direction=direction)


def _first(found: tuple[Any, Any]) -> tuple[Any, Any]:
    return found[0], None


def _second(found: tuple[Any, Any]) -> Any:
    return found[1]


def _add(one: tuple[Any, Any], other: tuple[Any, Any]) -> tuple[Any, Any]:
    return add_statistics(one[0], other[0]), None
