"""Answers about sets of items as what they say of each pair of the set's items, for holding a machine against people.

An answer about k items is k (k - 1) / 2 numbers, one for each pair: 1 and -1 where it prefers one, 0 where it ties them
or does not tell them apart (the coding of Kendall's tau for rankings with ties: Kendall 1945). An answer at random has
the expectation 0 in each, whatever kind of task it answers, and two answers agree as far as their numbers do.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_engine.data import Comparisons

__all__ = ["ImpliedAnswers", "JudgedSets", "implied_answers", "number_sets"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class JudgedSets:
    """The sets that were asked about, and the pairs of their items: cells.

    items (n_cells, 2): the smaller number first.   set_of (n_cells,): the cell's set.
    sizes (n_sets,): number of items. A set's cells share its weight, 1.
    """

    items: Ints
    set_of: Ints
    sizes: Ints

    @property
    def n_sets(self) -> int:
        return len(self.sizes)

    @property
    def n_cells(self) -> int:
        return len(self.set_of)

    @property
    def weight(self) -> Floats:
        """Return (n_cells,) each cell's part of its set."""
        k = self.sizes[self.set_of]
        return 2.0 / (k * (k - 1))


@dataclass(frozen=True, eq=False)
class ImpliedAnswers:
    """What answers say of each cell of their sets, a row for each; all arrays (n_rows,).

    answer: which label.   cell, who: numbers.   value: 1 where the cell's first item was preferred, -1 where the
    second, else 0.   informative: whether the answer tells the two apart or ties them.
    shown_first: whether the cell's first item was shown before the other.
    """

    answer: Ints
    cell: Ints
    who: Ints
    value: Floats
    informative: Bools
    shown_first: Bools

    def subset(self, rows: NDArray) -> "ImpliedAnswers":
        """Select the rows of a boolean mask or index array."""
        return ImpliedAnswers(
            self.answer[rows],
            self.cell[rows],
            self.who[rows],
            self.value[rows],
            self.informative[rows],
            self.shown_first[rows],
        )

    @property
    def n_answers(self) -> int:
        return len(np.unique(self.answer))


def number_sets(data: Comparisons) -> tuple[Ints, list[Ints]]:
    """Return ((n_labels,) the number of each label's set, the sets in their order: items ascending), whatever the order
    shown; smaller sets first."""
    number, sets = np.zeros(data.n_labels, dtype=np.int64), list[Ints]()
    for group in data.groups():
        found, which = np.unique(np.sort(group.items, axis=1), axis=0, return_inverse=True)
        number[group.label] = len(sets) + which.ravel()
        sets += list(found)
    return number, sets


def implied_answers(data: Comparisons) -> tuple[ImpliedAnswers, JudgedSets]:
    """Return what the labels say of the pairs of their sets, rows by set size; about equal sets they share cells."""
    number, sets = number_sets(data)
    sizes = np.array([len(one) for one in sets], dtype=np.int64)
    n_cells = sizes * (sizes - 1) // 2
    starts = np.cumsum(n_cells) - n_cells
    empty = np.zeros(0, dtype=np.int64)
    pairs = [one[np.stack(np.triu_indices(len(one), 1), axis=1)] for one in sets]
    judged = JudgedSets(
        np.concatenate(pairs) if pairs else np.zeros((0, 2), dtype=np.int64),
        np.repeat(np.arange(len(sets)), n_cells),
        sizes,
    )
    columns: list[tuple[NDArray, ...]] = [(empty, empty, empty, np.zeros(0), empty == 1, empty == 1)]
    for group in data.groups():
        order = np.argsort(group.items, axis=1)
        ranks = np.take_along_axis(group.ranks, order, axis=1)
        first, second = np.triu_indices(group.size, 1)
        value = np.sign(ranks[:, second] - ranks[:, first])
        informative = (value != 0) | group.ties_count[:, None]
        cell = starts[number[group.label]][:, None] + np.arange(len(first))
        each = (np.repeat(one, len(first)) for one in (group.label, group.annotators))
        answer, who = each
        before = order[:, first] < order[:, second]
        columns.append((answer, cell.ravel(), who, value.ravel().astype(float), informative.ravel(), before.ravel()))
    return ImpliedAnswers(*(np.concatenate(column) for column in zip(*columns, strict=True))), judged
