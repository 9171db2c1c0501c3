"""What a machine's answers about pairs are worth beside people's: its weight in a fit, and how far it agrees with them.

A machine errs alike each time it sees an item, so that more of its answers do not make its errors smaller. A fit that
took them for those of one more person would have intervals that are too narrow; `machine_weights` is against that.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import chi2

from models_engine.analysis.agreement import wilson_interval
from models_engine.data import Comparisons
from models_engine.estimators.bradley_terry import BradleyTerry

__all__ = ["Figure", "JudgeFigures", "PairAnswers", "judge", "machine_weights", "pair_answers"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
MIN_SHARED = 5  # items that people and a machine compared, below which nothing is known of the machine
TAIL = 0.1  # the spread of a machine's errors is taken for so large that a larger one has this chance
N_DRAWS = 300
LEVEL = 0.9


# --- The weight in a fit ----------------------------------------------------------------------------------------------


def machine_weights(data: Comparisons, n_people: int) -> tuple[Floats, Floats]:
    """Return ((n_labels,) weights for a fit, (n_machines,) the share at which each machine's comparisons count).

    data: pairs; annotators from n_people on are machines. Labels of people keep weight 1.

    With u the utilities of people alone and m those of one machine alone, both by BradleyTerry and centred over the
    items that both compared, in each connected part by itself, m_i - u_i = delta_i + errors, delta_i ~ N(0, tau^2).
    tau^2 is the upper bound of a one-sided interval: where sum (m_i - u_i)^2 / (tau^2 + var m_i + var u_i) falls to the
    TAIL quantile of chi^2 with one degree of freedom for each item but one of each part. What a machine says of an item
    has the variance s^2 + tau^2 in place of s^2, the mean of var m_i, so its labels count s^2 / (s^2 + tau^2) each;
    where it was asked about a pair in both orders they share that. 0 with fewer than MIN_SHARED items in one part, or
    as many degrees of freedom in several.
    """
    weights = np.ones(data.n_labels)
    shares = np.zeros(max(data.n_annotators - n_people, 0))
    by_people = data.annotators < n_people
    of_people = _utilities(data.subset(by_people)) if by_people.any() else None
    pair = np.sort(data.items.reshape(-1, 2), axis=1) @ np.array([data.n_items, 1])
    for machine in range(len(shares)):
        own = np.flatnonzero(data.annotators == n_people + machine)
        if not len(own):
            continue
        if of_people is not None:
            shares[machine] = _share(of_people, _utilities(data.subset(own)))
        _, which, n_orders = np.unique(pair[own], return_inverse=True, return_counts=True)
        weights[own] = shares[machine] / n_orders[which.ravel()]
    return weights, shares


@dataclass(frozen=True, eq=False)
class _Utilities:
    """mean, variance (n_items,).   part (n_items,): number of the connected part, -1 of an item not compared."""

    mean: Floats
    variance: Floats
    part: Ints


def _utilities(data: Comparisons) -> _Utilities:
    plain = Comparisons.from_pairs(data.items[::2], data.items[1::2], _outcomes(data), n_items=data.n_items)
    posterior = BradleyTerry().fit(plain)
    part = np.where(plain.n_comparisons() > 0, plain.connected_parts(), -1)
    return _Utilities(posterior.utilities(), posterior.standard_deviations() ** 2, part)


def _outcomes(data: Comparisons) -> Floats:
    first, second = data.ranks.reshape(-1, 2).T
    return np.where(first == second, 0.5, (first < second).astype(float))


def _share(people: _Utilities, machine: _Utilities) -> float:
    both = (people.part >= 0) & (machine.part >= 0)
    _, group, sizes = np.unique(
        np.stack([people.part[both], machine.part[both]]), axis=1, return_inverse=True, return_counts=True
    )
    group = group.ravel()
    freedom = int((sizes - 1).sum())
    if freedom < MIN_SHARED - 1:
        return 0.0
    gap = machine.mean[both] - people.mean[both]
    gap -= (np.bincount(group, gap) / sizes)[group]
    variance = machine.variance[both] + people.variance[both]
    limit = float(chi2.ppf(TAIL, freedom))

    def excess(spread: float) -> float:
        return float((gap**2 / (variance + spread)).sum()) - limit

    highest = float((gap**2).sum()) / limit
    spread = brentq(excess, 0.0, highest + 1e-9) if excess(0.0) > 0 else 0.0
    own = float(machine.variance[both].mean())
    return own / (own + spread)


# --- The report -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PairAnswers:
    """Answers about pairs of items. pair, who (n,): numbers.   value (n,): 1 where the pair's first item was chosen,
    -1 where the second, 0 for a tie.   shown_first (n,): whether the pair's first item was the one shown first."""

    pair: Ints
    who: Ints
    value: Floats
    shown_first: Bools

    def subset(self, rows: NDArray) -> "PairAnswers":
        return PairAnswers(self.pair[rows], self.who[rows], self.value[rows], self.shown_first[rows])


def pair_answers(data: Comparisons) -> tuple[PairAnswers, Ints]:
    """Return the answers of pairs, and (n_pairs, 2) the items of each pair, the smaller number first."""
    shown = data.items.reshape(-1, 2)
    items, pair = np.unique(np.sort(shown, axis=1), axis=0, return_inverse=True)
    pair = pair.ravel().astype(np.int64)
    straight = shown[:, 0] == items[pair, 0]
    value = 2 * _outcomes(data) - 1
    return PairAnswers(pair, data.annotators, np.where(straight, value, -value), straight), items


@dataclass(frozen=True)
class Figure:
    """A figure with its interval; nan where it is not known."""

    value: float
    low: float
    high: float
    n: int = 0


UNKNOWN = Figure(float("nan"), float("nan"), float("nan"))


@dataclass(frozen=True)
class JudgeFigures:
    """One machine beside people.

    agreement: with a person beyond chance, of one pair: 1 - D_o / D_e with squared differences of +1, 0, -1 and both
    orders of a pair equally frequent; 1 is perfect, 0 is chance.   people: the same of two people.
    worth: how many people's answers a hundred of the machine's are worth.   spared: how many of the people's answers
    there would have to be beside the machine's for a board as sure as that of people alone.
    order: share of pairs asked in both orders with the same answer.   position: share of the answers to those that
    chose what was shown first.   longer, people_longer: share of answers that chose the longer item.
    tags: agreement over the pairs that have a tag.   n_answers, n_pairs: of the machine.   n_shared: pairs with both.
    """

    n_answers: int
    n_pairs: int
    n_shared: int
    n_people: int
    n_people_answers: int
    agreement: Figure
    people: Figure
    worth: Figure
    spared: Figure
    order: Figure
    position: Figure
    longer: Figure
    people_longer: Figure
    longer_difference: Figure
    tags: dict[str, Figure] = field(default_factory=dict)


def judge(
    people: PairAnswers,
    machine: PairAnswers,
    n_pairs: int,
    *,
    lengths: Floats | None = None,
    tags: dict[str, Bools] | None = None,
    seed: int = 0,
) -> JudgeFigures:
    """Hold one machine against people.

    lengths (n_pairs,): how much longer the pair's first item is; nan where unknown.   tags: by name, which pairs have
    it, (n_pairs,). Intervals are percentiles of a bootstrap that draws pairs and people anew, both with replacement
    (Owen 2007, the pigeonhole bootstrap), which is wide rather than narrow; those of shares of one answer a pair are
    Wilson's.

    The worth of n people's answers about a pair is what their mean tells of one more person: its correlation with that
    person's answer is r_n^2 = n r / (1 + (n - 1) r), r that of two people (Spearman 1910, Brown 1910). A machine whose
    answers correlate by q is worth n = q^2 (1 - r) / (r (r - q^2)); infinitely many where q^2 >= r.
    """
    found = _Moments.of(people, machine, n_pairs, lengths)
    rng = np.random.default_rng(seed)
    names = [*_FIGURES]
    here = found.figures(np.ones(n_pairs), np.ones(found.n_people))
    tagged = tags or {}
    here_tags = {name: found.agreement(mask.astype(float), np.ones(found.n_people)) for name, mask in tagged.items()}
    draws: dict[str, list[float]] = {name: [] for name in names}
    tag_draws: dict[str, list[float]] = {name: [] for name in tagged}
    for _ in range(N_DRAWS):
        of_pairs = rng.multinomial(n_pairs, np.full(n_pairs, 1 / n_pairs)).astype(float) if n_pairs else np.zeros(0)
        of_people = rng.multinomial(found.n_people, np.full(found.n_people, 1 / found.n_people)).astype(float)
        drawn = found.figures(of_pairs, of_people)
        for name in names:
            draws[name].append(drawn[name])
        for name, mask in tagged.items():
            tag_draws[name].append(found.agreement(of_pairs * mask, of_people))
    figures = {name: _figure(here[name], draws[name], found.n_of(name)) for name in names}
    shared = found.shared
    return JudgeFigures(
        n_answers=len(machine.pair),
        n_pairs=int((found.n_asked > 0).sum()),
        n_shared=int(shared.sum()),
        n_people=found.n_people,
        n_people_answers=len(people.pair),
        **figures,
        **_orders(machine, n_pairs),
        tags={
            name: _figure(here_tags[name], tag_draws[name], int((shared & mask).sum())) for name, mask in tagged.items()
        },
    )


_FIGURES = ("agreement", "people", "worth", "spared", "longer", "people_longer", "longer_difference")


def _figure(value: float, draws: list[float], n: int) -> Figure:
    known = np.array([one for one in draws if not np.isnan(one)])
    if np.isnan(value) or len(known) < len(draws) / 2:
        return UNKNOWN
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="nearest")
    return Figure(value, float(low), float(high), n)


def _orders(machine: PairAnswers, n_pairs: int) -> dict[str, Figure]:
    """Return what the pairs asked in both orders tell of the machine."""
    sums, counts = np.zeros((2, n_pairs)), np.zeros((2, n_pairs))
    for side in (0, 1):
        rows = machine.shown_first == bool(side)
        np.add.at(sums[side], machine.pair[rows], machine.value[rows])
        np.add.at(counts[side], machine.pair[rows], 1)
    both = (counts > 0).all(axis=0)
    n = int(both.sum())
    if not n:
        return {"order": UNKNOWN, "position": UNKNOWN}
    swapped, straight = sums[:, both] / counts[:, both]
    same = float((np.sign(swapped) == np.sign(straight)).mean())
    first = float((0.5 + (straight - swapped) / 4).mean())
    return {
        "order": Figure(same, *wilson_interval(same, n, LEVEL), n),
        "position": Figure(first, *wilson_interval(first, n, LEVEL), n),
    }


@dataclass(frozen=True, eq=False)
class _Moments:
    """Sums by pair. who, pair, value, square (n,): one row for each person and pair, means over their answers.

    asked, squared (n_pairs,): the mean of the machine's answers, and of their squares.   n_asked (n_pairs,): how many.
    """

    pair: Ints
    who: Ints
    value: Floats
    square: Floats
    n_pairs: int
    n_people: int
    n_people_answers: int
    asked: Floats
    squared: Floats
    n_asked: Floats
    longer: Floats  # sign of the difference in length, 0 where equal or unknown

    @classmethod
    def of(cls, people: PairAnswers, machine: PairAnswers, n_pairs: int, lengths: Floats | None) -> "_Moments":
        names, who = np.unique(people.who, return_inverse=True)
        cell = people.pair * max(len(names), 1) + who.ravel()
        cells, row = np.unique(cell, return_inverse=True)
        n = np.bincount(row.ravel(), minlength=len(cells))
        value = np.bincount(row.ravel(), people.value, len(cells)) / np.maximum(n, 1)
        square = np.bincount(row.ravel(), people.value**2, len(cells)) / np.maximum(n, 1)
        n_asked = np.bincount(machine.pair, minlength=n_pairs).astype(float)
        asked = np.bincount(machine.pair, machine.value, n_pairs) / np.maximum(n_asked, 1)
        squared = np.bincount(machine.pair, machine.value**2, n_pairs) / np.maximum(n_asked, 1)
        sign = np.zeros(n_pairs) if lengths is None else np.nan_to_num(np.sign(lengths))
        pair, person = cells // max(len(names), 1), cells % max(len(names), 1)
        return cls(*(pair, person, value, square, n_pairs, len(names), len(people.pair), asked, squared, n_asked, sign))

    @property
    def shared(self) -> Bools:
        return (np.bincount(self.pair, minlength=self.n_pairs) > 0) & (self.n_asked > 0)

    def n_of(self, name: str) -> int:
        if name in ("longer", "people_longer", "longer_difference"):
            return int((self.shared & (self.longer != 0)).sum())
        several = np.bincount(self.pair, minlength=self.n_pairs) > 1
        if name == "agreement":
            return int(self.shared.sum())
        return int((several if name == "people" else self.shared & several).sum())

    def _sums(self, of_people: Floats) -> tuple[Any, Any, Any, Any, Any]:
        """Return by pair: weight, mean value, mean square, weight of two different people, their mean product."""
        weight = of_people[self.who]
        total = np.bincount(self.pair, weight, self.n_pairs)
        some = np.maximum(total, 1e-12)
        mean = np.bincount(self.pair, weight * self.value, self.n_pairs) / some
        square = np.bincount(self.pair, weight * self.square, self.n_pairs) / some
        two = total**2 - np.bincount(self.pair, weight**2, self.n_pairs)
        product = (mean * total) ** 2 - np.bincount(self.pair, (weight * self.value) ** 2, self.n_pairs)
        return total, mean, square, two, product / np.maximum(two, 1e-12)

    def agreement(self, of_pairs: Floats, of_people: Floats) -> float:
        total, mean, square, *_ = self._sums(of_people)
        return self._agreement(of_pairs, total, mean, square)

    def _agreement(self, of_pairs: Floats, total: Floats, mean: Floats, square: Floats) -> float:
        weight = of_pairs * ((total > 0) & (self.n_asked > 0))
        return _ratio(2 * (weight @ (mean * self.asked)), weight @ (square + self.squared))

    def figures(self, of_pairs: Floats, of_people: Floats) -> dict[str, float]:
        total, mean, square, two, product = self._sums(of_people)
        several = of_pairs * (two > 1e-9)
        both = several * (self.n_asked > 0)
        r = _ratio(both @ product, both @ square)
        q = _ratio(both @ (mean * self.asked), np.sqrt((both @ square) * (both @ self.asked**2)))
        if np.isnan(q) and both.any():  # in both orders it chose the same place
            q = 0.0
        each = _people_worth(q, r)
        share = self.n_asked.sum() / max((self.n_asked > 0).sum(), 1)  # answers for each pair
        n_judged = float((self.n_asked > 0).sum())
        weight = of_pairs * ((total > 0) & (self.n_asked > 0)) * np.abs(self.longer)
        longer = 0.5 + _ratio(weight @ (self.longer * self.asked), weight.sum()) / 2
        people_longer = 0.5 + _ratio(weight @ (self.longer * mean), weight.sum()) / 2
        return {
            "agreement": self._agreement(of_pairs, total, mean, square),
            "people": _ratio(several @ product, several @ square),
            "worth": 100 * each / share if self.n_asked.any() else float("nan"),
            "spared": max(self.n_people_answers - each * n_judged, 0.0) if n_judged else float("nan"),
            "longer": longer,
            "people_longer": people_longer,
            "longer_difference": longer - people_longer,
        }


def _ratio(top: Any, bottom: Any) -> float:
    return float(top / bottom) if bottom > 1e-12 else float("nan")


def _people_worth(q: float, r: float) -> float:
    """Return how many people a machine's answer on a pair is worth; see `judge`."""
    if np.isnan(q) or np.isnan(r) or r <= 0:
        return float("nan")
    if q <= 0:
        return 0.0
    return float("inf") if q * q >= r else q * q * (1 - r) / (r * (r - q * q))
