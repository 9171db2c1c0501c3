"""Exact elimination of sparsely compared items (chains, trees, fringes), which leaves a well-connected core."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from models_engine.graphs import GraphPrecision

__all__ = ["Elimination", "eliminate"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_NEIGHBOURS = 24


@dataclass(frozen=True, eq=False)
class Elimination:
    """Factorisation Q = L D L' on the eliminated items: given later neighbours, v is N(-loadings . x_neighbours,
    1/pivot).

    items (m,) in order of elimination; neighbours, loadings: one array each per eliminated item.
    parents (m,): position in `items` of the first neighbour eliminated later, -1 where all neighbours are core.
    core (c,): items that stay.   schur (c, c) sparse: the precision of the core, eliminated items integrated out.
    """

    items: Ints
    neighbours: list[Ints]
    loadings: list[Floats]
    pivots: Floats
    parents: Ints
    core: Ints
    schur: scipy.sparse.csr_array

    def fill_in(self, x: Floats, noise: Floats | None) -> None:
        """Draw (or with noise=None predict) the eliminated rows of x (n_items, m) from the core rows, in place."""
        for place in range(len(self.items) - 1, -1, -1):
            value = -self.loadings[place] @ x[self.neighbours[place]]
            if noise is not None:
                value += noise[place] / np.sqrt(self.pivots[place])
            x[self.items[place]] = value

    def eliminate(self, y: Floats) -> Floats:
        """Return the sum over eliminated v of (L^-1 y)_v^2 / pivot_v for each column of y (n_items, m), (m,).

        Changes y: afterwards its core rows hold the rest of y'Q^-1y, to be computed with the core's covariance.
        """
        total = np.zeros(y.shape[1])
        for item, neighbours, loading, pivot in zip(
            self.items, self.neighbours, self.loadings, self.pivots, strict=True
        ):
            row = y[item]
            if row.any():
                total += row**2 / pivot
                y[neighbours] -= loading[:, None] * row
        return total

    def variances(self, core_block: Callable[[Ints], Floats], n_items: int) -> Floats:
        """Return the diagonal of Q^-1 at eliminated items (0 elsewhere), (n_items,), by Takahashi's recursion.

        core_block(items) returns the covariance of a few core items.
        """
        result = np.zeros(n_items)
        blocks: dict[int, tuple[Ints, Floats]] = {}
        waiting = np.bincount(self.parents[self.parents >= 0], minlength=len(self.items))
        for place in range(len(self.items) - 1, -1, -1):
            neighbours, loading, parent = self.neighbours[place], self.loadings[place], self.parents[place]
            if parent < 0:
                among = core_block(neighbours)
            else:
                known, covariance = blocks[parent]
                at = np.searchsorted(known, neighbours)
                among = covariance[np.ix_(at, at)]
                waiting[parent] -= 1
                if not waiting[parent]:
                    del blocks[parent]
            across = -among @ loading
            own = 1 / self.pivots[place] - loading @ across
            result[self.items[place]] = own
            if waiting[place]:
                blocks[place] = _with_item(self.items[place], neighbours, own, across, among)
        return result


def eliminate(precision: GraphPrecision) -> Elimination:
    """Eliminate, by minimum degree, every item that has at most 24 neighbours left when it is reached."""
    order, neighbours = _order(precision)
    n_items = precision.graph.n_items
    place = np.full(n_items, len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    core = np.flatnonzero(place == len(order))
    starts, columns, weights = _rows(precision)
    pending: list[list[tuple[Ints, Floats]]] = [[] for _ in order]
    pivots, loadings, parents = np.empty(len(order)), [], np.full(len(order), -1)
    updates: list[tuple[Ints, Floats]] = []
    for step, item in enumerate(order):
        known = neighbours[step]
        front = np.zeros((len(known) + 1, len(known) + 1))
        front[0, 0] = precision.diagonal[item]
        others = columns[starts[item] : starts[item + 1]]
        later = place[others] > step
        front[0, 1 + np.searchsorted(known, others[later])] = -weights[starts[item] : starts[item + 1]][later]
        front[1:, 0] = front[0, 1:]
        for members, update in pending[step]:
            at = np.where(members == item, 0, 1 + np.searchsorted(known, members))
            front[np.ix_(at, at)] += update
        pending[step] = []
        pivots[step] = front[0, 0]
        loadings.append(front[0, 1:] / front[0, 0])
        if not len(known):
            continue
        update = front[1:, 1:] - np.outer(front[0, 1:], loadings[-1])
        parent = int(place[known].min())
        if parent < len(order):
            parents[step] = parent
            pending[parent].append((known, update))
        else:
            updates.append((known, update))
    schur = _schur(precision, core, updates)
    return Elimination(np.array(order, dtype=np.int64), neighbours, loadings, pivots, parents, core, schur)


def _order(precision: GraphPrecision) -> tuple[list[int], list[Ints]]:
    """Return items in order of elimination, and each one's neighbours at that time, ascending."""
    graph = precision.graph
    degrees = np.bincount(graph.low, minlength=graph.n_items) + np.bincount(graph.high, minlength=graph.n_items)
    if degrees.min(initial=MAX_NEIGHBOURS + 1) > MAX_NEIGHBOURS:
        return [], []
    starts, columns, _ = _rows(precision)
    listed = columns.tolist()
    around = [set(listed[starts[item] : starts[item + 1]]) for item in range(graph.n_items)]
    heap = [(len(others), item) for item, others in enumerate(around) if len(others) <= MAX_NEIGHBOURS]
    heapq.heapify(heap)
    order, neighbours, eliminated = [], [], set()
    while heap:
        degree, item = heapq.heappop(heap)
        if item in eliminated or degree != len(around[item]):
            continue
        others = around[item]
        for other in others:
            joined = around[other]
            joined |= others
            joined -= {other, item}
            if len(joined) <= MAX_NEIGHBOURS:
                heapq.heappush(heap, (len(joined), other))
        eliminated.add(item)
        order.append(item)
        neighbours.append(np.array(sorted(others), dtype=np.int64))
    return order, neighbours


def _rows(precision: GraphPrecision) -> tuple[Ints, Ints, Floats]:
    matrix = precision.weight_matrix
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data


def _schur(precision: GraphPrecision, core: Ints, updates: list[tuple[Ints, Floats]]) -> scipy.sparse.csr_array:
    """Return the core entries plus the updates of the eliminated items."""
    graph, size = precision.graph, len(core)
    number = np.full(graph.n_items, -1, dtype=np.int64)
    number[core] = np.arange(size)
    inside = (number[graph.low] >= 0) & (number[graph.high] >= 0)
    low, high, weights = number[graph.low[inside]], number[graph.high[inside]], precision.weights[inside]
    rows = [low, high, np.arange(size)]
    columns = [high, low, np.arange(size)]
    values = [-weights, -weights, precision.diagonal[core]]
    for members, update in updates:
        at = number[members]
        rows.append(np.repeat(at, len(at)))
        columns.append(np.tile(at, len(at)))
        values.append(update.ravel())
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return scipy.sparse.coo_array(entries, shape=(size, size)).tocsr()


def _with_item(item: int, neighbours: Ints, own: float, across: Floats, among: Floats) -> tuple[Ints, Floats]:
    """Return (members ascending, covariance) of an item together with its neighbours."""
    at = int(np.searchsorted(neighbours, item))
    members = np.insert(neighbours, at, item)
    covariance = np.insert(np.insert(among, at, across, axis=0), at, np.insert(across, at, own), axis=1)
    return members, covariance
