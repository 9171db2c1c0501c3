"""Sums over permutations: exact over all rankings compatible with a label, and over the places of a set."""

from functools import lru_cache
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from models_engine.inference.angle.von_mises_fisher import log_sphere_mean
from models_engine.linalg import chunk_slices

__all__ = [
    "EXACT_LIMIT",
    "LEAST",
    "compatible_moments",
    "log_compatible",
    "log_constant",
    "log_place_sum",
    "place_scores",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
EXACT_LIMIT = 8
LEAST = np.exp(-700.0)


def place_scores(t: int) -> Floats:
    """Return y of the places 1..t, best first: (R - (t+1)/2) / sqrt(t (t^2-1) / 12), of length 1 (Xu, Alvo &
    Yu, 2.1).
    """
    if t < 2:
        return np.zeros(t)
    return (np.arange(1, t + 1) - (t + 1) / 2) / np.sqrt(t * (t**2 - 1) / 12)


def log_compatible(eta: Floats, before: Ints) -> Floats:
    """Return log of the sum of exp(eta'y) over all rankings compatible with each label, (n_draws, n_labels); small t.

    eta (n_draws, t) of any length; a sum below e^-700 of the likeliest ranking counts as that.
    before (n_labels, t): bit a of before[l, b] says that a must precede b.
    Items are placed from the best on: the sum over the orders of a set of items depends only on those of its subsets,
    2^t t additions instead of t!. No constraint gives the model's constant (1).
    """
    t = eta.shape[1]
    result = np.empty((len(eta), len(before)))
    for rows in chunk_slices(len(eta), 2**t, budget=500_000):
        factors, level = _place_factors(eta[rows])
        place = factors.transpose(1, 2, 0)  # item, place, draw
        for labels in chunk_slices(len(before), 2**t * place.shape[2], budget=2_000_000):
            result[rows, labels] = np.log(np.maximum(_subset_sums(place, before[labels]), LEAST)).T + level[:, None]
    return result


def _place_factors(eta: Floats) -> tuple[Floats, Floats]:
    """Return exp(eta_i y_j - u_i - v_j), (n, t, t), and sum u + sum v, (n,): every factor is at most 1.

    u + v is the dual of the best assignment, of the items in order of eta to the places in order of score, for which
    all factors are 1; so neither overflows, whatever the length of eta.
    """
    scores, order = place_scores(eta.shape[1]), np.argsort(eta, axis=1)
    ascending = np.take_along_axis(eta, order, axis=1)
    v = np.zeros_like(eta)
    v[:, 1:] = np.cumsum(ascending[:, :-1] * np.diff(scores), axis=1)
    u = np.empty_like(eta)
    np.put_along_axis(u, order, ascending * scores - v, axis=1)
    return np.exp(np.minimum(eta[:, :, None] * scores - u[:, :, None] - v[:, None, :], 0.0)), u.sum(1) + v.sum(1)


def _subset_sums(place: Floats, before: Ints) -> Floats:
    """Return sums of products of place[item, its place, draw], (n_labels, n_draws)."""
    t, n_draws = place.shape[0], place.shape[2]
    possible = _possible(before)
    sums = np.ones((1, len(before), n_draws))  # over the orders of each set of `step` items, those of a layer
    for step, (sets, items, without) in enumerate(_layers(t)):
        grown = np.zeros((len(sets), len(before), n_draws))
        for last, rest in zip(items.T, without.T, strict=True):
            added = sums[rest]
            added *= place[last, step][:, None, :]
            grown += added
        grown *= possible[sets][:, :, None]
        sums = grown
    return sums[0]


def _possible(before: Ints) -> NDArray[np.bool_]:
    """Return (2^t, n_labels): whether the items of a set can come before all others, none of which must precede it."""
    n, t = before.shape
    sets, result = np.arange(2**t), np.ones((2**t, n), dtype=bool)
    for item in range(t):
        asked = np.flatnonzero(before[:, item])
        if len(asked):
            having = np.flatnonzero(sets >> item & 1)
            result[np.ix_(having, asked)] &= (before[asked, item] & ~having[:, None]) == 0
    return result


@lru_cache
def _layers(t: int) -> list[tuple[Ints, Ints, Ints]]:
    """List, for sizes 1..t: the sets of that size (m,), their items (m, size), and where in the list of the sets of one
    item less each is without that item, (m, size).
    """
    result, index = [], np.zeros(2**t, dtype=np.int64)
    for size in range(1, t + 1):
        items = np.array(list(combinations(range(t), size)), dtype=np.int64)
        sets = (1 << items).sum(axis=1)
        result.append((sets, items, index[sets[:, None] ^ 1 << items]))
        index[sets] = np.arange(len(sets))
    return result


def compatible_moments(eta: Floats, before: Ints) -> tuple[Floats, Floats, Floats]:
    """Return log of the sum of exp(eta'y), mean and covariance of y over the rankings compatible with each label.

    Shapes (n_labels,), (n_labels, t), (n_labels, t, t); eta (t,), before (n_labels, t) as in `log_compatible`. The
    mean and the covariance are that sum's gradient and Hessian by eta: exact, where differences would drown in rounding
    errors under large weights.
    """
    t, n = len(eta), len(before)
    factors, level = _place_factors(eta[None])
    total, first, second = np.empty(n), np.empty((n, t)), np.empty((n, t, t))
    for rows in chunk_slices(n, 2**t * t, budget=200_000):
        total[rows], first[rows], second[rows] = _subset_moments(factors[0], before[rows])
    total = np.maximum(total, LEAST)
    mean = first / total[:, None]
    return np.log(total) + level, mean, second / total[:, None, None] - mean[:, :, None] * mean[:, None, :]


def _subset_moments(place: Floats, before: Ints) -> tuple[Floats, Floats, Floats]:
    """Return sums of w, w y and w y y' over compatible rankings, w the product of place[item, its place].

    Of two items the earlier one's score is summed forwards, over the orders of a set, and the later one's taken when it
    joins, times the sum over the orders of what is left, which are summed backwards.
    """
    t, n, scores, possible = len(place), len(before), place_scores(len(place)), _possible(before)
    ahead, earlier, behind = np.zeros((2**t, n)), np.zeros((2**t, t, n)), np.zeros((2**t, n))
    ahead[0] = behind[-1] = 1.0
    for step, item, subsets in _additions(t):
        grown = subsets | 1 << item
        weight = place[item, step] * possible[grown]
        ahead[grown] += (joined := weight * ahead[subsets])
        scored = weight[:, None] * earlier[subsets]
        scored[:, item] = scores[step] * joined
        earlier[grown] += scored
    first, second = np.zeros((n, t)), np.zeros((n, t, t))
    for step, item, subsets in reversed(_additions(t)):
        grown = subsets | 1 << item
        rest = place[item, step] * possible[grown] * behind[grown]
        behind[subsets] += rest
        first[:, item] += (joined := scores[step] * np.einsum("sl,sl->l", rest, ahead[subsets]))
        second[:, item, item] += scores[step] * joined
        both = scores[step] * np.einsum("sl,sil->li", rest, earlier[subsets])
        second[:, item, :] += both
        second[:, :, item] += both
    return ahead[-1], first, second


@lru_cache
def _additions(t: int) -> list[tuple[int, int, Ints]]:
    """List (size, item, the sets of that size without the item), smallest first: each set gains the item at once."""
    every = np.arange(2**t)
    size = np.bitwise_count(every)
    return [(step, item, every[(size == step) & (every >> item & 1 == 0)]) for step in range(t) for item in range(t)]


def log_constant(eta: Floats) -> Floats:
    """Return log of the sum of exp(eta'y) over all t! rankings, (n_draws,); exact up to 8 items, else the sphere's
    (2.1).

    eta (n_draws, t) of sum 0 each.
    """
    t = eta.shape[1]
    if t <= EXACT_LIMIT:
        return log_compatible(eta, np.zeros((1, t), dtype=np.int64))[:, 0]
    return gammaln(t + 1) + log_sphere_mean(np.linalg.norm(eta, axis=1), t - 1)


def log_place_sum(x: Floats, scores: Floats) -> Floats:
    """Return log of the sum over permutations s of exp(sum_i x_i scores_s(i)), (...,); x and scores (..., k), any
    centre.

    Exact up to six items; beyond, the permuted scores are taken as uniform on the sphere through them.
    """
    k = x.shape[-1]
    if k <= 6:
        orders = _orders(k)
        totals = [np.einsum("...i,...i->...", x, scores[..., order]) for order in orders]
        return logsumexp(np.stack(totals), axis=0)
    level = x.mean(axis=-1) * scores.sum(axis=-1)
    spread = np.linalg.norm(x - x.mean(axis=-1, keepdims=True), axis=-1)
    reach = np.linalg.norm(scores - scores.mean(axis=-1, keepdims=True), axis=-1)
    return gammaln(k + 1) + level + log_sphere_mean(spread * reach, k - 1)


@lru_cache
def _orders(k: int) -> tuple[list[int], ...]:
    return tuple(list(order) for order in permutations(range(k)))
