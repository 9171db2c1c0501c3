"""Fits the model of competitors: effects and items jointly, spreads by evidence, items' spread integrated out."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.competitors.problem import CompetitorProblem, CompetitorState, Elimination, Spreads

__all__ = ["ITEM_SD", "IntegratedEffects", "first_state", "fit_competitors", "optimise_at_spreads"]

Floats = NDArray[np.float64]
Step = Callable[[float], None]
ITEM_SD, TAG_SD = 1.0, 0.5  # scales of the half-normal priors of the items' and the tags' spread, in logits
CENTRAL_SD = 1.5  # median of the log-normal prior of the competitors' spread, whose log has sd 1
START = Spreads(0.7, 1.0, 0.3)
GRID = (-2.0, -1.0, 0.0, 1.0, 2.0)  # standard deviations of the log of the items' spread
SHORT_GRID = (-1.5, 0.0, 1.5)  # if that deviation is below MAX_NARROW_SD and its posterior nearly Gaussian
MAX_NARROW_SD, MAX_SD = 0.1, 0.6  # of such a deviation
MAX_CERTAIN_SD = 0.03  # below it u is nearly constant over the grid and is computed once
MIN_STEP = 0.05
MAX_STEP_LENGTH = 0.7  # step of a log spread
MAX_FREE_STEPS = 20  # after which steps of spreads that have not converged are damped
SPREAD_TOLERANCE = 0.2  # of a log spread's posterior deviation: the grid covers the rest


@dataclass(frozen=True, eq=False)
class IntegratedEffects:
    """u with the items' spread integrated out, as a Gaussian of the same moments.

    mean (n_unknowns,), covariance (n_unknowns, n_unknowns).   spreads (n_grid,), weights (n_grid,): the items' spread
    and its posterior probabilities.   best: the state at the likeliest spread.
    """

    mean: Floats
    covariance: Floats
    spreads: Floats
    weights: Floats
    best: CompetitorState
    converged: bool


def fit_competitors(problem: CompetitorProblem, *, tolerance: float, limit: int, step_done: Step) -> IntegratedEffects:
    """Learn all spreads by the evidence, then integrate over the items' spread on a grid around it."""
    state, converged = learn_spreads(first_state(problem), tolerance=tolerance, limit=limit, step_done=step_done)
    width = min(MAX_SD, log_spread_information(state) ** -0.5)
    if width < MAX_CERTAIN_SD:
        state, found = optimise_at_spreads(state, tolerance=tolerance, limit=limit, step_done=step_done)
        factors, weights = np.exp(np.multiply(GRID, width)), np.exp(-np.square(GRID) / 2)
        spreads = state.spreads.items * factors
        covariance = eliminated(state).covariance
        return IntegratedEffects(state.u, covariance, spreads, weights / weights.sum(), state, converged and found)
    states = []
    for place in SHORT_GRID if width < MAX_NARROW_SD else GRID:
        spreads = replace(state.spreads, items=float(state.spreads.items * np.exp(place * width)))
        at = replace(state, spreads=spreads)
        at, found = optimise_at_spreads(at, tolerance=tolerance, limit=limit, step_done=step_done)
        states.append(at)
        converged &= found
    return integrate(states, converged)


def first_state(problem: CompetitorProblem) -> CompetitorState:
    """Return the state with utilities 0 and weights for margins near 0."""
    f, u = np.zeros(problem.blocks.n_slots), np.concatenate([np.zeros(problem.n_effects), problem.answers.start()])
    return CompetitorState.at(problem, START, f, u, problem.answers.weight / 5)


def optimise_at_spreads(
    state: CompetitorState, *, tolerance: float, limit: int, step_done: Step
) -> tuple[CompetitorState, bool]:
    """Optimise at these spreads until neither f nor u changes by more than tolerance.

    Steps are halved where the bound would decrease, and grow otherwise.
    """
    size, lowest = 1.0, -np.inf
    for _ in range(limit):
        new = state.stepped(size)
        while new.bound < lowest and size > MIN_STEP:
            size /= 2
            new = state.stepped(size)
        moved = distance(state, new) / size
        state, size, lowest = new, min(1.0, 1.5 * size), new.bound - 1e-9 * abs(new.bound)
        step_done(state.bound)
        if moved < tolerance:
            return state, True
    return state, False


def learn_spreads(
    state: CompetitorState, *, tolerance: float, limit: int, step_done: Step
) -> tuple[CompetitorState, bool]:
    """Optimise jointly with the spreads, until they are within SPREAD_TOLERANCE of their posterior deviations.

    Every third step of a log spread is lengthened by the ratio of the last two (Aitken), as each step lags behind f,
    and one that turns back is shortened; after MAX_FREE_STEPS steps all are, ever more.
    """
    before = np.zeros(3)
    for count in range(limit):
        new = state.stepped(1.0)
        moved = distance(state, new)
        step_done(new.bound)
        step, deviation = spread_steps(new)
        longer = count % 3 == 2
        ratio = np.divide(step, before, out=np.zeros(3), where=before != 0)
        step = step / (1 - np.clip(ratio, -2.0, 0.9 if longer and count < MAX_FREE_STEPS else 0.0))
        step = np.clip(step, -MAX_STEP_LENGTH, MAX_STEP_LENGTH) * min(1.0, MAX_FREE_STEPS / (count + 1))
        if longer and moved < 10 * tolerance + SPREAD_TOLERANCE and (np.abs(step) < SPREAD_TOLERANCE * deviation).all():
            return new, True
        old, factors, before = new.spreads, np.exp(step).tolist(), step
        spreads = Spreads(old.items * factors[0], old.competitors * factors[1], old.tags * factors[2])
        state = replace(new, spreads=spreads)
    return state, False


def distance(one: CompetitorState, other: CompetitorState) -> float:
    """Return the largest change of f or u."""
    return float(max(np.abs(one.f - other.f).max(initial=0.0), np.abs(one.u - other.u).max(initial=0.0)))


def spread_steps(state: CompetitorState) -> tuple[Floats, Floats]:
    """Return a scoring step (3,) of each log spread for evidence and prior, and approximate posterior deviations."""
    problem, spreads = state.problem, state.spreads
    n, levels, covariance = problem.n_competitors, problem.n_levels, eliminated(state).covariance
    slope = state.item_square * spreads.items**-2 - problem.blocks.n_slots + 1 - (spreads.items / ITEM_SD) ** 2

    def of_effects(sd: float, part: slice) -> tuple[float, float]:
        own, effects = covariance[part, part] / sd**2, state.u[part]
        square = float(effects @ effects) / sd**2 + float(np.trace(own))
        left = np.eye(len(own)) - own
        return square - len(own), 2 * float((left * left).sum())

    competitors, about = of_effects(spreads.competitors, slice(0, n))
    slopes, information = [slope, competitors - np.log(spreads.competitors / CENTRAL_SD)], [about + 1.0]
    if levels > n:
        tags, known = of_effects(spreads.tags, slice(n, levels))
        ratio = (spreads.tags / TAG_SD) ** 2
        slopes, information = [*slopes, tags + 1 - ratio], [*information, known + 2 * ratio]
    else:
        slopes, information = [*slopes, 0.0], [*information, 1.0]
    found = np.array([log_spread_information(state), *information])
    return np.clip(np.array(slopes) / (found + 1.0), -MAX_STEP_LENGTH, MAX_STEP_LENGTH), found**-0.5


def log_spread_information(state: CompetitorState) -> float:
    """Return the information about the log of the items' spread: 2 |I - B/spread^2|^2 (linear mixed model) +
    prior's.
    """
    ridge = state.spreads.items**-2
    blocks = state.problem.blocks
    trace, square = blocks.trace(state.cells), blocks.square(state.cells)
    free = blocks.n_slots - 2 * trace * ridge + square * ridge**2
    return 2 * max(free, 0.0) + 2 * (state.spreads.items / ITEM_SD) ** 2


def eliminated(state: CompetitorState) -> Elimination:
    """Return the elimination of the step that led to the state, or the state's own if there was none."""
    return state.elimination or Elimination(state.problem, state.spreads, state.cells, state.averages)


def integrate(states: list[CompetitorState], converged: bool) -> IntegratedEffects:
    """Weigh the states, equally far apart in the log of the items' spread, by their evidence and its prior."""
    evidence = np.array([log_evidence(state) for state in states])
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    means = np.stack([state.u for state in states])
    mean = weights @ means
    covariance = np.zeros((len(mean), len(mean)))
    for weight, state in zip(weights, states, strict=True):
        apart = state.u - mean
        covariance += weight * (eliminated(state).covariance + np.outer(apart, apart))
    spreads = np.array([state.spreads.items for state in states])
    return IntegratedEffects(mean, covariance, spreads, weights, states[int(np.argmax(weights))], converged)


def log_evidence(state: CompetitorState) -> float:
    """Return the log evidence of the spreads, u integrated out by Laplace, with the prior of the items' log spread."""
    elimination = eliminated(state)
    spread = state.spreads.items / ITEM_SD
    log_determinant = 2 * float(np.log(np.diagonal(elimination.factor)).sum())
    integrated = state.bound + (len(state.u) * np.log(2 * np.pi) - log_determinant) / 2
    return float(integrated + np.log(spread) - spread**2 / 2)
