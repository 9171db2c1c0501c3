"""Learns how steeply each annotator's answers follow their utilities, to separate erratic answers from taste."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from models_engine.inference.probit_ep.annotator_blocks import Block
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, run_ep, warm_start
from models_engine.inference.probit_ep.pair_sites import PairSites

__all__ = ["learn_steepness"]

Floats = NDArray[np.float64]
GRID = np.exp(np.linspace(np.log(0.1), np.log(3.0), 8))
LOG_SD = 0.7
ROUNDS = 2


def learn_steepness(
    sites: PairSites, blocks: list[Block], crowd: CrowdPrior, on_step: Callable[[float], None]
) -> Floats:
    """Return the posterior geometric mean of each steepness, (n_annotators,), on a grid; prior log-normal(0, 0.7).

    The grid runs from 0.1 to 3.

    Rounds of: the consensus given the steepness, then each annotator's EP evidence at each value of the grid with the
    consensus's mean and covariance folded into the annotator's prior (the annotator's own labels thus count in both;
    with a crowd of any size that is little). 1 for annotators without labels.
    """
    steepness = np.ones(sites.n_annotators)
    for _ in range(ROUNDS):
        shared = run_ep(sites, blocks, replace(crowd, steepness=steepness), tolerance=1e-2, max_iterations=30)
        log_weight = np.repeat(-((np.log(GRID) / LOG_SD) ** 2) / 2, sites.n_annotators).reshape(len(GRID), -1)
        last: EPResult | None = None
        for row, value in enumerate(GRID):
            steep = np.full(sites.n_annotators, float(value))
            taste = crowd.taste + shared.covariance
            one = CrowdPrior(taste, None, shared.mean, steep, crowd.lapse, crowd.cuts, crowd.side)
            last = run_ep(sites, blocks, one, warm_start(last)[0], tolerance=1e-2, max_iterations=30)
            log_weight[row] += last.by_annotator
            on_step(last.log_evidence)
        steepness = np.exp(np.log(GRID) @ softmax(log_weight, axis=0))
        steepness[np.bincount(sites.annotator, minlength=sites.n_annotators) == 0] = 1.0
    return steepness
