"""Draws each annotator's reliability, and the crowd's prior, with reversed answers summed out."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, expit

from models_engine.inference.tastes.reliability import FIRST_MEAN, MEANS, SIZES

__all__ = ["P_REVERSED", "AnswerGroups", "ReliabilitySampler", "ReliabilityTable", "log_odds_of", "prior_masses"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LOWER, UPPER = (-10.0, -6.5), (9.0, 12.0, 16.0, 21.0, 27.6)  # log-odds beyond the even steps; 1e-12 of the answers
FROM, TO = -4.0, 7.5  # log-odds between which steps are even
STEP_LIMITS = (0.2, 0.5)
P_REVERSED = 0.05
TINY = np.finfo(np.float64).tiny
TOGETHER = 8  # answers of one annotator whose chances are multiplied before a logarithm, a power of 2


def log_odds_of(n_answers: int) -> Floats:
    """Return the log-odds among which reliabilities are drawn, of annotators with at most so many answers each.

    Their posteriors have a standard deviation of 2 / sqrt(n_answers) at least, by which these are apart.
    """
    step = float(np.clip(2 / np.sqrt(max(n_answers, 1)), *STEP_LIMITS))
    return np.r_[LOWER, np.arange(FROM, TO, step), UPPER]


def prior_masses(alpha: Floats, beta: Floats, log_odds: Floats) -> Floats:
    """Return the probability (p, len(log_odds)) of the values nearest to each of log_odds under Beta(alpha, beta),
    (p,) each."""
    ends = (log_odds[1:] + log_odds[:-1]) / 2
    a, b = alpha[:, None], beta[:, None]
    low, high = betainc(a, b, expit(ends)), betainc(b, a, expit(-ends))  # each accurate where it is small
    n_low = int(np.searchsorted(ends, 0.0))
    below, above = np.diff(low[:, :n_low], axis=1, prepend=0.0), -np.diff(high[:, n_low:], axis=1, append=0.0)
    between = 1 - below.sum(axis=1, keepdims=True) - above.sum(axis=1, keepdims=True)
    return np.concatenate([below, np.maximum(between, 0.0), above], axis=1)


@dataclass(frozen=True, eq=False)
class ReliabilityTable:
    """What answers say of reliabilities, the reversed ones summed out.

    likelihood (n_annotators, k): of each annotator's answers at each value, over its largest, whose log is largest
    (n_annotators,).   by_prior (p,): log probability of each of the crowd's priors and of all answers given it,
    reliabilities summed out.
    """

    likelihood: Floats
    largest: Floats
    by_prior: Floats

    @property
    def log_marginal(self) -> float:
        """Return the log probability of all answers with the crowd's prior summed out, up to a constant."""
        return _log_sum(self.by_prior)


def _log_sum(logs: Floats) -> float:
    largest = float(logs.max())
    return largest + float(np.log(np.exp(logs - largest).sum()))


class AnswerGroups:
    """Answers (m,) by group and annotator. groups (m,): from 0 on, each of one answer at least.

    ends: first and last row of each group among the sums of its annotators.   annotators: of these rows.
    """

    def __init__(self, groups: Ints, annotators: Ints) -> None:
        width = int(annotators.max(initial=0)) + 1
        keys = groups * width + annotators
        self._order = np.argsort(keys, kind="stable")
        known, self._first = np.unique(keys[self._order], return_index=True)
        self.annotators, self.of_answer, self.n = known % width, groups, int(groups.max(initial=-1)) + 1
        self.ends = list(pairwise(np.searchsorted(known // width, np.arange(self.n + 1)).tolist()))

    def sums(self, values: Floats) -> Floats:
        """Return sums of values (m, k) over the answers of each annotator in each group."""
        return np.add.reduceat(values[self._order], self._first, axis=0)


class ReliabilitySampler:
    """Reliabilities eta_u among values of a grid, a priori Beta(m s, s - m s), with mean m and size s in MEANS x SIZES,
    all alike. With one size for all crowds, a crowd of some who answer anything among wholly reliable people, and one
    of people who all err now and then, could not both be had.

    An answer has probability eta_u A + (1 - eta_u) B, A and B being those of it and of its reverse. The product over an
    annotator's answers is computed at all values, so that eta_u, m and s are drawn with reversed answers summed out,
    and utilities can be judged with all of these summed out. Otherwise a crowd whose answers nobody reversed has
    reliabilities of 1 and then a prior that allows no other, and a chain hardly ever leaves it for larger utilities
    among people who err now and then.

    annotators (m,): of the answers.   value (n_annotators,): eta_u.   crowd: the mean m.
    """

    def __init__(self, annotators: Ints, n_annotators: int) -> None:
        count = np.bincount(annotators, minlength=n_annotators)
        self._known = np.flatnonzero(count)
        self.log_odds = log_odds_of(int(count.max(initial=0)))
        self._values = expit(self.log_odds)
        mean, size = np.repeat(MEANS, len(SIZES)), np.tile(SIZES, len(MEANS))
        self._learned = mean, prior_masses(mean * size, size - mean * size, self.log_odds)
        ends = np.abs(self._values[:, None] - [1 - FIRST_MEAN, FIRST_MEAN]).argmin(axis=0)
        self._means, self._masses = np.array([FIRST_MEAN]), np.zeros((1, len(self._values)))
        self._masses[0, ends] = P_REVERSED, 1 - P_REVERSED
        self.value, self.crowd = np.full(n_annotators, FIRST_MEAN), FIRST_MEAN
        self._arrange(annotators, count[self._known])

    def _arrange(self, annotators: Ints, count: Ints) -> None:
        """Prepare to multiply chances: TOGETHER answers of an annotator in each row, the last ones filled with 1."""
        order = np.argsort(annotators, kind="stable")
        first = np.r_[0, np.cumsum(-(-count // TOGETHER))]
        place = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
        self._place = np.empty(len(order), dtype=np.int64)
        self._place[order] = np.repeat(first[:-1], count) * TOGETHER + place
        self._first_rows, self._n_places = first[:-1], int(first[-1]) * TOGETHER
        powers = np.arange(TOGETHER + 1)[:, None]
        self._basis = self._values**powers * expit(-self.log_odds) ** (TOGETHER - powers)

    def table(self, kept: Floats, turned: Floats) -> ReliabilityTable:
        """Return what answers (m,) say that have these chances where they are not reversed, and where they are.

        The product of eta A + (1 - eta) B over TOGETHER answers has coefficients c_i >= 0 in eta^i (1 - eta)^(n - i),
        so that it loses no digits where it is small.
        """
        product = np.ones((2, self._n_places))
        product[0, self._place], product[1, self._place] = turned, kept
        while len(product) <= TOGETHER:
            one, other = np.ascontiguousarray(product[:, 0::2]), np.ascontiguousarray(product[:, 1::2])
            width, n = one.shape
            product = np.zeros((2 * width - 1, n))
            for i in range(width):
                product[i : i + width] += one[i] * other
        logs = np.log(np.maximum(product.T @ self._basis, TINY))
        likelihood, largest = np.ones((len(self.value), len(self._values))), np.zeros(len(self.value))
        if len(logs):
            own = np.add.reduceat(logs, self._first_rows, axis=0)
            largest[self._known] = own.max(axis=1)
            likelihood[self._known] = np.exp(own - largest[self._known, None])
        by_prior = np.log(self._masses @ likelihood[self._known].T).sum(axis=1) + largest.sum()
        return ReliabilityTable(likelihood, largest, by_prior)

    def release(self) -> None:
        """Learn the crowd's prior from now on. Before, each has a reliability of about FIRST_MEAN or, with probability
        P_REVERSED, of as much less than .5 as this is more."""
        self._means, self._masses = self._learned

    def choose(
        self, now: ReliabilityTable, proposed: ReliabilityTable, gain: Floats, rng: np.random.Generator
    ) -> tuple[NDArray[np.bool_], ReliabilityTable]:
        """Take or leave what is proposed for each annotator, one after the other, reliabilities and the crowd's prior
        summed out (Metropolis & Hastings).

        gain (n_annotators,): by how much the log density of everything else grows.   Returns whose proposals are taken
        (n_annotators,), and the table afterwards.
        """
        change = np.log(self._masses @ proposed.likelihood.T) - np.log(self._masses @ now.likelihood.T)
        change += proposed.largest - now.largest
        least = np.log(rng.random(len(gain))) - gain
        by_prior, taken = now.by_prior, np.zeros(len(gain), dtype=bool)
        for u in np.flatnonzero(change.max(axis=0) > least):  # else no prior of the crowd's makes up for it
            then = by_prior + change[:, u]
            if _log_sum(then) - _log_sum(by_prior) > least[u]:
                by_prior, taken[u] = then, True
        likelihood = np.where(taken[:, None], proposed.likelihood, now.likelihood)
        return taken, ReliabilityTable(likelihood, np.where(taken, proposed.largest, now.largest), by_prior)

    def choose_groups(
        self, table: ReliabilityTable, change: Floats, groups: "AnswerGroups", gain: Floats, rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Take or leave what is proposed for each group of answers, one after the other, reliabilities and the crowd's
        prior summed out (Metropolis & Hastings).

        change (m, k): by how much the log chance of each answer grows at each reliability.   gain (n_groups,): by how
        much the log density of everything else grows.   Returns the groups whose proposals are taken (n_groups,).
        """
        likelihood, by_prior = table.likelihood.copy(), table.by_prior
        marginal = np.log(self._masses @ likelihood.T)
        sums = groups.sums(change)
        largest = sums.max(axis=1)
        ratios = np.exp(sums - largest[:, None])
        least, taken = np.log(rng.random(len(gain))) - gain, np.zeros(len(gain), dtype=bool)
        now = _log_sum(by_prior)
        for group, (first, last) in enumerate(groups.ends):
            who = groups.annotators[first:last]
            own = likelihood[who] * ratios[first:last]
            column = np.log(self._masses @ own.T)
            then = by_prior + (column - marginal[:, who]).sum(axis=1) + largest[first:last].sum()
            proposed = _log_sum(then)
            if proposed - now > least[group]:
                likelihood[who], marginal[:, who] = own, column
                by_prior, now, taken[group] = then, proposed, True
        return taken

    def log_ratios(self, now: tuple[Floats, Floats], proposed: tuple[Floats, Floats]) -> Floats:
        """Return by how much the log chance of each answer grows at each reliability, (m, k).

        now, proposed: chances of the answers where they are not reversed, and where they are, (m,) each.
        """
        chances = [
            np.outer(kept, self._values) + np.outer(turned, expit(-self.log_odds)) for kept, turned in (now, proposed)
        ]
        return np.log(np.maximum(chances[1], TINY) / np.maximum(chances[0], TINY))

    def draw(self, table: ReliabilityTable, rng: np.random.Generator) -> None:
        """Draw the crowd's prior and then all reliabilities."""
        at = int((table.by_prior + rng.gumbel(size=len(table.by_prior))).argmax())
        self.crowd = float(self._means[at])
        cumulative = np.cumsum(table.likelihood * self._masses[at], axis=1)
        at_random = rng.random(len(cumulative)) * cumulative[:, -1]
        chosen = (cumulative < at_random[:, None]).sum(axis=1)
        self.value = self._values[chosen]
