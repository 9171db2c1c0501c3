"""Labels as implied pairs with composite weights, as Plackett-Luce stages, and summed over equal pairs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from math import factorial

import numpy as np
from numpy.typing import NDArray

from models_engine.linalg import sum_by_group

__all__ = ["DistinctPairs", "LabelGroup", "PairTable", "Stages", "expand_to_pairs", "expand_to_stages", "nu_by_row"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_ORDERED = 6  # tied items whose orders are all counted: 192 choices a label; of ten it would be 5,120


@dataclass(frozen=True, eq=False)
class LabelGroup:
    """All labels over sets of one size k, as rectangular arrays. m labels.

    label (m,): index of the label in its Comparisons.   annotators (m,), weights (m,).
    items (m, k): as shown.   ranks (m, k): 0 is best; items of equal rank are not ordered (in a pair: a tie).
    tied (m,): whether they are ties in a larger set too; None where in none.
    """

    size: int
    label: Ints
    annotators: Ints
    weights: Floats
    items: Ints
    ranks: Ints
    tied: NDArray[np.bool_] | None = None

    @property
    def ties_count(self) -> NDArray[np.bool_]:
        """Return whether equal ranks of each label are ties, (m,)."""
        if self.tied is None or self.size == 2:
            return np.full(len(self.label), self.size == 2)
        return self.tied

    def best_first(self) -> tuple[Ints, Ints]:
        """Return (items, ranks), both (m, k), each row sorted from best to worst, equal ranks in shown order."""
        order = np.argsort(self.ranks, axis=1, kind="stable")
        return np.take_along_axis(self.items, order, axis=1), np.take_along_axis(self.ranks, order, axis=1)


@dataclass(frozen=True, eq=False)
class DistinctPairs:
    """Pairs summed over labels: `low < high`, each pair once. All arrays (n_pairs,).

    wins_low, wins_high, ties: summed weights of the three outcomes.
    """

    low: Ints
    high: Ints
    wins_low: Floats
    wins_high: Floats
    ties: Floats
    n_items: int

    @property
    def total(self) -> Floats:
        return self.wins_low + self.wins_high + self.ties

    @property
    def score(self) -> Floats:
        """Return the weight in favour of `low`, a tie counting half."""
        return self.wins_low + self.ties / 2


@dataclass(frozen=True, eq=False)
class PairTable:
    """The pairs implied by labels. All arrays (n_pairs,), rows sorted by label.

    left, right: items; left is the one shown first (or, where the order shown is unknown, the one stored first).
    outcome: 1 left preferred, 0 right preferred, 0.5 tie.   annotator: whose label.
    weight: the label's weight times the composite-likelihood weight of one of its pairs.   label: which label.
    grade: how much better the preferred item is, 0 where that was not said; None where no label says it.
    can_tie: whether the answer could have been a tie; None where every one could. A pair shown alone could, and every
        pair of a label whose equal ranks are ties. No other pair of a larger set could: whoever chooses the best, the
        best and the worst, or a strict order has no way to say that two items are equal, so that such a pair tells who
        is better and nothing about how often people tie.
    """

    left: Ints
    right: Ints
    outcome: Floats
    annotator: Ints
    weight: Floats
    label: Ints
    n_items: int
    n_annotators: int
    grade: Ints | None = None
    can_tie: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.left)

    def select(self, rows: NDArray) -> "PairTable":
        """Select the rows of a boolean mask or index array."""
        return PairTable(
            self.left[rows],
            self.right[rows],
            self.outcome[rows],
            self.annotator[rows],
            self.weight[rows],
            self.label[rows],
            self.n_items,
            self.n_annotators,
            None if self.grade is None else self.grade[rows],
            None if self.can_tie is None else self.can_tie[rows],
        )

    def among(self, items: Ints) -> tuple["PairTable", NDArray[np.bool_]]:
        """Return the pairs of two of these items, renumbered in their order, and which rows they are, (n_pairs,)."""
        number = np.full(self.n_items, -1, dtype=np.int64)
        number[items] = np.arange(len(items))
        rows = (number[self.left] >= 0) & (number[self.right] >= 0)
        kept = self.select(rows)
        return replace(kept, left=number[kept.left], right=number[kept.right], n_items=len(items)), rows

    def tie_rate(self) -> float:
        """Return the share of ties by weight, strictly between 0 and 1: (ties + 1/2) / (total + 1).

        Of the pairs that could have been tied; of all, where none could.
        """
        weight = self.weight if self.can_tie is None or not self.can_tie.any() else self.weight * self.can_tie
        return float((self.weight[self.outcome == 0.5].sum() + 0.5) / (weight.sum() + 1))

    def distinct(self) -> DistinctPairs:
        """Sum equal pairs over sides and annotators."""
        low, high = np.minimum(self.left, self.right), np.maximum(self.left, self.right)
        keys, group = np.unique(low * self.n_items + high, return_inverse=True)
        low_won = np.where(self.left < self.right, self.outcome, 1 - self.outcome)

        def summed(rows: NDArray[np.bool_]) -> Floats:
            return sum_by_group(group[rows], self.weight[rows], len(keys))

        return DistinctPairs(
            keys // max(1, self.n_items),
            keys % max(1, self.n_items),
            summed(low_won == 1),
            summed(low_won == 0),
            summed(low_won == 0.5),
            self.n_items,
        )


@dataclass(frozen=True, eq=False)
class Stages:
    """Choices of one item out of a set of size k (Plackett-Luce stages). m stages.

    items (m, k): the set, the winner in column 0.   winner (m,) = items[:, 0].
    annotator (m,), weight (m,), label (m,).
    """

    size: int
    items: Ints
    annotator: Ints
    weight: Floats
    label: Ints

    @property
    def winner(self) -> Ints:
        return self.items[:, 0]


def nu_by_row(log_nu: float, can_tie: NDArray[np.bool_] | None) -> Floats | float:
    """Return the log of Davidson's nu of each answer (n,): -inf where it could not have been a tie; one number for all
    where can_tie is None.
    """
    return log_nu if can_tie is None else np.where(can_tie, log_nu, -np.inf)


def composite_weights(ranks: Ints) -> Floats:
    """Return the weight of each implied pair of labels with ranks (m, k): `2 n_pairs / sum_i (wins_i - losses_i)^2`.

    With this weight for every pair of a label, the curvature of the composite likelihood equals the variance of its
    score at equal utilities (Varin, Reid & Firth 2011, section 2.3). Pair 1, best-of-k 2/k, best-worst
    (2k-3)/(k-1)^2, full ranking 3/(k+1). Where no two items are told apart, that of a ranking.
    """
    sign = np.sign(ranks[:, None, :] - ranks[:, :, None])
    balance = sign.sum(axis=2)
    n_pairs = np.abs(sign).sum(axis=(1, 2)) / 2
    spread = (balance**2).sum(axis=1)
    return np.where(spread > 0, 2 * n_pairs / np.maximum(spread, 1), 3 / (ranks.shape[1] + 1))


def expand_to_pairs(
    groups: list[LabelGroup],
    n_items: int,
    n_annotators: int,
    *,
    grades: Ints | None = None,
    tied_ranks: bool = False,
) -> PairTable:
    """List every implied pair of every label; see PairTable. grades (n_labels,): of each label, where they are known.

    Equal ranks in a set of three or more are ties where the label is `tied`, a ranking with ties, or of every label
    with tied_ranks; else they are missing information. Such a pair has the weight of the label's other pairs.
    """
    parts: list[tuple[NDArray, ...]] = [_pairs_of_one_size(group, tied_ranks) for group in groups]
    if not parts:
        none, empty = np.zeros(0, np.int64), np.zeros(0)
        return PairTable(none, none, empty, none, empty, none, n_items, n_annotators, None if grades is None else none)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    if len(parts) > 1:
        order = np.argsort(columns[5], kind="stable")
        columns = [column[order] for column in columns]
    left, right, outcome, annotator, weight, label, can_tie = columns
    grade = None if grades is None else grades[label]
    return PairTable(
        *(left, right, outcome, annotator, weight, label, n_items, n_annotators, grade),
        can_tie=None if can_tie.all() else can_tie,
    )


def _pairs_of_one_size(group: LabelGroup, tied_ranks: bool) -> tuple[NDArray, ...]:
    can_tie = group.ties_count | tied_ranks
    if group.size == 2:
        outcome = (1 + np.sign(group.ranks[:, 1] - group.ranks[:, 0])) / 2
        return group.items[:, 0], group.items[:, 1], outcome, group.annotators, group.weights, group.label, can_tie
    first, second = np.triu_indices(group.size, 1)
    difference = group.ranks[:, second] - group.ranks[:, first]
    row, column = np.nonzero((difference != 0) | can_tie[:, None])
    weight = composite_weights(group.ranks) * group.weights
    return (
        group.items[row, first[column]],
        group.items[row, second[column]],
        (1 + np.sign(difference[row, column])) / 2,
        group.annotators[row],
        weight[row],
        group.label[row],
        can_tie[row],
    )


def expand_to_stages(groups: list[LabelGroup]) -> list[Stages]:
    """Return the Plackett-Luce stages of every label, one Stages per set size, sizes ascending.

    Choices, tops and rankings decompose exactly. A tied pair is half a stage each way, and tied items of a ranking
    with ties enter by the mean over their orders (above MAX_ORDERED of them each is a choice out of all of them and
    the items below, as Breslow's ties in survival analysis). A best-worst label has the
    exact stage of its best item; the losses of the worst to the k-2 others enter as k-2 pairs of weight 2/(k-1)
    (exact for k = 3, where it is a ranking).
    """
    by_size: dict[int, list[tuple[NDArray, ...]]] = {}
    for group in groups:
        for items, rows, weight in _stages_of_one_size(group):
            part = (items, group.annotators[rows], group.weights[rows] * weight, group.label[rows])
            by_size.setdefault(items.shape[1], []).append(part)
    result = []
    for size in sorted(by_size):
        columns = [np.concatenate(column) for column in zip(*by_size[size], strict=True)]
        order = np.argsort(columns[3], kind="stable")
        result.append(Stages(size, *(column[order] for column in columns)))
    return result


def _stages_of_one_size(group: LabelGroup) -> list[tuple[Ints, Ints, float]]:
    """Return (sets with the winner first, rows of the group, weight) for each kind of stage."""
    items, ranks = group.best_first()
    k = group.size
    if k > 2 and group.tied is not None:
        weak = np.flatnonzero(group.tied)
        return _stages_of_weak_orders(items[weak], ranks[weak], weak) + _ordered_stages(
            items, ranks, np.flatnonzero(~group.tied)
        )
    return _ordered_stages(items, ranks, np.arange(len(items)))


def _stages_of_weak_orders(items: Ints, ranks: Ints, labels: Ints) -> list[tuple[Ints, Ints, float]]:
    """Return stages of rankings with ties, sorted best first; the tied items' mean over their orders.

    After a of t tied items have been taken, the chance that these come first, and a given other next, is
    a! (t - a - 1)! / t!: the weight of its choice out of the rest.
    """
    found = []
    patterns, which = np.unique(ranks, axis=0, return_inverse=True)
    for index, pattern in enumerate(patterns):
        rows = np.flatnonzero(which.ravel() == index)
        for first in np.flatnonzero(np.diff(pattern, prepend=-1)):
            t = int((pattern == pattern[first]).sum())
            for taken, winner, weight in _tie_choices(t):
                left = [winner, *(place for place in range(len(pattern) - first) if place not in {*taken, winner})]
                if len(left) > 1:
                    found.append((items[rows][:, first + np.array(left)], labels[rows], weight))
    return found


def _tie_choices(t: int) -> Iterator[tuple[tuple[int, ...], int, float]]:
    """Yield (places taken before, place chosen, weight) of t tied items."""
    if t > MAX_ORDERED:
        yield from (((), winner, 1.0) for winner in range(t))
        return
    for size in range(t):
        weight = factorial(size) * factorial(t - size - 1) / factorial(t)
        for taken in combinations(range(t), size):
            yield from ((taken, winner, weight) for winner in range(t) if winner not in taken)


def _ordered_stages(items: Ints, ranks: Ints, labels: Ints) -> list[tuple[Ints, Ints, float]]:
    """Return stages of labels whose equal ranks are not ordered, and of pairs."""
    items, ranks, k = items[labels], ranks[labels], items.shape[1]
    found: list[tuple[Ints, Ints, float]] = []
    open_rows = np.ones(len(items), dtype=bool)
    for stage in range(k - 1):
        open_rows &= ranks[:, stage] < ranks[:, stage + 1]
        rows = np.flatnonzero(open_rows)
        if len(rows):
            found.append((items[rows, stage:], labels[rows], 1.0))
    if k == 2:
        rows = np.flatnonzero(ranks[:, 0] == ranks[:, 1])
        found += [(items[rows], labels[rows], 0.5), (items[rows, ::-1], labels[rows], 0.5)] if len(rows) else []
    if k > 3:
        rows = np.flatnonzero((ranks[:, k - 2] < ranks[:, k - 1]) & (ranks[:, 1] == ranks[:, k - 2]))
        found += [
            (items[rows][:, [middle, k - 1]], labels[rows], 2 / (k - 1)) for middle in range(1, k - 1) if len(rows)
        ]
    return found
