"""EP of every annotator by itself where the consensus is known, at several ways of answering in turn."""

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.probit_ep.annotator_blocks import Block, build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, KeptSites, ShardedEP
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.inference.probit_ep.shards import evidence_by_annotator, keep_shards, largest_changes, moved_sites
from models_engine.inference.probit_ep.site_updates import Answering, Sites

__all__ = ["KnownConsensus"]

Floats = NDArray[np.float64]
TOLERANCE = 3e-2  # of a site's precision or shift: evidence is stationary in the sites
MAX_ITERATIONS = 30
MAX_LEFT = 0.5  # of the people: once no more have not converged, only these are solved again


class KnownConsensus:
    """Annotators' utilities N(mean, taste), mean known; sites, solutions and prior covariances stay between calls.

    blocks: `build_blocks(sites)`.   start: sites to begin with.
    """

    def __init__(
        self, sites: PairSites, blocks: list[Block], taste: Floats, mean: Floats, start: Sites | KeptSites
    ) -> None:
        self._sites, self._taste, self._mean = sites, taste, mean
        self._kept = keep_shards(sites, blocks)
        self._n_people = sum(len(block.annotators) for block in blocks)
        self._ep = ShardedEP(self._kept, CrowdPrior(taste, None, mean))
        self._state = self._ep.solve(self._ep.begin(start), mean)

    @property
    def current(self) -> Sites:
        """Return the sites where the last evidence was found."""
        return KeptSites(self._kept, self._kept.executor.map(moved_sites, self._state, shared=[0.0])).gather()

    def evidence(self, answering: Answering) -> Floats:
        """Return each annotator's log p(labels), (n_annotators,), after EP from the sites of the last call.

        Given the consensus people are independent, so that those who have converged wait for nobody. The next call
        begins for the others where they were left.
        """
        damping, change, left = 1.0, np.inf, np.zeros(self._kept.n_annotators, dtype=bool)
        self._ep.answer_by(answering)
        self._state = self._ep.refresh(self._state, np.zeros_like(self._mean))
        for iteration in range(1, MAX_ITERATIONS + 1):
            last, change = change, self._ep.largest_change(self._state)
            if change < TOLERANCE:
                break
            left = self._kept.gather_by_annotator(largest_changes, self._state, ()) >= TOLERANCE
            if np.count_nonzero(left) <= MAX_LEFT * self._n_people:
                break
            damping = 0.5 if iteration > 5 and change > 0.9 * last else damping
            self._state = self._ep.update(self._ep.moved(self._state, damping), self._mean).state
        found = self._kept.gather_by_annotator(evidence_by_annotator, self._state, ())
        if change >= TOLERANCE and np.count_nonzero(left) <= MAX_LEFT * self._n_people:
            found[left] = self._of(left).evidence(answering)[left]
        return found

    def _of(self, people: NDArray[np.bool_]) -> "KnownConsensus":
        """Return the same for these people alone (n_annotators,), one update of their sites ahead."""
        rows = np.flatnonzero(people[self._sites.annotator])
        ahead = KeptSites(self._kept, self._kept.executor.map(moved_sites, self._state, shared=[1.0])).gather()
        sites = self._sites.select(rows)
        start = Sites(ahead.precision[rows], ahead.shift[rows])
        return KnownConsensus(sites, build_blocks(sites), self._taste, self._mean, start)
