"""EP for a pairwise GP: probit sites on the margins, the prior's scale at the mode of EP's evidence."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from models_engine.implied_pairs import PairTable
from models_engine.inference.pairwise_gp.model import GammaPrior
from models_engine.inference.probit_ep.annotator_blocks import build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, run_ep, warm_start
from models_engine.inference.probit_ep.pair_sites import PairSites, build_sites
from models_engine.linalg import cholesky, dense_laplacian, inverse_from_cholesky, sum_by_group

__all__ = ["PairwiseEP", "pool_sites"]

Floats = NDArray[np.float64]
MAX_LOG_SHIFT = 8.0  # largest distance, in logs, of the scale from its prior mean in the search


def pool_sites(pairs: PairTable, label_weights: Floats, *, graded: bool = False) -> PairSites:
    """Build the sites of all pairs as if one annotator had given them; graded: whether grades count."""
    everybody = replace(pairs, annotator=np.zeros(len(pairs), np.int64), n_annotators=1)
    return build_sites(everybody, label_weights, graded=graded)


class PairwiseEP:
    """EP for f ~ N(0, K / s), s ~ Gamma, at the most probable s, found where its gradient is zero.

    d log Z / d log s = (n - s tr(K^-1 E[f f'])) / 2 at a fixed point of EP: only the prior contributes, because all
    else is stationary (Seeger 2005), and log s has the prior density s^shape exp(-rate s).
    """

    def __init__(
        self, sites: PairSites, kernel: Floats, precision: Floats, scale: GammaPrior, tolerance: float
    ) -> None:
        self._sites, self._kernel, self._precision, self._scale = sites, kernel, precision, scale
        self._blocks, self._tolerance = build_blocks(sites), tolerance
        self._last: EPResult | None = None

    def run(self, limit: int, on_step: Callable[[float], None]) -> tuple[float, EPResult]:
        """Find (s, EP's fixed point there); on_step receives log Z + log p(log s) at every s tried."""

        def gradient(log_s: float) -> float:
            s = float(np.exp(log_s))
            found = self.at(s, limit)
            on_step(self.objective(log_s, found))
            return self.slope(s, *self.moments(s, found))

        middle = float(np.log(self._scale.mean))
        low, high = middle - MAX_LOG_SHIFT, middle + MAX_LOG_SHIFT
        # Where all answers agree the objective may still rise at the widest spread: that is then taken.
        log_s = low if gradient(low) <= 0 else brentq(gradient, low, high, xtol=1e-6)
        return float(np.exp(log_s)), self.at(float(np.exp(log_s)), limit)

    def moments(self, s: float, found: EPResult) -> tuple[Floats, Floats]:
        """Return mean (n_items,) and covariance (n_items, n_items) of f given the sites."""
        sites, n = self._sites, self._sites.n_items
        weights, shifts = sites.copies * found.sites.precision, sites.copies * found.sites.shift
        precision = s * self._precision + dense_laplacian(sites.low, sites.high, weights, n)
        covariance = inverse_from_cholesky(cholesky(precision))
        return covariance @ (sum_by_group(sites.low, shifts, n) - sum_by_group(sites.high, shifts, n)), covariance

    def objective(self, log_s: float, found: EPResult) -> float:
        """Return log Z + log p(log s)."""
        return found.log_evidence + self._scale.shape * log_s - self._scale.rate * float(np.exp(log_s))

    def slope(self, s: float, mean: Floats, covariance: Floats) -> float:
        """Return its derivative in log s."""
        square = float((self._precision * covariance).sum() + mean @ self._precision @ mean)
        return (len(mean) - s * square) / 2 + self._scale.shape - self._scale.rate * s

    def at(self, s: float, limit: int, cuts: Floats | None = None) -> EPResult:
        """Run EP at this scale and these cut points, from the sites of the last run."""
        crowd = CrowdPrior(self._kernel / s, None, np.zeros(self._sites.n_items), cuts=cuts)
        start = warm_start(self._last)
        found = run_ep(self._sites, self._blocks, crowd, *start, tolerance=self._tolerance, max_iterations=limit)
        self._last = found
        return found
