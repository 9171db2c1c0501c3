"""Draws the utilities perceived in each answer, and whether it was reversed, given utilities and reliabilities."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_ndtr, ndtr, ndtri

from models_engine.linalg import sum_by_group
from models_engine.normal_intervals import log_interval

__all__ = ["NOISE_SD", "AnswerGroup", "Perception", "truncated_normal"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
TINY = np.finfo(np.float64).tiny
NOISE_SD = np.sqrt(0.5)  # of the perceived utility of an item in one answer


@dataclass(frozen=True, eq=False)
class AnswerGroup:
    """Answers over sets of one size k: annotators (m,), items (m, k) and ranks (m, k), 0 the best.

    grades (m,), of pairs: how much better the winner is, 0 where that was not said; None where grades do not count.
    sided (m,), of pairs: 1 where the first item is known to have been shown first, else 0; None where sides do not
    count.
    """

    annotators: Ints
    items: Ints
    ranks: Ints
    grades: Ints | None = None
    sided: Floats | None = None


def truncated_normal(mean: Floats, low: Floats, high: Floats, rng: np.random.Generator) -> Floats:
    """Draw from N(mean, 1/2) between low and high, by inversion in the lower tail; far in a tail, the nearer end."""
    a, b = (low - mean) / NOISE_SD, (high - mean) / NOISE_SD
    flip = a > 0
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    below, above = ndtr(a), ndtr(b)
    drawn = ndtri(below + (above - below) * rng.random(mean.shape))
    drawn = np.clip(np.where(np.isfinite(drawn), drawn, b), a, b)
    return mean + NOISE_SD * np.where(flip, -drawn, drawn)


class Perception:
    """What was perceived in the answers of one group, (m, k), and which were reversed, (m,).

    A reversed answer is the one by the negated utilities: its order from the worst to the best. tied (m,): answers that
    put all items on one rank, which say nothing about reliability.
    """

    def __init__(self, group: AnswerGroup, *, may_reverse: bool) -> None:
        self.annotators, self.may_reverse, self.sided = group.annotators, may_reverse, group.sided
        level = np.argsort(np.argsort(group.ranks, axis=1, kind="stable"), axis=1, kind="stable")
        ordered = np.sort(group.ranks, axis=1)
        dense = np.cumsum(np.diff(ordered, axis=1, prepend=ordered[:, :1]) > 0, axis=1)
        self.level = np.take_along_axis(dense, level, axis=1)
        self.last = self.level.max(axis=1, keepdims=True)
        self.tied = self.last[:, 0] == 0
        self.reversed = np.zeros(len(group.ranks), dtype=bool)
        self.perceived = group.ranks.mean(axis=1, keepdims=True) / 2 - group.ranks / 2
        self.towards_first = np.ones(len(group.ranks))  # of pairs: 1 where the first counts as preferred, else -1

    def draw(
        self,
        mean: Floats,
        reliability: Floats,
        rng: np.random.Generator,
        between: tuple[Floats, Floats] | None = None,
    ) -> None:
        """Draw anew, given the utilities of the items shown (m, k) and each annotator's reliability.

        between: of graded pairs, the ends between which the winner's perceived margin lies, (m,) each.
        """
        own = reliability[self.annotators]
        if between is not None:
            self._draw_graded_pairs(mean, own, between, rng)
            return
        if self.level.shape[1] == 2:
            self._draw_pairs(mean, own, rng)
            return
        if self.may_reverse:
            self._turn(mean, own, rng)
        level = self._levels(self.reversed)
        for column in range(level.shape[1]):
            this = level[:, [column]]
            low = np.where(level > this, self.perceived, -np.inf).max(axis=1)
            high = np.where(level < this, self.perceived, np.inf).min(axis=1)
            self.perceived[:, column] = truncated_normal(mean[:, column], low, high, rng)

    def shown(self, utilities: Floats, side: Floats) -> Floats:
        """Return utilities (m, k) as they count in the answers: half of what each annotator's side adds to the item
        shown first goes to it, and half is taken from the other; side (n_annotators,)."""
        if self.sided is None:
            return utilities
        half = self.sided * side[self.annotators] / 2
        return utilities + np.stack([half, -half], axis=1)

    def opposite_gain(self, before: Floats, after: Floats, centre: Floats, n_annotators: int) -> Floats:
        """Return by how much the log density of what each annotator perceived in sets grows, (n_annotators,), where it
        is reflected about `centre` and utilities change, (m, k) each; 0 of pairs, of which it is drawn anew."""
        if self.level.shape[1] == 2:
            return np.zeros(n_annotators)
        squares = (2 * centre - self.perceived - after) ** 2 - (self.perceived - before) ** 2
        return -sum_by_group(self.annotators, squares.sum(axis=1), n_annotators) / (2 * NOISE_SD**2)

    def oppose(self, rows: Flags, centre: Floats) -> None:
        """Reflect what was perceived in these answers (m,) about `centre` (m, k), so that each is reversed that was not
        and the other way about; ties go the other way."""
        self.perceived = np.where(rows[:, None], 2 * centre - self.perceived, self.perceived)
        self.reversed = self.reversed ^ (rows & ~self.tied)
        self.towards_first = np.where(rows & self.tied, -self.towards_first, self.towards_first)

    def side_evidence(self, utilities: Floats, n_annotators: int) -> tuple[Floats, Floats]:
        """Return of each annotator how many answers tell of their side, and the sum of what these say, each with noise
        N(0, 1), given what was perceived and the utilities (m, k) without sides; (n_annotators,) each."""
        if self.sided is None:
            return np.zeros(n_annotators), np.zeros(n_annotators)
        beyond = (self.perceived[:, 0] - self.perceived[:, 1]) - (utilities[:, 0] - utilities[:, 1])
        sums = (sum_by_group(self.annotators, weight, n_annotators) for weight in (self.sided, self.sided * beyond))
        count, total = sums
        return count, total

    def chances(
        self,
        mean: Floats,
        reliability: Floats,
        between: tuple[Floats, Floats] | None = None,
        *,
        opposite: bool = False,
    ) -> tuple[Floats, Floats]:
        """Return the chance of each answer where it is not reversed, and where it is, (m,) each.

        mean, between: as in `draw`.   opposite: what they will be after `oppose`, with these utilities.
        Of pairs what was perceived is summed out; of larger sets it is not, so that it is known whether they are
        reversed. Ties say nothing of reliability: both chances are what they are with these.
        """
        if between is not None:
            (low, high), margin = between, self.winners_margin(mean)
            kept, turned = (np.exp(log_interval(low - way * margin, high - way * margin)) for way in (1, -1))
            return kept, turned
        if self.level.shape[1] != 2:
            kept = np.where((self.reversed != opposite) & ~self.tied, 0.0, 1.0)
            return kept, np.where(self.tied, 1.0, 1 - kept)
        margin = self.towards_first * (mean[:, 0] - mean[:, 1])
        if opposite:
            margin = np.where(self.tied, -margin, margin)
        kept, turned = ndtr(margin), ndtr(-margin)
        if self.tied.any():
            own = reliability[self.annotators]
            kept = np.where(self.tied, own * kept + (1 - own) * turned, kept)
            turned = np.where(self.tied, kept, turned)
        return kept, turned

    def log_density(self, utilities: Floats, factor: float, reliability: Floats) -> float:
        """Return the log density, up to a constant, were the utilities of the items shown these (m, k).

        Of pairs the probability of the answers; of larger sets the density of what was perceived times `factor`, the
        change of volume counted.
        """
        if utilities.shape[1] != 2:
            return self._log_density_of_sets(utilities, factor)
        own = reliability[self.annotators]
        margin = self.towards_first * (utilities[:, 0] - utilities[:, 1])
        probability = ndtr(margin) * own + ndtr(-margin) * (1 - own)
        return float(np.log(np.maximum(probability, TINY)).sum())

    def gain_of_sets(self, before: Floats, after: Floats, factor: float) -> float:
        """Return by how much the log density of what was perceived in sets grows, which is multiplied by `factor`, the
        change of volume counted; 0 of pairs."""
        if before.shape[1] == 2:
            return 0.0
        return self._log_density_of_sets(after, factor) - self._log_density_of_sets(before, 1.0)

    def gains_by_set(self, before: Floats, after: Floats) -> Floats:
        """Return by how much the log density of what was perceived in each answer grows, (m,); 0 of pairs."""
        if before.shape[1] == 2:
            return np.zeros(len(before))
        squares = (self.perceived - before) ** 2 - (self.perceived - after) ** 2
        return np.asarray(squares.sum(axis=1) / (2 * NOISE_SD**2))

    def _log_density_of_sets(self, utilities: Floats, factor: float) -> float:
        squares = (factor * self.perceived - utilities) ** 2
        return utilities.size * float(np.log(factor)) - float(squares.sum()) / (2 * NOISE_SD**2)

    def _draw_pairs(self, mean: Floats, reliability: Floats, rng: np.random.Generator) -> None:
        """Draw reversed or not, then the difference and the sum of both perceived utilities, which are independent.

        A tie is taken either way, by lot.
        """
        n = len(mean)
        first = np.where(self.tied, rng.random(n) < 0.5, self.level[:, 0] < self.level[:, 1])
        self.towards_first = np.where(first, 1.0, -1.0)
        margin = self.towards_first * (mean[:, 0] - mean[:, 1])
        if self.may_reverse:
            kept, turned = reliability * ndtr(margin), (1 - reliability) * ndtr(-margin)
            self.reversed = rng.random(n) * (kept + turned) < turned
        towards = np.where(self.reversed, -margin, margin) * NOISE_SD
        drawn = truncated_normal(towards, np.zeros(n), np.full(n, np.inf), rng) / NOISE_SD
        difference = np.where(first != self.reversed, drawn, -drawn)
        total = mean.sum(axis=1) + rng.standard_normal(n)
        self.perceived = np.stack([total + difference, total - difference], axis=1) / 2

    def winners_margin(self, mean: Floats) -> Floats:
        """Return by how much the winners' utilities are larger, (m,), of a tie the first item's; of pairs."""
        return self._first * (mean[:, 0] - mean[:, 1])

    @cached_property
    def _first(self) -> Floats:
        return np.where(self.level[:, 0] <= self.level[:, 1], 1.0, -1.0)

    def _draw_graded_pairs(
        self, mean: Floats, reliability: Floats, between: tuple[Floats, Floats], rng: np.random.Generator
    ) -> None:
        """Do as `_draw_pairs`; a reversed answer keeps its grade, and a tie is the same both ways."""
        low, high = between
        margin = self.winners_margin(mean)
        if self.may_reverse:
            log_kept, log_turned = (log_interval(low - way * margin, high - way * margin) for way in (1, -1))
            odds = np.log(reliability) - np.log1p(-reliability) + log_kept - log_turned
            self.reversed = (rng.random(len(mean)) > expit(odds)) & ~self.tied
        towards = np.where(self.reversed, -margin, margin)
        drawn = truncated_normal(towards * NOISE_SD, low * NOISE_SD, high * NOISE_SD, rng) / NOISE_SD
        difference = self._first * np.where(self.reversed, -drawn, drawn)
        total = mean.sum(axis=1) + rng.standard_normal(len(mean))
        self.perceived = np.stack([total + difference, total - difference], axis=1) / 2

    def _turn(self, mean: Floats, reliability: Floats, rng: np.random.Generator) -> None:
        """Propose each answer the other way round, perceived anew from the best to the worst (Metropolis & Hastings).

        The perceived utilities z of an order are proposed with density N(z; mean, 1/2) / W(z), W the product of the
        chances of each item to lie below those before it, so that the ratio is that of reliability times W.
        """
        chance = np.where(self.reversed, 1 - reliability, reliability)
        now = self._log_chance(mean, self.reversed, self.perceived)
        proposed = self._propose(mean, self._levels(~self.reversed), rng)
        gain = self._log_chance(mean, ~self.reversed, proposed) - now + np.log1p(-chance) - np.log(chance)
        accepted = (np.log(rng.random(len(mean))) < gain) & ~self.tied
        self.reversed = self.reversed ^ accepted
        self.perceived = np.where(accepted[:, None], proposed, self.perceived)

    def _levels(self, turned: Flags) -> Ints:
        return np.where(turned[:, None], self.last - self.level, self.level)

    @staticmethod
    def _propose(mean: Floats, level: Ints, rng: np.random.Generator) -> Floats:
        """Draw perceived utilities level by level, from the best, each below all of better levels."""
        perceived, ceiling = np.zeros_like(mean), np.full(len(mean), np.inf)
        for at in range(int(level.max(initial=0)) + 1):
            here = level == at
            row, column = np.nonzero(here)
            perceived[row, column] = truncated_normal(mean[row, column], np.full(len(row), -np.inf), ceiling[row], rng)
            ceiling = np.minimum(ceiling, np.where(here, perceived, np.inf).min(axis=1))
        return perceived

    def _log_chance(self, mean: Floats, turned: Flags, perceived: Floats) -> Floats:
        """Return log W of perceived utilities in the order told or, where turned, in its reverse, (m,)."""
        order, n_better = (np.where(turned[:, None], other, kept) for kept, other in self._orders)
        lowest = np.minimum.accumulate(np.take_along_axis(perceived, order, axis=1), axis=1)
        ceiling = np.where(n_better > 0, np.take_along_axis(lowest, n_better - 1, axis=1), np.inf)
        return np.asarray(log_ndtr((ceiling - mean) / NOISE_SD).sum(axis=1))

    @cached_property
    def _orders(self) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
        """Return places from best to worst, and the number of better items of each, (m, k): as told, and turned."""
        both = self.level, self.last - self.level
        first, second = (np.argsort(one, axis=1, kind="stable") for one in both)
        kept, turned = ((one[:, None, :] < one[:, :, None]).sum(axis=2) for one in both)
        return (first, second), (kept, turned)
