"""The whole way from tallied labels to a crowd's posterior: mode, mirrored rivals, EP, uncertainty of the scales."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models_engine.covariances import Covariance
from models_engine.inference.crowd_ep import State, mean_reliability, propagate, reach_of_scales, state_of
from models_engine.inference.crowd_scales import Learner, Scales
from models_engine.inference.crowd_start import sites_at_mode, sites_of_margins
from models_engine.inference.mirrored import MirroredPairs
from models_engine.inference.mirrored_mode import ascend, flip_gains, mirrored, with_best_flips
from models_engine.inference.mirrored_posterior import Point, Target

__all__ = ["Job", "Solution", "climb", "solve"]

Floats = NDArray[np.float64]
Note = Callable[[float], None]
FEW_WINS = 2_000  # up to here a fit is so quick that it always starts cold
MANY_WINS = 20_000  # past it the scales are known so well that their uncertainty is left out
RIVAL_WITHIN = 30.0  # nats by which a mirrored mode may be worse and still be looked at


@dataclass(frozen=True, eq=False)
class Job:
    """What to infer: labels, scales to begin with, which of them to learn, and how precisely."""

    pairs: MirroredPairs
    scales: Scales
    learner: Learner
    side_sd: float | None
    tolerance: float
    limit: int

    def target(self) -> Target:
        tie_sd = self.learner.tie_sd if np.isfinite(self.scales.log_nu) else None
        return Target(self.pairs, self.scales.prior_sd, self.scales.reliability, self.side_sd, tie_sd)

    def x(self, f: Floats, side: float) -> Floats:
        """The target's unknowns: these utilities and side effect, log nu as the scales have it."""
        extra = [side] * (self.side_sd is not None) + [self.scales.log_nu] * bool(np.isfinite(self.scales.log_nu))
        return np.concatenate([f, extra])


@dataclass(frozen=True, eq=False)
class Solution:
    """EP's fixed point, or the two of a crowd that may as well be mirrored, and whether all that converged.

    doubt: probability of the mirrored one.
    """

    state: State
    rival: State | None
    doubt: float
    converged: bool
    items_reach: Floats
    annotators_reach: Floats

    def utilities(self) -> Floats:
        """(n_items,) mean over both."""
        return self._mixed(lambda state: state.belief.mean[: self.n_items])

    @property
    def n_items(self) -> int:
        return self.state.pairs.graph.n_items

    def covariance(self) -> Covariance:
        """Of the utilities: within the better solution, between the two, and what the scales' uncertainty adds."""
        extra = [self.items_reach]
        if self.rival is not None:
            apart = (self.state.belief.mean - self.rival.belief.mean)[: self.n_items]
            extra.append(np.sqrt(self.doubt * (1 - self.doubt)) * apart[:, None])
        return self.state.belief.covariance(np.hstack(extra))

    def reliabilities(self) -> tuple[Floats, Floats]:
        """(mean, variance) of each annotator's reliability, both (n_annotators,)."""
        mean = self._mixed(mean_reliability)
        square = self._mixed(lambda state: (state.last.crowd.mass * state.last.crowd.eta**2).sum(axis=1))
        return mean, square - mean**2 + (self.annotators_reach**2).sum(axis=1)

    def _mixed(self, figure: Callable[[State], Floats]) -> Floats:
        if self.rival is None:
            return figure(self.state)
        return (1 - self.doubt) * figure(self.state) + self.doubt * figure(self.rival)


def climb(job: Job, start: Floats, note: Note, tolerance: float) -> tuple[Point, Point | None, bool]:
    """(the better mode, a mirrored mode if it is within RIVAL_WITHIN nats, whether the first was reached)."""
    best, done = ascend(job.target().at(start), tolerance=tolerance, limit=job.limit, note=note)
    better = with_best_flips(best)
    if better is not best:
        best, done = ascend(better, tolerance=tolerance, limit=job.limit, note=note)
    below = best.objective - RIVAL_WITHIN
    rival, reached = ascend(mirrored(best), tolerance=tolerance, limit=job.limit, note=note, give_up_below=below)
    if rival.objective > best.objective:
        best, rival, done = rival, best, reached
    n = job.pairs.graph.n_items
    near = reached and rival.objective > below and float(best.x[:n] @ rival.x[:n]) < 0
    return best, rival if near else None, done


def solve(job: Job, start: Floats, margins: tuple[Floats, Floats] | None, note_mode: Note, note: Note) -> Solution:
    """start (n_x,): unknowns to begin the climb from. margins: (n_rows,) means and variances by an earlier fit, with
    which EP begins at once, unless the labels are few or now prefer a mirrored solution."""
    if margins is not None and job.pairs.n_wins > FEW_WINS and not _turned(job, start):
        sites, rival_point = sites_of_margins(job.pairs, *margins, job.scales), None
    else:
        point, rival_point, _ = climb(job, start, note_mode, tolerance=1e-2)
        sites = sites_at_mode(point)
        job = replace(job, scales=replace(job.scales, log_nu=point.target.split(point.x)[2]))
    state = state_of(job.pairs, sites, job.scales, job.side_sd, job.learner)
    if state is None:
        raise AssertionError("sites that bend downwards make a belief")
    state, converged = propagate(state, tolerance=job.tolerance, limit=job.limit, note=note)
    rival, doubt = None, 0.0
    if rival_point is not None:
        rival, doubt = _rival(job, state, rival_point)
    items, annotators = np.zeros((job.pairs.graph.n_items, 0)), np.zeros((job.pairs.n_annotators, 0))
    if job.pairs.n_wins <= MANY_WINS and job.learner.free.any():
        items, annotators = reach_of_scales(state, tolerance=job.tolerance, limit=job.limit)
    return Solution(state, rival, doubt, converged, items, annotators)


def _rival(job: Job, state: State, point: Point) -> tuple[State | None, float]:
    """EP's fixed point around the mirrored mode, at the scales found, and its probability; none where that is nil."""
    fixed = Learner(False, False, False, job.learner.tie_sd)
    rival = state_of(job.pairs, sites_at_mode(point), state.scales, job.side_sd, fixed)
    if rival is None:
        return None, 0.0
    rival, converged = propagate(rival, tolerance=job.tolerance, limit=job.limit, note=lambda _: None)
    n = job.pairs.graph.n_items
    same = float(rival.belief.mean[:n] @ state.belief.mean[:n]) >= 0
    doubt = float(1 / (1 + np.exp(np.clip(state.last.log_evidence - rival.last.log_evidence, -500, 500))))
    return (rival, doubt) if converged and not same and doubt > 1e-6 else (None, 0.0)


def _turned(job: Job, start: Floats) -> bool:
    """Whether the labels now like the start mirrored, whole or in one of its parts, nearly as well or better."""
    point = job.target().at(start)
    whole = mirrored(point).objective > point.objective - RIVAL_WITHIN
    return whole or (job.pairs.n_parts > 1 and float(flip_gains(point).max()) > 0)
