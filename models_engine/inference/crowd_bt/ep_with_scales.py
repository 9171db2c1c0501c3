"""EP for a whole crowd, run to convergence together with the scales, and the effect of the scales' uncertainty."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.crowd_bt.anderson import Anderson
from models_engine.inference.crowd_bt.beliefs import Belief, GaussianPrior, combine_sites
from models_engine.inference.crowd_bt.ep import Sweep, WinSites, sweep_sites
from models_engine.inference.crowd_bt.pairs import NoisyPairs
from models_engine.inference.crowd_bt.scales import ScaleLearner, Scales

__all__ = [
    "MAX_SCALE_MOVE",
    "EPState",
    "evaluate_state",
    "limit_scale_move",
    "mean_reliability",
    "propagate_scale_uncertainty",
    "run_crowd_ep",
]

Floats = NDArray[np.float64]
DEPTH = 6
MAX_SCALE_MOVE = 0.3  # of a scale, in logs, by one accelerated step


@dataclass(frozen=True, eq=False)
class EPState:
    """Current state of EP: sites and scales, the belief they imply, and the sweep over them.

    objective: log evidence plus the learned scales' log prior.   margin_change: the largest change of a margin's mean
    in the last step, in standard deviations; scale_change: the largest change of a scale, in logs.
    """

    pairs: NoisyPairs
    sites: WinSites
    scales: Scales
    side_sd: float | None
    belief: Belief
    last: Sweep
    learner: ScaleLearner
    margin_change: float = np.inf
    scale_change: float = np.inf

    @property
    def objective(self) -> float:
        return self.last.log_evidence + self.learner.log_prior(self.scales)

    @property
    def squared_utilities(self) -> tuple[float, float]:
        """Return (E[sum of squares], number) of the utilities within connected parts; a part's mean has only
        its prior.
        """
        n, parts, pairs = self.pairs.graph.n_items, self.pairs.n_parts, self.pairs
        total = (self.belief.mean[:n] ** 2).sum() + self.belief.item_variances.sum()
        return float(total - parts * self.scales.prior_sd**2), float(pairs.graph.n_items - parts)

    def next_scales(self) -> Scales:
        squared_utilities, n = self.squared_utilities
        return self.learner.next_scales(
            self.scales,
            squared_utilities,
            n,
            self.last.crowd,
            self.last.score_nu,
            self.last.curvature_nu,
            self.last.cuts,
        )

    def score(self) -> Floats:
        """Return the derivative of the objective in Scales.vector, (4 + n_grades,)."""
        squared_utilities, n = self.squared_utilities
        last = self.last
        return self.learner.score(self.scales, squared_utilities, n, last.crowd, last.score_nu, last.cuts)

    def metric(self) -> Floats:
        """Return weights that make sites and scales comparable: changes of margins in standard deviations."""
        pairs, variance = self.pairs, self.belief.row_variances
        own = variance[pairs.row]
        ties = np.sqrt(pairs.ties)
        parts = [np.sqrt(pairs.weight) * own, np.sqrt(pairs.weight * own), ties * variance, ties * np.sqrt(variance)]
        return np.concatenate([*parts, np.full(int(self.learner.free.sum()), np.sqrt(pairs.graph.n_items))])


def evaluate_state(
    pairs: NoisyPairs,
    sites: WinSites,
    scales: Scales,
    side_sd: float | None,
    learner: ScaleLearner,
    near: EPState | None = None,
) -> EPState | None:
    """Compute belief and sweep of these sites and scales; None if the belief is not normalisable."""
    prior = GaussianPrior(scales.prior_sd, side_sd)
    last, expected = (None, None) if near is None else (near.belief, near.last.expected_precisions)
    belief = combine_sites(pairs, *sites.by_row(pairs), prior, last, expected)
    if belief is None:
        return None
    modes = None if near is None else near.last.crowd.grid.modes
    update = sweep_sites(pairs, belief, sites, scales.reliability, scales.log_nu, modes, scales.cuts)
    if near is None:
        return EPState(pairs, sites, scales, side_sd, belief, update, learner)
    moves = (belief.row_means - near.belief.row_means) / np.sqrt(near.belief.row_variances)
    moved = float(np.abs(moves).max(initial=0.0))
    shifts = scales.vector()[learner.free] - near.scales.vector()[learner.free]
    return EPState(
        pairs, sites, scales, side_sd, belief, update, learner, moved, float(np.abs(shifts).max(initial=0.0))
    )


def run_crowd_ep(
    state: EPState, *, tolerance: float, limit: int, on_step: Callable[[float], None]
) -> tuple[EPState, bool]:
    """Sweep until no margin changes by more than tolerance standard deviations and no scale by more than tolerance.

    Sites and scales are one fixed-point iteration (EP's parallel update and EM's), whose fixed points are stationary
    points of EP's evidence, accelerated by Anderson's method. A proposal without a belief, or with too large a change,
    is replaced by the plain update, and that by a half or a quarter of it.
    """
    anderson = Anderson(DEPTH)
    for step in range(limit):
        on_step(state.objective)
        point, image = _vector(state, state.sites, state.scales), _vector(state, state.last.sites, state.next_scales())
        proposal = limit_scale_move(
            point, image, anderson.propose(point, image, state.metric()), int(state.learner.free.sum())
        )
        new = _at(state, proposal) if step > 1 else None
        if new is None or new.margin_change > 2.0 or new.scale_change > 1.0:
            if step > 1:
                anderson.reset()
            plain = (_at(state, point + share * (image - point)) for share in (1.0, 0.5, 0.25))
            new = next((found for found in plain if found is not None), None)
        if new is None:
            return state, False
        done = new.margin_change < tolerance and new.scale_change < tolerance and step > 1
        state = new
        if done:
            return state, True
    return state, False


def limit_scale_move(point: Floats, image: Floats, proposal: Floats, n_scales: int) -> Floats:
    """Move the proposal towards the image until no scale, the last numbers, is over MAX_SCALE_MOVE from the point's.

    Scales move slowly along a flat objective, so that a few points foretell too large a step, past what is likely.
    """
    moves = np.abs(proposal - point)[len(point) - n_scales :]
    plain = np.abs(image - point)[len(point) - n_scales :].max(initial=0.0)
    largest = float(moves.max(initial=0.0))
    if largest <= MAX_SCALE_MOVE or plain >= MAX_SCALE_MOVE:
        return proposal
    share = (MAX_SCALE_MOVE - plain) / (largest + plain)
    return image + share * (proposal - image)


def _vector(state: EPState, sites: WinSites, scales: Scales) -> Floats:
    return np.concatenate([sites.vector(), scales.vector()[state.learner.free]])


def _at(state: EPState, vector: Floats) -> EPState | None:
    if not np.isfinite(vector).all():
        return None
    whole, free = state.scales.vector(), state.learner.free
    whole[free] = vector[len(vector) - int(free.sum()) :]
    scales = Scales.of(state.learner.clipped(whole))
    return evaluate_state(state.pairs, state.sites.like(vector), scales, state.side_sd, state.learner, state)


def propagate_scale_uncertainty(
    state: EPState, *, tolerance: float, limit: int, step: float = 0.1
) -> tuple[Floats, Floats, Floats]:
    """Compute, to first order, how the uncertainty of the scales changes utilities and reliabilities.

    Returns (items (n_items, k), annotators (n_annotators, k), scales (n_scales, k)): by how much one posterior standard
    deviation along each of k independent directions of the scales' vector moves the mean utilities, mean reliabilities
    and the vector. Directions and deviations are those of minus the Hessian of the objective, by finite differences of
    its score.
    """
    free, n = np.flatnonzero(state.learner.free), state.pairs.graph.n_items
    fixed = state.learner.nothing()
    centre, base = state.score()[free], state.scales.vector()
    curvatures, items, annotators = [], [], []
    for index in free:
        moved = base.copy()
        moved[index] += step
        start = evaluate_state(state.pairs, state.sites, Scales.of(moved), state.side_sd, fixed, state)
        if start is None:
            continue
        there, _ = run_crowd_ep(start, tolerance=tolerance, limit=limit, on_step=lambda _: None)
        curvatures.append((centre - replace(there, learner=state.learner).score()[free]) / step)
        items.append((there.belief.mean[:n] - state.belief.mean[:n]) / step)
        annotators.append((mean_reliability(there) - mean_reliability(state)) / step)
    if len(curvatures) < len(free) or not curvatures:
        return np.zeros((n, 0)), np.zeros((state.pairs.n_annotators, 0)), np.zeros((len(base), 0))
    curvature = (np.array(curvatures) + np.array(curvatures).T) / 2
    values, vectors = np.linalg.eigh(curvature)
    root = vectors / np.sqrt(np.maximum(values, 1.0))  # the scales' own prior has precision 1 or so
    scales = np.zeros((len(base), len(free)))
    scales[free] = root
    return np.array(items).T @ root, np.array(annotators).T @ root, scales


def mean_reliability(state: EPState) -> Floats:
    """Return the posterior mean of each reliability, (n_annotators,)."""
    return (state.last.crowd.mass * state.last.crowd.eta).sum(axis=1)
