"""EP for a pairwise GP observed by graded answers: its scale and the cut points at the mode of EP's evidence."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from models_engine.inference.graded.cut_points import (
    cut_deviations,
    cuts_from_gaps,
    log_cut_prior,
    starting_log_gaps,
)
from models_engine.inference.pairwise_gp.ep import PairwiseEP
from models_engine.inference.pairwise_gp.graded import CutPoints
from models_engine.inference.pairwise_gp.model import GammaPrior
from models_engine.inference.probit_ep.batched_ep import EPResult
from models_engine.inference.probit_ep.pair_sites import PairSites
from models_engine.linalg import sum_by_group

__all__ = ["GradedEP", "GradedSolution"]

Floats = NDArray[np.float64]
GRADIENT_TOLERANCE = 1e-4  # nats for a log scale or a log gap
STEP = 0.02  # of a log gap, for differences of the gradient
MAX_SD = 3.0  # of a log gap: of more, the quadratic approximation means nothing


@dataclass(frozen=True, eq=False)
class GradedSolution:
    """The most probable s, EP's fixed point there, and the cut points.

    mean (n_items,), covariance (n_items, n_items): of the utilities at these.
    """

    inverse_scale: float
    found: EPResult
    mean: Floats
    covariance: Floats
    cuts: CutPoints


class GradedEP(PairwiseEP):
    """PairwiseEP of graded sites, with log s and the log gaps between cut points at the mode of evidence times prior.

    The evidence's derivative in a cut point is the sum of those of the sites' normalisers, all else being stationary
    (Seeger 2005). What is open about the cut points is Laplace's approximation at that s: the objective's curvature, by
    central differences of its gradient, and how EP's mean follows, by those of the mean.
    """

    def __init__(
        self, sites: PairSites, kernel: Floats, precision: Floats, scale: GammaPrior, tolerance: float, n_grades: int
    ) -> None:
        super().__init__(sites, kernel, precision, scale, tolerance)
        grade = np.zeros(len(sites), np.int64) if sites.grade is None else sites.grade
        has_grade = (grade > 0) | (sites.wins == sites.losses)
        weight = sites.copies * (sites.wins + sites.losses) * has_grade
        equal = starting_log_gaps(sum_by_group(np.maximum(grade, 0), weight, n_grades + 1), "probit")
        self._gaps = equal + np.log1p(2 / scale.mean) / 2  # of margins as wide as the prior's
        self._free = np.isfinite(self._gaps)

    def solve(self, limit: int, on_step: Callable[[float], None]) -> GradedSolution:
        """Find scale and cut points; on_step receives the objective at each point tried."""

        def loss(x: Floats) -> tuple[float, Floats]:
            value, slope = self.value_and_slope(x, limit)
            on_step(value)
            return -value, -slope

        start = np.append(np.log(self._scale.mean), self._gaps[self._free])
        best = minimize(loss, start, jac=True, method="BFGS", options={"gtol": GRADIENT_TOLERANCE})
        return self._summarise(np.asarray(best.x), limit)

    def value_and_slope(self, x: Floats, limit: int) -> tuple[float, Floats]:
        """Return the log evidence and log prior at x = (log s, log gaps that are learned), and the gradient."""
        found, mean, covariance = self._run(x, limit)
        prior, by_prior = log_cut_prior(self.log_gaps(x), "probit")
        if found.by_cuts is None:
            raise ValueError("the sites have no grades.")
        in_gaps = (found.by_cuts + by_prior).in_log_gaps(self.log_gaps(x)).score[self._free]
        slope = self.slope(float(np.exp(x[0])), mean, covariance)
        return self.objective(float(x[0]), found) + prior, np.append(slope, in_gaps)

    def log_gaps(self, x: Floats) -> Floats:
        """Return all log gaps, (n_grades,); -inf of one that is not learned."""
        gaps = np.full(len(self._free), -np.inf)
        gaps[self._free] = x[1:]
        return gaps

    def _run(self, x: Floats, limit: int) -> tuple[EPResult, Floats, Floats]:
        s = float(np.exp(x[0]))
        found = self.at(s, limit, cuts_from_gaps(self.log_gaps(x)))
        return (found, *self.moments(s, found))

    def _summarise(self, x: Floats, limit: int) -> GradedSolution:
        k = len(x) - 1
        curvature, follow = np.zeros((k, k)), np.zeros((len(self._kernel), k))
        for place, step in enumerate(STEP * np.eye(k + 1)[1:]):
            ends = [(self.value_and_slope(one, limit)[1][1:], self._run(one, limit)[1]) for one in (x + step, x - step)]
            curvature[place] = (ends[1][0] - ends[0][0]) / (2 * STEP)
            follow[:, place] = (ends[0][1] - ends[1][1]) / (2 * STEP)
        values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
        covariance = vectors / np.maximum(values, MAX_SD**-2) @ vectors.T
        found, mean, spread = self._run(x, limit)
        gaps = self.log_gaps(x)
        cuts = CutPoints(
            tuple(cuts_from_gaps(gaps).tolist()),
            cut_deviations(gaps, covariance),
            follow @ covariance @ follow.T,
        )
        return GradedSolution(float(np.exp(x[0])), found, mean, spread, cuts)
