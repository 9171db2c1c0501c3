"""The variational posterior of thousands of independent utilities seen in pairs, without a matrix over all items."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from models_engine.covariance.cores import MAX_DENSE_CORE, Core, DenseCore, DrawnCore
from models_engine.covariance.graph import GraphCovariance
from models_engine.graphs import GraphPrecision, PairGraph
from models_engine.inference.pairwise_gp.model import GammaPrior, GaussianMargins, PairFactors

__all__ = ["LEAST_TOLERANCE", "GraphFit", "fit_on_graph"]

Floats = NDArray[np.float64]
LEAST_TOLERANCE = 1e-3  # variances come from draws, which move by this
MIN_STEP = 0.01


@dataclass(frozen=True, eq=False)
class GraphFit:
    """q(f) = N(mean, covariance), mean (n_items,) not centred; E[s]; the size of the last step."""

    mean: Floats
    covariance: GraphCovariance
    expected_scale: float
    converged: bool
    change: float


def fit_on_graph(
    factors: PairFactors,
    scale: GammaPrior,
    start: tuple[Floats, Floats],
    inverse_scale: float,
    *,
    tolerance: float,
    limit: int,
    on_step: Callable[[float], None],
) -> GraphFit:
    """Take the steps of `variational.maximise_bound` for f ~ N(0, I / s), from this s and from `start`: means and
    variances of the utilities, (n_items,) each.

    Items in no pair tell nothing of s: given it their posterior is their prior, and without them the bound has its
    maximum at the same s, to which it comes in fewer steps. So the steps are those of the compared items alone. With
    one utility an item the precision s I + X' diag(weights) X is a Laplacian with a ridge: means come from conjugate
    gradients, variances from a matrix of up to 2,000 compared items or from draws (covariance.cores), the last ones
    from a GraphCovariance. A step of size r mixes r of the expected curvature into the weights and r of the expected
    scale into s, and moves the mean by r C gradient; r shrinks where steps oscillate. on_step receives the bound with
    the precision's diagonal in place of its determinant. tolerance: largest change of a margin, in standard deviations,
    and of log s; at least LEAST_TOLERANCE.
    """
    compared, ends = np.unique(np.concatenate([factors.low, factors.high]), return_inverse=True)
    low, high = np.split(ends, 2)
    n, graph = len(compared), PairGraph(low, high, len(compared))
    (mean, own), weights, change, last = (
        (one[compared] for one in start),
        np.zeros(len(factors)),
        np.inf,
        np.zeros(len(factors)),
    )
    variance, trace, size = own[graph.low] + own[graph.high], float(own.sum()), 1.0
    precision = graph.precision(weights, np.full(n, inverse_scale))
    shape, expected, tolerance = scale.shape + n / 2, inverse_scale, max(tolerance, LEAST_TOLERANCE)
    for _ in range(limit):
        margins = GaussianMargins(graph.differences(mean), variance)
        value, slopes, curvatures = factors.expected_by(factors.terms(margins))
        rate = scale.rate + (trace + float(mean @ mean)) / 2
        expected = shape / rate
        gradient = graph.divergence(slopes) - expected * mean
        drift = float(np.log(expected / inverse_scale))
        weights = (1 - size) * weights + size * curvatures
        inverse_scale = (1 - size) * inverse_scale + size * expected
        precision = graph.precision(weights, np.full(n, inverse_scale))
        step = precision.solve(gradient[:, None], tolerance=1e-6)[:, 0]
        mean, variance, trace = mean + size * step, *_spread(precision)
        moved = graph.differences(step) / np.sqrt(variance)
        change = max(float(np.abs(moved).max(initial=0.0)), abs(drift))
        size = max(MIN_STEP, 0.6 * size) if float(last @ moved) < 0 else min(1.0, 1.3 * size)
        last = moved
        prior = (n * (digamma(shape) - np.log(rate)) - expected * (trace + float(mean @ mean))) / 2
        entropy = (n - float(np.log(precision.diagonal).sum())) / 2
        on_step(float(value.sum()) + float(prior) + entropy - scale.divergence(shape, rate))
        if change < tolerance:
            break
    whole = PairGraph(factors.low, factors.high, factors.n_items)
    covariance = GraphCovariance.of(whole.precision(weights, np.full(factors.n_items, inverse_scale)))
    utilities = np.zeros(factors.n_items)
    utilities[compared] = mean
    return GraphFit(utilities, covariance, expected, change < tolerance, change)


def _spread(precision: GraphPrecision) -> tuple[Floats, float]:
    """Return the variances of the margins, (n_pairs,), and the sum of the items' variances."""
    graph, core = precision.graph, _core_of(precision)
    own, across = core.variances(), core.covariances(precision.graph.low, precision.graph.high)
    return np.maximum(own[graph.low] + own[graph.high] - 2 * across, 1e-12), float(own.sum())


def _core_of(precision: GraphPrecision) -> Core:
    if precision.graph.n_items > MAX_DENSE_CORE:
        return DrawnCore.of(precision)
    return DenseCore.of(precision.graph.dense(precision.weights, precision.ridge))
