"""Pictures without noise: posterior means and modes under Laplace priors of wavelet coefficients (Ko's thesis 2.2)."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from models_engine.analysis.haar import analyse, synthesise
from models_engine.benchmarks.wavelets import infer_tree

__all__ = ["DEPTH", "Denoised", "Denoiser"]

Floats = NDArray[np.float64]
DEPTH = 5
ALMOST_NOTHING = 1e-8  # the variance of a mode, so that its prior stays finite at 0
PSEUDO_COUNT = 0.1  # of each state, so that no chance is 0


@dataclass(frozen=True)
class Denoised:
    """picture: (n, n). objective: after each pass, the lower bound on the log evidence (nats, but for a constant), of
    modes the log joint density; both with the prior of the trees' chances, and never falling. rates: of the Laplace
    of each state by level, coarsest first, (DEPTH, 2)."""

    picture: Floats
    rates: Floats
    objective: list[float]


@dataclass
class State:
    """By level: seen, mean, variance and size, sqrt(E s^2), of the coefficients (3, m, m); chances of their two states
    (2, 3, m, m). rates: as in Denoised. root: (2,). steps: (2, 2) by level."""

    seen: list[Floats]
    mean: list[Floats]
    variance: list[Floats]
    size: list[Floats]
    chances: list[Floats]
    rates: Floats
    root: Floats = field(default_factory=lambda: np.full(2, 0.5))
    steps: list[Floats] = field(default_factory=lambda: [np.array([[0.9, 0.1], [0.3, 0.7]])] * (DEPTH - 1))

    def precisions(self) -> list[Floats]:
        """Return the precision of each coefficient in the prior's Gaussian bound: E[rate] / size (Laplace)."""
        return [w / size for w, size in zip(self.weights(), self.size, strict=True)]

    def weights(self) -> list[Floats]:
        return [np.tensordot(rate, q, axes=1) for rate, q in zip(self.rates, self.chances, strict=True)]

    def log_evidence(self) -> list[Floats]:
        """Return log t_d(size) of both states, (2, 3, m, m) by level."""
        pairs = zip(self.rates, self.size, strict=True)
        return [np.stack([np.log(one / 2) - one * size for one in rate]) for rate, size in pairs]


@dataclass(frozen=True)
class Denoiser:
    """prior: "one" (a Laplace for all coefficients), "levels" (one for each level) or "tree" (two for each level,
    chosen by the states of quad trees). variational: posterior means; else modes, whose variances are nothing.

    Passes go on until one raises the objective by less than `tolerance` a coefficient: rates and variances follow each
    other slowly, so that the trees' 15th pass is .5 to .7 dB short of their last.
    """

    prior: str
    variational: bool
    max_passes: int = 1_000
    tolerance: float = 1e-6

    def fit(self, image: Floats, sigma: float) -> Denoised:
        """Return the picture without noise of this standard deviation; rates and chances are learned with it.

        image: (n, n), n a multiple of 2^DEPTH.
        """
        scaling, seen = analyse(image, DEPTH)
        state = self.start(seen, sigma)
        objective: list[float] = []
        for _pass in range(self.max_passes):
            if self.variational:
                state.variance = [1 / (1 / sigma**2 + one) for one in state.precisions()]
            parts = zip(seen, state.mean, state.variance, state.weights(), strict=True)
            state.mean = [reweigh(*one, sigma) for one in parts]
            state.size = [np.sqrt(z + s**2) for z, s in zip(state.variance, state.mean, strict=True)]
            log_prior, pairs = self.infer_states(state)
            objective.append(log_prior + self.fit_of(state, sigma))
            if len(objective) > 1 and objective[-1] - objective[-2] < self.tolerance * image.size:
                break
            self.learn(state, pairs)
        return Denoised(synthesise(scaling, state.mean), state.rates, objective)

    def start(self, seen: list[Floats], sigma: float) -> State:
        variance = [np.full(band.shape, sigma**2 if self.variational else ALMOST_NOTHING) for band in seen]
        size = [np.sqrt(z + s**2) for z, s in zip(variance, seen, strict=True)]
        rates = np.tile([50.0, 5.0], (DEPTH, 1)) if self.prior == "tree" else np.full((DEPTH, 2), 20.0)
        chances = [np.full((2, *band.shape), 0.5) for band in seen]
        return State(seen, seen, variance, size, chances, rates)

    def infer_states(self, state: State) -> tuple[float, list[Floats]]:
        """Set the chances of the states; return E[log prior] less their divergence, and the trees' pairs of states."""
        evidence = state.log_evidence()
        if self.prior != "tree":
            return float(sum(one[0].sum() for one in evidence)), []
        tree = infer_tree(evidence, state.root, state.steps)
        state.chances = tree.chances
        log_prior = PSEUDO_COUNT * (np.log(state.root).sum() + np.log(state.steps).sum())
        return float(tree.log_evidence + log_prior), tree.pairs

    def fit_of(self, state: State, sigma: float) -> float:
        """Return the terms of the objective beside the prior's, nats."""
        total = 0.0
        for seen, mean, z, precision in zip(state.seen, state.mean, state.variance, state.precisions(), strict=True):
            total -= float(((seen - mean) ** 2).sum()) / (2 * sigma**2)
            if self.variational:
                total += float((precision * z - np.log1p(sigma**2 * precision)).sum()) / 2
        return total

    def learn(self, state: State, pairs: list[Floats]) -> None:
        """Set rates and chances to the best of these states; pairs: as `infer_states` returned them."""
        state.rates = self.learn_rates(state)
        if pairs:
            state.root = shares(state.chances[0].sum(axis=(1, 2, 3)))
            state.steps = [shares(one) for one in pairs]

    def learn_rates(self, state: State) -> Floats:
        sums = zip(state.chances, state.size, strict=True)
        totals = np.array([[(one.sum(), (one * size).sum()) for one in q] for q, size in sums])
        if self.prior == "one":
            totals = np.broadcast_to(totals.sum(axis=(0, 1)), totals.shape)
        elif self.prior == "levels":
            totals = np.broadcast_to(totals.sum(axis=1, keepdims=True), totals.shape)
        return np.asarray((totals[..., 0] + 1e-12) / (totals[..., 1] + 1e-12))


def reweigh(seen: Floats, mean: Floats, variance: Floats, weight: Floats, sigma: float) -> Floats:
    """Return the mean after three reweighted least squares."""
    for _step in range(3):
        mean = seen / (1 + sigma**2 * weight / np.sqrt(variance + mean**2))
    return mean


def shares(counts: Floats) -> Floats:
    return np.asarray((counts + PSEUDO_COUNT) / (counts + PSEUDO_COUNT).sum(axis=-1, keepdims=True))
