"""The Bradley-Terry-Davidson log posterior over arrays: objective, gradient, curvature, and its maximum by Newton."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from models_engine.graphs import GraphPrecision, PairGraph
from models_engine.implied_pairs import PairTable
from models_engine.linalg import chunk_slices, sum_by_group

__all__ = [
    "FEWEST_POINTS",
    "MAX_DENSE_ITEMS",
    "ConcaveProblem",
    "Curvature",
    "DavidsonProblem",
    "PairCounts",
    "ProblemState",
    "average_over_normal",
    "count_points",
    "maximise",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_DENSE_ITEMS = 2_000  # up to here a dense Cholesky factor is quicker than sparse products, and covariances exact
# Gauss-Hermite nodes, and up to which standard deviation of a margin they serve: to 5e-7 of a probability's derivative,
# and better of the probability and its logarithm.
FEWEST_POINTS, MAX_FEWEST_SD = 9, 0.8
FEW_POINTS, MAX_FEW_SD = 15, 1.2


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Weights summed per distinct pair and orientation. Arrays (n_rows,) but for the graph's.

    pair: index into the graph's pairs.   orientation: 1 where low was shown left, -1 right, 0 unknown or not asked.
    low_wins, high_wins, ties: weight of each outcome.
    can_tie: whether the answers could have been ties, rows of both kinds apart; None where all could, or none is one.
    """

    graph: PairGraph
    pair: Ints
    orientation: Floats
    low_wins: Floats
    high_wins: Floats
    ties: Floats
    can_tie: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, pairs: PairTable, sided: NDArray[np.bool_], *, halve_ties: bool) -> "PairCounts":
        """Sum pairs. sided (n_pairs,): whose order shown counts.   halve_ties: a tie is half a win each way."""
        graph, pair = PairGraph.of(pairs.left, pairs.right, pairs.n_items)
        swapped = pairs.left > pairs.right
        oriented = np.where(sided, np.where(swapped, 2, 1), 0)
        tied = (pairs.outcome == 0.5) & (not halve_ties)
        can_tie = np.ones(len(pair), bool) if pairs.can_tie is None or not tied.any() else pairs.can_tie
        keys, row = np.unique((pair * 3 + oriented) * 2 + can_tie, return_inverse=True)
        low_share = np.where(swapped, 1 - pairs.outcome, pairs.outcome)
        return cls(
            graph,
            keys // 6,
            np.array([0.0, 1.0, -1.0])[keys // 2 % 3],
            sum_by_group(row, pairs.weight * np.where(tied, 0.0, low_share), len(keys)),
            sum_by_group(row, pairs.weight * np.where(tied, 0.0, 1 - low_share), len(keys)),
            sum_by_group(row, pairs.weight * tied, len(keys)),
            None if can_tie.all() else keys % 2 == 1,
        )

    @property
    def total(self) -> Floats:
        return self.low_wins + self.high_wins + self.ties


@dataclass(frozen=True, eq=False)
class DavidsonProblem:
    """Log posterior of x = (f, side, log nu); side and log nu only where has_side, has_tie.

    A row has margin z = f_low - f_high + side * orientation and answers with probabilities low : high : tie =
    e^(z/2) : e^(-z/2) : nu (Davidson 1970), so that its log likelihood is jointly concave in z and log nu; nu is 0 in
    rows whose answers could not have been ties.
    prior (n_x,): precision of each coordinate around 0.   variance (n_rows,) or None: averages the log likelihood over
    z ~ N(z, variance), which makes the objective that of a Gaussian variational posterior's mean.
    """

    counts: PairCounts
    has_side: bool
    has_tie: bool
    prior: Floats
    variance: Floats | None = None
    n_points: int = FEWEST_POINTS

    @property
    def n_items(self) -> int:
        return self.counts.graph.n_items

    def with_prior_sd(self, sd: float) -> "DavidsonProblem":
        prior = self.prior.copy()
        prior[: self.n_items] = sd**-2
        return replace(self, prior=prior)

    def with_variance(self, variance: Floats) -> "DavidsonProblem":
        """Return the problem with these variances of the margins, with more nodes if any needs them."""
        return replace(self, variance=variance, n_points=max(self.n_points, count_points(variance)))

    def split(self, x: Floats) -> tuple[Floats, float, float]:
        """Split into (f, side, log nu); side 0 and log nu -inf where they are not inferred."""
        side = float(x[self.n_items]) if self.has_side else 0.0
        return x[: self.n_items], side, float(x[-1]) if self.has_tie else -np.inf

    def margins(self, x: Floats) -> Floats:
        f, side, _ = self.split(x)
        return self.counts.graph.differences(f)[self.counts.pair] + side * self.counts.orientation

    def losses(self, x: Floats, z: Floats, rows: slice) -> Floats:
        """Return -log likelihood of all answers of each of these rows at margins z, (..., n_rows), like z."""
        counts, log_nu = self.counts, self.split(x)[2]
        low, high = _losses(z, log_nu)
        if counts.can_tie is not None:
            low, high = (
                np.where(counts.can_tie[rows], one, other)
                for one, other in zip((low, high), _losses(z, -np.inf), strict=True)
            )
        lost = counts.low_wins[rows] * low + counts.high_wins[rows] * high
        return lost + counts.ties[rows] * (low + z / 2 - log_nu) if self.has_tie else lost

    def objective(self, x: Floats) -> float:
        z = self.margins(x)
        return self._value(x, z, self._average(x, z, lambda z, log_nu: np.stack(_losses(z, log_nu))))

    def at(self, x: Floats) -> "ProblemState":
        """Compute objective, gradient and curvature at x in one pass over the rows."""
        counts, graph, z = self.counts, self.counts.graph, self.margins(x)
        answers = self._average(x, z, _answer_terms)
        low, high, bend = answers[2:5]
        tie, cross, tie_bend = answers[5:] if len(answers) == 8 else np.zeros((3, len(z)))

        def over_pairs(values: Floats) -> Floats:
            return sum_by_group(counts.pair, counts.total * values, graph.n_pairs)

        by_row = (
            counts.low_wins * (high + tie / 2) - counts.high_wins * (low + tie / 2) + counts.ties * (high - low) / 2
        )
        slopes = [graph.divergence(sum_by_group(counts.pair, by_row, graph.n_pairs))]
        border, corner = [], np.diag(self.prior[self.n_items :])
        if self.has_side:
            slopes.append(np.array([by_row @ counts.orientation]))
            border.append(graph.divergence(over_pairs(bend * counts.orientation)))
            corner[0, 0] += (counts.total * bend) @ counts.orientation**2
        if self.has_tie:
            slopes.append(np.array([(counts.ties * (low + high) - (counts.low_wins + counts.high_wins) * tie).sum()]))
            border.append(graph.divergence(over_pairs(cross)))
            corner[-1, -1] += counts.total @ tie_bend
            if self.has_side:
                corner[0, 1] = corner[1, 0] = (counts.total * cross) @ counts.orientation
        columns = np.stack(border, axis=1) if border else np.zeros((self.n_items, 0))
        precision = GraphPrecision(graph, over_pairs(bend), self.prior[: self.n_items])
        gradient = np.concatenate(slopes) - self.prior * x
        return ProblemState(x, self._value(x, z, answers[:2]), gradient, Curvature(precision, columns, corner))

    def _value(self, x: Floats, z: Floats, losses: Floats) -> float:
        counts = self.counts
        lost = counts.low_wins @ losses[0] + counts.high_wins @ losses[1]
        if self.has_tie:
            lost += counts.ties @ (losses[0] + z / 2 - x[-1])
        return -float(lost) - float((self.prior * x) @ x / 2)

    def _average(self, x: Floats, z: Floats, function: Callable[[Floats, float], Floats]) -> Floats:
        """Average function(z, log nu), log nu -inf where the answers could not have been ties."""
        log_nu, can_tie = self.split(x)[2], self.counts.can_tie

        def average(rows: NDArray[np.bool_] | slice, log_nu: float) -> Floats:
            variance = None if self.variance is None else self.variance[rows]
            return average_over_normal(lambda z: function(z, log_nu), z[rows], variance, self.n_points)

        if can_tie is None:
            return average(slice(None), log_nu)
        with_ties, without = average(can_tie, log_nu), average(~can_tie, -np.inf)
        result = np.zeros((len(with_ties), len(z)))
        result[:, can_tie], result[: len(without), ~can_tie] = with_ties, without
        return result


def count_points(variance: Floats) -> int:
    """Return how many nodes average a logistic function over margins of these variances.

    Few serve by Gauss-Hermite (at widths of 2 they would move a learned scale by some .0005); for wider margins
    equidistant ones, at most 1.2 logits apart from -6 to 6 standard deviations. Averages of the function and of its
    derivatives must fit together: where they don't, the steps of find_nearest_gaussian, which take both, end at no
    maximum of the bound.
    """
    widest = np.sqrt(variance.max(initial=0.0))
    if widest <= MAX_FEW_SD:
        return FEWEST_POINTS if widest <= MAX_FEWEST_SD else FEW_POINTS
    return 1 + 2 ** int(np.ceil(np.log2(10 * widest)))


def average_over_normal(
    function: Callable[[Floats], Floats], mean: Floats, variance: Floats | None, n_points: int
) -> Floats:
    """Return E[function(z)], z ~ N(mean, variance), (n_values, n_rows), at as many nodes as count_points says.

    function: from (..., n_rows) to (n_values, ..., n_rows).   mean, variance (n_rows,): None for no variance.
    """
    if variance is None or not len(mean):
        return function(mean)
    points, weights = _nodes(n_points)
    deviation = np.sqrt(variance)
    parts = []
    for part in chunk_slices(len(mean), len(points), budget=200_000):
        values = function(mean[part] + deviation[part] * points[:, None])
        parts.append(np.einsum("p,apr->ar", weights, values))
    return np.concatenate(parts, axis=-1)


@lru_cache
def _nodes(n_points: int) -> tuple[Floats, Floats]:
    """Return nodes and weights (n_points,) of a standard normal average; see count_points."""
    if n_points <= FEW_POINTS:
        points, weights = np.polynomial.hermite_e.hermegauss(n_points)
    else:
        points = np.linspace(-6.0, 6.0, n_points)
        weights = np.exp(-(points**2) / 2)
    weights /= weights.sum()
    points.flags.writeable = weights.flags.writeable = False
    return points, weights


def _losses(z: Floats, log_nu: float) -> tuple[Floats, Floats]:
    """Return -log P(low wins) and -log P(high wins), each to full relative precision."""
    small = np.log1p(np.exp(-np.abs(z)))
    low, high = small + np.maximum(-z, 0), small + np.maximum(z, 0)
    return (low, high) if log_nu == -np.inf else (np.logaddexp(low, log_nu - z / 2), np.logaddexp(high, log_nu + z / 2))


def _answer_terms(z: Floats, log_nu: float) -> Floats:
    """Compute the terms of value, gradient and curvature of one answer, (8, ...), or (5, ...) without ties.

    Both losses; P(low), P(high); the second derivative by z of A = log(e^(z/2) + e^(-z/2) + nu); P(tie); and A's
    derivatives by z and log nu, and by log nu twice. The last three are 0 without ties.
    """
    if log_nu == -np.inf:
        return _choice_terms(z)
    result = np.zeros((8, *z.shape))
    result[0], result[1] = _losses(z, log_nu)
    result[2], result[3] = low, high = np.exp(-result[0]), np.exp(-result[1])
    tie = np.exp(log_nu - result[0] - z / 2)
    result[4] = low * high + (low + high) * tie / 4
    result[5], result[6], result[7] = tie, tie * (high - low) / 2, tie * (low + high)
    return result


def _choice_terms(z: Floats) -> Floats:
    """Compute the first five of `_answer_terms`, without ties, each to full relative precision."""
    ratio = np.exp(-np.abs(z))
    likely, loss = 1 / (1 + ratio), np.log1p(ratio)
    unlikely, low_leads = ratio * likely, z > 0
    result = np.empty((5, *z.shape))
    result[0], result[1] = loss - np.minimum(z, 0), loss + np.maximum(z, 0)
    result[2], result[3] = np.where(low_leads, likely, unlikely), np.where(low_leads, unlikely, likely)
    result[4] = likely * unlikely
    return result


@dataclass(frozen=True, eq=False)
class ProblemState:
    """A problem at x: its value, its gradient (n_x,) and its curvature."""

    x: Floats
    value: float
    gradient: Floats
    curvature: "Curvature"


@dataclass(frozen=True, eq=False)
class Curvature:
    """Minus the Hessian: [[precision, border], [border', corner]], precision (n_items, n_items), q nuisances."""

    precision: GraphPrecision
    border: Floats
    corner: Floats

    @property
    def n_items(self) -> int:
        return len(self.border)

    @property
    def is_dense(self) -> bool:
        return self.n_items <= MAX_DENSE_ITEMS

    @cached_property
    def lower(self) -> Floats:
        """Return the dense Cholesky factor of the whole matrix."""
        inner = self.precision.graph.dense(self.precision.weights, self.precision.ridge)
        whole = np.block([[inner, self.border], [self.border.T, self.corner]]) if self.border.shape[1] else inner
        return np.array(np.linalg.cholesky(whole))

    def solve(self, gradient: Floats) -> Floats:
        """Solve curvature x = gradient: dense, or by conjugate gradients and elimination of the item block."""
        if self.is_dense:
            return np.asarray(scipy.linalg.cho_solve((self.lower, True), gradient))
        solved = self.precision.solve(np.column_stack([gradient[: self.n_items], self.border]), tolerance=1e-9)
        step, reach = solved[:, 0], solved[:, 1:]
        nuisance = np.linalg.solve(self.corner - self.border.T @ reach, gradient[self.n_items :] - self.border.T @ step)
        return np.concatenate([step - reach @ nuisance, nuisance])

    @cached_property
    def inverse(self) -> Floats:
        """Return the whole inverse, dense and symmetric."""
        lower_half, _ = scipy.linalg.lapack.dpotri(self.lower, lower=1)
        return np.asarray(np.tril(lower_half) + np.tril(lower_half, -1).T)

    def nuisance_spread(self) -> tuple[Floats, Floats]:
        """Return extra (n_items, q) and the covariance (q, q) of the nuisances.

        With the nuisances integrated out, the utilities' covariance is precision^-1 + extra extra'.
        """
        reach = self.precision.solve(self.border, tolerance=1e-9)
        spread = np.linalg.inv(self.corner - self.border.T @ reach)
        return reach @ np.linalg.cholesky(spread), np.asarray(spread, dtype=np.float64)


class ConcaveProblem(Protocol):
    """A log posterior that is concave in utilities and nuisances: that of Davidson's model, or of graded answers."""

    def objective(self, x: Floats) -> float: ...
    def at(self, x: Floats) -> ProblemState: ...


def maximise(
    problem: ConcaveProblem, state: ProblemState, *, tolerance: float, limit: int, step_done: Callable[[float], None]
) -> tuple[ProblemState, bool]:
    """Maximise by Newton's method with step halving: (final state, whether the last step was below tolerance)."""
    for _ in range(limit):
        step = state.curvature.solve(state.gradient)
        size, lowest = 1.0, state.value - 1e-12 * abs(state.value)
        while problem.objective(state.x + size * step) < lowest and size > 1e-8:
            size /= 2
        state = problem.at(state.x + size * step)
        step_done(state.value)
        if size == 1.0 and np.abs(step).max(initial=0.0) < tolerance:
            return state, True
    return state, False
