"""The table of candidate sets: which items to put together next, in rounds, by the expected gain of an answer."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.acquisition.aims import Aim, Marginals, neighbours, read_marginals
from models_engine.acquisition.gains import PairGains
from models_engine.acquisition.matching import match_pairs, match_sets
from models_engine.arrays import read_count, read_covariance, read_number
from models_engine.errors import InvalidData
from models_engine.validation import check_items, check_mask

__all__ = ["Candidates", "candidate_sets"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
N_PLACES = 24  # items further apart in the ranking of those considered are not put together
LEAST_WORTH, LEAST_GAIN = 0.05, 0.1  # of the largest; items and pairs below are left to the balanced rule
MIN_SETS = 512
MAX_DENSE = 1_000  # items up to which a covariance is used


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidate sets, ordered by round, then by falling gain.

    sets (n, set_size): items.   gains (n,): expected fall of the aim's loss by an answer, comparable within the table.
    rounds (n,): an item comes at most once in a round.
    """

    sets: Ints
    gains: Floats
    rounds: Ints


def candidate_sets(
    mean: ArrayLike,
    sd: ArrayLike,
    aim: Aim,
    *,
    set_size: int = 2,
    parts: ArrayLike | None = None,
    covariance: ArrayLike | None = None,
    margin: float = 0.0,
    lapse: float = 0.0,
    eligible: ArrayLike | None = None,
    asked: ArrayLike | None = None,
    limit: int = 4096,
    rng: np.random.Generator,
) -> Candidates:
    """Return at most min(limit, max(512, n_items)) sets that are worth asking, from one posterior.

    mean, sd: (n_items,) in logits of an average annotator's answer, or of one that is never reversed, with `lapse`.
    set_size: items of a set; the gain of a set is the sum of its pairs', which weighs its implied pairs alike and does
    not depend on the kind of answer.   parts: (n_items,) number of each item's context or connected part; only items
    of one are put together, and the best k are those of each; a part of k items or fewer has nothing to ask.
    covariance: (n_items, n_items) of the utilities, used up to 1,000 items; otherwise they count as independent.
    margin: difference below which items count as tied, in logits.   lapse: the crowd's mean share of reversed answers,
    0 where the logits are those of an average answer.   eligible: (n_items,) whether an item may be asked about.
    asked: (n, set_size) sets that are not to be asked again, such as those that enough people answered.
    rng: decides among equals.

    An item's worth is sd^4 times how fast the loss falls with its variance, a pair's gain the expected fall of the
    variances times those. Of items worth at least 5% of the most, and of pairs within 24 places, those with at least a
    tenth of the largest gain are matched in rounds. An empty table: nothing is worth asking.
    Memory: 3 KB an item for pairs, at most 10 KB for larger sets; with a covariance some 64 bytes an entry of it.
    Raises InvalidData (values, shapes), InvalidAim (k of the number of items or more, a single item).
    """
    marginals = read_marginals(mean, sd, aim, parts, margin)
    size, most = read_count(set_size, "set_size"), read_count(limit, "limit")
    if not 2 <= size <= marginals.n_items:
        raise InvalidData(f"set_size is {size}; give 2 to {marginals.n_items}, the number of items.", value=size)
    lapse = read_number(lapse, "lapse", least=0.0, below=0.5)
    if not isinstance(rng, np.random.Generator):
        raise InvalidData(f"rng is a {type(rng).__name__}; give a numpy.random.Generator.", value=rng)
    allowed = (
        np.ones(marginals.n_items, dtype=bool)
        if eligible is None
        else check_mask(eligible, marginals.n_items, "eligible")
    )
    known = None
    if covariance is not None and marginals.n_items <= MAX_DENSE:
        known = read_covariance(covariance, "covariance", marginals.n_items)
    gains = PairGains.of(marginals, aim, margin, lapse, known)
    order = marginals.order(rng)
    order = order[_worth_asking(gains.worth, marginals, allowed, aim, size)[order]]
    done = _keys(_asked(asked, size, marginals.n_items), marginals.n_items)
    one, other, gain = _near_pairs(order, marginals, gains)
    if size == 2 and len(done):
        new = ~np.isin(_keys(np.column_stack([order[one], order[other]]), marginals.n_items), done)
        one, other, gain = one[new], other[new], gain[new]
    if not len(one):
        return Candidates(np.zeros((0, size), np.int64), np.zeros(0), np.zeros(0, np.int64))
    best_first = np.lexsort((rng.permutation(len(gain)), -gain))
    one, other, gain = one[best_first], other[best_first], gain[best_first]
    most = min(most, max(MIN_SETS, marginals.n_items))
    if size == 2:
        rounds = match_pairs(one, other)
        sets = np.column_stack([order[one], order[other]])
    else:
        places, gain, rounds = match_sets(_band(one, other, gain, len(order)), one, other, size, most)
        sets = order[places]
        new = ~np.isin(_keys(sets, marginals.n_items), done)
        sets, gain, rounds = sets[new], gain[new], rounds[new]
    first = np.lexsort((-gain, rounds))[:most]
    return Candidates(sets[first], gain[first], rounds[first])


def _worth_asking(worth: Floats, marginals: Marginals, allowed: Bools, aim: Aim, size: int) -> Bools:
    """Return which items are considered: all for the whole order, else those worth most, a set's number of a part."""
    usable = allowed & (worth > 0)
    if aim.kind == "whole" or not usable.any():
        return usable
    kept = usable & (worth >= LEAST_WORTH * worth[usable].max())
    order = np.lexsort((-np.where(usable, worth, -1.0), marginals.part))
    sizes = np.bincount(marginals.part)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[marginals.part[order]]
    has_some = np.bincount(marginals.part, weights=kept, minlength=len(sizes)) > 0
    return kept | (usable & has_some[marginals.part] & (place < size))


def _near_pairs(order: Ints, marginals: Marginals, gains: PairGains) -> tuple[Ints, Ints, Floats]:
    """Return pairs of places in the order, and their gains: those of at least a tenth of the largest gain."""
    found = list(neighbours(marginals.part[order], N_PLACES))
    if not found:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    one, other = (np.concatenate([pair[side] for pair in found]) for side in (0, 1))
    gain = gains.between(order[one], order[other])
    kept = (gain > 0) & (gain >= LEAST_GAIN * gain.max())
    return one[kept], other[kept], gain[kept]


def _band(one: Ints, other: Ints, gain: Floats, n: int) -> Floats:
    """Return (n, 2 N_PLACES + 1): the gain of each place with those up to N_PLACES before and after it."""
    band = np.zeros((n, 2 * N_PLACES + 1))
    band[one, other - one + N_PLACES] = gain
    band[other, one - other + N_PLACES] = gain
    return band


def _keys(sets: Ints, n_items: int) -> NDArray:
    """Return one value for each set, (n,), the same for the same items in any order."""
    ordered = np.ascontiguousarray(np.sort(sets, axis=1))
    if sets.shape[1] == 2:
        return ordered[:, 0] * n_items + ordered[:, 1]
    return ordered.view([("", ordered.dtype)] * sets.shape[1])[:, 0]


def _asked(asked: ArrayLike | None, size: int, n_items: int) -> Ints:
    if asked is None:
        return np.zeros((0, size), dtype=np.int64)
    sets = check_items(asked, n_items)
    if sets.ndim != 2 or sets.shape[1] != size:
        raise InvalidData(f"asked has shape {sets.shape}; give sets of {size} items, shape (n, {size}).")
    return sets
