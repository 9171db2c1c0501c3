"""Graded answers to pairs, summed over equal pairs, as answers to the thresholds on either side of what was said."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_engine.graphs import PairGraph
from models_engine.implied_pairs import PairTable
from models_engine.inference.graded.gaps import GapTerms
from models_engine.linalg import sum_by_group

__all__ = ["GradedCounts", "Thresholds"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Thresholds:
    """What graded answers say: that margin plus noise is above or below a threshold, (n,) arrays, one or two an answer.

    The cut points are c_0 <= c_1 <= ... <= c_{G-1}: an answer is a tie within c_0 of 0, and has grade g between c_{g-1}
    and c_g (c_G infinite).

    answer: row of the pairs.   cut: number of the cut point.   sign: 1, -1 for the threshold below 0, and 0
    for one at 0 itself: an answer that could not have been a tie is above or below it.
    above: whether margin plus noise is.   weight: the answer's.   gaps: of the cut points, with the answers' weights by
    grade.
    """

    answer: Ints
    cut: Ints
    sign: Floats
    above: NDArray[np.bool_]
    weight: Floats
    gaps: GapTerms

    @classmethod
    def of(cls, pairs: PairTable, first_share: Floats, n_grades: int, halve_ties: bool) -> "Thresholds":
        """Read answers. first_share (n_pairs,): how much prefers the item whose margin it is, 1, 0 or 1/2 for a tie.

        halve_ties: a tie is half an ungraded win each way. Without ties c_0 is 0, and the thresholds on its sides are
        one.
        """
        grade = np.zeros(len(pairs), dtype=np.int64) if pairs.grade is None else pairs.grade
        tied = (pairs.outcome == 0.5) & (not halve_ties)
        has_tie = bool((pairs.weight * tied).sum() > 0)
        at_zero = np.zeros(len(pairs), dtype=bool) if pairs.can_tie is None else ~pairs.can_tie & has_tie
        cut, sign, above, row, weight = [], [], [], [], []

        def add(rows: NDArray, number: Ints, side: float, is_above: bool, share: Floats) -> None:
            merged = (number == 0) & (not has_tie)
            row.append(rows)
            cut.append(number)
            sign.append(np.where(merged, 1.0, np.where((number == 0) & at_zero[rows], 0.0, side)))
            above.append(np.full(len(rows), is_above))
            weight.append(pairs.weight[rows] * share)

        for side, share in ((1.0, first_share), (-1.0, 1 - first_share)):
            won = np.flatnonzero(~tied & (share > 0))
            add(won, np.maximum(grade[won] - 1, 0), side, side > 0, share[won])
            inner = won[(grade[won] > 0) & (grade[won] < n_grades)]
            add(inner, grade[inner], side, side < 0, share[inner])
            rows = np.flatnonzero(tied)
            add(rows, np.zeros(len(rows), np.int64), side, side < 0, np.ones(len(rows)))
        counted = np.where(tied, 0, grade)[tied | (grade > 0)]
        return cls(
            np.concatenate(row),
            np.concatenate(cut),
            np.concatenate(sign),
            np.concatenate(above),
            np.concatenate(weight),
            GapTerms(sum_by_group(counted, pairs.weight[tied | (grade > 0)], n_grades + 1)),
        )

    def keys(self, answer: Ints) -> Ints:
        """Return one number for each answer's number (n_pairs,) with one threshold, (n,)."""
        n_grades = len(self.gaps.by_grade) - 1
        return (answer[self.answer] * n_grades + self.cut) * 3 + np.where(
            self.sign > 0, 0, np.where(self.sign < 0, 1, 2)
        )


@dataclass(frozen=True, eq=False)
class GradedCounts:
    """Weights summed per distinct pair, orientation and threshold (Thresholds). Arrays (n_rows,) but for the graph's
    and grades'.

    pair: index into the graph's pairs.   orientation: 1 where low was shown left, -1 right, 0 unknown or not asked.
    cut, sign: of the threshold.   above, below: weights.
    gaps: of the cut points, with the answers' weights by grade.
    """

    graph: PairGraph
    pair: Ints
    orientation: Floats
    cut: Ints
    sign: Floats
    above: Floats
    below: Floats
    gaps: GapTerms

    @classmethod
    def of(cls, pairs: PairTable, sided: NDArray[np.bool_], n_grades: int, *, halve_ties: bool) -> "GradedCounts":
        """Sum pairs. sided (n_pairs,): whose order shown counts.   halve_ties: see Thresholds.of."""
        graph, pair = PairGraph.of(pairs.left, pairs.right, pairs.n_items)
        swapped = pairs.left > pairs.right
        oriented = np.where(sided, np.where(swapped, 2, 1), 0)
        thresholds = Thresholds.of(pairs, np.where(swapped, 1 - pairs.outcome, pairs.outcome), n_grades, halve_ties)
        _, first, group = np.unique(thresholds.keys(pair * 3 + oriented), return_index=True, return_inverse=True)
        answer = thresholds.answer[first]
        return cls(
            graph,
            pair[answer],
            np.array([0.0, 1.0, -1.0])[oriented[answer]],
            thresholds.cut[first],
            thresholds.sign[first],
            sum_by_group(group, thresholds.weight * thresholds.above, len(first)),
            sum_by_group(group, thresholds.weight * ~thresholds.above, len(first)),
            thresholds.gaps,
        )
