"""What a machine's answers are worth beside people's: how far it agrees with them, and what it depends on."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_engine.analysis.agreement import wilson_interval
from models_engine.analysis.judged_sets import ImpliedAnswers, JudgedSets
from models_engine.data import Comparisons

__all__ = ["Figure", "JudgeFigures", "best_places", "judge"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
MIN_SETS = 5  # below which nothing is said of places
N_DRAWS = 300
LEVEL = 0.9


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

    agreement: with a person beyond chance, about one set: 1 - D_o / D_e with squared differences of what both say of
    its pairs, +1, 0, -1, and both orders of a pair equally frequent; 1 is perfect, 0 is chance.   people: the same of
    two people.   worth: how many people's answers a hundred of the machine's are worth.   spared: how many of the
    people's answers there would have to be beside the machine's for a board as sure as that of people alone.
    order: share of pairs of items, of sets asked in several orders, with the same answer.   position: share of the
    answers to those that preferred what was shown first.   longer, people_longer: share of answers that preferred the
    longer item.   tags: agreement over the pairs that have a tag.   n_answers, n_sets: of the machine.
    n_shared: sets with answers of both.
    """

    n_answers: int
    n_sets: int
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
    people: ImpliedAnswers,
    machine: ImpliedAnswers,
    sets: JudgedSets,
    *,
    n_people_answers: int | None = None,
    lengths: Floats | None = None,
    tags: dict[str, Bools] | None = None,
    seed: int = 0,
) -> JudgeFigures:
    """Hold one machine against people, by implied_answers of both; every set counts alike, whatever its size.

    n_people_answers: of people in all, where some are left out.   lengths (n_cells,): how much longer the cell's first
    item is; nan where unknown.   tags: by name, which cells have it, (n_cells,). Intervals are percentiles of a
    bootstrap that draws sets and people anew, both with replacement (Owen 2007, the pigeonhole bootstrap), which is
    wide rather than narrow; those of order and position are Wilson's for as many answers as there are sets. What rests
    on one set alone is not known.

    The worth of n people's answers about a set is what their mean tells of one more person: its correlation with that
    person's answer is r_n^2 = n r / (1 + (n - 1) r), r that of two people (Spearman 1910, Brown 1910). A machine whose
    answers correlate by q is worth n = q^2 (1 - r) / (r (r - q^2)); infinitely many where q^2 >= r.
    """
    found = _Moments.of(people, machine, sets, lengths, n_people_answers)
    rng = np.random.default_rng(seed)
    names, tagged = [*_FIGURES], tags or {}
    here = found.figures(np.ones(sets.n_sets), np.ones(found.n_people))
    here_tags = {
        name: found.agreement(np.ones(sets.n_sets), np.ones(found.n_people), mask) for name, mask in tagged.items()
    }
    draws: dict[str, list[float]] = {name: [] for name in names}
    tag_draws: dict[str, list[float]] = {name: [] for name in tagged}
    for _ in range(N_DRAWS):
        of_sets, of_people = _draw(rng, sets.n_sets), _draw(rng, found.n_people)
        drawn = found.figures(of_sets, of_people)
        for name in names:
            draws[name].append(drawn[name])
        for name, mask in tagged.items():
            tag_draws[name].append(found.agreement(of_sets, of_people, mask))
    shared = found.shared
    return JudgeFigures(
        n_answers=machine.n_answers,
        n_sets=found.n_judged,
        n_shared=found.n_sets_with(shared),
        n_people=found.n_people,
        n_people_answers=found.n_people_answers,
        **{name: _figure(here[name], draws[name], found.n_of(name)) for name in names},
        **_orders(machine, sets),
        tags={
            name: _figure(here_tags[name], tag_draws[name], found.n_sets_with(shared & mask))
            for name, mask in tagged.items()
        },
    )


_FIGURES = ("agreement", "people", "worth", "spared", "longer", "people_longer", "longer_difference")


def _draw(rng: np.random.Generator, n: int) -> Floats:
    """Return (n,) how often each of n is drawn when n are drawn with replacement."""
    return rng.multinomial(n, np.full(n, 1 / n)).astype(float) if n else np.zeros(0)


def _figure(value: float, draws: list[float], n: int) -> Figure:
    known = np.array([one for one in draws if not np.isnan(one)])
    if np.isnan(value) or n < 2 or len(known) < len(draws) / 2:
        return UNKNOWN
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="nearest")
    return Figure(value, float(low), float(high), n)


def _orders(machine: ImpliedAnswers, sets: JudgedSets) -> dict[str, Figure]:
    """Return what the cells shown both ways round tell of the machine, each set by the mean over its cells."""
    sums, preferred, counts = np.zeros((3, 2, sets.n_cells))
    for side in (0, 1):
        rows = machine.shown_first == bool(side)
        own = machine.cell[rows]
        sums[side] = np.bincount(own, machine.value[rows], sets.n_cells)
        preferred[side] = np.bincount(own, machine.informative[rows], sets.n_cells)
        counts[side] = np.bincount(own, minlength=sets.n_cells)
    both = np.flatnonzero((counts > 0).all(axis=0) & (preferred.sum(axis=0) > 0))
    if not len(both):
        return {"order": UNKNOWN, "position": UNKNOWN}
    swapped, straight = sums[:, both] / counts[:, both]
    total = (preferred[:, both] / counts[:, both]).sum(axis=0)
    _, own = np.unique(sets.set_of[both], return_inverse=True)
    n = int(own.max()) + 1
    cells = np.bincount(own, minlength=n)
    same = float((np.bincount(own, np.sign(swapped) == np.sign(straight), n) / cells).mean())
    first = float(0.5 + (np.bincount(own, straight - swapped, n) / np.bincount(own, total, n)).mean() / 2)
    return {
        "order": Figure(same, *wilson_interval(same, n, LEVEL), n),
        "position": Figure(first, *wilson_interval(first, n, LEVEL), n),
    }


def best_places(data: Comparisons) -> list[Figure]:
    """Return how often the best of a set stood first, second and so on, in sets of the size of most labels.

    Items that share the best place share the answer, and the answers about one set count as one. Empty for pairs, for
    which the position says it, and for fewer than MIN_SETS sets.
    """
    groups = sorted(data.groups(), key=lambda group: len(group.label))
    if not groups or groups[-1].size == 2:
        return []
    group = groups[-1]
    _, which = np.unique(np.sort(group.items, axis=1), axis=0, return_inverse=True)
    best = group.ranks == group.ranks.min(axis=1, keepdims=True)
    share, which = best / best.sum(axis=1, keepdims=True), which.ravel()
    n_answers = np.bincount(which)
    if len(n_answers) < MIN_SETS:
        return []
    each = [float((np.bincount(which, column) / n_answers).mean()) for column in share.T]
    return [Figure(one, *wilson_interval(one, len(n_answers), LEVEL), len(n_answers)) for one in each]


@dataclass(frozen=True, eq=False)
class _Moments:
    """Sums by cell. who, cell, value, square, informative (n,): one row for each person and cell, means over their
    answers.

    asked, squared, asked_informative (n_cells,): the mean of the machine's answers, of their squares, and of whether
    they tell the two apart.
    n_asked (n_cells,): how many.   n_answers: of the machine.
    """

    cell: Ints
    who: Ints
    value: Floats
    square: Floats
    informative: Floats
    sets: JudgedSets
    n_people: int
    n_people_answers: int
    asked: Floats
    squared: Floats
    asked_informative: Floats
    n_asked: Floats
    n_answers: int
    longer: Floats  # sign of the difference in length, 0 where equal or unknown

    @classmethod
    def of(
        cls,
        people: ImpliedAnswers,
        machine: ImpliedAnswers,
        sets: JudgedSets,
        lengths: Floats | None,
        n_people_answers: int | None,
    ) -> "_Moments":
        names, who = np.unique(people.who, return_inverse=True)
        both = people.cell * max(len(names), 1) + who.ravel()
        rows, row = np.unique(both, return_inverse=True)
        n = np.maximum(np.bincount(row.ravel(), minlength=len(rows)), 1)

        def by_person(column: NDArray) -> Floats:
            return np.bincount(row.ravel(), column, len(rows)) / n

        n_asked = np.bincount(machine.cell, minlength=sets.n_cells).astype(float)

        def by_cell(column: NDArray) -> Floats:
            return np.bincount(machine.cell, column, sets.n_cells) / np.maximum(n_asked, 1)

        value, square, informative = (
            by_person(column) for column in (people.value, people.value**2, people.informative)
        )
        asked, squared, asked_informative = (
            by_cell(column) for column in (machine.value, machine.value**2, machine.informative)
        )
        longer = np.zeros(sets.n_cells) if lengths is None else np.nan_to_num(np.sign(lengths))
        n_all = people.n_answers if n_people_answers is None else n_people_answers
        return cls(
            *(
                rows // max(len(names), 1),
                rows % max(len(names), 1),
                value,
                square,
                informative,
                sets,
                len(names),
                n_all,
            ),
            *(asked, squared, asked_informative, n_asked, machine.n_answers, longer),
        )

    @property
    def by_people(self) -> Ints:
        """Return (n_cells,) the number of people who answered."""
        return np.bincount(self.cell, minlength=self.sets.n_cells)

    @property
    def shared(self) -> Bools:
        return (self.by_people > 0) & (self.n_asked > 0)

    @property
    def n_judged(self) -> int:
        return self.n_sets_with(self.n_asked > 0)

    def n_sets_with(self, cells: Bools) -> int:
        """Return how many sets have one of these cells."""
        return len(np.unique(self.sets.set_of[cells]))

    def n_of(self, name: str) -> int:
        if name in ("longer", "people_longer", "longer_difference"):
            return self.n_sets_with(self.shared & (self.longer != 0))
        several = self.by_people > 1
        if name == "agreement":
            return self.n_sets_with(self.shared)
        return self.n_sets_with(several if name == "people" else self.shared & several)

    def _sums(self, of_people: Floats) -> tuple[Any, Any, Any, Any, Any]:
        """Return by cell: weight, mean value, mean square, weight of two different people, their mean product."""
        n, weight = self.sets.n_cells, of_people[self.who]
        total = np.bincount(self.cell, weight, n)
        some = np.maximum(total, 1e-12)
        mean = np.bincount(self.cell, weight * self.value, n) / some
        square = np.bincount(self.cell, weight * self.square, n) / some
        two = total**2 - np.bincount(self.cell, weight**2, n)
        product = (mean * total) ** 2 - np.bincount(self.cell, (weight * self.value) ** 2, n)
        return total, mean, square, two, product / np.maximum(two, 1e-12)

    def _of_cells(self, of_sets: Floats) -> Floats:
        return of_sets[self.sets.set_of] * self.sets.weight

    def agreement(self, of_sets: Floats, of_people: Floats, mask: Bools) -> float:
        total, mean, square, *_ = self._sums(of_people)
        return self._agreement(self._of_cells(of_sets) * mask, total, mean, square)

    def _agreement(self, of_cells: Floats, total: Floats, mean: Floats, square: Floats) -> float:
        weight = of_cells * ((total > 0) & (self.n_asked > 0))
        return _ratio(2 * (weight @ (mean * self.asked)), weight @ (square + self.squared))

    def figures(self, of_sets: Floats, of_people: Floats) -> dict[str, float]:
        of_cells = self._of_cells(of_sets)
        total, mean, square, two, product = self._sums(of_people)
        several = of_cells * (two > 1e-9)
        both = several * (self.n_asked > 0)
        r = _ratio(both @ product, both @ square)
        q = _ratio(both @ (mean * self.asked), np.sqrt((both @ square) * (both @ self.asked**2)))
        if np.isnan(q) and both.any():  # in both orders it chose the same place
            q = 0.0
        each = _people_worth(q, r)
        judged = self.n_judged
        return {
            "agreement": self._agreement(of_cells, total, mean, square),
            "people": _ratio(several @ product, several @ square),
            "worth": 100 * each * judged / self.n_answers if judged else float("nan"),
            "spared": max(self.n_people_answers - each * judged, 0.0) if judged else float("nan"),
            **self._lengths(of_cells, of_people, mean, total),
        }

    def _lengths(self, of_cells: Floats, of_people: Floats, mean: Floats, total: Floats) -> dict[str, float]:
        total_informative = np.bincount(
            self.cell, of_people[self.who] * self.informative, self.sets.n_cells
        ) / np.maximum(total, 1e-12)
        weight = of_cells * ((total > 0) & (self.n_asked > 0)) * np.abs(self.longer)
        longer = 0.5 + _ratio(weight @ (self.longer * self.asked), weight @ self.asked_informative) / 2
        people_longer = 0.5 + _ratio(weight @ (self.longer * mean), weight @ total_informative) / 2
        return {"longer": longer, "people_longer": people_longer, "longer_difference": longer - people_longer}


def _ratio(top: Any, bottom: Any) -> float:
    return float(top / bottom) if bottom > 1e-12 else float("nan")


def _people_worth(q: float, r: float) -> float:
    """Return how many people a machine's answer on a set is worth; see `judge`."""
    if np.isnan(q) or np.isnan(r) or r <= 0:
        return float("nan")
    if q <= 0:
        return 0.0
    return float("inf") if q * q >= r else q * q * (1 - r) / (r * (r - q * q))
