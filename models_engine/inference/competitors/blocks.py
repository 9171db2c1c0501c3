"""Block-diagonal precision of the items of each context, inverted in stacks of equal width."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models_engine.linalg import chunk_slices, inverse_and_log_determinant
from models_engine.validation import places_in_sets

__all__ = ["Blocks", "Slots"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Slots:
    """Where items are.

    item (n_slots,): which item a slot holds, -1 for padding.   context (n_slots,): its context, also of padding.
    left, right (n_rows,): slots of the pairs.
    """

    item: Ints
    context: Ints
    left: Ints
    right: Ints

    @property
    def n_slots(self) -> int:
        return len(self.item)

    def divergence(self, values: Floats) -> Floats:
        """Return (n_slots,) D' values of values (n_rows,)."""
        up = np.bincount(self.left, values, minlength=self.n_slots)
        return np.asarray(up - np.bincount(self.right, values, minlength=self.n_slots))

    def differences(self, slots: Floats) -> Floats:
        """Return (n_rows, ...) D slots of slots (n_slots, ...)."""
        return np.asarray(slots[self.left] - slots[self.right])


@dataclass(frozen=True, eq=False)
class Blocks(Slots):
    """Contexts as square blocks, grouped by width, narrow ones padded with slots that no answer touches.

    stacks: (first slot, first cell, number of blocks, width) of each group; cells are the blocks' entries, flat.
    own_left, own_right, across, back (n_rows,): the cells of a pair in its block: (left, left), (right, right), (left,
    right), (right, left).
    """

    stacks: tuple[tuple[int, int, int, int], ...]
    own_left: Ints
    own_right: Ints
    across: Ints
    back: Ints

    @classmethod
    def of(cls, left: Ints, right: Ints, context: Ints) -> "Blocks":
        """Build from pairs of items and the context (n_items,) of each; both items of a pair have the same context."""
        seen = np.unique(np.concatenate([left, right]))
        seen = seen[np.argsort(context[seen], kind="stable")]
        which, size = np.unique(context[seen], return_counts=True)
        width = _padded(size)
        order = np.argsort(width, kind="stable")
        slot, cell = _starts(width, order), _starts(width**2, order)
        block, place = np.repeat(np.arange(len(which)), size), places_in_sets(size)
        item = np.full(int(width.sum()), -1, np.int64)
        item[slot[block] + place] = seen
        contexts = np.empty(len(item), np.int64)
        contexts[np.repeat(slot, width) + places_in_sets(width)] = np.repeat(which, width)
        home, at = np.zeros(len(context), np.int64), np.zeros(len(context), np.int64)
        home[seen], at[seen] = block, place
        corner, step = cell[home[left]], width[home[left]]
        a, b = at[left], at[right]
        stacks = []
        for one in np.unique(width):
            first = order[np.flatnonzero(width[order] == one)]
            stacks.append((int(slot[first[0]]), int(cell[first[0]]), len(first), int(one)))
        own = (corner + a * step + a, corner + b * step + b)
        across = (corner + a * step + b, corner + b * step + a)
        return cls(item, contexts, slot[home[left]] + a, slot[home[right]] + b, tuple(stacks), *own, *across)

    @property
    def n_cells(self) -> int:
        return sum(count * width**2 for _, _, count, width in self.stacks)

    def inverse(self, weights: Floats, ridge: float) -> tuple[Floats, float]:
        """Return (B (n_cells,), log determinant of B^-1) where B^-1 = D' diag(weights) D + ridge I, D: pairs x
        slots.
        """
        cells = np.concatenate([self.own_left, self.own_right, self.across, self.back])
        values = np.concatenate([weights, weights, -weights, -weights])
        entries: Floats = np.asarray(np.bincount(cells, values, minlength=self.n_cells), dtype=np.float64)
        log_determinant = 0.0
        for _, stack in self._stacked(entries):
            width = stack.shape[1]
            stack[:, np.arange(width), np.arange(width)] += ridge
            for part in chunk_slices(len(stack), width**2, budget=100_000):  # small enough to stay in the cache
                stack[part], logs = inverse_and_log_determinant(stack[part].copy())
                log_determinant += float(logs.sum())
        return entries, log_determinant

    def times(self, cells: Floats, columns: Floats) -> Floats:
        """Return the block-diagonal matrix of these cells, times columns (n_slots, k)."""
        result = np.empty_like(columns)
        for slots, stack in self._stacked(cells):
            count, width, _ = stack.shape
            result[slots] = (stack @ columns[slots].reshape(count, width, -1)).reshape(count * width, -1)
        return result

    def trace(self, cells: Floats) -> float:
        """Return the trace of the whole matrix."""
        return float(sum(np.einsum("pii->", stack) for _, stack in self._stacked(cells)))

    def square(self, cells: Floats) -> float:
        """Return the sum of the squares of all entries."""
        return float(cells @ cells)

    def pair_variance(self, cells: Floats) -> Floats:
        """Return (n_rows,) B_aa + B_bb - 2 B_ab of the pairs."""
        return np.maximum(cells[self.own_left] + cells[self.own_right] - 2 * cells[self.across], 0.0)

    def pair_cells(self, cells: Floats, rows: Ints) -> Iterator[tuple[Ints, Ints, Floats]]:
        """Yield (places in rows, slots, B d) for the blocks of some rows.

        slots (m, width): of the blocks; B d: each row's difference of B's columns there.   cells: those of B,
        symmetric.
        """
        for slot, cell, count, width in self.stacks:
            own = self.left[rows] - slot
            chosen = np.flatnonzero((own >= 0) & (own < count * width))
            own, other = own[chosen], self.right[rows[chosen]] - slot
            across = np.arange(width)
            values = cells[cell + own[:, None] * width + across] - cells[cell + other[:, None] * width + across]
            yield chosen, slot + (own // width * width)[:, None] + across, values

    def cell_keys(self, by_row: Ints, by_column: Ints) -> Ints:
        """Return (n_cells,) by_row[the row's slot] + by_column[the column's slot] of each cell."""
        result = np.empty(self.n_cells, np.int64)
        for slots, stack in self._stacked(result):
            shape = stack.shape[:2]
            stack[:] = by_row[slots].reshape(shape)[:, :, None] + by_column[slots].reshape(shape)[:, None, :]
        return result

    @cached_property
    def identity(self) -> Floats:
        """Return (n_cells,) 1 on the diagonal, else 0."""
        cells = np.zeros(self.n_cells)
        for _, stack in self._stacked(cells):
            stack[:, np.arange(stack.shape[1]), np.arange(stack.shape[1])] = 1.0
        return cells

    def _stacked(self, cells: NDArray) -> Iterator[tuple[slice, NDArray]]:
        """Return (slots, the cells as (n_blocks, width, width), a view) of each group."""
        for slot, cell, count, width in self.stacks:
            view = cells[cell : cell + count * width**2].reshape(count, width, width)
            yield slice(slot, slot + count * width), view


def _padded(size: Ints) -> Ints:
    """Return the next of 1 to 8, 10, 12, 14, 16, 20, 24, ...: at most a quarter is padding."""
    step = 2 ** np.maximum(np.floor(np.log2(np.maximum(size, 1))).astype(np.int64) - 2, 0)
    return np.asarray(-(-size // step) * step)


def _starts(length: Ints, order: Ints) -> Ints:
    """Return where each begins, if they lie one after the other in this order."""
    result = np.empty(len(length), np.int64)
    result[order] = np.cumsum(length[order]) - length[order]
    return result
