"""Proposes about the opposite of each annotator's utilities, of which reversed answers tell as well."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

__all__ = ["Opposites", "Proposal", "pieces_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NOISE = 1.0  # about that of an item's utility by one answer


def pieces_of(cells: Sequence[Ints], n_cells: int) -> Ints:
    """Return the number of the piece of each cell, (n_cells,): answers connect the cells (m, k) of each row."""
    first = np.concatenate([np.repeat(one[:, 0], one.shape[1] - 1) for one in cells])
    others = np.concatenate([one[:, 1:].ravel() for one in cells])
    linked = scipy.sparse.coo_array((np.ones(len(first)), (first, others)), shape=(n_cells, n_cells))
    return np.asarray(connected_components(linked, directed=False)[1], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Proposal:
    """Utilities (n_cells,) near the opposite of those before, which is them reflected about `middle` (n_cells,).

    scores (n_annotators, c): drawn with them.   gain (n_annotators,): by how much the log density of the proposal is
    larger than that of the way back, with the prior of utilities.
    """

    utilities: Floats
    middle: Floats
    scores: Floats
    gain: Floats


class Opposites:
    """Proposes, for all annotators at once, utilities f_u = t + V w_u + e_u near the opposite of their present ones.

    The opposite y is f_u reflected about the consensus's mean over each piece of items that u's answers connect. With
    it the answers are as probable if those that were reversed no longer are and the others are. What is proposed is
    drawn from the posterior of f_u given y with noise N(0, NOISE^2 / answers) of each item, w_u and e_u integrated out,
    so that it is the consensus's, or a taste's, more than an exact opposite could be. The densities of y in both
    directions cancel but for their marginals, which are normal. So a taste opposed to all others and a person who has
    the question upside down change places; with utilities and reversed answers drawn in turns a chain hardly ever gets
    from one to the other.

    annotator, item, count (n_cells,): who saw what in how many answers.   cells: (m, k) each, the cells of each answer
    of a group.   total: sums rows (n_items, d) of the items that each annotator saw, each times its cell's value, to
    (n_annotators, d).   draw: draws from normals of precision (n, c, c) and precision times mean (n, c).
    """

    def __init__(
        self,
        annotator: Ints,
        item: Ints,
        count: Floats,
        cells: Sequence[Ints],
        n_annotators: int,
        total: Callable[[Floats, Floats], Floats],
        draw: Callable[[Floats, Floats], Floats],
    ) -> None:
        self._annotator, self._item, self._n, self._total, self._draw = annotator, item, n_annotators, total, draw
        self._noise = NOISE**2 / count
        self._piece = pieces_of(cells, len(item))
        self._size = np.bincount(self._piece)

    def propose(self, f: Floats, t: Floats, v: Floats, r: float, rng: np.random.Generator) -> Proposal:
        """Return a proposal from f (n_cells,), given t (n_items,), V (n_items, c) and the sd r of what is own."""
        at, c = t[self._item], v.shape[1]
        middle = (np.bincount(self._piece, at) / self._size)[self._piece]
        weight = 1 / (r**2 + self._noise)
        squares = (v[:, :, None] * v[:, None, :]).reshape(len(v), -1)
        precision = self._total(weight, squares).reshape(self._n, c, c) + np.eye(c)
        push = self._total(weight * (2 * middle - f - at), v)
        scores = self._draw(precision, push)
        expected = at + (v[self._item] * scores[self._annotator]).sum(axis=1)
        own = 1 / r**2 + 1 / self._noise
        mean = (expected / r**2 + (2 * middle - f) / self._noise) / own
        found = mean + rng.standard_normal(len(f)) / np.sqrt(own)
        back = self._total(weight * (2 * middle - found - at), v)
        ways = np.stack([push, back], axis=2)
        explained = (ways * np.linalg.solve(precision, ways)).sum(axis=1)
        length = [np.bincount(self._annotator, weight * (2 * middle - one - at) ** 2, self._n) for one in (f, found)]
        gain = (explained[:, 0] - length[0] - explained[:, 1] + length[1]) / 2
        return Proposal(found, middle, scores, gain)
