"""Gaussian beliefs about utilities and the side effect: a prior times one Gaussian site per margin."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from models_engine.covariance.forms import Covariance, DenseCovariance
from models_engine.covariance.graph import GraphCovariance
from models_engine.graphs import GraphPrecision
from models_engine.inference.crowd_bt.pairs import NoisyPairs
from models_engine.linalg import sum_by_group

__all__ = ["MAX_DENSE_ITEMS", "Belief", "DenseBelief", "GaussianPrior", "GraphBelief", "combine_sites"]

Floats = NDArray[np.float64]
MAX_DENSE_ITEMS = 2_000  # items: up to here the covariance is a dense matrix, past it a GraphCovariance


@dataclass(frozen=True, eq=False)
class GaussianPrior:
    """f_i ~ N(0, prior_sd^2) and side ~ N(0, side_sd^2), None where no side effect is inferred."""

    prior_sd: float
    side_sd: float | None


def combine_sites(
    pairs: NoisyPairs,
    precisions: Floats,
    shifts: Floats,
    prior: GaussianPrior,
    last: "DenseBelief | GraphBelief | None" = None,
    expected: Floats | None = None,
) -> "DenseBelief | GraphBelief | None":
    """Multiply the prior by exp(-precision z^2/2 + shift z) of every row's margin z; None if that is not normalisable.

    precisions, shifts (n_rows,).   last: the previous belief. Above MAX_DENSE_ITEMS items its variances are reused
    every other time, because they are the costly part. There variances come from the expected precisions (n_rows,),
    rescaled to each item's total, because a graph covariance needs weights of 0 or more.
    """
    n, graph = pairs.graph.n_items, pairs.graph
    weights, ridge = pairs.by_pair(precisions), np.full(n, prior.prior_sd**-2.0)
    linear = graph.divergence(pairs.by_pair(shifts))
    border, corner = np.zeros((n, 0)), np.zeros((0, 0))
    if prior.side_sd is not None:
        border = graph.divergence(pairs.by_pair(precisions * pairs.orientation))[:, None]
        corner = np.array([[prior.side_sd**-2.0 + precisions @ pairs.orientation**2]])
        linear = np.append(linear, shifts @ pairs.orientation)
    if n <= MAX_DENSE_ITEMS:
        return _dense(pairs, graph.dense(weights, ridge), border, corner, linear, prior)
    laplacian_weights = (
        np.maximum(weights, 0.0) if expected is None else _balance_weights(pairs, pairs.by_pair(expected), weights)
    )
    return _sparse(pairs, graph.precision(weights, ridge), laplacian_weights, border, corner, linear, prior, last)


def _balance_weights(pairs: NoisyPairs, laplacian_weights: Floats, weights: Floats) -> Floats:
    """Scale laplacian_weights (n_pairs,) by one factor per item so that each item's sum of weights is that of
    `weights`.

    An item's sum is at least a tenth of its sum of laplacian_weights (Sinkhorn's scaling).
    """
    graph, n = pairs.graph, pairs.graph.n_items

    def by_item(values: Floats) -> Floats:
        return sum_by_group(graph.low, values, n) + sum_by_group(graph.high, values, n)

    wanted, factor, scaled = (
        np.maximum(by_item(weights), 0.1 * by_item(laplacian_weights)),
        np.ones(n),
        laplacian_weights,
    )
    for _ in range(20):
        have = by_item(scaled)
        factor *= np.sqrt(np.divide(wanted, have, out=np.ones(n), where=have > 0))
        scaled = laplacian_weights * factor[graph.low] * factor[graph.high]
    return scaled


def _dense(
    pairs: NoisyPairs, matrix: Floats, border: Floats, corner: Floats, linear: Floats, prior: GaussianPrior
) -> "DenseBelief | None":
    matrix = np.block([[matrix, border], [border.T, corner]]) if border.shape[1] else matrix
    try:
        factor = scipy.linalg.cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    return DenseBelief(pairs, prior, scipy.linalg.cho_solve((factor, True), linear), linear, factor)


def _sparse(
    pairs: NoisyPairs,
    precision: GraphPrecision,
    laplacian_weights: Floats,
    border: Floats,
    corner: Floats,
    linear: Floats,
    prior: GaussianPrior,
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
    variances = last.variances if isinstance(last, GraphBelief) and not last.reuses_variances else None
    reuses_variances = variances is not None
    if variances is None:
        variances = GraphCovariance.of(GraphPrecision(pairs.graph, laplacian_weights, precision.ridge))
    return GraphBelief(
        pairs, prior, mean, linear, precision, laplacian_weights, reach, side_variance, variances, reuses_variances
    )


@dataclass(frozen=True, eq=False)
class DenseBelief:
    """x = (f, side) or f alone, N(mean, (factor factor')^-1); linear: precision times mean."""

    pairs: NoisyPairs
    prior: GaussianPrior
    mean: Floats
    linear: Floats
    factor: Floats

    @property
    def row_means(self) -> Floats:
        """Return the mean of each row's margin, (n_rows,)."""
        return self.pairs.margins(self.mean)

    @cached_property
    def lower_inverse(self) -> Floats:
        """Return the covariance below and on the diagonal, and whatever above it."""
        return np.asarray(scipy.linalg.lapack.dpotri(self.factor, lower=1)[0])

    @property
    def inverse(self) -> Floats:
        return np.tril(self.lower_inverse) + np.tril(self.lower_inverse, -1).T

    @cached_property
    def row_variances(self) -> Floats:
        pairs, lower, n = self.pairs, self.lower_inverse, self.pairs.graph.n_items
        low, high, own = pairs.graph.low, pairs.graph.high, np.diagonal(lower)
        result = (own[low] + own[high] - 2 * lower[high, low])[pairs.pair]
        if len(self.mean) > n:
            across = (lower[n, low] - lower[n, high])[pairs.pair]
            result += 2 * pairs.orientation * across + pairs.orientation**2 * own[n]
        return result

    @property
    def item_variances(self) -> Floats:
        """Return the variances of the uncentred utilities, (n_items,)."""
        return np.diagonal(self.lower_inverse)[: self.pairs.graph.n_items]

    @property
    def log_normaliser(self) -> float:
        """Return the log of the integral of prior times sites."""
        log_prior = -self.pairs.graph.n_items * np.log(self.prior.prior_sd) - np.log(self.prior.side_sd or 1.0)
        return float(log_prior - np.log(np.diagonal(self.factor)).sum() + self.linear @ self.mean / 2)

    @property
    def side_variance(self) -> float:
        return float(self.lower_inverse[-1, -1])

    def covariance(self, extra: Floats) -> Covariance:
        """Return the covariance of the centred utilities plus extra @ extra.T, extra (n_items, k)."""
        n = self.pairs.graph.n_items
        return DenseCovariance.of(self.inverse[:n, :n] + extra @ extra.T)


@dataclass(frozen=True, eq=False)
class GraphBelief:
    """A belief over many items. reach (n_items, 0 or 1): minus the covariance of f with the side effect, over its sd.

    laplacian_weights (n_pairs,): nonnegative weights of the Laplacian.   variances: of the utilities given the side
    effect, under those weights.   reuses_variances: whether they come from the previous belief.
    """

    pairs: NoisyPairs
    prior: GaussianPrior
    mean: Floats
    linear: Floats
    precision: GraphPrecision
    laplacian_weights: Floats
    reach: Floats
    side_variance: float
    variances: GraphCovariance
    reuses_variances: bool

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
        """Return it with the diagonal's determinant in place of the precision's, which would cost too much here."""
        log_prior = -self.pairs.graph.n_items * np.log(self.prior.prior_sd)
        return float(log_prior - np.log(self.precision.diagonal).sum() / 2 + self.linear @ self.mean / 2)

    def covariance(self, extra: Floats) -> Covariance:
        precision = GraphPrecision(self.pairs.graph, self.laplacian_weights, self.precision.ridge)
        return GraphCovariance.of(precision, np.hstack([self.reach, extra]))


Belief = DenseBelief | GraphBelief
