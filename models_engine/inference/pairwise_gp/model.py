"""A Gaussian process over items observed in pairs, with unknown prior scale: Gaussian posterior and its bound."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from models_engine.implied_pairs import PairTable
from models_engine.inference.pairwise_gp.inducing import ItemPrior
from models_engine.inference.probit_ep.expected_probit import expected_factor
from models_engine.linalg import cholesky, chunk_slices, inverse_from_cholesky, laplacian, sum_by_group

__all__ = ["GPState", "GammaPrior", "GaussianMargins", "PairFactors", "PairwiseGP"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PairFactors:
    """Distinct pairs low < high with the factors Phi(z)^wins Phi(-z)^losses, z = f_low - f_high. Arrays (n_pairs,).

    A tie is half a win each way; weights and composite weights are in the exponents.
    """

    low: Ints
    high: Ints
    wins: Floats
    losses: Floats
    n_items: int

    @classmethod
    def of(cls, pairs: PairTable) -> "PairFactors":
        found = pairs.distinct()
        some = found.total > 0
        ties = found.ties[some] / 2
        wins, losses = found.wins_low[some] + ties, found.wins_high[some] + ties
        return cls(found.low[some], found.high[some], wins, losses, found.n_items)

    def __len__(self) -> int:
        return len(self.low)

    def select(self, rows: NDArray) -> Self:
        return replace(self, **{name: getattr(self, name)[rows] for name in self.columns})

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the fields that have a value for each row."""
        return ("low", "high", "wins", "losses")

    @property
    def log_prior(self) -> float:
        """Return the log prior of what the factors learn: nothing, so 0."""
        return 0.0

    def terms(self, margins: "GaussianMargins") -> Floats:
        """Return `expected_factor` of all rows, (3, n_pairs)."""
        return np.stack(expected_factor(margins.mean, margins.variance, self.wins, self.losses))

    def expected_by(self, terms: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the expected log factors, their slopes and minus their curvatures, from `terms`."""
        return terms[0], terms[1], terms[2]


@dataclass(frozen=True)
class GammaPrior:
    """s ~ Gamma(shape, rate), E[s] = shape / rate: the inverse scale, so that a utility has variance 1 / s."""

    shape: float
    rate: float

    @property
    def mean(self) -> float:
        return self.shape / self.rate

    def divergence(self, shape: float, rate: float) -> float:
        """Return KL(Gamma(shape, rate) | this)."""
        return float(
            (shape - self.shape) * digamma(shape)
            - gammaln(shape)
            + gammaln(self.shape)
            + self.shape * (np.log(rate) - np.log(self.rate))
            + shape * (self.rate - rate) / rate
        )


@dataclass(frozen=True, eq=False)
class PairwiseGP:
    """The model u ~ N(0, K / s), s ~ Gamma, with utilities f through `prior` and labels through `factors`."""

    factors: PairFactors
    prior: ItemPrior
    scale: GammaPrior

    def margins(
        self, factors: PairFactors, mean: Floats, covariance: Floats, inverse_scale: float
    ) -> "GaussianMargins":
        """Return means and variances (n_pairs,) of the margins for u ~ N(mean, covariance)."""
        low, high = factors.low, factors.high
        if self.prior.reach is None:
            own = np.diagonal(covariance)
            return GaussianMargins(mean[low] - mean[high], _positive(own[low] + own[high] - 2 * covariance[low, high]))
        items, where = np.unique(np.concatenate([low, high]), return_inverse=True)
        a, b = np.split(where.ravel(), 2)
        rows = self.prior.reach[items]
        spread, at = rows @ covariance, rows @ mean
        own = np.einsum("nm,nm->n", rows, spread) + self.prior.rest[items] / inverse_scale
        cross = np.empty(len(low))
        for part in chunk_slices(len(low), 2 * rows.shape[1]):
            cross[part] = np.einsum("nm,nm->n", rows[a[part]], spread[b[part]])
        return GaussianMargins(at[a] - at[b], _positive(own[a] + own[b] - 2 * cross))

    def open_weight(self, factors: PairFactors, curvatures: Floats) -> float:
        """Return half the sum of curvatures times the margins' variance given the points; 0 if items are the points."""
        if self.prior.reach is None:
            return 0.0
        return float(curvatures @ (self.prior.rest[factors.low] + self.prior.rest[factors.high])) / 2

    def scale_given(self, square: float, open_weight: float, inverse_scale: float) -> tuple[float, float]:
        """Return q(s) = Gamma(shape, rate) for E[u' K^-1 u] = square (crowd_gppl (17)).

        The variance given the points depends on E[s] as well, so that E[s] maximises shape ln E[s] - rate' E[s] plus
        the
        expected log likelihood: E[s] = (shape + open_weight / E[s]) / rate', at the previous E[s].
        """
        shape, rate = self.scale.shape + self.prior.n_points / 2, self.scale.rate + square / 2
        return shape, rate * shape / (shape + open_weight / inverse_scale)

    def information(self, factors: PairFactors, weights: Floats) -> Floats:
        """Return X' diag(weights) X, (m, m), with X u the margins."""
        graph = laplacian(factors.low, factors.high, weights, factors.n_items)
        reach = self.prior.reach
        return graph.toarray() if reach is None else np.asarray(reach.T @ (graph @ reach))

    def project_slopes(self, factors: PairFactors, slopes: Floats) -> Floats:
        """Return X' slopes, (m,)."""
        found = sum_by_group(factors.low, slopes, factors.n_items) - sum_by_group(factors.high, slopes, factors.n_items)
        return found if self.prior.reach is None else self.prior.reach.T @ found

    def covariance(self, weights: Floats, inverse_scale: float) -> tuple[Floats, float]:
        """Return the inverse of inverse_scale K^-1 + X' diag(weights) X, (m, m), and its log determinant."""
        lower = cholesky(inverse_scale * self.prior.precision + self.information(self.factors, weights))
        return inverse_from_cholesky(lower), -2 * float(np.log(np.diagonal(lower)).sum())

    def at(self, weights: Floats, inverse_scale: float, mean: Callable[[Floats], Floats] | Floats) -> "GPState":
        """Return the state of covariance (inverse_scale K^-1 + X' diag(weights) X)^-1 and this mean (given that)."""
        covariance, log_determinant = self.covariance(weights, inverse_scale)
        return GPState(
            self,
            weights,
            inverse_scale,
            mean(covariance) if callable(mean) else mean,
            covariance,
            log_determinant,
        )

    def start(self) -> "GPState":
        """Return the prior as a state."""
        return self.at(np.zeros(len(self.factors)), self.scale.mean, np.zeros(self.prior.n_points))


@dataclass(frozen=True, eq=False)
class GaussianMargins:
    """Means and variances, (n_pairs,) each."""

    mean: Floats
    variance: Floats


@dataclass(frozen=True, eq=False)
class GPState:
    """q(u) = N(mean, covariance), covariance^-1 = inverse_scale K^-1 + X' diag(weights) X, and the best q(s) for it."""

    problem: PairwiseGP
    weights: Floats
    inverse_scale: float
    mean: Floats
    covariance: Floats
    log_determinant: float

    @cached_property
    def gamma(self) -> tuple[float, float]:
        """Return shape and rate of q(s)."""
        problem = self.problem
        open_weight = problem.open_weight(problem.factors, self.expected[2])
        return problem.scale_given(self.square, open_weight, self.inverse_scale)

    @cached_property
    def square(self) -> float:
        """Return E[u' K^-1 u]."""
        precision = self.problem.prior.precision
        return float((precision * self.covariance).sum() + self.mean @ precision @ self.mean)

    @property
    def expected_scale(self) -> float:
        """Return E[s]."""
        return self.gamma[0] / self.gamma[1]

    @cached_property
    def margins(self) -> GaussianMargins:
        return self.problem.margins(self.problem.factors, self.mean, self.covariance, self.inverse_scale)

    @cached_property
    def terms(self) -> Floats:
        """Return the factors' own expectations, from which `expected` follows."""
        return self.problem.factors.terms(self.margins)

    @cached_property
    def expected(self) -> tuple[Floats, Floats, Floats]:
        """See `PairFactors.expected_by`."""
        return self.problem.factors.expected_by(self.terms)

    @cached_property
    def bound(self) -> float:
        """Return E log p(labels | f) - KL(q(u, s) | p(u, s)), below log p(labels) and so below 0.

        Of graded answers also the log prior of their cut points.
        With E log p(u | s) = m/2 (E ln s - ln 2 pi) - ln|K|/2 - E[s] tr(K^-1 E u u')/2 (crowd_gppl's (32)-(35)
        corrected). With inducing points inverse_scale replaces s in the variance given the points.
        """
        problem, (shape, rate) = self.problem, self.gamma
        n = problem.prior.n_points
        log_s = digamma(shape) - np.log(rate)
        log_prior = (n * log_s - problem.prior.log_determinant - self.expected_scale * self.square) / 2
        entropy = (n + self.log_determinant) / 2
        likelihood = float(self.expected[0].sum()) + problem.factors.log_prior
        return float(likelihood + log_prior + entropy - problem.scale.divergence(shape, rate))


def _positive(variances: Floats) -> Floats:
    return np.maximum(variances, 1e-12)
