"""Counting which rows of small whole numbers there are: a few bytes for each different row, however often it comes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LEAST = 50_000  # rows that wait before they are counted

Rows = NDArray[np.int32]
Counts = NDArray[np.int64]


class Tally:
    """Rows wait until there are as many as were counted before, then join them: each is sorted a few times only."""

    def __init__(self, width: int) -> None:
        self.rows, self.counts = np.empty((0, width), np.int32), np.empty(0, np.int64)
        self.waiting: list[tuple[Rows, Counts]] = []
        self.n_waiting = 0

    def add(self, rows: Sequence[Sequence[int]], counts: Sequence[int] | None = None) -> None:
        """Add rows; counts: how often each came, once if it is not said."""
        if not rows:
            return
        times = np.ones(len(rows), np.int64) if counts is None else np.array(counts, np.int64)
        self.waiting.append((np.array(rows, np.int32), times))
        self.n_waiting += len(rows)
        if self.n_waiting >= max(LEAST, len(self.rows)):
            self.count()

    def count(self) -> None:
        rows = np.concatenate([self.rows, *(rows for rows, _ in self.waiting)])
        counts = np.concatenate([self.counts, *(counts for _, counts in self.waiting)])
        self.waiting, self.n_waiting = [], 0
        order = np.lexsort(rows.T[::-1])
        rows, counts = rows[order], counts[order]
        is_new = np.ones(len(rows), bool)
        is_new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        first = np.flatnonzero(is_new)
        self.rows, self.counts = rows[first], np.add.reduceat(counts, first) if len(first) else counts

    def result(self) -> tuple[Rows, Counts]:
        """Return the different rows, sorted by their numbers, and how often each came."""
        self.count()
        return self.rows, self.counts
