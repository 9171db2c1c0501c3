"""Counts by annotator and item, each with its exposure."""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.arrays import raise_first, read_floats
from models_engine.errors import InvalidData
from models_engine.linalg import sum_by_group
from models_engine.validation import check_count, check_indices

__all__ = ["MAX_COUNT", "CountCells"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_COUNT = 10**9
MIN_EXPOSURE, MAX_EXPOSURE = 1e-9, 1e9


@dataclass(frozen=True)
class CountCells:
    """What each annotator counted of each item; each pair of them at most once, in the order of items.

    items, annotators: (n_cells,) numbers; counts: (n_cells,), 0 to MAX_COUNT; exposures: (n_cells,), how often or how
    long the item could have been counted, in any unit.
    """

    items: Ints
    annotators: Ints
    counts: Floats
    exposures: Floats
    n_items: int
    n_annotators: int

    @classmethod
    def from_rows(
        cls,
        items: ArrayLike,
        annotators: ArrayLike,
        counts: ArrayLike,
        exposures: ArrayLike | None = None,
        *,
        n_items: int | None = None,
        n_annotators: int | None = None,
    ) -> "CountCells":
        """Build from rows, (n,) each; those of the same item and annotator are added up. Exposures are 1 without any.

        Raises InvalidData for what is no whole number from 0 to MAX_COUNT, for an exposure that is not positive and
        finite, and for arrays of different lengths.
        """
        item, who = check_indices(items, "items"), check_indices(annotators, "annotators")
        count = _read_counts(counts)
        exposure = _read_exposures(exposures, len(item))
        for name, values in (("annotators", who), ("counts", count), ("exposures", exposure)):
            if len(values) != len(item):
                raise InvalidData(f"{name} has {len(values)} values and items {len(item)}; each row needs both.")
        n_i, n_a = check_count(item, n_items, "item"), check_count(who, n_annotators, "annotator")
        cell, place = np.unique(item * max(n_a, 1) + who, return_inverse=True)
        total = sum_by_group(place, count, len(cell))
        if (total > MAX_COUNT).any():
            row = int(np.flatnonzero(total[place] > MAX_COUNT)[0])
            raise InvalidData(f"a count of {total[place][row]:,.0f} exceeds {MAX_COUNT:,}.", row=row, value=count[row])
        return cls(cell // max(n_a, 1), cell % max(n_a, 1), total, sum_by_group(place, exposure, len(cell)), n_i, n_a)

    @property
    def n_cells(self) -> int:
        return len(self.items)

    @property
    def n_labels(self) -> int:
        """Return n_cells: what a project of counts has in place of labels."""
        return self.n_cells

    def n_comparisons(self) -> Ints:
        """Return the number of annotators who counted each item, (n_items,), as Comparisons has that of labels."""
        return np.bincount(self.items, minlength=self.n_items)

    def connected_parts(self, ranked: NDArray[np.bool_] | None = None) -> Ints:
        """Return the part of each item, (n_items,): 0 for all that were counted; each other is a part of its own.

        A count is on one scale for all items, so that no chain of annotators has to link them as Comparisons needs one;
        items counted by different annotators differ by what annotators do, which their intervals hold.
        ranked (n_items,): which items have a place at all; parts without any come last.
        """
        alone = self.n_comparisons() == 0
        part = np.zeros(self.n_items, dtype=np.int64)
        part[alone] = np.arange(int(alone.sum())) + int(not alone.all())
        if ranked is None:
            return part
        has_place = np.zeros(int(part.max(initial=-1)) + 1, dtype=bool)
        has_place[part[ranked]] = True
        order = np.argsort(~has_place, kind="stable")
        return np.argsort(order)[part].astype(np.int64)

    def data_hash(self) -> str:
        """Return the SHA-256, in hex, of numbers, counts and exposures, in the order of the cells."""
        digest = hashlib.sha256(f"counts 1 {self.n_items} {self.n_annotators}".encode())
        for numbers in (self.items, self.annotators):
            digest.update(np.ascontiguousarray(numbers, dtype="<i8").tobytes())
        for values in (self.counts, self.exposures):
            digest.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
        return digest.hexdigest()

    def subset(self, kept: NDArray[np.bool_]) -> "CountCells":
        """Return these cells, with all items and annotators keeping their numbers."""
        return CountCells(
            self.items[kept],
            self.annotators[kept],
            self.counts[kept],
            self.exposures[kept],
            self.n_items,
            self.n_annotators,
        )


def _read_counts(counts: ArrayLike) -> Floats:
    found = read_floats(counts, "counts")
    wrong = ~((found >= 0) & (found <= MAX_COUNT) & (found == np.round(found)))
    raise_first(wrong, found, f"counts are whole numbers from 0 to {MAX_COUNT:,}", None)
    return found


def _read_exposures(exposures: ArrayLike | None, n: int) -> Floats:
    if exposures is None:
        return np.ones(n)
    found = read_floats(exposures, "exposures")
    wrong = ~((found >= MIN_EXPOSURE) & (found <= MAX_EXPOSURE))
    raise_first(wrong, found, f"exposures are numbers between {MIN_EXPOSURE:g} and {MAX_EXPOSURE:g}", None)
    return found
