"""Rounds of sets in which an item comes at most once, so that people who ask at once get different items."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["match_pairs", "match_sets"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def match_pairs(one: Ints, other: Ints) -> Ints:
    """Return the round of each pair, (n_pairs,), the pairs given from the best to the worst.

    Each pair goes to the first round that has neither of its items yet: the same as to match greedily, take those
    pairs away, and match again.
    """
    rounds = np.empty(len(one), dtype=np.int64)
    busy: dict[int, int] = {}  # the rounds that an item is in, as bits
    for row, (a, b) in enumerate(zip(one.tolist(), other.tolist(), strict=True)):
        taken = busy.get(a, 0) | busy.get(b, 0)
        free = ~taken & (taken + 1)  # the lowest bit that is not taken
        rounds[row] = free.bit_length() - 1
        busy[a] = busy.get(a, 0) | free
        busy[b] = busy.get(b, 0) | free
    return rounds


def match_sets(band: Floats, one: Ints, other: Ints, size: int, limit: int) -> tuple[Ints, Floats, Ints]:
    """Return (sets (n, size), gains (n,), rounds (n,)) of at most `limit` sets, by round.

    band (n, 2w + 1): gain of place p with place p + d - w, 0 where they are not put together, at d = w, and outside.
    one, other: the pairs (places) from the best to the worst, from which sets are grown: the item that adds most to
    the sum of the gains of its pairs comes next. Pairs that a set has shown begin and count no more.
    """
    n, width = len(band), (band.shape[1] - 1) // 2
    band = band.copy()
    pairs = list(zip(one.tolist(), other.tolist(), strict=True))
    found: list[list[int]] = []
    gains: list[float] = []
    rounds: list[int] = []
    number = 0
    while pairs and len(found) < limit:
        free = np.zeros(n + 2 * width, dtype=bool)  # by place + width
        free[width : width + n] = True
        left, before = [], len(found)
        for a, b in pairs:
            if band[a, b - a + width] <= 0:
                continue
            left.append((a, b))
            if not (free[a + width] and free[b + width]) or len(found) >= limit:
                continue
            members, gain = _grow(band, free, a, b, size)
            if len(members) < size:
                continue
            for p in members:
                free[p + width] = False
                for q in members:
                    if abs(q - p) <= width:
                        band[p, q - p + width] = 0.0
            found.append(members)
            gains.append(gain)
            rounds.append(number)
        if len(found) == before:
            break
        pairs, number = left, number + 1
    sets = np.array(found, dtype=np.int64).reshape(len(found), size)
    return sets, np.array(gains, dtype=np.float64), np.array(rounds, dtype=np.int64)


def _grow(band: Floats, free: NDArray[np.bool_], a: int, b: int, size: int) -> tuple[list[int], float]:
    """Return the set grown from a pair and the sum of its pairs' gains; fewer members where nothing adds anything."""
    width = (band.shape[1] - 1) // 2
    members, gain = [a, b], float(band[a, b - a + width])
    while len(members) < size:
        low, high = min(members), max(members) + 2 * width + 1  # by place + width
        added = np.zeros(high - low)
        for p in members:
            added[p - low : p - low + 2 * width + 1] += band[p]
        added[~free[low:high]] = 0.0
        for p in members:
            added[p + width - low] = 0.0
        best = int(added.argmax())
        if added[best] <= 0:
            break
        gain += float(added[best])
        members.append(low + best - width)
    return members, gain
