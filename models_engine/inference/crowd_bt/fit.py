"""Fits CrowdBT to summed labels: mode, the solution with reversed utilities, EP, uncertainty of the scales."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models_engine.covariance.forms import Covariance
from models_engine.inference.crowd_bt.climb import climb_evidence
from models_engine.inference.crowd_bt.ep import WinSites
from models_engine.inference.crowd_bt.ep_with_scales import (
    EPState,
    evaluate_state,
    mean_reliability,
    propagate_scale_uncertainty,
    run_crowd_ep,
)
from models_engine.inference.crowd_bt.log_posterior import Point, TargetDensity
from models_engine.inference.crowd_bt.mode import find_mode, flip_best_parts, gains_of_flips, negate_utilities
from models_engine.inference.crowd_bt.pairs import NoisyPairs
from models_engine.inference.crowd_bt.scales import ScaleLearner, Scales
from models_engine.inference.crowd_bt.start import sites_at_mode, sites_from_margins
from models_engine.inference.graded.cut_points import gap_matrix

__all__ = ["CrowdFitSpec", "Solution", "ascend_objective", "solve_crowd"]

Floats = NDArray[np.float64]
OnStep = Callable[[float], None]
MAX_COLD_START_WINS = 2_000  # up to here a cold start is always used, because a fit is quick
MAX_WINS_FOR_SCALE_UNCERTAINTY = 20_000  # above this the scales are known so well that their uncertainty is ignored
MAX_REVERSED_GAP = 30.0  # nats by which the mode with reversed utilities may be worse and still be considered
NARROW_SD, WIDE_SD = 0.02, 20.0  # of utilities that tell nothing of an answer, and that decide every one, in logits
LITTLE = 5.0  # nats of evidence over that of utilities that tell nothing, below which a wide spread is tried as well


@dataclass(frozen=True, eq=False)
class CrowdFitSpec:
    """Specification of a fit: labels, initial scales, which scales to learn, tolerance and limit of steps.

    cuts (n_grades,): at which graded answers count for the mode; None where there are no grades.
    """

    pairs: NoisyPairs
    scales: Scales
    learner: ScaleLearner
    side_sd: float | None
    tolerance: float
    limit: int
    cuts: Floats | None = None

    def target(self) -> TargetDensity:
        tie_sd = self.learner.tie_sd if np.isfinite(self.scales.log_nu) else None
        scales = self.scales
        return TargetDensity(self.pairs, scales.prior_sd, scales.reliability, self.side_sd, tie_sd, self.cuts)

    def x(self, f: Floats, side: float) -> Floats:
        """Return the target's unknowns: these utilities and side effect, and log nu of the scales."""
        extra = [side] * (self.side_sd is not None) + [self.scales.log_nu] * bool(np.isfinite(self.scales.log_nu))
        return np.concatenate([f, extra])


@dataclass(frozen=True, eq=False)
class Solution:
    """EP's fixed point; or two, where the labels also allow all utilities reversed; and whether they converged.

    reversed_probability: probability of the reversed one.
    scale_uncertainty (n_scales, k): moves of the scales' vector, as propagate_scale_uncertainty returns them.
    """

    state: EPState
    reversed_state: EPState | None
    reversed_probability: float
    converged: bool
    item_uncertainty: Floats
    annotator_uncertainty: Floats
    scale_uncertainty: Floats

    def utilities(self) -> Floats:
        """Return the mean utilities over both fixed points, (n_items,)."""
        return self._mixed(lambda state: state.belief.mean[: self.n_items])

    @property
    def n_items(self) -> int:
        return self.state.pairs.graph.n_items

    def covariance(self) -> Covariance:
        """Return the covariance of the utilities: within the better solution, between the two, and due to the
        scales.
        """
        extra = [self.item_uncertainty]
        if self.reversed_state is not None:
            apart = (self.state.belief.mean - self.reversed_state.belief.mean)[: self.n_items]
            extra.append(np.sqrt(self.reversed_probability * (1 - self.reversed_probability)) * apart[:, None])
        return self.state.belief.covariance(np.hstack(extra))

    def reliabilities(self) -> tuple[Floats, Floats]:
        """Return (mean, variance) of each annotator's reliability, both (n_annotators,)."""
        mean = self._mixed(mean_reliability)
        square = self._mixed(lambda state: (state.last.crowd.mass * state.last.crowd.eta**2).sum(axis=1))
        return mean, square - mean**2 + (self.annotator_uncertainty**2).sum(axis=1)

    def cut_deviations(self) -> Floats:
        """Return the posterior standard deviations of the cut points, (n_grades,)."""
        log_gaps, found = np.array(self.state.scales.log_gaps), self.state.last.cuts
        by_gap, free = gap_matrix(log_gaps), np.isfinite(log_gaps)
        if found is not None and not self.scale_uncertainty.shape[1]:  # so many answers that only the cut points' own
            curvature = found.in_log_gaps(log_gaps).curvature[np.ix_(free, free)]  # share of it is left
            spread = by_gap[:, free] @ np.linalg.pinv(curvature) @ by_gap[:, free].T
            return np.sqrt(np.diagonal(spread))
        return np.sqrt(((by_gap @ self.scale_uncertainty[4:]) ** 2).sum(axis=1))

    def _mixed(self, figure: Callable[[EPState], Floats]) -> Floats:
        if self.reversed_state is None:
            return figure(self.state)
        return (1 - self.reversed_probability) * figure(self.state) + self.reversed_probability * figure(
            self.reversed_state
        )


def ascend_objective(
    spec: CrowdFitSpec, start: Floats, on_step: OnStep, tolerance: float
) -> tuple[Point, Point | None, bool]:
    """Find the mode: (the better mode, the reversed mode if within MAX_REVERSED_GAP nats, whether the first
    converged).
    """
    best, done = find_mode(spec.target().at(start), tolerance=tolerance, limit=spec.limit, on_step=on_step)
    better = flip_best_parts(best)
    if better is not best:
        best, done = find_mode(better, tolerance=tolerance, limit=spec.limit, on_step=on_step)
    below = best.objective - MAX_REVERSED_GAP
    reversed_state, reached = find_mode(
        negate_utilities(best), tolerance=tolerance, limit=spec.limit, on_step=on_step, give_up_below=below
    )
    if reversed_state.objective > best.objective:
        best, reversed_state, done = reversed_state, best, reached
    n = spec.pairs.graph.n_items
    near = reached and reversed_state.objective > below and float(best.x[:n] @ reversed_state.x[:n]) < 0
    return best, reversed_state if near else None, done


def solve_crowd(
    spec: CrowdFitSpec, start: Floats, margins: tuple[Floats, Floats] | None, on_mode_step: OnStep, on_step: OnStep
) -> Solution:
    """Fit by EP, with both fixed points where the reversed solution has probability.

    start (n_x,): unknowns from which the search for the mode starts.   margins: (n_rows,) means and variances from an
    earlier fit, from which EP starts at once, unless there are few labels or they now prefer reversed utilities.
    """
    if margins is not None and spec.pairs.n_wins > MAX_COLD_START_WINS and not _prefers_reversal(spec, start):
        sites, reversed_point = sites_from_margins(spec.pairs, *margins, spec.scales), None
        state, converged = _propagate(spec, sites, on_step)
    else:
        state, reversed_point, converged = _solve_from_mode(spec, start, on_mode_step, on_step)
    if spec.learner.prior_sd and spec.pairs.n_wins <= MAX_WINS_FOR_SCALE_UNCERTAINTY and _tells_little(state):
        wide, steps = replace(spec, scales=replace(spec.scales, prior_sd=WIDE_SD)), list[float]()
        again, its_reversed_point, done = _solve_from_mode(wide, start, lambda _: None, steps.append)
        if done and again.objective > state.objective:
            state, reversed_point, converged = again, its_reversed_point, done
            for objective in steps:
                on_step(objective)
    reversed_state, reversed_probability = None, 0.0
    if reversed_point is not None:
        reversed_state, reversed_probability = _solve_reversed(spec, state, reversed_point)
    items, annotators = np.zeros((spec.pairs.graph.n_items, 0)), np.zeros((spec.pairs.n_annotators, 0))
    scales = np.zeros((len(spec.learner.free), 0))
    if spec.pairs.n_wins <= MAX_WINS_FOR_SCALE_UNCERTAINTY and spec.learner.free.any():
        items, annotators, scales = propagate_scale_uncertainty(state, tolerance=spec.tolerance, limit=spec.limit)
    return Solution(state, reversed_state, reversed_probability, converged, items, annotators, scales)


def _solve_from_mode(
    spec: CrowdFitSpec, start: Floats, on_mode_step: OnStep, on_step: OnStep
) -> tuple[EPState, Point | None, bool]:
    """Run EP from the mode at the spec's scales: (fixed point, the reversed mode if any, whether EP converged)."""
    point, reversed_point, _ = ascend_objective(spec, start, on_mode_step, tolerance=1e-2)
    spec = replace(spec, scales=replace(spec.scales, log_nu=point.target.split(point.x)[2]))
    state, converged = _propagate(spec, sites_at_mode(point), on_step)
    return state, reversed_point, converged


def _propagate(spec: CrowdFitSpec, sites: WinSites, on_step: OnStep) -> tuple[EPState, bool]:
    """Run EP from these sites together with the scales: (fixed point, whether it converged)."""
    first = evaluate_state(spec.pairs, sites, spec.scales, spec.side_sd, spec.learner)
    if first is None:
        raise AssertionError("sites at a mode have precisions that make a proper belief")
    state, converged = run_crowd_ep(first, tolerance=spec.tolerance, limit=spec.limit, on_step=on_step)
    if not converged and spec.learner.free.any() and spec.pairs.n_wins <= MAX_WINS_FOR_SCALE_UNCERTAINTY:
        climbed, converged = climb_evidence(first, tolerance=spec.tolerance, limit=spec.limit, on_step=on_step)
        state = climbed or state
    return state, converged


def _tells_little(state: EPState) -> bool:
    """Return whether utilities this far apart explain the labels hardly better than utilities that are all alike.

    The evidence then often has another maximum, where items lie so far apart that every answer is certain: neighbours
    that all agree are either coin tosses or that.
    """
    pairs, scales = state.pairs, replace(state.scales, prior_sd=NARROW_SD)
    alike = evaluate_state(pairs, WinSites.uniform(pairs), scales, state.side_sd, state.learner)
    return alike is not None and state.last.log_evidence < alike.last.log_evidence + LITTLE


def _solve_reversed(spec: CrowdFitSpec, state: EPState, point: Point) -> tuple[EPState | None, float]:
    """Run EP from the reversed mode, at the scales found: (fixed point, its probability), or (None, 0)."""
    fixed = spec.learner.nothing()
    reversed_state = evaluate_state(spec.pairs, sites_at_mode(point), state.scales, spec.side_sd, fixed)
    if reversed_state is None:
        return None, 0.0
    reversed_state, converged = run_crowd_ep(
        reversed_state, tolerance=spec.tolerance, limit=spec.limit, on_step=lambda _: None
    )
    n = spec.pairs.graph.n_items
    same = float(reversed_state.belief.mean[:n] @ state.belief.mean[:n]) >= 0
    reversed_probability = float(
        1 / (1 + np.exp(np.clip(state.last.log_evidence - reversed_state.last.log_evidence, -500, 500)))
    )
    return (
        (reversed_state, reversed_probability)
        if converged and not same and reversed_probability > 1e-6
        else (None, 0.0)
    )


def _prefers_reversal(spec: CrowdFitSpec, start: Floats) -> bool:
    """Return whether the labels fit the start with reversed utilities, of all or of one part, nearly as well
    or better.
    """
    point = spec.target().at(start)
    whole = negate_utilities(point).objective > point.objective - MAX_REVERSED_GAP
    return whole or (spec.pairs.n_parts > 1 and float(gains_of_flips(point).max()) > 0)
