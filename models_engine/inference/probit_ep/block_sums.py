"""Sums over annotators of the matrices of their blocks, in item coordinates."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.probit_ep.annotator_blocks import Block
from models_engine.linalg import sum_by_group

__all__ = ["scatter_matrices"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def scatter_matrices(blocks: list[Block], local: Iterable[Floats], n_items: int) -> Floats:
    """Sum each block's symmetric local matrices (U, d, d) over annotators in item coordinates, (n_items, n_items)."""
    total, added, taken = np.zeros((n_items, n_items)), _CellSum(n_items**2), _CellSum(n_items**2)
    for block, matrices in zip(blocks, local, strict=True):
        if block.is_wide:
            block.scatter_wide(matrices, total)
            continue
        if block.is_small:
            total += block.scatter_small(matrices, n_items)
            continue
        for some, places in zip((added, taken), block.scatter_cells(n_items), strict=True):
            for cells in places:
                some.add(cells, matrices.ravel())
    on, off = added.found(), taken.found()
    if on is not None:
        total += on.reshape(total.shape)
    if off is not None:
        total -= off.reshape(total.shape)
        total -= off.reshape(total.shape).T
    return total


class _CellSum:
    """Sums values by their cells; these wait until they are as many as the cells, through which each sum has to go."""

    def __init__(self, n_cells: int) -> None:
        self._n_cells = n_cells
        self._found: Floats | None = None
        self._waiting: list[tuple[Ints, Floats]] = []

    def add(self, cells: Ints, values: Floats) -> None:
        self._waiting.append((cells, values))
        if sum(len(some) for some, _ in self._waiting) >= self._n_cells:
            self.found()

    def found(self) -> Floats | None:
        """Return the sums of all that was added, (n_cells,); None where nothing was."""
        if self._waiting:
            cells, values = self._waiting[0]
            if len(self._waiting) > 1:
                cells, values = (np.concatenate(parts) for parts in zip(*self._waiting, strict=True))
            self._waiting.clear()
            sums = sum_by_group(cells, values, self._n_cells)
            self._found = sums if self._found is None else self._found + sums
        return self._found
