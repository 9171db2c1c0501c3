"""Gaussian beliefs about utilities and side effect, made of a prior and one Gaussian site per margin."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from models_engine.covariances import Covariance, DenseCovariance
from models_engine.graph_covariance import GraphCovariance
from models_engine.graphs import GraphPrecision
from models_engine.inference.mirrored import MirroredPairs
from models_engine.linalg import sums

__all__ = ["DENSE_LIMIT", "Belief", "DenseBelief", "GraphBelief", "Prior", "believe"]

Floats = NDArray[np.float64]
DENSE_LIMIT = 2_000  # items: up to here the covariance is a dense matrix, past it a GraphCovariance


@dataclass(frozen=True, eq=False)
class Prior:
    """f_i ~ N(0, prior_sd^2) and side ~ N(0, side_sd^2), None where no side effect is inferred."""

    prior_sd: float
    side_sd: float | None


def believe(
    pairs: MirroredPairs,
    bends: Floats,
    pulls: Floats,
    prior: Prior,
    last: "DenseBelief | GraphBelief | None" = None,
    expected: Floats | None = None,
) -> "DenseBelief | GraphBelief | None":
    """Prior times exp(-bend z^2/2 + pull z) of every row's margin z; None where that is no distribution.

    last: the belief before. Past DENSE_LIMIT items its variances serve every other time, as they cost the most, and are
    those of the expected bends (n_rows,), scaled to the items' own, as a graph's covariance wants weights of 0 or more.
    """
    n, graph = pairs.graph.n_items, pairs.graph
    weights, ridge = pairs.by_pair(bends), np.full(n, prior.prior_sd**-2.0)
    linear = graph.divergence(pairs.by_pair(pulls))
    border, corner = np.zeros((n, 0)), np.zeros((0, 0))
    if prior.side_sd is not None:
        border = graph.divergence(pairs.by_pair(bends * pairs.orientation))[:, None]
        corner = np.array([[prior.side_sd**-2.0 + bends @ pairs.orientation**2]])
        linear = np.append(linear, pulls @ pairs.orientation)
    if n <= DENSE_LIMIT:
        return _dense(pairs, graph.dense(weights, ridge), border, corner, linear, prior)
    usual = np.maximum(weights, 0.0) if expected is None else _balanced(pairs, pairs.by_pair(expected), weights)
    return _sparse(pairs, graph.precision(weights, ridge), usual, border, corner, linear, prior, last)


def _balanced(pairs: MirroredPairs, usual: Floats, weights: Floats) -> Floats:
    """(n_pairs,) usual weights times one factor per item, such that every item's sum of weights is that of `weights`,
    or a tenth of the usual where that is less (Sinkhorn's scaling)."""
    graph, n = pairs.graph, pairs.graph.n_items

    def by_item(values: Floats) -> Floats:
        return sums(graph.low, values, n) + sums(graph.high, values, n)

    wanted, factor, scaled = np.maximum(by_item(weights), 0.1 * by_item(usual)), np.ones(n), usual
    for _ in range(20):
        have = by_item(scaled)
        factor *= np.sqrt(np.divide(wanted, have, out=np.ones(n), where=have > 0))
        scaled = usual * factor[graph.low] * factor[graph.high]
    return scaled


def _dense(
    pairs: MirroredPairs, matrix: Floats, border: Floats, corner: Floats, linear: Floats, prior: Prior
) -> "DenseBelief | None":
    matrix = np.block([[matrix, border], [border.T, corner]]) if border.shape[1] else matrix
    try:
        factor = scipy.linalg.cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    return DenseBelief(pairs, prior, scipy.linalg.cho_solve((factor, True), linear), linear, factor)


def _sparse(
    pairs: MirroredPairs,
    precision: GraphPrecision,
    usual: Floats,
    border: Floats,
    corner: Floats,
    linear: Floats,
    prior: Prior,
    last: "DenseBelief | GraphBelief | None",
) -> "GraphBelief | None":
    n = pairs.graph.n_items
    if (precision.diagonal <= 0).any():
        return None
    solved = precision.solve(np.column_stack([linear[:n], border]), tolerance=1e-6)
    mean, reach, side_variance = solved[:, 0], solved[:, 1:], 0.0
    if border.shape[1]:
        schur = corner - border.T @ reach
        if schur[0, 0] <= 0:
            return None
        side = np.linalg.solve(schur, linear[n:] - border.T @ mean)
        mean, side_variance = np.concatenate([mean - reach @ side, side]), float(1 / schur[0, 0])
        reach = reach * np.sqrt(side_variance)
    if not np.isfinite(mean).all():
        return None
    known = last.variances if isinstance(last, GraphBelief) and not last.borrowed else None
    borrowed = known is not None
    if known is None:
        known = GraphCovariance.of(GraphPrecision(pairs.graph, usual, precision.ridge))
    return GraphBelief(pairs, prior, mean, linear, precision, usual, reach, side_variance, known, borrowed)


@dataclass(frozen=True, eq=False)
class DenseBelief:
    """x = (f, side) or f alone, N(mean, (factor factor')^-1); linear: precision times mean."""

    pairs: MirroredPairs
    prior: Prior
    mean: Floats
    linear: Floats
    factor: Floats

    @property
    def row_means(self) -> Floats:
        """(n_rows,) of each row's margin."""
        return self.pairs.margins(self.mean)

    @cached_property
    def inverse(self) -> Floats:
        lower, _ = scipy.linalg.lapack.dpotri(self.factor, lower=1)
        return np.tril(lower) + np.tril(lower, -1).T

    @cached_property
    def row_variances(self) -> Floats:
        pairs, inverse = self.pairs, self.inverse
        low, high, n = pairs.graph.low[pairs.pair], pairs.graph.high[pairs.pair], pairs.graph.n_items
        result = inverse[low, low] + inverse[high, high] - 2 * inverse[low, high]
        if len(self.mean) > n:
            across = inverse[n, low] - inverse[n, high]
            result += 2 * pairs.orientation * across + pairs.orientation**2 * inverse[n, n]
        return result

    @property
    def item_variances(self) -> Floats:
        """(n_items,) uncentred."""
        return np.diagonal(self.inverse)[: self.pairs.graph.n_items]

    @property
    def log_normaliser(self) -> float:
        """log of the integral of prior times sites."""
        log_prior = -self.pairs.graph.n_items * np.log(self.prior.prior_sd) - np.log(self.prior.side_sd or 1.0)
        return float(log_prior - np.log(np.diagonal(self.factor)).sum() + self.linear @ self.mean / 2)

    @property
    def side_variance(self) -> float:
        return float(self.inverse[-1, -1])

    def covariance(self, extra: Floats) -> Covariance:
        """Of the centred utilities, plus extra @ extra.T, extra (n_items, k)."""
        n = self.pairs.graph.n_items
        return DenseCovariance.of(self.inverse[:n, :n] + extra @ extra.T)


@dataclass(frozen=True, eq=False)
class GraphBelief:
    """The same for many items. reach (n_items, 0 or 1): minus the covariance of f with the side effect, over its sd.

    usual (n_pairs,): weights of the Laplacian without negative ones.   variances: of the utilities given the side
    effect, under those.   borrowed: whether they are from the belief before.
    """

    pairs: MirroredPairs
    prior: Prior
    mean: Floats
    linear: Floats
    precision: GraphPrecision
    usual: Floats
    reach: Floats
    side_variance: float
    variances: GraphCovariance
    borrowed: bool

    @property
    def row_means(self) -> Floats:
        return self.pairs.margins(self.mean)

    @cached_property
    def row_variances(self) -> Floats:
        pairs = self.pairs
        low, high = pairs.graph.low, pairs.graph.high
        result = self.variances.difference_variance(low, high)[pairs.pair]
        if self.reach.shape[1]:
            along = (self.reach[low, 0] - self.reach[high, 0])[pairs.pair]
            result = result + (along - np.sqrt(self.side_variance) * pairs.orientation) ** 2
        return result

    @property
    def item_variances(self) -> Floats:
        return self.variances.marginals + (self.reach**2).sum(axis=1)

    @property
    def log_normaliser(self) -> float:
        """With the diagonal's determinant for the precision's, which is too dear here."""
        log_prior = -self.pairs.graph.n_items * np.log(self.prior.prior_sd)
        return float(log_prior - np.log(self.precision.diagonal).sum() / 2 + self.linear @ self.mean / 2)

    def covariance(self, extra: Floats) -> Covariance:
        precision = GraphPrecision(self.pairs.graph, self.usual, self.precision.ridge)
        return GraphCovariance.of(precision, np.hstack([self.reach, extra]))


Belief = DenseBelief | GraphBelief
