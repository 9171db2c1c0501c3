"""What annotators' answers say about the components' loadings and the size of what is a person's alone."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from models_engine.inference.item_factors.local import (
    ConsensusMoments,
    GroupSolution,
    ScoreMoments,
    ShardSolution,
    TasteFactors,
    gather_rows,
    node_moments,
    score_moments,
    sum_rows,
)
from models_engine.inference.item_factors.nodes import FactorShard, NodeGroup
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
    scores = score_moments(shard, solution, tastes, consensus)
    second = scores.covariance + scores.mean[:, :, None] * scores.mean[:, None, :]
    n, c, u = len(tastes.own), tastes.loadings.shape[1], shard.n_annotators
    aim, blocks, own = np.zeros((n, c)), np.zeros((n, c, c)), (np.einsum("ucc->u", second) - c) / 2
    total = total_sites(shard.sites, solution.sites)
    for group, one in zip(shard.groups, solution.groups, strict=True):
        covariance = gather_rows(group, solution.scores)
        known = one.information @ tastes.loadings[group.items] @ covariance
        shared = consensus.factor[group.items] @ gather_rows(group, scores.across).transpose(0, 2, 1) @ covariance
        shared = group.spread(consensus.rest) @ known + shared  # minus Cov(t, w)
        mean = gather_rows(group, scores.mean)[:, None, :]
        moved = one.pull[:, :, None] * mean - one.information @ (
            consensus.mean[group.items][:, :, None] * mean - shared
        )
        aim += sum_rows(group.items.ravel(), moved.reshape(group.items.size, c), n)
        diagonal = np.einsum("pnn->pn", one.information)
        weighted = diagonal[:, :, None, None] * gather_rows(group, second)[:, None]
        blocks += sum_rows(group.items.ravel(), weighted.reshape(group.items.size, c * c), n).reshape(n, c, c)
        at, _ = node_moments(group, one, solution, scores, tastes, consensus)
        residual = group.shift(total.shift) - np.matmul(group.precision(total.precision), at[:, :, None])[:, :, 0]
        own += np.bincount(group.annotators, _own_scores(group, one, solution, scores, tastes, consensus, residual), u)
    return TasteStatistics(aim, blocks, second.sum(axis=0), u, float(own.sum()), float((own**2).sum())), second


def _own_scores(
    group: NodeGroup,
    one: GroupSolution,
    solution: ShardSolution,
    scores: ScoreMoments,
    tastes: TasteFactors,
    consensus: ConsensusMoments,
    residual: Floats,
) -> Floats:
    """Return tr(M (e e' - E + E C E)) / 2 of each part, M = 1 where two nodes are the same item: see taste_statistic.

    C, the covariance of the consensus, is factor factor' + diag(rest).
    """
    own, rest = gather_rows(group, solution.scores), group.spread(consensus.rest + tastes.open)
    reach = one.information @ tastes.loadings[group.items]
    wide = own + own @ gather_rows(group, scores.inner) @ own
    found = one.information @ rest @ one.information - one.information + reach @ wide @ reach.transpose(0, 2, 1)
    cross = one.information @ rest @ reach @ own @ reach.transpose(0, 2, 1)
    moved = one.information @ consensus.factor[group.items] - reach @ (own @ gather_rows(group, scores.across))
    found += moved @ moved.transpose(0, 2, 1) - cross - cross.transpose(0, 2, 1)
    found += residual[:, :, None] * residual[:, None, :]
    if group.same is not None:
        return np.asarray((found * group.same * tastes.own[group.items][:, :, None]).sum(axis=(1, 2)) / 2)
    return np.asarray((np.einsum("pnn->pn", found) * tastes.own[group.items]).sum(axis=1) / 2)


def node_residuals(
    shard: FactorShard, solution: ShardSolution, tastes: TasteFactors, consensus: ConsensusMoments
) -> scipy.sparse.csr_array:
    """Return e = b - W f of each annotator over items, (U, n_items): how the answers pull their utilities."""
    scores, total = score_moments(shard, solution, tastes, consensus), total_sites(shard.sites, solution.sites)
    rows, columns, values = [], [], []
    for group, one in zip(shard.groups, solution.groups, strict=True):
        at, _ = node_moments(group, one, solution, scores, tastes, consensus)
        weighted = np.matmul(group.precision(total.precision), at[:, :, None])[:, :, 0]
        rows.append(np.repeat(group.annotators, group.n_nodes))
        columns.append(group.items.ravel())
        values.append((group.shift(total.shift) - weighted).ravel())
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return scipy.sparse.coo_array(entries, shape=(shard.n_annotators, len(tastes.own))).tocsr()


def loading_product(shard: FactorShard, solution: ShardSolution, second: Floats, loadings: Floats) -> Floats:
    """Return the sum of J V E[w w'] over the nodes of a shard, (n_items, c)."""
    found = np.zeros_like(loadings)
    for group, one in zip(shard.groups, solution.groups, strict=True):
        moved = one.information @ (loadings[group.items] @ gather_rows(group, second))
        found += sum_rows(group.items.ravel(), moved.reshape(group.items.size, loadings.shape[1]), len(found))
    return found
