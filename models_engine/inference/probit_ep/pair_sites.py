"""Labels as EP sites: one for a pair, one for each two neighbouring items of a ranking."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models_engine.data import Comparisons
from models_engine.implied_pairs import LabelGroup, PairTable
from models_engine.linalg import sum_by_group

__all__ = [
    "NO_TIE",
    "PairSites",
    "build_sites",
    "build_sites_with_rankings",
    "cap_sites",
    "choose_capped_rows",
    "sided_labels",
    "site_grades",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_COPIES = 20
NO_TIE = -1


@dataclass(frozen=True, eq=False)
class PairSites:
    """Distinct sites, sorted by annotator; each stands for `copies` equal factors. All arrays (n_sites,).

    Factor: Phi(z)^wins Phi(-z)^losses, z = f_low - f_high, low < high. A win is (1, 0), a tie (1/2, 1/2), and a pair
    implied by a larger label carries its composite weight in the exponent. An integer label weight is so many copies.
    ranking (n_sites,), None where there are none: the label whose ranking a site is part of, -1 for a pair. The factor
    of such a site is whether z > 0 (z < 0, of a loss), z = f_low - f_high + n_low - n_high with noise n ~ N(0, 1/2) of
    each item in that ranking.
    grade (n_sites,), None where grades do not count: how much better the winner of a pair is, 0 for any, NO_TIE for any
    of an answer that could not have been a tie (PairTable.can_tie). Such a pair says between which cut points z plus
    noise lies, above 0 where it could not have been a tie, a tie that it lies within c_0 of 0; the weight stays the
    exponent.
    side (n_sites,), None where sides do not count: 1 where `low` was shown first, -1 where `high` was, 0 where that is
    not known, or in a larger set. What an annotator adds to the item shown first is added to z so many times.
    """

    annotator: Ints
    low: Ints
    high: Ints
    wins: Floats
    losses: Floats
    copies: Floats
    n_items: int
    n_annotators: int
    ranking: Ints | None = None
    grade: Ints | None = None
    side: Ints | None = None

    def __len__(self) -> int:
        return len(self.low)

    def select(self, rows: NDArray) -> "PairSites":
        names = ("annotator", "low", "high", "wins", "losses", "copies")
        ranking, grade, side = (None if one is None else one[rows] for one in (self.ranking, self.grade, self.side))
        own = {name: getattr(self, name)[rows] for name in names}
        return replace(self, ranking=ranking, grade=grade, side=side, **own)

    @property
    def ranked(self) -> NDArray[np.bool_]:
        """Return which sites are part of a ranking, (n_sites,)."""
        return np.zeros(len(self), dtype=bool) if self.ranking is None else self.ranking >= 0

    @property
    def keys(self) -> NDArray:
        """Return annotator, low, high, wins, losses, ranking, grade, side, (n_sites, 8): identifies a site in two
        fits."""
        ranking = np.full(len(self), -1) if self.ranking is None else self.ranking
        zeros = np.zeros(len(self))
        grade, side = (zeros if one is None else one for one in (self.grade, self.side))
        return np.stack([self.annotator, self.low, self.high, self.wins, self.losses, ranking, grade, side], axis=1)


def sided_labels(data: Comparisons, *, side: bool) -> NDArray[np.bool_] | None:
    """Return of which labels it counts which item was shown first, (n_labels,): pairs of known order; None where of
    none, or where it does not count (side).

    Not those of annotators who always, or never, preferred the item given first: it was rather the winner that was
    given first than an item shown first, or they did not look at the items.
    """
    sided = (data.sizes == 2) & (np.append(data.positions, -1)[data.starts[:-1]] >= 0) & side & (data.weights > 0)
    if not sided.any():
        return None
    rows = np.flatnonzero(sided)
    first = data.ranks[data.starts[rows]] - data.ranks[data.starts[rows] + 1]
    preferred = [sum_by_group(data.annotators[rows], way * first > 0, data.n_annotators) > 0 for way in (1, -1)]
    sided &= (preferred[0] & preferred[1])[data.annotators]
    return sided if sided.any() else None


def build_sites(
    pairs: PairTable, label_weights: Floats, *, graded: bool = False, sided: NDArray[np.bool_] | None = None
) -> PairSites:
    """Build sites of the pairs; label_weights (n_labels,): each label's own weight, without the composite one.

    A weight w is ceil(w) tied sites, each to the power w / ceil(w); pairs of weight 0 are left out. graded: whether
    grades count.   sided (n_labels,): of which labels it counts which item was shown first; None where of none.
    """
    kept = pairs.select(pairs.weight > 0)
    own = label_weights[kept.label]
    copies = np.maximum(1.0, np.ceil(own))
    exponent = kept.weight / copies
    forward = kept.left < kept.right
    wins_low = np.where(forward, kept.outcome, 1 - kept.outcome)
    low, high = np.minimum(kept.left, kept.right), np.maximum(kept.left, kept.right)
    columns = [kept.annotator, low, high, exponent * wins_low, exponent * (1 - wins_low)]
    if graded:
        columns.append(site_grades(kept))
    if sided is not None:
        columns.append(np.where(sided[kept.label], np.where(forward, 1, -1), 0))
    order = np.lexsort(columns[::-1])
    sorted_columns = [column[order] for column in columns]
    starts = np.ones(len(order), dtype=bool)
    starts[1:] = np.any([column[1:] != column[:-1] for column in sorted_columns], axis=0)
    total = sum_by_group(np.cumsum(starts) - 1, copies[order], int(starts.sum()))
    annotator, low, high = (np.asarray(column[starts], np.int64) for column in sorted_columns[:3])
    wins, losses = (np.asarray(column[starts], np.float64) for column in sorted_columns[3:5])
    grade = np.asarray(sorted_columns[5][starts], np.int64) if graded else None
    side = None if sided is None else np.asarray(sorted_columns[-1][starts], np.int64)
    counts = (pairs.n_items, pairs.n_annotators)
    return PairSites(annotator, low, high, wins, losses, total, *counts, grade=grade, side=side)


def site_grades(pairs: PairTable) -> Ints:
    """Return the grade of each pair as a site has it, (n_pairs,): NO_TIE only where another of them is a tie."""
    grade = np.zeros(len(pairs), np.int64) if pairs.grade is None else pairs.grade
    if pairs.can_tie is None or not (pairs.outcome == 0.5).any():
        return grade
    return np.where(pairs.can_tie, grade, NO_TIE)


def build_sites_with_rankings(
    data: Comparisons, *, graded: bool = False, sided: NDArray[np.bool_] | None = None
) -> PairSites:
    """Build sites of all labels; labels of three or more items follow Thurstone's model, not their implied pairs.

    The annotator perceives the utility of each item shown with noise N(0, 1/2) and orders what was perceived, so that
    the label says of each item and each item of the next rank that the first was perceived larger. For pairs the noise
    is integrated out. A label of weight 2 is two equal ones; larger labels whose weight is not a whole number, or is
    above MAX_COPIES, enter as the pairs they imply.
    """
    pairs = data.pairs()
    whole = (data.sizes > 2) & np.isin(data.weights, np.arange(1, MAX_COPIES + 1))
    plain = build_sites(pairs.select(~whole[pairs.label]), data.weights, graded=graded, sided=sided)
    parts = [_neighbouring_ranks(group) for group in data.groups() if group.size > 2]
    if not whole.any() or not parts:
        return plain
    better, worse, annotator, label = (np.concatenate(column) for column in zip(*parts, strict=True))
    rows = np.repeat(np.arange(len(label)), np.where(whole, data.weights, 0).astype(np.int64)[label])
    copy = np.arange(len(rows)) - np.searchsorted(rows, rows)
    better, worse, annotator, label = better[rows], worse[rows], annotator[rows], label[rows] + data.n_labels * copy
    won = (better < worse).astype(np.float64)
    both = PairSites(
        np.concatenate([plain.annotator, annotator]),
        np.concatenate([plain.low, np.minimum(better, worse)]),
        np.concatenate([plain.high, np.maximum(better, worse)]),
        np.concatenate([plain.wins, won]),
        np.concatenate([plain.losses, 1 - won]),
        np.concatenate([plain.copies, np.ones(len(won))]),
        data.n_items,
        data.n_annotators,
        np.concatenate([np.full(len(plain), -1), label]),
        None if plain.grade is None else np.concatenate([plain.grade, np.zeros(len(won), np.int64)]),
        None if plain.side is None else np.concatenate([plain.side, np.zeros(len(won), np.int64)]),
    )
    return both.select(np.lexsort(both.keys.T[::-1]))


def _neighbouring_ranks(group: LabelGroup) -> tuple[Ints, Ints, Ints, Ints]:
    """Return (better, worse, annotator, label) of each two items of neighbouring ranks."""
    items, ranks = group.best_first()
    level = np.cumsum(np.diff(ranks, axis=1, prepend=ranks[:, :1]) > 0, axis=1)
    first, second = np.triu_indices(group.size, 1)
    row, column = np.nonzero(level[:, second] - level[:, first] == 1)
    return items[row, first[column]], items[row, second[column]], group.annotators[row], group.label[row]


def choose_capped_rows(sites: PairSites, most: int | None, rng: np.random.Generator) -> Ints:
    """Choose rows of at most `most` distinct sites per annotator at random; all where `most` is None."""
    if most is None:
        return np.arange(len(sites))
    order = np.lexsort((rng.random(len(sites)), sites.annotator))
    starts = np.searchsorted(sites.annotator, np.arange(sites.n_annotators))
    place = np.arange(len(sites)) - starts[sites.annotator]
    return np.sort(order[place < most])


def cap_sites(sites: PairSites, most: int | None, rng: np.random.Generator) -> PairSites:
    """Return the sites of `choose_capped_rows`."""
    rows = choose_capped_rows(sites, most, rng)
    return sites if len(rows) == len(sites) else sites.select(rows)
