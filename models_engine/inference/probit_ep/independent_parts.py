"""EP where tastes of items are independent: annotators fall apart into the connected parts of their pairs."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from models_engine.inference.probit_ep.annotator_blocks import Block, build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, KeptSites, run_ep
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.inference.probit_ep.shards import ShardState, keep_shards
from models_engine.inference.probit_ep.site_updates import Sites

__all__ = ["IndependentParts", "is_diagonal"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def is_diagonal(matrix: Floats) -> bool:
    """Return whether all numbers off the diagonal are 0."""
    return np.count_nonzero(matrix) == np.count_nonzero(np.diagonal(matrix))


@dataclass(frozen=True, eq=False)
class IndependentParts:
    """The same sites, each connected part of an annotator's pairs counted as an annotator of its own.

    Given the consensus, tastes of a diagonal covariance are independent between parts, so that EP is the same and each
    solve takes the cube of a part's width only.   order (n_sites,): the row of each of `sites` before.
    owner (n_parts,): the annotator of each part.
    """

    sites: PairSites
    blocks: list[Block]
    order: Ints
    owner: Ints

    @classmethod
    def of(cls, sites: PairSites) -> "IndependentParts":
        width = max(1, sites.n_items)
        keys = sites.annotator * width
        ends, where = np.unique(np.concatenate([keys + sites.low, keys + sites.high]), return_inverse=True)
        low, high = np.split(where.ravel(), 2)
        graph = scipy.sparse.coo_array((np.ones(len(low)), (low, high)), shape=(len(ends), len(ends)))
        n_parts, label = connected_components(graph, directed=False)
        owner = np.zeros(n_parts, dtype=np.int64)
        owner[label] = ends // width
        part = label[low].astype(np.int64)
        order = np.argsort(part, kind="stable")
        split = replace(sites.select(order), annotator=part[order], n_annotators=n_parts)
        return cls(split, build_blocks(split), order, owner)

    def crowd(self, crowd: CrowdPrior) -> CrowdPrior:
        """Return the prior with one number for each part where it has one for each annotator."""
        steepness, lapse, side = (
            None if one is None else one[self.owner] for one in (crowd.steepness, crowd.lapse, crowd.side)
        )
        return crowd.changed(steepness=steepness, lapse=lapse, side=side)

    def run(
        self,
        crowd: CrowdPrior,
        start: Sites | KeptSites | None,
        mean: Floats | None,
        *,
        max_iterations: int,
        tolerance: float,
    ) -> tuple[Sites, EPResult]:
        """Run EP from these sites; return its sites in their own order, and the result by parts."""
        begin = None if start is None else self.sites_of(start)
        found = run_ep(
            self.sites, self.blocks, self.crowd(crowd), begin, mean, max_iterations=max_iterations, tolerance=tolerance
        )
        return self._in_own_order(found.sites), found

    def sites_of(self, whole: Sites | KeptSites) -> Sites:
        """Return sites that are in their own order in that of the parts."""
        known = whole.gather() if isinstance(whole, KeptSites) else whole
        return Sites(known.precision[self.order], known.shift[self.order])

    def whole(self, found: EPResult, sites: PairSites, blocks: list[Block]) -> EPResult:
        """Return a result by parts as one over whole annotators, without their solutions."""
        kept = keep_shards(sites, blocks)
        now, update = self._in_own_order(found.sites), self._in_own_order(found.update)
        state = kept.spread(lambda shard: ShardState(shard.sites_of(now), update=shard.sites_of(update)))
        return replace(found, kept=kept, state=state)

    def _in_own_order(self, by_parts: Sites) -> Sites:
        own = Sites.empty(len(self.order))
        own.precision[self.order], own.shift[self.order] = by_parts.precision, by_parts.shift
        return own
