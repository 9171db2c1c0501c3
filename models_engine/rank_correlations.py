"""Correlations of two orders. They need numpy alone: scipy.stats takes .4 CPU seconds to import."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["kendall_tau", "spearman_rho"]


def kendall_tau(first: ArrayLike, second: ArrayLike) -> float:
    """Return Kendall's tau-b, in n log(n)^2 steps (Knight 1966, A computer method for calculating Kendall's tau).

    first, second: (n,).   nan where one of them is constant or holds a nan.
    """
    x, y = dense_ranks(first), dense_ranks(second)
    if x is None or y is None:
        return float("nan")
    n_pairs = len(x) * (len(x) - 1) // 2
    tied_x, tied_y = count_tied(x), count_tied(y)
    tied_both = count_tied(x * (y.max(initial=0) + 1) + y)
    reversed_pairs = count_inversions(y[np.lexsort((y, x))])
    if n_pairs in (tied_x, tied_y):
        return float("nan")
    surplus = n_pairs - tied_x - tied_y + tied_both - 2 * reversed_pairs
    return float(np.clip(surplus / np.sqrt(n_pairs - tied_x) / np.sqrt(n_pairs - tied_y), -1, 1))


def spearman_rho(first: ArrayLike, second: ArrayLike) -> float:
    """Return Spearman's rank correlation, ties averaged.   first, second: (n,).   nan as for kendall_tau."""
    x, y = dense_ranks(first), dense_ranks(second)
    if x is None or y is None or len(x) < 2 or x.max() == 0 or y.max() == 0:
        return float("nan")
    return float(np.corrcoef(average_ranks(x), average_ranks(y))[0, 1])


def dense_ranks(values: ArrayLike) -> NDArray[np.int64] | None:
    """Return 0 for the smallest value, 1 for the next larger one, ...; None where one is a nan."""
    found = np.asarray(values, dtype=float).ravel()
    return None if np.isnan(found).any() else np.unique(found, return_inverse=True)[1].astype(np.int64)


def average_ranks(dense: NDArray[np.int64]) -> NDArray[np.float64]:
    n_of = np.bincount(dense)
    return (np.cumsum(n_of) - (n_of - 1) / 2)[dense]


def count_tied(values: NDArray[np.int64]) -> int:
    """Return how many pairs are equal."""
    n_of = np.unique(values, return_counts=True)[1]
    return int((n_of * (n_of - 1) // 2).sum())


def count_inversions(values: NDArray[np.int64]) -> int:
    """Return how many pairs stand in the wrong order: halves are merged, of all blocks of one width at once.

    values: (n,), whole numbers from 0.
    """
    place, span, n_found, width = np.arange(len(values)), int(values.max(initial=0)) + 1, 0, 1
    while width < len(values):
        keyed = place // (2 * width) * span + values  # comparable only within a block
        is_left = place // width % 2 == 0
        left, right = keyed[is_left], keyed[~is_left]
        up_to_block_end = np.searchsorted(left, (right // span + 1) * span)
        n_found += int((up_to_block_end - np.searchsorted(left, right, side="right")).sum())
        values = np.sort(keyed) % span
        width *= 2
    return n_found
