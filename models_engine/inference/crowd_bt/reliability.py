"""Annotators' reliabilities integrated out, each over a grid around its posterior's mode, all annotators at once."""

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, expit, log_expit

from models_engine.inference.crowd_bt.wins import OwnWins
from models_engine.linalg import normalise_rows, sum_by_group

__all__ = ["BetaPrior", "Grid", "Reliabilities", "build_grid", "find_posterior_modes", "integrate_reliabilities"]

Floats = NDArray[np.float64]
N_NODES = 20
TINY = 1e-300


@dataclass(frozen=True)
class BetaPrior:
    """Reliability eta ~ Beta(alpha, beta) over annotators: the probability that an answer is not reversed."""

    alpha: float
    beta: float

    @property
    def mean(self) -> float:
        return self.alpha / (self.alpha + self.beta)

    def log_density(self, log_odds: Floats) -> Floats:
        """Return the log density of the log-odds log(eta / (1 - eta)), with their Jacobian eta (1 - eta)."""
        return self.alpha * log_expit(log_odds) + self.beta * log_expit(-log_odds) - betaln(self.alpha, self.beta)


@dataclass(frozen=True, eq=False)
class Grid:
    """Quadrature nodes over the log-odds of each annotator's reliability.

    modes (n_annotators,): of the posteriors.   log_odds (n_annotators, n_nodes).
    log_width (n_annotators, n_nodes): log of the width of each node's cell.
    """

    modes: Floats
    log_odds: Floats
    log_width: Floats


@dataclass(frozen=True, eq=False)
class Reliabilities:
    """The posterior of every annotator's reliability, and of each win being reversed or not.

    log_annotators (n_annotators,): log P(wins), up to what does not depend on reliability.
    log_likelihoods, mass (n_annotators, n_nodes): log P(wins | node), P(node | wins).
    right (n_wins,): P(this win is not reversed), the average over the nodes of r = P(the same | node).
    spread (n_wins,): average of r (1 - r).   shared (n_wins, n_directions): Cov(r_l, r_m) is about shared_l . shared_m.
    """

    grid: Grid
    log_annotators: Floats
    log_likelihoods: Floats
    mass: Floats
    right: Floats
    spread: Floats
    shared: Floats

    @property
    def eta(self) -> Floats:
        """Return the reliability at the nodes, (n_annotators, n_nodes)."""
        return expit(self.grid.log_odds)

    def without_wins(self) -> "Reliabilities":
        """Return the same without what belongs to wins: `right`, `spread` and `shared` are empty."""
        return replace(self, right=self.right[:0], spread=self.spread[:0], shared=self.shared[:0])

    def followed_by(self, others: "Reliabilities") -> "Reliabilities":
        """Return these annotators and then the others."""
        grids = [np.concatenate([getattr(one.grid, each.name) for one in (self, others)]) for each in fields(Grid)]
        rest = [
            np.concatenate([getattr(one, each.name) for one in (self, others)])
            for each in fields(Reliabilities)
            if each.name != "grid"
        ]
        return Reliabilities(Grid(*grids), *rest)


def build_grid(prior: BetaPrior, pairs: OwnWins, log_ratios: Floats, start: Floats | None = None) -> Grid:
    """Build a grid for wins with log(P(win | not reversed) / P(win | reversed)) = log_ratios (n_wins,).

    Trapezoidal rule in u, log-odds = mode + width sinh(u), out to 6 widths plus 18 decay lengths of a Beta tail: error
    of log P(wins) below 1e-4 for alpha, beta >= 1, typically 1e-7. start: earlier modes, which save time.
    """
    modes, widths = find_posterior_modes(prior, pairs, log_ratios, start)
    eta = expit(modes)
    low, high = -np.arcsinh(6 + 18 * widths * (1 - eta)), np.arcsinh(6 + 18 * widths * eta)
    u = np.linspace(low, high, N_NODES, axis=1)
    step = (high - low) / (N_NODES - 1)
    return Grid(modes, modes[:, None] + widths[:, None] * np.sinh(u), np.log(np.cosh(u) * (widths * step)[:, None]))


def find_posterior_modes(
    prior: BetaPrior, pairs: OwnWins, log_ratios: Floats, start: Floats | None = None
) -> tuple[Floats, Floats]:
    """Find (mode, curvature^-1/2) of each annotator's log-odds t, both (n_annotators,), by Newton steps.

    The mode is the root of alpha - (alpha+beta) eta + sum w (r - eta), eta = s(t), r = s(t + log_ratio). Over
    eta (1 - eta) that falls in eta, so that there is one root, and the curvature there is the sum of squares
    alpha (1-eta)^2 + beta eta^2 + sum w (r - eta)^2.
    """
    own, n, total = pairs.annotator, pairs.n_annotators, prior.alpha + prior.beta
    t = np.full(n, np.log(prior.alpha / prior.beta)) if start is None else start.copy()
    curvature = np.ones(n)
    for _ in range(60):
        eta = expit(t)
        excess = expit(t[own] + log_ratios) - eta[own]
        pull = sum_by_group(own, pairs.weight * excess, n)
        curvature = prior.alpha * (1 - eta) ** 2 + prior.beta * eta**2 + sum_by_group(own, pairs.weight * excess**2, n)
        step = np.clip((prior.alpha - total * eta + pull) / curvature, -2.0, 2.0)
        t = t + step
        if np.abs(step * np.sqrt(curvature)).max(initial=0.0) < 1e-3:
            break
    return t, 1 / np.sqrt(curvature)


def integrate_reliabilities(
    pairs: OwnWins, log_ratios: Floats, grid: Grid, prior: BetaPrior, n_directions: int = 0
) -> Reliabilities:
    """Integrate over the grid; log_ratios as in build_grid.

    P(win | node) is taken as eta s(log_ratio) + (1 - eta) s(-log_ratio), s the logistic; the caller adds the rest.
    """
    log_weights = prior.log_density(grid.log_odds) + grid.log_width
    eta = expit(grid.log_odds)
    log_likelihoods, mass, log_annotators = np.zeros_like(eta), np.empty_like(eta), np.empty(len(eta))
    right, spread, shared = np.empty(pairs.n_wins), np.empty(pairs.n_wins), np.empty((pairs.n_wins, n_directions))
    agree, against = expit(log_ratios), expit(-log_ratios)
    for annotators, wins in pairs.chunks:
        own = pairs.annotator[wins]
        r = eta.take(own, axis=0)
        answer = np.multiply(1 - r, against[wins, None])
        r *= agree[wins, None]
        answer += r
        np.maximum(answer, TINY, out=answer)
        r /= answer
        present, starts = np.unique(own, return_index=True)
        if len(present):
            log_answer = pairs.weight[wins, None] * np.log(answer)
            log_likelihoods[present] = np.add.reduceat(log_answer, starts, axis=0)
        log_mass = log_weights[annotators] + log_likelihoods[annotators]
        mass[annotators], log_annotators[annotators] = normalise_rows(log_mass)
        chance = mass.take(own, axis=0)
        right[wins] = np.einsum("ij,ij->i", chance, r)
        spread[wins] = right[wins] - np.einsum("ij,ij,ij->i", chance, r, r)
        for direction, basis in enumerate(_orthonormal(eta[annotators], mass[annotators], n_directions)):
            moment = basis * mass[annotators]
            shared[wins, direction] = np.einsum("ij,ij->i", moment.take(own - annotators.start, axis=0), r)
    return Reliabilities(grid, log_annotators, log_likelihoods, mass, right, spread, shared)


def _orthonormal(values: Floats, mass: Floats, degree: int) -> list[Floats]:
    """Build polynomials of degree 1..degree in `values` (n, n_nodes), orthonormal under the rows of mass.

    Cov(g, h) = sum_j E[g q_j] E[h q_j] for g, h polynomials of at most that degree in the values.
    """
    basis = [np.ones_like(values)]
    centred = values - (mass * values).sum(axis=1, keepdims=True)
    scale = np.sqrt((mass * centred**2).sum(axis=1, keepdims=True))
    unit = np.divide(centred, scale, out=np.zeros_like(centred), where=scale > 0)
    power = unit
    for _ in range(degree):
        for earlier in basis + basis:  # twice: one round of Gram-Schmidt loses orthogonality to rounding
            power = power - (mass * power * earlier).sum(axis=1, keepdims=True) * earlier
        norm = np.sqrt((mass * power**2).sum(axis=1, keepdims=True))
        basis.append(np.divide(power, norm, out=np.zeros_like(power), where=norm > 1e-8))
        power = basis[-1] * unit
    return basis[1:]
