"""EP of every annotator by itself where the consensus is known, at several ways of answering in turn."""

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.probit_ep.annotator_blocks import Block
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, KeptSites, ShardedEP
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.inference.probit_ep.shards import evidence_by_annotator, keep_shards, moved_sites
from models_engine.inference.probit_ep.site_updates import Answering, Sites

__all__ = ["KnownConsensus"]

Floats = NDArray[np.float64]
TOLERANCE = 3e-2  # of a site's precision or shift: evidence is stationary in the sites
MAX_ITERATIONS = 30


class KnownConsensus:
    """Annotators' utilities N(mean, taste), mean known; sites, solutions and prior covariances stay between calls.

    blocks: `build_blocks(sites)`.   start: sites to begin with.
    """

    def __init__(
        self, sites: PairSites, blocks: list[Block], taste: Floats, mean: Floats, start: Sites | KeptSites
    ) -> None:
        self._kept, self._mean = keep_shards(sites, blocks), mean
        self._ep = ShardedEP(self._kept, CrowdPrior(taste, None, mean))
        self._state = self._ep.solve(self._ep.begin(start), mean)

    @property
    def current(self) -> Sites:
        """Return the sites where the last evidence was found."""
        return KeptSites(self._kept, self._kept.executor.map(moved_sites, self._state, shared=[0.0])).gather()

    def evidence(self, answering: Answering) -> Floats:
        """Return each annotator's log p(labels), (n_annotators,), after EP from the sites of the last call."""
        damping, change = 1.0, np.inf
        self._ep.answer_by(answering)
        self._state = self._ep.refresh(self._state, np.zeros_like(self._mean))
        for iteration in range(1, MAX_ITERATIONS + 1):
            last, change = change, self._ep.largest_change(self._state)
            if change < TOLERANCE:
                break
            damping = 0.5 if iteration > 5 and change > 0.9 * last else damping
            self._state = self._ep.update(self._ep.moved(self._state, damping), self._mean).state
        return self._kept.gather_by_annotator(evidence_by_annotator, self._state, ())
