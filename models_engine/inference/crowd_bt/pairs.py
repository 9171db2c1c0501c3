"""Labels of pairs by annotators who may answer in reverse, summed over labels of equal likelihood."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from models_engine.graphs import PairGraph
from models_engine.implied_pairs import PairTable
from models_engine.linalg import sum_by_group

__all__ = ["NoisyPairs", "chunk_wins"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
ROWS_AT_ONCE = 4_096


@dataclass(frozen=True, eq=False)
class NoisyPairs:
    """Labels summed over equal pair, orientation, winner, grade and annotator.

    Rows, one per distinct pair low < high and orientation (1: low shown left, -1: right, 0: order unknown):
    pair (n_rows,) into graph, orientation, total and ties (n_rows,): weights of all labels and of those that are ties.
    can_tie (n_rows,): whether the labels could have been ties, rows of both kinds apart; None where all could, or none
    is one.
    Wins, one per distinct row, winner, grade and annotator, sorted by annotator: row, sign (1: low won, -1: high won),
    grade (how much better, 0 where that was not said or does not count), annotator, weight, all (n_wins,).
    """

    graph: PairGraph
    pair: Ints
    orientation: Floats
    total: Floats
    ties: Floats
    row: Ints
    sign: Floats
    grade: Ints
    annotator: Ints
    weight: Floats
    n_annotators: int
    can_tie: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, pairs: PairTable, sided: NDArray[np.bool_], *, graded: bool = False) -> "NoisyPairs":
        """Sum pairs; pairs of weight 0 are left out. sided (n_pairs,): where the order shown counts. graded: whether
        the grade does.
        """
        kept = pairs.weight > 0
        pairs, sided = pairs.select(kept), sided[kept]
        graph, pair = PairGraph.of(pairs.left, pairs.right, pairs.n_items)
        swapped = pairs.left > pairs.right
        tie = pairs.outcome == 0.5
        can_tie = np.ones(len(pairs), dtype=bool) if pairs.can_tie is None or not tie.any() else pairs.can_tie
        oriented = pair * 3 + np.where(sided, np.where(swapped, 2, 1), 0)
        keys, row = np.unique(oriented * 2 + can_tie, return_inverse=True)
        low_won = (pairs.outcome == 1.0) != swapped
        width = max(1, len(keys))
        grade = pairs.grade if graded and pairs.grade is not None else np.zeros(len(pairs), dtype=np.int64)
        steps = int(grade.max(initial=0)) + 1
        own = (((pairs.annotator * width + row) * 2 + low_won) * steps + grade)[~tie]
        codes, win = np.unique(own, return_inverse=True)
        wins = codes // steps
        return cls(
            graph=graph,
            pair=keys // 6,
            orientation=np.array([0.0, 1.0, -1.0])[keys // 2 % 3],
            total=sum_by_group(row, pairs.weight, len(keys)),
            ties=sum_by_group(row, pairs.weight * tie, len(keys)),
            row=wins // 2 % width,
            sign=np.where(wins % 2 == 1, 1.0, -1.0),
            grade=codes % steps,
            annotator=wins // 2 // width,
            weight=sum_by_group(win, pairs.weight[~tie], len(wins)),
            n_annotators=pairs.n_annotators,
            can_tie=None if can_tie.all() else keys % 2 == 1,
        )

    @property
    def n_wins(self) -> int:
        return len(self.row)

    @property
    def n_rows(self) -> int:
        return len(self.pair)

    @cached_property
    def wins_can_tie(self) -> NDArray[np.bool_] | None:
        """Return whether each win could have been a tie, (n_wins,), or None."""
        return None if self.can_tie is None else self.can_tie[self.row]

    @cached_property
    def parts(self) -> Ints:
        """Return the connected part of the graph each item is in, (n_items,)."""
        graph, n = self.graph, self.graph.n_items
        matrix = scipy.sparse.coo_array((np.ones(graph.n_pairs), (graph.low, graph.high)), shape=(n, n))
        return np.asarray(connected_components(matrix, directed=False)[1], dtype=np.int64)

    @property
    def n_parts(self) -> int:
        """Return the number of connected parts; an item never compared is a part."""
        return int(self.parts.max(initial=-1)) + 1

    def by_pair(self, values: Floats) -> Floats:
        """Sum values (n_rows,) by pair, (n_pairs,)."""
        return sum_by_group(self.pair, values, self.graph.n_pairs)

    def margins(self, x: Floats) -> Floats:
        """Return f_low - f_high + side * orientation, (n_rows,), for x = (f, side) or f alone."""
        n = self.graph.n_items
        side = x[n] * self.orientation if len(x) > n else 0.0
        return self.graph.differences(x)[self.pair] + side

    @cached_property
    def incidence(self) -> "Incidence":
        """Return where each win adds to the items x annotators matrix of scores."""
        n, low, high = self.graph.n_items, self.graph.low[self.pair[self.row]], self.graph.high[self.pair[self.row]]
        keys, slot = np.unique(
            np.concatenate([low, high]) * self.n_annotators + np.tile(self.annotator, 2), return_inverse=True
        )
        items, annotators = np.divmod(keys, max(1, self.n_annotators))
        starts = np.searchsorted(items, np.arange(n + 1))
        return Incidence(slot[: self.n_wins], slot[self.n_wins :], annotators, starts, (n, self.n_annotators))

    @cached_property
    def chunks(self) -> list[tuple[slice, slice]]:
        """Return slices (annotators, wins), see `chunk_wins`."""
        return chunk_wins(self.annotator, self.n_annotators)


def chunk_wins(annotator: Ints, n_annotators: int) -> list[tuple[slice, slice]]:
    """Return slices (annotators, wins) that split no annotator and hold about ROWS_AT_ONCE wins each.

    annotator (n_wins,): whose win each is, in order.
    """
    ends = np.cumsum(np.bincount(annotator, minlength=n_annotators))
    result, first, start = [], 0, 0
    while first < n_annotators:
        last = max(first + 1, int(np.searchsorted(ends, start + ROWS_AT_ONCE, side="right")))
        result.append((slice(first, last), slice(start, int(ends[last - 1]))))
        first, start = last, int(ends[last - 1])
    return result


@dataclass(frozen=True, eq=False)
class Incidence:
    """The pattern of a sparse (n_items, n_annotators) matrix; low, high (n_wins,): where a win of an item goes."""

    low: Ints
    high: Ints
    annotators: Ints
    starts: Ints
    shape: tuple[int, int]

    def matrix(self, values: Floats) -> scipy.sparse.csr_array:
        """Build the matrix; column u sums values[win] * (unit vector of low - unit vector of high) over u's wins."""
        n = len(self.annotators)
        data = np.bincount(self.low, values, minlength=n) - np.bincount(self.high, values, minlength=n)
        return scipy.sparse.csr_array((data, self.annotators, self.starts), shape=self.shape)
