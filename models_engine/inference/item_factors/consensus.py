"""The consensus of thousands of items: its mean by conjugate gradients, its covariance by few directions and draws."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray

from models_engine.inference.item_factors.conjugate import solve_by_gradients
from models_engine.inference.item_factors.local import (
    ConsensusMoments,
    Information,
    ShardSolution,
    TasteFactors,
)
from models_engine.inference.item_factors.nodes import FactorShard
from models_engine.inference.probit_ep.site_updates import total_sites

__all__ = ["ConsensusSystem", "ItemCovariance", "draw_information"]

Floats = NDArray[np.float64]
MIN_REST = 1e-3  # share of a prior variance that inducing points leave, at least
N_SLOW = 8  # directions of the draws that are solved exactly


@dataclass(frozen=True, eq=False)
class ItemCovariance:
    """The prior covariance R R' + diag(rest) of something over items; reach R (n_items, m), rest (n_items,) > 0.

    m = 0 without item features; with them, R is through inducing points (FITC, see ItemPrior).
    """

    reach: Floats
    rest: Floats

    @classmethod
    def independent(cls, n_items: int) -> "ItemCovariance":
        return cls(np.zeros((n_items, 0)), np.ones(n_items))

    def scaled(self, variance: float) -> "ItemCovariance":
        return ItemCovariance(np.sqrt(variance) * self.reach, variance * self.rest)

    @cached_property
    def _half(self) -> Floats:
        """Return B with inverse = diag(1/rest) - B B', (n_items, m)."""
        scaled = self.reach / self.rest[:, None]
        inner = np.eye(self.reach.shape[1]) + self.reach.T @ scaled
        return np.asarray(scipy.linalg.solve_triangular(np.linalg.cholesky(inner), scaled.T, lower=True)).T

    def solve(self, x: Floats) -> Floats:
        """Return the inverse times x (n_items, m)."""
        return x / self.rest[:, None] - self._half @ (self._half.T @ x)

    @cached_property
    def inverse_diagonal(self) -> Floats:
        return 1 / self.rest - (self._half**2).sum(axis=1)

    def conditional(self, weights: Floats) -> Callable[[Floats], Floats]:
        """Return what multiplies by (inverse + diag(weights))^-1."""
        total = 1 / self.rest + weights
        if not self.reach.shape[1]:
            return lambda x: x / total[:, None]
        scaled = self._half / total[:, None]
        inner = np.eye(self.reach.shape[1]) - self._half.T @ scaled
        factor = scipy.linalg.cho_factor(inner, lower=True)
        return lambda x: x / total[:, None] + scaled @ scipy.linalg.cho_solve(factor, scaled.T @ x)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw from N(0, inverse), (n_items, n)."""
        value = self.reach @ rng.standard_normal((self.reach.shape[1], n))
        return self.solve(value + np.sqrt(self.rest)[:, None] * rng.standard_normal((len(self.rest), n)))


def draw_information(shard: FactorShard, solution: ShardSolution, tastes: TasteFactors, seed: int, n: int) -> Floats:
    """Draw from N(0, information of the shard), (n_items, n): what simulated answers at the sites' precisions say."""
    rng = np.random.default_rng([seed, int(shard.annotators[0])])
    total, places, (u, c) = total_sites(shard.sites, solution.sites), shard.places, solution.pulled.shape
    scores = rng.standard_normal((u, c, n)).reshape(u * c, n)
    noise = np.sqrt(np.maximum(total.precision, 0.0))[:, None] * rng.standard_normal((len(shard.sites), n))
    own, variances = rng.standard_normal((len(places.item), n)), tastes.own[places.item]
    for group in shard.groups:
        prior = group.prior(variances)
        if prior.ndim == 2:
            own[group.nodes] *= np.sqrt(prior).reshape(-1, 1)
            continue
        np.einsum("pnn->pn", prior)[...] += 1e-12
        drawn = np.linalg.cholesky(prior) @ own[group.nodes].reshape(-1, group.n_nodes, n)
        own[group.nodes] = drawn.reshape(-1, n)
    along = places.by_annotator(tastes.loadings[places.item], u)
    seen = total.precision[:, None] * (places.apart @ (along @ scores + own)) + noise
    pulls = places.matrix(solution.kept).T @ (places.apart.T @ seen)
    explained = solution.scores @ np.asarray(along.T @ pulls).reshape(u, c, n)
    kept = pulls - places.matrix(solution.information) @ (along @ explained.reshape(u * c, n))
    return np.asarray(places.by_item @ kept)


@dataclass(frozen=True, eq=False)
class ConsensusSystem:
    """The posterior precision of the consensus, prior^-1 + direct - sum Z'Z, and the gradient.

    lost_product: x to sum Z'Z x, over all shards.
    """

    prior: ItemCovariance
    information: Information
    lost_product: Callable[[Floats], Floats]
    on_step: Callable[[], None] | None = None

    def product(self, x: Floats) -> Floats:
        return np.asarray(self.prior.solve(x) + self.information.direct @ x - self.lost_product(x))

    @cached_property
    def _weights(self) -> Floats:
        return np.maximum(self.information.direct.diagonal() - self.information.lost, 0.0)

    @cached_property
    def diagonal(self) -> Floats:
        return self.prior.inverse_diagonal + self._weights

    def known(self, moments: ConsensusMoments) -> float:
        """Return how many directions the answers tell, tr(A C): A what they say, C the covariance of the consensus."""
        told = self.product(moments.factor) - self.prior.solve(moments.factor)
        return float(np.clip((moments.factor * told).sum() + self._weights @ moments.rest, 1.0, len(moments.mean)))

    @cached_property
    def _precondition(self) -> Callable[[Floats], Floats]:
        return self.prior.conditional(self._weights)

    def solve(self, right: Floats, start: Floats | None = None, tolerance: float = 1e-4) -> Floats:
        return solve_by_gradients(
            self.product, self._precondition, right, start, tolerance=tolerance, on_step=self.on_step
        )

    def mean(self, start: Floats, tolerance: float) -> Floats:
        return self.solve(self.information.gradient[:, None], start[:, None], tolerance)[:, 0]

    def moments(
        self, mean: Floats, draws: Floats, loadings: Floats, start: Floats | None
    ) -> tuple[ConsensusMoments, Floats]:
        """Return the moments of the consensus from draws (n_items, m) of N(0, precision), and these solved.

        Slow directions (all items together, along the components, the leading ones of the draws) are exact; of the
        rest, draws are conditioned on all other items' (see covariance/cores.py, DrawnCore).
        """
        x = self.solve(draws, start, 1e-3)
        root, diagonal = np.sqrt(self.diagonal)[:, None], self.diagonal[:, None]
        leading = np.linalg.svd(root * x, full_matrices=False)[0][:, :N_SLOW]
        known = np.hstack([np.ones((len(mean), 1)), loadings])
        basis = root * np.linalg.qr(np.hstack([root * known, leading]))[0]
        exact = self.solve(basis, None, 1e-4)
        among = basis.T @ exact
        half = np.linalg.cholesky((among + among.T) / 2)
        factor = scipy.linalg.solve_triangular(half, exact.T, lower=True).T
        image = scipy.linalg.solve_triangular(half, basis.T, lower=True).T  # the precision times factor
        along = scipy.linalg.solve_triangular(half, basis.T @ x, lower=True)
        rest = x - factor @ along
        image_rest = draws - image @ along
        spread = ((factor - image / diagonal) ** 2).sum(axis=1)
        variances = spread + ((rest - image_rest / diagonal) ** 2).mean(axis=1) + 1 / self.diagonal
        known_part = (factor**2).sum(axis=1)
        return ConsensusMoments(mean, factor, np.maximum(variances - known_part, 1e-3 * variances)), x
