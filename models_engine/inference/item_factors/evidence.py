"""How probable the answers of each annotator are by themselves, the consensus being known up to its uncertainty."""

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.item_factors.local import (
    ConsensusMoments,
    ShardSolution,
    TasteFactors,
    refresh_shard,
    solve_shard,
)
from models_engine.inference.item_factors.nodes import FactorShard
from models_engine.inference.probit_ep.site_updates import Answering, Sites, total_sites
from models_engine.linalg import sum_by_group

__all__ = ["annotator_evidence", "shard_evidence"]

Floats = NDArray[np.float64]
TOLERANCE = 1e-2  # of a site's precision or shift: evidence is stationary in the sites
MAX_ITERATIONS = 15


def annotator_evidence(shard: FactorShard, solution: ShardSolution, consensus: ConsensusMoments) -> Floats:
    """Return EP's log evidence of each annotator, (U,), at refreshed sites; the consensus is known: factor and rest 0.

    The integral of prior times sites is as in `solve_block`, of the nodes.
    """
    if solution.corrections is None or solution.margins is None:
        raise ValueError("the sites were not refreshed; call refresh_shard first.")
    u, places, total = shard.n_annotators, shard.places, total_sites(shard.sites, solution.sites)
    at, start = solution.margins[0], consensus.mean[places.item]
    residual = total.shift - total.precision * at
    value = (total.shift + residual) * at - residual * (at - start[places.low] + start[places.high])
    found = sum_by_group(shard.sites.annotator, shard.sites.copies * solution.corrections + value / 2, u)
    return found + solution.log_determinants / 2


def shard_evidence(
    shard: FactorShard, start: Sites, tastes: TasteFactors, mean: Floats, answering: Answering
) -> tuple[Floats, Sites]:
    """Run EP of a shard's annotators around the consensus `mean`; return each one's log evidence and the sites.

    tastes: with what is open about the consensus in `own`.
    """
    n = len(mean)
    known, sites, change = ConsensusMoments(mean, np.zeros((n, 0)), np.zeros(n)), start, np.inf
    for iteration in range(MAX_ITERATIONS):
        solution = solve_shard(shard, sites, tastes)
        solution = refresh_shard(shard, solution, answering, tastes, known)
        last, change = change, solution.change
        if change < TOLERANCE or iteration == MAX_ITERATIONS - 1:
            break
        sites = solution.moved(0.5 if iteration > 5 and change > 0.9 * last else 1.0)
    return annotator_evidence(shard, solution, known), solution.moved(1.0)
