"""Where the nodes of a shard and what is between them stand in sparse matrices, found once; values are put in later."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

__all__ = ["NodePlaces", "by_owner"]

Ints = NDArray[np.int64]
Places = NDArray[np.int32]
Floats = NDArray[np.float64]


def by_owner(values: Floats, owner: Ints, n_owners: int) -> scipy.sparse.csr_array:
    """Return values (N, c) as a matrix (N, n_owners c), each row in the columns of its owner.

    So it multiplies the owners' matrices (n_owners c, m), stacked; and its transpose sums by owner.
    """
    n, c = values.shape
    columns = (owner[:, None] * c + np.arange(c)).ravel().astype(np.int32)
    bounds = np.arange(0, n * c + 1, c, dtype=np.int32) if c else np.zeros(n + 1, np.int32)
    return scipy.sparse.csr_array((values.ravel(), columns, bounds), shape=(n, n_owners * c))


@dataclass(frozen=True, eq=False)
class NodePlaces:
    """Nodes (N,) of a shard, in the order of its groups. Their matrices have blocks, one for each part, row by row.

    item, annotator (N,).   low, high (S,): nodes of the sites.   first (N,): the first node of the same annotator and
    item.   bounds (N + 1,), columns (E,): of rows among the entries.
    start (N,): the first node of the part.   between (4, S): the entries of a site's nodes, low by low, high by high,
    low by high, high by low.   apart (S, N): 1 at low, -1 at high.   by_item (n_items, N): 1 at the nodes of an item.
    item_bounds, item_columns, item_entry (E,): the sum of the blocks over items, and which of its entries one adds to.
    """

    item: Ints
    annotator: Ints
    low: Ints
    high: Ints
    first: Ints
    bounds: Places
    columns: Places
    start: Ints
    between: Ints
    apart: scipy.sparse.csr_array
    by_item: scipy.sparse.csr_array
    item_bounds: Places
    item_columns: Places
    item_entry: Places

    @classmethod
    def of(
        cls,
        size: Ints,
        item: Ints,
        annotator: Ints,
        low: Ints,
        high: Ints,
        n_items: int,
        repeated: Iterable[tuple[slice, NDArray]],
    ) -> Self:
        """size (N,): of each node's part.   repeated: nodes (P n) and where (P, n, n) the first one of the item is."""
        n, m = len(item), len(low)
        bounds = np.concatenate([[0], np.cumsum(size)])
        start = np.arange(n) - _within(size)
        columns = np.repeat(start - bounds[:-1], size) + np.arange(bounds[-1])
        first = np.arange(n)
        for nodes, where in repeated:
            first[nodes] = start[nodes] + where.argmax(axis=2).ravel()
        ends = np.stack([low, high], axis=1).ravel()
        signs = np.tile([1.0, -1.0], m)
        apart = scipy.sparse.csr_array((signs, ends.astype(np.int32), 2 * np.arange(m + 1, dtype=np.int32)), (m, n))
        order = np.argsort(item, kind="stable").astype(np.int32)
        ends_of_items = np.concatenate([[0], np.cumsum(np.bincount(item, minlength=n_items))]).astype(np.int32)
        by_item = scipy.sparse.csr_array((np.ones(n), order, ends_of_items), (n_items, n))
        keys, entry = np.unique(np.repeat(item, size) * n_items + item[columns], return_inverse=True)
        item_bounds = np.searchsorted(keys, np.arange(n_items + 1) * n_items)

        def at(row: Ints, column: Ints) -> Ints:
            return np.asarray(bounds[row] + column - start[row], dtype=np.int64)

        return cls(
            item,
            annotator,
            low,
            high,
            first,
            bounds.astype(np.int32),
            columns.astype(np.int32),
            start,
            np.stack([at(low, low), at(high, high), at(low, high), at(high, low)]),
            apart,
            by_item,
            item_bounds.astype(np.int32),
            (keys % max(1, n_items)).astype(np.int32),
            entry.astype(np.int32),
        )

    def matrix(self, values: Floats) -> scipy.sparse.csr_array:
        """Return the matrix (N, N) of these entries (E,)."""
        return scipy.sparse.csr_array((values, self.columns, self.bounds), shape=(len(self.item), len(self.item)))

    def item_matrix(self, values: Floats) -> scipy.sparse.csr_array:
        """Return the sum (n_items, n_items) over items of the matrix of these entries (E,)."""
        found = np.bincount(self.item_entry, values, len(self.item_columns))
        n = len(self.item_bounds) - 1
        return scipy.sparse.csr_array((found, self.item_columns, self.item_bounds), shape=(n, n))

    def precision(self, values: Floats) -> Floats:
        """Return the entries (E,) of the sites' precision over nodes; values (S,)."""
        signs = np.array([1.0, 1.0, -1.0, -1.0])[:, None] * values
        return np.asarray(np.bincount(self.between.ravel(), signs.ravel(), len(self.columns)), dtype=np.float64)

    def shift(self, values: Floats) -> Floats:
        """Return the sites' shift (N,) over nodes; values (S,)."""
        return np.asarray(self.apart.T @ values)

    @cached_property
    def diagonal(self) -> Ints:
        """Return which entries (N,) are on the diagonal."""
        return np.asarray(self.bounds[:-1] + np.arange(len(self.item)) - self.start, dtype=np.int64)

    def item_annotators(self, values: Floats, n_annotators: int) -> scipy.sparse.csr_array:
        """Return values (N,) as a matrix (n_items, n_annotators)."""
        order = self.by_item.indices
        at = (values[order], self.annotator[order].astype(np.int32), self.by_item.indptr)
        return scipy.sparse.csr_array(at, shape=(len(self.item_bounds) - 1, n_annotators))

    def by_annotator(self, values: Floats, n_annotators: int) -> scipy.sparse.csr_array:
        """Return values (N, c) in the columns of the nodes' annotators, see by_owner."""
        return by_owner(values, self.annotator, n_annotators)


def _within(size: Ints) -> Ints:
    """Return the number of each node in its part; parts of equal size follow each other."""
    bounds = np.flatnonzero(np.diff(size, prepend=-1))
    since = np.arange(len(size)) - np.repeat(bounds, np.diff(np.append(bounds, len(size))))
    return np.asarray(since % size, dtype=np.int64)
