"""What annotators' answers say about the components' loadings and the size of what is a person's alone."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from models_engine.inference.item_factors.local import (
    ConsensusMoments,
    ShardSolution,
    TasteFactors,
    score_moments,
)
from models_engine.inference.item_factors.nodes import FactorShard
from models_engine.inference.probit_ep.site_updates import total_sites

__all__ = ["TasteStatistics", "add_statistics", "loading_product", "node_residuals", "statistics_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TasteStatistics:
    """Sums over annotators.

    aim (n_items, c): h E[w'] - J E[t w'].   blocks (n_items, c, c): J_ii E[w w'].   second (c, c), count: of scores.
    size_score, size_squares: derivative of the log evidence in the log of the variance of tastes, and the sum of its
    squares over annotators.
    """

    aim: Floats
    blocks: Floats
    second: Floats
    count: int
    size_score: float
    size_squares: float


def add_statistics(one: TasteStatistics, other: TasteStatistics) -> TasteStatistics:
    return TasteStatistics(*(getattr(one, name) + getattr(other, name) for name in vars(one)))


def statistics_of(
    shard: FactorShard, solution: ShardSolution, tastes: TasteFactors, consensus: ConsensusMoments
) -> tuple[TasteStatistics, Floats]:
    """Return the statistics of a shard, and E[w w'] of its annotators, (U, c, c)."""
    scores, places, (u, c) = score_moments(shard, solution, tastes, consensus), shard.places, solution.pulled.shape
    second = scores.covariance + scores.mean[:, :, None] * scores.mean[:, None, :]
    item, reach, covariance = places.item, solution.reach, solution.scores
    rest, factor, mean = consensus.rest[item, None], consensus.factor[item], scores.mean[places.annotator]
    told = np.asarray(places.by_annotator(reach, u) @ covariance.reshape(u * c, c))
    across = (scores.across.transpose(0, 2, 1) @ covariance).reshape(u * factor.shape[1], c)
    shared = np.asarray(places.by_annotator(factor, u) @ across) + rest * told  # minus Cov(t, w)
    values = np.column_stack(
        [consensus.mean[item, None] * mean - shared, (rest + tastes.open[item, None]) * reach, factor]
    )
    moved, lost, along = np.split(np.asarray(places.matrix(solution.information) @ values), [c, 2 * c], axis=1)
    aim = np.asarray(places.by_item @ (solution.pull[:, None] * mean - moved))
    blocks = np.asarray(places.item_annotators(solution.information[places.diagonal], u) @ second.reshape(u, c * c))
    both = np.concatenate([scores.inner, scores.across], axis=2)
    known = np.asarray(places.by_annotator(told, u) @ both.reshape(u * c, both.shape[2]))
    spread = ((reach + known[:, :c] - 2 * lost) * told).sum(axis=1) + ((along - known[:, c:]) ** 2).sum(axis=1)
    sizes = tastes.own[item] * _own_scores(shard, solution, (consensus.rest + tastes.open)[item], spread)
    own = np.bincount(places.annotator, sizes, u) + (np.einsum("ucc->u", second) - c) / 2
    blocks = blocks.reshape(len(tastes.own), c, c)
    return TasteStatistics(aim, blocks, second.sum(axis=0), u, float(own.sum()), float((own**2).sum())), second


def _own_scores(shard: FactorShard, solution: ShardSolution, rest: Floats, spread: Floats) -> Floats:
    """Return the diagonal of (e e' - E + E C E) / 2 over nodes, (N,), those of the same item summed at the first.

    See taste_statistic. C, the covariance of the consensus, is factor factor' + diag(rest); spread (N,): what factor
    and the scores add to E C E - E.
    """
    places, information = shard.places, solution.information
    residual = np.bincount(places.first, _node_residuals(shard, solution), len(places.item))
    squares = np.asarray(places.matrix(information**2) @ rest)
    return np.asarray((residual**2 - information[places.diagonal] + squares + spread) / 2)


def _node_residuals(shard: FactorShard, solution: ShardSolution) -> Floats:
    """Return e = b - W f of the nodes, (N,)."""
    if solution.margins is None:
        raise ValueError("the sites were not refreshed; call refresh_shard first.")
    total = total_sites(shard.sites, solution.sites)
    return shard.places.shift(total.shift - total.precision * solution.margins[0])


def node_residuals(shard: FactorShard, solution: ShardSolution, n_items: int) -> scipy.sparse.csr_array:
    """Return e = b - W f of each annotator over items, (U, n_items): how the answers pull their utilities."""
    places = shard.places
    entries = (_node_residuals(shard, solution), (places.annotator, places.item))
    return scipy.sparse.coo_array(entries, shape=(shard.n_annotators, n_items)).tocsr()


def loading_product(shard: FactorShard, solution: ShardSolution, second: Floats, loadings: Floats) -> Floats:
    """Return the sum of J V E[w w'] over the nodes of a shard, (n_items, c)."""
    places, (u, c) = shard.places, second.shape[:2]
    moved = places.by_annotator(loadings[places.item], u) @ second.reshape(u * c, c)
    return np.asarray(places.by_item @ (places.matrix(solution.information) @ moved))
