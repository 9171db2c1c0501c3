"""Cycles in one person's answers: A before B, B before C, C before A."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from models_engine.data import Comparisons
from models_engine.linalg import sums

__all__ = ["CHANCE", "Cycles", "cycles"]

Ints = NDArray[np.int64]
CHANCE = 0.25  # share of the triads of somebody who tosses a coin that go in a circle
MOST_PATHS = 20_000_000  # two answers in a row, summed over everybody: past these counting takes seconds


@dataclass(frozen=True, eq=False)
class Cycles:
    """(n_annotators,) triads: sets of three items of which the annotator told each pair apart; circular: how many of
    those go in a circle (Kendall & Babington Smith 1940)."""

    circular: Ints
    triads: Ints


def cycles(data: Comparisons) -> Cycles | None:
    """By the majority of each annotator's own answers to a pair; an even pair tells nothing apart. None where there
    are more than MOST_PATHS to follow. Of A, wins over everybody's own copies of the items: trace(A^3)/3 circles."""
    pairs = data.pairs()
    low, high = np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right)
    for_low = np.sign(pairs.outcome - 0.5) * np.where(pairs.left < pairs.right, 1, -1) * (pairs.weight > 0)
    keys, place = np.unique((pairs.annotator * data.n_items + low) * data.n_items + high, return_inverse=True)
    balance = sums(place.ravel(), for_low, len(keys))
    keys, balance = keys[balance != 0], balance[balance != 0]
    owner, one, other = keys // data.n_items**2, keys // data.n_items % data.n_items, keys % data.n_items
    winner = owner * data.n_items + np.where(balance > 0, one, other)
    loser = owner * data.n_items + np.where(balance > 0, other, one)
    nodes, where = np.unique(np.concatenate([winner, loser]), return_inverse=True)
    start, end = np.split(where.ravel(), 2)
    n = len(nodes)
    won, lost = np.bincount(start, minlength=n), np.bincount(end, minlength=n)
    if int((won + lost) @ (won + lost)) > MOST_PATHS:
        return None
    beats = scipy.sparse.csr_array((np.ones(len(start)), (start, end)), shape=(n, n))
    either = beats + beats.T
    circles: NDArray[np.float64] = (beats @ beats).multiply(beats.T).sum(axis=1)
    closed: NDArray[np.float64] = (either @ either).multiply(either).sum(axis=1)
    of = nodes // data.n_items
    return Cycles(
        circular=np.rint(sums(of, circles, data.n_annotators) / 3).astype(np.int64),
        triads=np.rint(sums(of, closed, data.n_annotators) / 6).astype(np.int64),
    )
