"""EP for a whole crowd, run to convergence together with the scales, and how far the scales' uncertainty reaches."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.anderson import Anderson
from models_engine.inference.beliefs import Belief, Prior, believe
from models_engine.inference.crowd_scales import Learner, Scales
from models_engine.inference.mirrored import MirroredPairs
from models_engine.inference.mirrored_ep import Sites, Sweep, sweep

__all__ = ["State", "mean_reliability", "propagate", "reach_of_scales", "state_of"]

Floats = NDArray[np.float64]
DEPTH = 6


@dataclass(frozen=True, eq=False)
class State:
    """Where EP stands: sites and scales, the belief they make, and the sweep over them.

    objective: log evidence plus the learned scales' log prior.   moved: the largest move of a margin in the last step,
    in standard deviations; shifted: that of a scale, in logs.
    """

    pairs: MirroredPairs
    sites: Sites
    scales: Scales
    side_sd: float | None
    belief: Belief
    last: Sweep
    learner: Learner
    moved: float = np.inf
    shifted: float = np.inf

    @property
    def objective(self) -> float:
        return self.last.log_evidence + self.learner.log_prior(self.scales)

    @property
    def squares(self) -> tuple[float, float]:
        """(E[sum of squares], number) of the utilities within connected parts: a part's mean knows only its prior."""
        n, parts, pairs = self.pairs.graph.n_items, self.pairs.n_parts, self.pairs
        total = (self.belief.mean[:n] ** 2).sum() + self.belief.item_variances.sum()
        return float(total - parts * self.scales.prior_sd**2), float(pairs.graph.n_items - parts)

    def improved(self) -> Scales:
        squares, n = self.squares
        return self.learner.improved(self.scales, squares, n, self.last.crowd, self.last.score_nu, self.last.bend_nu)

    def score(self) -> Floats:
        """(4,) derivative of the objective in Scales.vector."""
        squares, n = self.squares
        return self.learner.score(self.scales, squares, n, self.last.crowd, self.last.score_nu)

    def metric(self) -> Floats:
        """Weights that make sites and scales comparable: moves of margins in standard deviations."""
        pairs, variance = self.pairs, self.belief.row_variances
        own = variance[pairs.row]
        ties = np.sqrt(pairs.ties)
        parts = [np.sqrt(pairs.weight) * own, np.sqrt(pairs.weight * own), ties * variance, ties * np.sqrt(variance)]
        return np.concatenate([*parts, np.full(int(self.learner.free.sum()), np.sqrt(pairs.graph.n_items))])


def state_of(
    pairs: MirroredPairs,
    sites: Sites,
    scales: Scales,
    side_sd: float | None,
    learner: Learner,
    near: State | None = None,
) -> State | None:
    """Belief and sweep of these sites and scales; None where they make no belief."""
    prior = Prior(scales.prior_sd, side_sd)
    last, expected = (None, None) if near is None else (near.belief, near.last.expected_bends)
    belief = believe(pairs, *sites.by_row(pairs), prior, last, expected)
    if belief is None:
        return None
    modes = None if near is None else near.last.crowd.grid.modes
    update = sweep(pairs, belief, sites, scales.reliability, scales.log_nu, modes)
    if near is None:
        return State(pairs, sites, scales, side_sd, belief, update, learner)
    moves = (belief.row_means - near.belief.row_means) / np.sqrt(near.belief.row_variances)
    moved = float(np.abs(moves).max(initial=0.0))
    shifts = scales.vector()[learner.free] - near.scales.vector()[learner.free]
    return State(pairs, sites, scales, side_sd, belief, update, learner, moved, float(np.abs(shifts).max(initial=0.0)))


def propagate(state: State, *, tolerance: float, limit: int, note: Callable[[float], None]) -> tuple[State, bool]:
    """Sweep until no margin moves by more than tolerance standard deviations and no scale by more than tolerance.

    Sites and scales are one fixed-point iteration - EP's parallel update beside EM's, whose fixed points are stationary
    points of EP's evidence - sped up by Anderson's method; a proposal that makes no belief, or leaps, is given up for
    the plain update, and that for a half or a quarter of it.
    """
    anderson = Anderson(DEPTH)
    for step in range(limit):
        note(state.objective)
        point, image = _vector(state, state.sites, state.scales), _vector(state, state.last.sites, state.improved())
        proposal = anderson.propose(point, image, state.metric())
        new = _at(state, proposal) if step > 1 else None
        if new is None or new.moved > 2.0 or new.shifted > 1.0:
            if step > 1:
                anderson.forget()
            plain = (_at(state, point + share * (image - point)) for share in (1.0, 0.5, 0.25))
            new = next((found for found in plain if found is not None), None)
        if new is None:
            return state, False
        done = new.moved < tolerance and new.shifted < tolerance and step > 1
        state = new
        if done:
            return state, True
    return state, False


def _vector(state: State, sites: Sites, scales: Scales) -> Floats:
    return np.concatenate([sites.vector(), scales.vector()[state.learner.free]])


def _at(state: State, vector: Floats) -> State | None:
    if not np.isfinite(vector).all():
        return None
    whole, free = state.scales.vector(), state.learner.free
    whole[free] = vector[len(vector) - int(free.sum()) :]
    scales = Scales.of(state.learner.clipped(whole))
    return state_of(state.pairs, state.sites.like(vector), scales, state.side_sd, state.learner, state)


def reach_of_scales(state: State, *, tolerance: float, limit: int, step: float = 0.1) -> tuple[Floats, Floats]:
    """How far the scales' own uncertainty moves the answers, to first order.

    Returns (items (n_items, k), annotators (n_annotators, k)): by how much one posterior standard deviation along each
    of k independent directions of the scales' vector moves the mean utilities and mean reliabilities. Directions and
    deviations are those of minus the Hessian of the objective, by finite differences of its score.
    """
    free, n = np.flatnonzero(state.learner.free), state.pairs.graph.n_items
    fixed = Learner(False, False, False, state.learner.tie_sd)
    centre, base = state.score()[free], state.scales.vector()
    bends, items, annotators = [], [], []
    for index in free:
        moved = base.copy()
        moved[index] += step
        start = state_of(state.pairs, state.sites, Scales.of(moved), state.side_sd, fixed, state)
        if start is None:
            continue
        there, _ = propagate(start, tolerance=tolerance, limit=limit, note=lambda _: None)
        bends.append((centre - replace(there, learner=state.learner).score()[free]) / step)
        items.append((there.belief.mean[:n] - state.belief.mean[:n]) / step)
        annotators.append((mean_reliability(there) - mean_reliability(state)) / step)
    if len(bends) < len(free) or not bends:
        return np.zeros((n, 0)), np.zeros((state.pairs.n_annotators, 0))
    bend = (np.array(bends) + np.array(bends).T) / 2
    values, vectors = np.linalg.eigh(bend)
    root = vectors / np.sqrt(np.maximum(values, 1.0))  # the scales' own prior has precision 1 or so
    return np.array(items).T @ root, np.array(annotators).T @ root


def mean_reliability(state: State) -> Floats:
    """(n_annotators,) posterior mean."""
    return (state.last.crowd.mass * state.last.crowd.eta).sum(axis=1)
