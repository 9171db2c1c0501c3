"""Counts under given prior variances, at the mode of both sides, one or none: MAP, EM and MF of Ko's thesis, 3.1."""

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from models_engine.inference.counts.bound import MAX_VARIANCE, CountBound, Effects, Scales
from models_engine.inference.counts.cells import CountCells
from models_engine.inference.counts.factorization import FittedCounts, start_constant
from models_engine.summaries import Diagnostics

__all__ = ["CountModes", "Way"]

Floats = NDArray[np.float64]
Way = Literal["MAP", "EM", "MF"]
NO_LOG_VARIANCE, MAX_LOG_VARIANCE = -25.0, 12.0  # of what is at its mode; of an effect, in EM of factors too
START_VARIANCE = 0.01


@dataclass(frozen=True)
class CountModes:
    """CountModel's Poisson counts under prior variances that stay as they are.

    way: "MAP" is the mode of both sides; "EM" independent normals for the larger side, by the bound, and the mode of
    the smaller; "MF" independent normals for both.   scales: the prior variances, which modes cannot learn: they would
    end at 0.   max_evaluations: of the bound, after which the fit ends wherever it is.
    """

    way: Way
    scales: Scales
    max_evaluations: int = 400
    seed: int = 0

    def fit(self, cells: CountCells) -> FittedCounts:
        """Fit by L-BFGS. The bound is one of the log joint density but for a constant that variances of 0 leave out."""
        began, bound, start = time.perf_counter(), CountBound(cells), self.start(cells)

        def loss(vector: Floats) -> tuple[float, Floats]:
            value, gradient = bound.evaluate(start.unpack(vector), self.scales)
            return -value, -gradient

        limits, most = self.limits(start), self.max_evaluations
        done = minimize(loss, start.pack(), jac=True, method="L-BFGS-B", bounds=limits, options={"maxfun": most})
        seconds, bounds = time.perf_counter() - began, (-float(done.fun),)
        diagnostics = Diagnostics(bool(done.success), int(done.nit), bounds, seconds, str(done.message))
        return FittedCounts(cells, start.unpack(done.x), self.scales, bounds[0], diagnostics)

    def start(self, cells: CountCells) -> Effects:
        """Return effects of 0 and small random factors, with a variance where the side has one."""
        rng, n_factors = np.random.default_rng(self.seed), len(self.scales.factors)
        items_vary = self.way == "MF" or (self.way == "EM" and cells.n_items > cells.n_annotators)
        annotators_vary = self.way == "MF" or (self.way == "EM" and not items_vary)

        def side(n: int, *, varies: bool) -> tuple[Floats, Floats]:
            mean = np.column_stack([np.zeros(n), rng.normal(0, 0.3, (n, n_factors))])
            return mean, np.full(mean.shape, START_VARIANCE if varies else np.exp(NO_LOG_VARIANCE))

        items, annotators = side(cells.n_items, varies=items_vary), side(cells.n_annotators, varies=annotators_vary)
        return Effects(start_constant(cells), *items, *annotators)

    def limits(self, start: Effects) -> list[tuple[float | None, float | None]]:
        """Return the bounds of each entry of the packed vector; a variance that starts at nothing stays there."""
        found: list[tuple[float | None, float | None]] = []
        for variance in (start.item_variance, start.annotator_variance):
            found += [(None, None)] * variance.size
            highest = np.full(variance.shape, MAX_LOG_VARIANCE)
            if self.way == "MF":
                highest[:, 1:] = np.log(MAX_VARIANCE)
            highest[variance < START_VARIANCE] = NO_LOG_VARIANCE
            found += [(NO_LOG_VARIANCE, one) for one in highest.ravel().tolist()]
        return [*found, (None, None)]
