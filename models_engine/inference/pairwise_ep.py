"""EP for a pairwise GP: probit sites on the margins, the prior's scale at the mode of EP's evidence."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from models_engine.expansions import PairTable
from models_engine.inference.annotator_blocks import blocks_of
from models_engine.inference.batched_ep import CrowdPrior, EPResult, run_ep, start_of
from models_engine.inference.pair_sites import PairSites, sites_of
from models_engine.inference.pairwise_gp import GammaPrior
from models_engine.linalg import cholesky, inverse_from_cholesky, laplacian, sums

__all__ = ["PairwiseEP", "pooled_sites"]

Floats = NDArray[np.float64]
WIDEST = 8.0  # how far, in logs, the scale is looked for from its prior mean


def pooled_sites(pairs: PairTable, label_weights: Floats) -> PairSites:
    """The sites of all pairs as if one annotator had given them."""
    return sites_of(replace(pairs, annotator=np.zeros(len(pairs), np.int64), n_annotators=1), label_weights)


class PairwiseEP:
    """f ~ N(0, K / s), s ~ Gamma: EP at the most probable s, found where its gradient is zero.

    d log Z / d log s = (n - s tr(K^-1 E[f f'])) / 2 at a fixed point of EP, by the prior alone as all else is
    stationary (Seeger 2005), and log s has the prior density s^shape exp(-rate s).
    """

    def __init__(
        self, sites: PairSites, kernel: Floats, precision: Floats, scale: GammaPrior, tolerance: float
    ) -> None:
        self._sites, self._kernel, self._precision, self._scale = sites, kernel, precision, scale
        self._blocks, self._tolerance = blocks_of(sites), tolerance
        self._last: EPResult | None = None

    def run(self, limit: int, on_step: Callable[[float], None]) -> tuple[float, EPResult]:
        """(s, EP's fixed point there); on_step hears log Z + log p(log s) at every s tried."""

        def gradient(log_s: float) -> float:
            s = float(np.exp(log_s))
            found = self._at(s, limit)
            on_step(found.log_evidence + self._scale.shape * log_s - self._scale.rate * s)
            mean, covariance = self.moments(s, found)
            square = float((self._precision * covariance).sum() + mean @ self._precision @ mean)
            return (len(mean) - s * square) / 2 + self._scale.shape - self._scale.rate * s

        middle = float(np.log(self._scale.mean))
        log_s = brentq(gradient, middle - WIDEST, middle + WIDEST, xtol=1e-6)
        return float(np.exp(log_s)), self._at(float(np.exp(log_s)), limit)

    def moments(self, s: float, found: EPResult) -> tuple[Floats, Floats]:
        """Mean (n_items,) and covariance (n_items, n_items) of f given the sites."""
        sites, n = self._sites, self._sites.n_items
        weights, shifts = sites.copies * found.sites.precision, sites.copies * found.sites.shift
        precision = s * self._precision + laplacian(sites.low, sites.high, weights, n).toarray()
        covariance = inverse_from_cholesky(cholesky(precision))
        return covariance @ (sums(sites.low, shifts, n) - sums(sites.high, shifts, n)), covariance

    def _at(self, s: float, limit: int) -> EPResult:
        crowd = CrowdPrior(self._kernel / s, None, np.zeros(self._sites.n_items))
        start = start_of(self._last)
        found = run_ep(self._sites, self._blocks, crowd, *start, tolerance=self._tolerance, max_iterations=limit)
        self._last = found
        return found
