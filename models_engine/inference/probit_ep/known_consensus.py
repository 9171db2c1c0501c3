"""EP of every annotator by itself where the consensus is known, at several ways of answering in turn."""

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.probit_ep.annotator_blocks import Block
from models_engine.inference.probit_ep.batched_ep import local_priors, solve_blocks
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.inference.probit_ep.site_updates import Answering, Sites, largest_change, site_updates, total_sites
from models_engine.linalg import sum_by_group

__all__ = ["KnownConsensus"]

Floats = NDArray[np.float64]
TOLERANCE = 1e-2  # of a site's precision or shift: evidence is stationary in the sites
MAX_ITERATIONS = 30


class KnownConsensus:
    """Annotators' utilities N(mean, taste), mean known; sites, solutions and prior covariances stay between calls.

    blocks: `build_blocks(sites)`.   start: sites to begin with.
    """

    def __init__(self, sites: PairSites, blocks: list[Block], taste: Floats, mean: Floats, start: Sites) -> None:
        self._sites, self._blocks, self._taste, self._mean = sites, blocks, taste, mean
        self._priors = local_priors(blocks, taste)
        self._move_to(start)

    def _move_to(self, current: Sites) -> None:
        """Solve all annotators at these sites."""
        self.current = current
        total = total_sites(self._sites, current)
        self._solved = solve_blocks(self._blocks, self._taste, self._mean, total, self._priors)
        self._margin, self._variance = np.zeros(len(self._sites)), np.ones(len(self._sites))
        for block, local in zip(self._blocks, self._solved, strict=True):
            rows = block.site[block.real]
            self._margin[rows] = block.margins(local.mean)[block.real]
            self._variance[rows] = local.variance[block.real]

    def evidence(self, answering: Answering) -> Floats:
        """Return each annotator's log p(labels), (n_annotators,), after EP from the sites of the last call."""
        damping, change = 1.0, np.inf
        for iteration in range(1, MAX_ITERATIONS + 1):
            update, corrections = site_updates(self._sites, answering, self.current, self._margin, self._variance)
            last, change = change, largest_change(self.current, update)
            if change < TOLERANCE:
                break
            damping = 0.5 if iteration > 5 and change > 0.9 * last else damping
            old = self.current
            precision = old.precision + damping * (update.precision - old.precision)
            self._move_to(Sites(precision, old.shift + damping * (update.shift - old.shift)))
        else:
            corrections = site_updates(self._sites, answering, self.current, self._margin, self._variance)[1]
        found = sum_by_group(self._sites.annotator, self._sites.copies * corrections, self._sites.n_annotators)
        for block, local in zip(self._blocks, self._solved, strict=True):
            found[block.annotators] += local.log_integral
        return found
