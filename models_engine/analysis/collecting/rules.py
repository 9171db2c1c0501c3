"""Rules that say which pair is asked next: balanced, random, the engine's table of candidates, and Gavel's."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, digamma

from models_engine.acquisition import Aim, candidate_sets
from models_engine.analysis.collecting.quick_fit import QuickFit
from models_engine.analysis.collecting.sets import Pair, Sets
from models_engine.analysis.collecting.worlds import World

__all__ = ["Adaptive", "Balanced", "Gavel", "Random", "Rule"]

Floats = NDArray[np.float64]
N_TRIES, N_CONSIDERED, N_STARTS = 20, 32, 16
EPSILON, GAMMA, KAPPA = 0.25, 0.1, 1e-4  # Gavel's: share at random, weight of the annotator's gain, least variance


class Rule(ABC):
    """Says which pair is asked next. A rule belongs to one simulated project, whose sets it keeps."""

    is_fitted = False  # whether it wants to know of new fits

    def __init__(self, world: World, rng: np.random.Generator) -> None:
        self.world, self.rng = world, rng
        self.sets = Sets(world.scenario.overlap)
        self.shown = np.zeros(world.n_items)

    @abstractmethod
    def pair(self, who: int) -> Pair:
        """Return the pair that a person is asked about."""

    def observe_answer(self, who: int, winner: int, loser: int) -> None:
        """Take note of an answer."""
        self.shown[[winner, loser]] += 1

    def observe_fit(self, fit: QuickFit) -> None:
        """Take note of a fit."""
        return None

    def balanced(self, who: int) -> Pair:
        """Return a balanced pair that waits for more people, else two of the least compared, random among equals."""
        return self.sets.waiting_for(who) or self.least_compared(who)

    def least_compared(self, who: int) -> Pair:
        """Return a new pair of two of the least compared, random among equals."""
        for tried in range(N_TRIES):  # with more chance each time, in case the same two are always the least
            a, b = np.argpartition(self.shown + (0.1 + tried) * self.rng.random(len(self.shown)), 1)[:2].tolist()
            if self.sets.is_new(a, b):
                break
        else:
            a, b = self._any_pair(who)
        self.sets.wait(a, b)
        return a, b

    def _any_pair(self, who: int) -> Pair:
        """Return the first pair in random order with room for a person; any where none has."""
        order = self.rng.permutation(self.world.n_items).tolist()
        pairs = [(a, b) for place, a in enumerate(order) for b in order[:place]]
        return next((pair for pair in pairs if self.sets.has_room(*pair, who)), pairs[0])


class Balanced(Rule):
    """Least compared first."""

    def pair(self, who: int) -> Pair:
        return self.balanced(who)


class Random(Rule):
    """Any pair."""

    def pair(self, who: int) -> Pair:
        if waiting := self.sets.waiting_for(who):
            return waiting
        for _ in range(N_TRIES):
            a, b = self.rng.choice(self.world.n_items, 2, replace=False).tolist()
            if self.sets.is_new(a, b):
                break
        else:
            a, b = self._any_pair(who)
        self.sets.wait(a, b)
        return a, b


class Adaptive(Rule):
    """The engine's candidates for an aim, and a share of balanced pairs.

    by_covariance: the gains are those with the covariance.   waits: a candidate once asked waits for more people, as
    balanced pairs do; otherwise it is asked again only where a later fit says so, and never of more than the overlap.
    """

    is_fitted = True

    def __init__(
        self,
        world: World,
        rng: np.random.Generator,
        aim: Aim,
        share: float,
        *,
        by_covariance: bool = True,
        waits: bool = False,
    ) -> None:
        super().__init__(world, rng)
        self.aim, self.share, self.by_covariance, self.waits = aim, share, by_covariance, waits
        self.left: list[Pair] = []

    def pair(self, who: int) -> Pair:
        if self.waits and (waiting := self.sets.waiting_for(who)):
            return waiting
        if self.rng.random() >= self.share and self.left:
            start = int(self.rng.integers(min(N_STARTS, len(self.left))))
            for place in range(start, min(start + N_CONSIDERED, len(self.left))):
                if self.sets.has_room(*self.left[place], who):
                    chosen = self.left.pop(place)
                    if self.waits:
                        self.sets.wait(*chosen)
                    return chosen
        return self.balanced(who)

    def observe_fit(self, fit: QuickFit) -> None:
        table = candidate_sets(
            fit.mean,
            fit.sd,
            self.aim,
            covariance=fit.covariance if self.by_covariance else None,
            margin=self.world.scenario.margin,
            lapse=min(float(fit.lapse.mean()), 0.49),
            asked=self.sets.full(),
            rng=self.rng,
        )
        self.left = [(a, b) for a, b in table.sets.tolist()]


class Gavel(Rule):
    """Gavel's rule: a person's last item and the one whose answer is expected to tell most, by CrowdBT online.

    Moments and expected gain: Chen, Bennett, Collins-Thompson & Horvitz 2013, sections 4 and 5, with Gavel's settings:
    a quarter of the items at random, weight .1 of what is told about the annotator, priors N(0, 1) and Beta(10, 1).
    """

    def __init__(self, world: World, rng: np.random.Generator) -> None:
        super().__init__(world, rng)
        self.mean, self.variance = np.zeros(world.n_items), np.ones(world.n_items)
        self.alpha, self.beta = np.full(world.n_people, 10.0), np.ones(world.n_people)
        self.last: dict[int, int] = {}

    def pair(self, who: int) -> Pair:
        a = self.last.get(who, -1)
        if a < 0:
            a = int(self.rng.integers(self.world.n_items))
        others = self.rng.permutation(self.world.n_items)
        others = others[others != a]
        if self.rng.random() >= EPSILON:
            gain = self.expected_gain(who, a, others)
            others = others[np.argsort(-gain, kind="stable")]
        b = next((int(b) for b in others if self.sets.has_room(a, int(b), who)), int(others[0]))
        self.last[who] = b
        return a, b

    def observe_answer(self, who: int, winner: int, loser: int) -> None:
        super().observe_answer(who, winner, loser)
        of = (
            self.alpha[who],
            self.beta[who],
            *(np.array(x[i]) for i in (winner, loser) for x in (self.mean, self.variance)),
        )
        (self.mean[winner], self.variance[winner], self.mean[loser], self.variance[loser]) = _updated_items(*of)
        self.alpha[who], self.beta[who], _ = _updated_annotator(*of)

    def expected_gain(self, who: int, a: int, others: NDArray[np.int64]) -> Floats:
        """Return the expected gain of comparing a with each of the others."""
        alpha, beta = np.array(self.alpha[who]), np.array(self.beta[who])
        of_a, of_b = (self.mean[a], self.variance[a]), (self.mean[others], self.variance[others])
        total = np.zeros(len(others))
        for first, second in ((of_a, of_b), (of_b, of_a)):
            new = _updated_items(alpha, beta, *first, *second)
            own_alpha, own_beta, chance = _updated_annotator(alpha, beta, *first, *second)
            gain = _divergence(new[0], new[1], *first) + _divergence(new[2], new[3], *second)
            total += chance * (gain + GAMMA * _beta_divergence(own_alpha, own_beta, alpha, beta))
        return total


def _updated_items(
    alpha: Floats, beta: Floats, mean_w: Floats, var_w: Floats, mean_l: Floats, var_l: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return means and variances of winner and loser after an answer (Chen et al. 2013, eqs. 11 to 14)."""
    w = 1 / (1 + np.exp(mean_l - mean_w))
    right = alpha * w / (alpha * w + beta * (1 - w))
    push = right - w
    shrink = right * (1 - right) - w * (1 - w)
    new_w, new_l = (var * np.maximum(1 + var * shrink, KAPPA) for var in (var_w, var_l))
    return mean_w + var_w * push, new_w, mean_l - var_l * push, new_l


def _updated_annotator(
    alpha: Floats, beta: Floats, mean_w: Floats, var_w: Floats, mean_l: Floats, var_l: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return Beta counts after an answer by matching moments, and P(the answer) before."""
    w = 1 / (1 + np.exp(mean_l - mean_w))
    first = np.clip(w + 0.5 * (var_w + var_l) * w * (1 - w) * (1 - 2 * w), 1e-6, 1 - 1e-6)
    total = alpha + beta
    chance = (first * alpha + (1 - first) * beta) / total
    mean = alpha * (first * (alpha + 1) + (1 - first) * beta) / (chance * total * (total + 1))
    square = alpha * (alpha + 1) * (first * (alpha + 2) + (1 - first) * beta)
    square = square / (chance * total * (total + 1) * (total + 2))
    scale = (mean - square) / (square - mean**2)
    return scale * mean, scale * (1 - mean), chance


def _divergence(mean: Floats, variance: Floats, mean_0: Floats, variance_0: Floats) -> Floats:
    """Return KL(N(mean, variance), N(mean_0, variance_0))."""
    ratio = variance / variance_0
    return (ratio + (mean - mean_0) ** 2 / variance_0 - 1 - np.log(ratio)) / 2


def _beta_divergence(a: Floats, b: Floats, a_0: Floats, b_0: Floats) -> Floats:
    """Return KL(Beta(a, b), Beta(a_0, b_0))."""
    return (
        betaln(a_0, b_0)
        - betaln(a, b)
        + (a - a_0) * digamma(a)
        + (b - b_0) * digamma(b)
        + (a_0 - a + b_0 - b) * digamma(a + b)
    )
