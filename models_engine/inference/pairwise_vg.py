"""Steps to the posterior of a pairwise GP: variational in batch or minibatches, and crowd_gppl's linearised ones."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from models_engine.inference.expected_probit import expected_factor
from models_engine.inference.pairwise_gp import PairFactors, PairwiseGP, State
from models_engine.linalg import cholesky, inverse_from_cholesky

__all__ = ["Found", "label_noise", "linearised_sites", "maximise_bound", "solve_linearised", "stochastic"]

Floats = NDArray[np.float64]
Sites = tuple[Floats, Floats]
SMALLEST_STEP = 0.01
WORTH = 0.2  # of a standard deviation: what the closing Newton step after minibatches may still move a margin


@dataclass(frozen=True, eq=False)
class Found:
    """Where the steps ended: the state, whether they had become small, and how large the last was."""

    state: State
    converged: bool
    change: float


def maximise_bound(state: State, *, tolerance: float, limit: int, on_step: Callable[[float], None]) -> Found:
    """Natural-gradient steps on the bound (Khan & Lin 2017, eq. 13-14), each followed by the best q(s).

    A step of size r mixes r of the expected curvature into the weights, r of the expected scale into the prior's, and
    moves the mean by r C gradient. r is halved while the bound would fall, shrinks where steps swing to and fro, and
    grows back. The scale alone would creep where labels are few: its steps are lengthened by the secant of the last
    two. Through inducing points, where the last E[s] stands for s in what they leave open, the bound may fall a
    little on the way and steps are plain.
    """
    guarded = state.problem.prior.reach is None
    size, change, last = 1.0, np.inf, np.zeros(1)
    secant = _Secant()
    for _ in range(limit):
        _, slopes, bends = state.expected
        at, drift = float(np.log(state.inverse_scale)), float(np.log(state.expected_scale / state.inverse_scale))
        plain = state.expected_scale
        new = _step(state, (bends, slopes), float(np.exp(at + secant.step(at, drift))) if guarded else plain, size)
        if guarded and _falls(state, new):
            new = _step(state, (bends, slopes), plain, size)
        while guarded and _falls(state, new) and size > SMALLEST_STEP:
            size /= 2
            new = _step(state, (bends, slopes), plain, size)
        moved = _moves(state, new) / size
        change = max(float(np.abs(moved).max(initial=0.0)), abs(drift))
        swings = len(last) == len(moved) and float(last @ moved) < 0
        size, last, state = max(SMALLEST_STEP, 0.6 * size) if swings else min(1.0, 1.3 * size), moved, new
        on_step(state.bound)
        if change < tolerance:
            break
    return Found(state, change < tolerance, change)


def _falls(old: State, new: State) -> bool:
    return new.bound < old.bound - 1e-9 * (1 + abs(old.bound))


class _Secant:
    """Steps of log s to where its drift is zero: 1 to 20 times the drift, by how fast it changed last."""

    def __init__(self) -> None:
        self._at, self._drift = 0.0, 0.0

    def step(self, at: float, drift: float) -> float:
        moved, changed = at - self._at, drift - self._drift
        factor = float(np.clip(-moved / changed, 1.0, 20.0)) if self._drift and moved * changed < 0 else 1.0
        self._at, self._drift = at, drift
        return float(np.clip(factor * drift, -3.0, 3.0))


def solve_linearised(state: State, *, tolerance: float, limit: int, on_step: Callable[[float], None]) -> Found:
    """crowd_gppl's scheme: Gauss-Newton steps on N(y; Phi(z), Q) around the posterior mean, Q from the prior.

    Its own "bound" is none (it can be positive); on_step hears the bound of `State` instead, which holds for any q.
    """
    noise = label_noise(state.problem)
    size, last, change = 1.0, np.inf, np.inf
    for _ in range(limit):
        target = state.expected_scale
        new = _step(state, linearised_sites(state.problem.factors, state.margins.mean, noise), target, size)
        moved = float(np.abs(_moves(state, new)).max(initial=0.0)) / size
        change = max(moved, abs(float(np.log(target / state.inverse_scale))))
        size = max(SMALLEST_STEP, size / 2) if change > 0.95 * last else size
        state, last = new, change
        on_step(state.bound)
        if change < tolerance:
            break
    return Found(state, change < tolerance, change)


def linearised_sites(factors: PairFactors, margin: Floats, noise: Floats) -> Sites:
    """Weights phi^2 / Q and slopes phi (y - Phi) / Q summed over the labels of each pair (crowd_gppl (12), (19), (20)).

    The derivative of Phi is phi: the factor (2 y - 1) Phi (1 - Phi) printed in (13) is the logistic's.
    """
    steepness = np.exp(-(margin**2) / 2) / np.sqrt(2 * np.pi)
    count = factors.wins + factors.losses
    return count * steepness**2 / noise, steepness * (factors.wins - count * ndtr(margin)) / noise


def label_noise(problem: PairwiseGP) -> Floats:
    """Q of each pair: E[p (1 - p)] given one label, p a priori Beta(g, g) as wide as Phi(z) (crowd_gppl (11)).

    With the first denominator squared, as it must be, that is (g + 1) g / ((2g + 1) (2g + 2)) whatever the label;
    Var Phi(z) = arcsin(v / (1 + v)) / (2 pi) for z ~ N(0, v).
    """
    start = problem.start()
    v = start.margins.variance
    spread = np.arcsin(v / (1 + v)) / (2 * np.pi)
    g = (1 / (4 * spread) - 1) / 2
    return (g + 1) * g / ((2 * g + 1) * (2 * g + 2))


def stochastic(
    state: State,
    rng: np.random.Generator,
    *,
    batch_size: int,
    epochs: int,
    delay: float,
    forget: float,
    on_step: Callable[[float], None],
) -> Found:
    """Stochastic variational inference (Hoffman et al. 2013): natural parameters mixed by (i + delay)^-forget.

    Each step sees batch_size pairs, standing for all; one step over all pairs closes. It has converged where that step
    moved no margin by more than a fifth of its standard deviation, a Newton step leaving far less than it moves.
    """
    problem, factors = state.problem, state.problem.factors
    precision = state.inverse_scale * problem.prior.precision + problem.information(factors, state.weights)
    push, mean, covariance, scale = precision @ state.mean, state.mean, state.covariance, state.expected_scale
    batches, step = max(1, len(factors) // batch_size), 0
    for _ in range(epochs):
        for rows in np.array_split(rng.permutation(len(factors)), batches):
            step += 1
            rho = (step + delay) ** -forget
            some, share = factors.select(rows), len(factors) / max(1, len(rows))
            margins = problem.margins(some, mean, covariance, scale)
            value, slopes, bends = expected_factor(margins.mean, margins.variance, some.wins, some.losses)
            seen = share * problem.information(some, bends)
            towards = share * problem.pull(some, bends * margins.mean + slopes)
            precision = (1 - rho) * precision + rho * (scale * problem.prior.precision + seen)
            push = (1 - rho) * push + rho * towards
            covariance = inverse_from_cholesky(cholesky(precision))
            mean = covariance @ push
            square = float((problem.prior.precision * covariance).sum() + mean @ problem.prior.precision @ mean)
            shape, rate = problem.scale_given(square, share * problem.open_weight(some, bends), scale)
            scale = shape / rate
            on_step(share * float(value.sum()))
    margins = problem.margins(factors, mean, covariance, scale)
    _, slopes, bends = expected_factor(margins.mean, margins.variance, factors.wins, factors.losses)
    before = problem.at(bends, scale, mean)
    last = _step(before, (bends, slopes), scale, 1.0)
    moved = np.abs(last.margins.mean - margins.mean) / np.sqrt(margins.variance)
    change = float(moved.max(initial=0.0))
    on_step(last.bound)
    return Found(last, change < WORTH, change)


def _step(state: State, sites: Sites, inverse_scale: float, size: float) -> State:
    """The state a step of that size further, towards these weights, slopes and scale."""
    problem, (weights, slopes) = state.problem, sites
    gradient = problem.pull(problem.factors, slopes) - inverse_scale * (problem.prior.precision @ state.mean)
    mixed = (1 - size) * state.inverse_scale + size * inverse_scale
    return problem.at(
        (1 - size) * state.weights + size * weights,
        mixed,
        lambda covariance: state.mean + size * (covariance @ gradient),
    )


def _moves(old: State, new: State) -> Floats:
    """(2 n_pairs,) changes of the margins' means and variances."""
    return np.concatenate([new.margins.mean - old.margins.mean, new.margins.variance - old.margins.variance])
