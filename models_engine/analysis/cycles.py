"""Cycles in one annotator's answers: A before B, B before C, C before A."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from models_engine.data import Comparisons
from models_engine.linalg import sum_by_group

__all__ = ["CHANCE", "Cycles", "count_cycles"]

Ints = NDArray[np.int64]
CHANCE = 0.25  # expected share of circular triads if every answer is random
MAX_PATHS = 20_000_000  # paths of two answers, summed over annotators: above this counting takes seconds


@dataclass(frozen=True, eq=False)
class Cycles:
    """Counts by annotator, (n_annotators,) each (Kendall & Babington Smith 1940).

    triads: sets of three items with a preference in each pair.   circular: triads whose preferences form a cycle.
    """

    circular: Ints
    triads: Ints


def count_cycles(data: Comparisons) -> Cycles | None:
    """Count triads and cycles in the majority of each annotator's answers to a pair; an even pair is no preference.

    Returns None if there are more than MAX_PATHS. With A the matrix of wins over each annotator's copy of the items,
    there are trace(A^3)/3 cycles.
    """
    pairs = data.pairs()
    low, high = np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right)
    for_low = np.sign(pairs.outcome - 0.5) * np.where(pairs.left < pairs.right, 1, -1) * (pairs.weight > 0)
    keys, place = np.unique((pairs.annotator * data.n_items + low) * data.n_items + high, return_inverse=True)
    balance = sum_by_group(place.ravel(), for_low, len(keys))
    keys, balance = keys[balance != 0], balance[balance != 0]
    owner, one, other = keys // data.n_items**2, keys // data.n_items % data.n_items, keys % data.n_items
    winner = owner * data.n_items + np.where(balance > 0, one, other)
    loser = owner * data.n_items + np.where(balance > 0, other, one)
    nodes, where = np.unique(np.concatenate([winner, loser]), return_inverse=True)
    start, end = np.split(where.ravel(), 2)
    n = len(nodes)
    won, lost = np.bincount(start, minlength=n), np.bincount(end, minlength=n)
    if int((won + lost) @ (won + lost)) > MAX_PATHS:
        return None
    beats = scipy.sparse.csr_array((np.ones(len(start)), (start, end)), shape=(n, n))
    either = beats + beats.T
    circles: NDArray[np.float64] = (beats @ beats).multiply(beats.T).sum(axis=1)
    closed: NDArray[np.float64] = (either @ either).multiply(either).sum(axis=1)
    of = nodes // data.n_items
    return Cycles(
        circular=np.rint(sum_by_group(of, circles, data.n_annotators) / 3).astype(np.int64),
        triads=np.rint(sum_by_group(of, closed, data.n_annotators) / 6).astype(np.int64),
    )
