"""The mode of graded answers of a crowd: cut points at the top of the profile, and what is open about them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from models_engine.inference.crowd_bt.fit import CrowdFitSpec, ascend_objective
from models_engine.inference.crowd_bt.log_posterior import Point
from models_engine.inference.crowd_bt.mode import find_mode
from models_engine.inference.graded.cut_points import CutScores, cut_deviations, cuts_from_gaps, log_cut_prior

__all__ = ["GradedMode", "find_graded_mode"]

Floats = NDArray[np.float64]
STEP = 0.05  # of a log gap, for differences


@dataclass(frozen=True, eq=False)
class GradedMode:
    """The mode of utilities, side and cut points together.

    moves (n_x, k): of the target's unknowns by one standard deviation along each axis of what is open about the cut
    points.   cut_sds (n_grades,).
    """

    point: Point
    cuts: Floats
    cut_sds: tuple[float, ...]
    moves: Floats
    converged: bool


def find_graded_mode(
    spec: CrowdFitSpec, start: Floats, on_step: Callable[[float], None], tolerance: float
) -> GradedMode:
    """Ascend from x = start and the cut points of the spec's scales.

    Of each choice of log gaps the mode of the rest is found, from that of the best one so far; its objective has the
    gradient of that in the gaps alone. The curvature of this profile is by differences, and dx / d(gap) beside it.
    """
    log_gaps = np.array(spec.scales.log_gaps)
    first, _, _ = ascend_objective(replace(spec, cuts=cuts_from_gaps(log_gaps)), start, on_step, tolerance)
    profile = _Profile(spec, log_gaps, first, on_step, tolerance)
    free, before = profile.free, float(first.objective)

    def loss(gaps: Floats) -> tuple[float, Floats]:
        value, gradient = profile.at(gaps)
        return before - value, -gradient

    best = log_gaps[free]
    if free.any():  # BFGS begins with a step of length one; one to the bounds could end at reversed utilities
        best = minimize(loss, best, jac=True, method="BFGS", options={"gtol": 1e-3}).x
    profile.at(best)
    point, done = profile.last, profile.converged
    curvature, slopes = _differences(profile, best)
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
    root = vectors / np.sqrt(np.maximum(values, 1e-3))
    whole = profile.whole(best)
    return GradedMode(point, cuts_from_gaps(whole), cut_deviations(whole, root @ root.T), slopes @ root, done)


@dataclass
class _Profile:
    """The objective, with the prior of the cut points, at the mode of the rest, which is sought from that of the best
    cut points so far."""

    spec: CrowdFitSpec
    log_gaps: Floats
    best: Point
    on_step: Callable[[float], None]
    tolerance: float
    highest: float = -np.inf
    last: Point = field(init=False)
    converged: bool = field(init=False, default=False)

    @property
    def free(self) -> NDArray[np.bool_]:
        return np.isfinite(self.log_gaps)

    def whole(self, gaps: Floats) -> Floats:
        whole = self.log_gaps.copy()
        whole[self.free] = gaps
        return whole

    def at(self, gaps: Floats) -> tuple[float, Floats]:
        """Return value and gradient in the free gaps."""
        whole = self.whole(gaps)
        target = replace(self.spec, cuts=cuts_from_gaps(whole)).target()
        begin = target.at(self.best.x, self.best)
        self.last, self.converged = find_mode(
            begin, tolerance=self.tolerance, limit=self.spec.limit, on_step=self.on_step
        )
        by_cuts, (log_prior, prior) = self.last.evaluation.score_cuts, log_cut_prior(whole)
        if by_cuts is None:
            raise AssertionError("a target with cut points has their slopes")
        found = CutScores(by_cuts + prior.score, prior.curvature).in_log_gaps(whole)
        value = self.last.objective + log_prior
        if value >= self.highest:
            self.best, self.highest = self.last, value
        return value, found.score[self.free]


def _differences(profile: _Profile, best: Floats) -> tuple[Floats, Floats]:
    """Return minus the second derivative of the profile, (k, k), and dx / d(gap), (n_x, k), by central differences."""
    n = len(best)
    curvature, slopes = np.zeros((n, n)), np.zeros((len(profile.best.x), n))
    for one, step in enumerate(STEP * np.eye(n)):
        ends = [(profile.at(best + way * step)[1], profile.last.x) for way in (1, -1)]
        curvature[one] = -(ends[0][0] - ends[1][0]) / (2 * STEP)
        slopes[:, one] = (ends[0][1] - ends[1][1]) / (2 * STEP)
    return curvature, slopes
