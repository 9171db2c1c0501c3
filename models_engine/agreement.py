"""Whether people agree beyond chance, whether the place shown sways them, how evenly items were compared."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from models_engine.data import Comparisons
from models_engine.linalg import sums

__all__ = ["Agreement", "Share", "agreement", "first_place", "first_place_counts", "wilson"]

Ints = NDArray[np.int64]
N_BY_CHANCE = 4_000


@dataclass(frozen=True)
class Agreement:
    """alpha: 1 is perfect, 0 is chance, nan where nothing was answered twice. low, high: its interval.

    n_units: pairs of items that two annotators or more compared.   n_values: their answers on those.
    """

    alpha: float
    low: float
    high: float
    n_units: int
    n_values: int


@dataclass(frozen=True)
class Share:
    """A share of n with its interval, beside what chance gives."""

    share: float
    low: float
    high: float
    n: int
    chance: float


def agreement(data: Comparisons, level: float = 0.9) -> Agreement:
    """Krippendorff's alpha, nominal, over pairs of items: alpha = 1 - D_o / D_e (Krippendorff 2019, ch. 12).

    A unit is a pair of items, a value what one annotator said of it: one, the other, a tie; each annotator counts once
    a unit, by the first answer. A ranking says something of every pair it tells apart, so where all rank the same items
    D_o = (1 - mean Kendall's tau) / 2. Which item of a pair is called the one is arbitrary, so chance D_e takes both
    as equally frequent. Interval: delta method for the ratio sum(m_u d_u) / sum(m_u) over units, D_e held fixed; what
    two people say of one larger set is not independent from unit to unit, which `widening` allows for.
    """
    pairs = data.pairs()
    used = pairs.weight > 0
    left, right, outcome, who = (a[used] for a in (pairs.left, pairs.right, pairs.outcome, pairs.annotator))
    low_item, high_item = np.minimum(left, right), np.maximum(left, right)
    value = np.where(outcome == 0.5, 2, np.where((outcome == 1) == (left < right), 0, 1))
    unit = low_item * data.n_items + high_item
    order = np.lexsort((np.arange(len(unit)), who, unit))
    unit, who, value = unit[order], who[order], value[order]
    first = np.ones(len(unit), dtype=bool)
    first[1:] = (np.diff(unit) != 0) | (np.diff(who) != 0)
    _, number = np.unique(unit[first], return_inverse=True)
    n_units = int(number.max(initial=-1)) + 1
    counts = np.stack([sums(number, (value[first] == one).astype(float), n_units) for one in range(3)], axis=1)
    counts = counts[counts.sum(axis=1) >= 2]
    m = counts.sum(axis=1)
    n, ties = float(m.sum()), float(counts[:, 2].sum()) if len(counts) else 0.0
    if n == 0:
        return Agreement(float("nan"), float("nan"), float("nan"), 0, 0)
    differ = 1 - (counts * (counts - 1)).sum(axis=1) / (m * (m - 1))
    side = (n - ties) / 2
    expected = 1 - (2 * side * (side - 1) + ties * (ties - 1)) / (n * (n - 1))
    if expected <= 0:  # everybody tied everything: agreement cannot be told from chance
        return Agreement(float("nan"), float("nan"), float("nan"), len(m), int(n))
    observed = float((m * differ).sum() / n)
    error = float(np.sqrt(widening(data, float((m * (m - 1)).sum())) * (m**2 * (differ - observed) ** 2).sum())) / n
    reach = float(ndtri((1 + level) / 2)) * error / expected
    alpha = 1 - observed / expected
    return Agreement(alpha, max(-1.0, alpha - reach), min(1.0, alpha + reach), len(m), int(n))


def widening(data: Comparisons, n_both: float) -> float:
    """Variance of what people agree on by chance, over that of as many independent pairs of items; 1 where sets are
    pairs. Of two rankings of the same k items it is (2k + 5) / 9 (Kendall 1938). n_both: for each two people, in either
    order, the pairs of items of which both say something."""
    extra = 0.0
    for group in data.groups():
        kept = group.weights > 0
        if group.size == 2 or not kept.any():
            continue
        asked = np.column_stack([np.sort(group.items[kept], axis=1), group.annotators[kept]])
        _, n = np.unique(np.unique(asked, axis=0)[:, :-1], axis=0, return_counts=True)
        n_shared, variance = _by_chance(group.ranks[kept][0])
        extra += float((n * (n - 1)).sum()) * (variance - n_shared)
    return 1 + max(extra, 0.0) / n_both


def _by_chance(ranks: Ints) -> tuple[float, float]:
    """Of two random answers to one set: on how many pairs both say something, and the variance of how many of those
    are said alike less otherwise. By drawing, always the same."""
    drawn = np.random.default_rng(0).permuted(np.tile(ranks, (N_BY_CHANCE, 1)), axis=1)
    above, below = np.triu_indices(len(ranks), 1)
    alike = np.sign(ranks[above] - ranks[below]) * np.sign(drawn[:, above] - drawn[:, below])
    return float(np.abs(alike).sum(axis=1).mean()), float((alike.sum(axis=1) ** 2).mean())


def first_place(data: Comparisons, level: float = 0.9) -> Share:
    """How often the item shown first was put first, among labels with a single best whose order shown is known.

    With the order shown drawn at random it is 1/k by chance, whatever the items are worth. Interval: Wilson (1927).
    """
    counted, chosen = _single_best(data)
    n = int(counted.sum())
    chance = float(np.mean(1 / data.sizes[counted])) if n else float("nan")
    share = float(chosen.sum()) / n if n else float("nan")
    return Share(share, *wilson(share, n, level), n, chance)


def first_place_counts(data: Comparisons) -> tuple[Ints, Ints]:
    """(n_annotators,) the labels that `first_place` counts, and how many of them put the item shown first there."""
    counted, chosen = _single_best(data)
    n = np.bincount(data.annotators[counted], minlength=data.n_annotators)
    return n, np.bincount(data.annotators[data.rows[chosen]], minlength=data.n_annotators)


def _single_best(data: Comparisons) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(n_labels,) labels with a single best and a known order; (n_shown,) rows of best items shown first there."""
    first = data.ranks == 0
    n_best = sums(data.rows, first.astype(float), data.n_labels)
    known = sums(data.rows, (data.positions < 0).astype(float), data.n_labels) == 0
    counted = (n_best == 1) & known & (data.weights > 0)
    return counted, first & (data.positions == 0) & counted[data.rows]


def wilson(share: float, n: int, level: float = 0.9) -> tuple[float, float]:
    """Ends of Wilson's score interval for a binomial share; nan without observations."""
    if n == 0:
        return float("nan"), float("nan")
    z = float(ndtri((1 + level) / 2))
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * float(np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)))
    return max(0.0, middle - reach), min(1.0, middle + reach)
