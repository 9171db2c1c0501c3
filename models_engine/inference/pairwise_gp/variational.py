"""Steps to the posterior of a pairwise GP: variational in batch or minibatches, and crowd_gppl's linearised ones."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from models_engine.inference.pairwise_gp.graded import GradedFactors, cut_coupling
from models_engine.inference.pairwise_gp.model import GPState, PairFactors, PairwiseGP
from models_engine.linalg import cholesky, inverse_from_cholesky

__all__ = ["StepResult", "fit_stochastic", "label_noise", "linearised_sites", "maximise_bound", "solve_linearised"]

Floats = NDArray[np.float64]
CurvaturesAndSlopes = tuple[Floats, Floats]
MIN_STEP = 0.01
MAX_FINAL_MOVE = 0.2  # largest change of a margin, in standard deviations, in the final Newton step after minibatches


@dataclass(frozen=True, eq=False)
class StepResult:
    """Result of the steps: the state, whether they converged, and the size of the last."""

    state: GPState
    converged: bool
    change: float


def maximise_bound(state: GPState, *, tolerance: float, limit: int, on_step: Callable[[float], None]) -> StepResult:
    """Maximise the bound by natural-gradient steps (Khan & Lin 2017, eq. 13-14), each followed by the best q(s).

    A step of size r mixes r of the expected curvature into the weights, r of the expected scale into the prior's, and
    moves the mean by r C gradient. r is halved while the bound would decrease, shrinks where steps oscillate, and grows
    otherwise. The scale alone would converge slowly where labels are few: its steps are lengthened by the secant of the
    last two. Cut points of graded answers move with the mean, by the Newton step for both. With inducing points, where
    the previous E[s] replaces s in the variance given the points, the bound may decrease slightly and steps are plain.
    """
    guarded = state.problem.prior.reach is None
    size, change, last = 1.0, np.inf, np.zeros(1)
    secant = _Secant()
    for _ in range(limit):
        _, slopes, curvatures = state.expected
        at, drift = float(np.log(state.inverse_scale)), float(np.log(state.expected_scale / state.inverse_scale))
        plain = state.expected_scale
        new = _step(state, (curvatures, slopes), float(np.exp(at + secant.step(at, drift))) if guarded else plain, size)
        if guarded and _falls(state, new):
            new = _step(state, (curvatures, slopes), plain, size)
        while guarded and _falls(state, new) and size > MIN_STEP:
            size /= 2
            new = _step(state, (curvatures, slopes), plain, size)
        moved = _moves(state, new) / size
        change = max(float(np.abs(moved).max(initial=0.0)), abs(drift))
        swings = len(last) == len(moved) and float(last @ moved) < 0
        size, last, state = max(MIN_STEP, 0.6 * size) if swings else min(1.0, 1.3 * size), moved, new
        on_step(state.bound)
        if change < tolerance:
            break
    return StepResult(state, change < tolerance, change)


def _falls(old: GPState, new: GPState) -> bool:
    return new.bound < old.bound - 1e-9 * (1 + abs(old.bound))


class _Secant:
    """Secant steps of log s to where its drift is zero: 1 to 20 times the drift."""

    def __init__(self) -> None:
        self._at, self._drift = 0.0, 0.0

    def step(self, at: float, drift: float) -> float:
        moved, changed = at - self._at, drift - self._drift
        factor = float(np.clip(-moved / changed, 1.0, 20.0)) if self._drift and moved * changed < 0 else 1.0
        self._at, self._drift = at, drift
        return float(np.clip(factor * drift, -3.0, 3.0))


def solve_linearised(state: GPState, *, tolerance: float, limit: int, on_step: Callable[[float], None]) -> StepResult:
    """Iterate crowd_gppl's scheme: Gauss-Newton steps on N(y; Phi(z), Q) around the posterior mean, Q from the prior.

    Its own "bound" is not one (it can be positive); on_step receives the bound of `GPState`, which holds for any q.
    """
    noise = label_noise(state.problem)
    size, last, change = 1.0, np.inf, np.inf
    for _ in range(limit):
        target = state.expected_scale
        new = _step(state, linearised_sites(state.problem.factors, state.margins.mean, noise), target, size)
        moved = float(np.abs(_moves(state, new)).max(initial=0.0)) / size
        change = max(moved, abs(float(np.log(target / state.inverse_scale))))
        size = max(MIN_STEP, size / 2) if change > 0.95 * last else size
        state, last = new, change
        on_step(state.bound)
        if change < tolerance:
            break
    return StepResult(state, change < tolerance, change)


def linearised_sites(factors: PairFactors, margin: Floats, noise: Floats) -> CurvaturesAndSlopes:
    """Return weights phi^2 / Q and slopes phi (y - Phi) / Q, summed over each pair's labels (crowd_gppl (12), (19),
    (20)).

    The derivative of Phi is phi: the factor (2 y - 1) Phi (1 - Phi) printed in (13) is the logistic's.
    """
    steepness = np.exp(-(margin**2) / 2) / np.sqrt(2 * np.pi)
    count = factors.wins + factors.losses
    return count * steepness**2 / noise, steepness * (factors.wins - count * ndtr(margin)) / noise


def label_noise(problem: PairwiseGP) -> Floats:
    """Return Q of each pair: E[p (1 - p)] given one label, p a priori Beta(g, g) as wide as Phi(z) (crowd_gppl (11)).

    With the first denominator squared, as it must be, that is (g + 1) g / ((2g + 1) (2g + 2)) whatever the label;
    Var Phi(z) = arcsin(v / (1 + v)) / (2 pi) for z ~ N(0, v).
    """
    start = problem.start()
    v = start.margins.variance
    spread = np.arcsin(v / (1 + v)) / (2 * np.pi)
    g = (1 / (4 * spread) - 1) / 2
    return (g + 1) * g / ((2 * g + 1) * (2 * g + 2))


def fit_stochastic(
    state: GPState,
    rng: np.random.Generator,
    *,
    batch_size: int,
    epochs: int,
    delay: float,
    forget: float,
    on_step: Callable[[float], None],
) -> StepResult:
    """Fit by stochastic variational inference (Hoffman et al. 2013): natural parameters mixed by (i + delay)^-forget.

    Each step uses batch_size pairs, scaled up to all; the final step uses all pairs. The fit has converged if that step
    changed no margin by more than a fifth of its standard deviation, because a Newton step leaves a far smaller error.
    """
    problem, factors = state.problem, state.problem.factors
    cuts = _BatchCuts(factors) if isinstance(factors, GradedFactors) else None
    precision = state.inverse_scale * problem.prior.precision + problem.information(factors, state.weights)
    push, mean, covariance, scale = precision @ state.mean, state.mean, state.covariance, state.expected_scale
    batches, step = max(1, len(factors) // batch_size), 0
    for _ in range(epochs):
        for rows in np.array_split(rng.permutation(len(factors)), batches):
            step += 1
            rho = (step + delay) ** -forget
            some, share = factors.select(rows), len(factors) / max(1, len(rows))
            margins = problem.margins(some, mean, covariance, scale)
            terms = some.terms(margins)
            value, slopes, curvatures = some.expected_by(terms)
            seen = share * problem.information(some, curvatures)
            towards = share * problem.project_slopes(some, curvatures * margins.mean + slopes)
            if cuts is not None and isinstance(some, GradedFactors):
                towards = towards + cuts.step(problem, some, terms, mean, share, rho)
            precision = (1 - rho) * precision + rho * (scale * problem.prior.precision + seen)
            push = (1 - rho) * push + rho * towards
            covariance = inverse_from_cholesky(cholesky(precision))
            mean = covariance @ push if cuts is None else cuts.solve(covariance, push)
            factors = factors if cuts is None else cuts.factors
            square = float((problem.prior.precision * covariance).sum() + mean @ problem.prior.precision @ mean)
            shape, rate = problem.scale_given(square, share * problem.open_weight(some, curvatures), scale)
            scale = shape / rate
            on_step(share * float(value.sum()))
    problem = replace(problem, factors=factors)
    margins = problem.margins(factors, mean, covariance, scale)
    _, slopes, curvatures = factors.expected_by(factors.terms(margins))
    before = problem.at(curvatures, scale, mean)
    last = _step(before, (curvatures, slopes), scale, 1.0)
    moved = np.abs(last.margins.mean - margins.mean) / np.sqrt(margins.variance)
    change = float(moved.max(initial=0.0))
    on_step(last.bound)
    return StepResult(last, change < MAX_FINAL_MOVE, change)


def _step(state: GPState, sites: CurvaturesAndSlopes, inverse_scale: float, size: float) -> GPState:
    """Take a step of that size towards these weights, slopes and scale."""
    problem, (weights, slopes) = state.problem, sites
    gradient = problem.project_slopes(problem.factors, slopes) - inverse_scale * (problem.prior.precision @ state.mean)
    mixed = (1 - size) * state.inverse_scale + size * inverse_scale
    towards = (1 - size) * state.weights + size * weights
    if not isinstance(problem.factors, GradedFactors):
        return problem.at(towards, mixed, lambda covariance: state.mean + size * (covariance @ gradient))
    plain = problem.at(towards, mixed, state.mean)
    direction = plain.covariance @ gradient
    terms, coupling = cut_coupling(state)
    follow = -(plain.covariance @ coupling.T)
    step = _solve_positive(terms.curvature + coupling @ follow, terms.gradient - coupling @ direction)
    factors, share = problem.factors.moved(size * step)
    mean = state.mean + size * (direction + share * (follow @ step))
    return replace(plain, problem=replace(problem, factors=factors), mean=mean)


def _solve_positive(matrix: Floats, vector: Floats) -> Floats:
    """Solve for a symmetric matrix with its eigenvalues raised to 1e-3 of the largest: away from the optimum the
    curvature of one state and the weights of another may give negative ones."""
    if not len(vector):
        return vector
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors @ (vectors.T @ vector / np.maximum(values, max(1e-3 * values[-1], 1e-9))))


class _BatchCuts:
    """Cut points in stochastic steps: natural parameters that they share with the points u, mixed as those of u are.

    Precision of (u, cut points): that of u, border (k, n_points) and corner (k, k); push (k,) belongs to the latter.
    """

    def __init__(self, factors: GradedFactors) -> None:
        self.factors = factors
        self._border, self._corner, self._push = np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0)

    def step(
        self, problem: PairwiseGP, some: GradedFactors, terms: Floats, mean: Floats, share: float, rho: float
    ) -> Floats:
        """Mix in a minibatch; return what it adds to the push of u, (n_points,)."""
        found = some.cut_terms(terms, share)
        columns = [problem.project_slopes(some, column) for column in found.cross.T]
        border = np.array(columns).reshape(len(columns), len(mean))
        cuts = self._learned
        push = found.gradient + found.curvature @ cuts + border @ mean
        if not self._border.size:
            self._border, self._corner, self._push = 0 * border, found.curvature, found.curvature @ cuts
        self._border = (1 - rho) * self._border + rho * border
        self._corner = (1 - rho) * self._corner + rho * found.curvature
        self._push = (1 - rho) * self._push + rho * push
        return border.T @ cuts

    def solve(self, covariance: Floats, push: Floats) -> Floats:
        """Move the cut points to where these parameters have them, in order, and return the mean of u then."""
        reach = covariance @ self._border.T
        target = _solve_positive(self._corner - self._border @ reach, self._push - reach.T @ push)
        self.factors, _ = self.factors.moved(target - self._learned)
        return covariance @ push - reach @ self._learned

    @property
    def _learned(self) -> Floats:
        return self.factors.cuts[len(self.factors.cuts) - self.factors.n_learned :]


def _moves(old: GPState, new: GPState) -> Floats:
    """Return the changes of the margins' means and variances, (2 n_pairs,), and of the cut points of graded answers."""
    moves = [new.margins.mean - old.margins.mean, new.margins.variance - old.margins.variance]
    factors, before = new.problem.factors, old.problem.factors
    if isinstance(factors, GradedFactors) and isinstance(before, GradedFactors):
        moves.append(factors.cuts - before.cuts)
    return np.concatenate(moves)
