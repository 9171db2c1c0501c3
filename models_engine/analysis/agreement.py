"""Agreement between annotators beyond chance, and how often the item shown first was chosen."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from models_engine.arrays import read_number
from models_engine.data import Comparisons
from models_engine.linalg import sum_by_group

__all__ = [
    "Agreement",
    "Share",
    "consensus_inflation",
    "count_first_shown_wins",
    "first_shown_share",
    "krippendorff_alpha",
    "wilson_interval",
]

Ints = NDArray[np.int64]
N_BY_CHANCE = 4_000
ROUNDING = 1e-9  # by which a share may be above 1


@dataclass(frozen=True)
class Agreement:
    """Krippendorff's alpha: 1 is perfect, 0 is chance, nan where nothing was answered twice. low, high: its interval.

    n_units: pairs of items that two annotators or more compared.   n_values: their answers on those.
    """

    alpha: float
    low: float
    high: float
    n_units: int
    n_values: int


@dataclass(frozen=True)
class Share:
    """A share of n with its interval, and the share expected by chance."""

    share: float
    low: float
    high: float
    n: int
    chance: float


def krippendorff_alpha(data: Comparisons, level: float = 0.9) -> Agreement:
    """Compute Krippendorff's nominal alpha over pairs of items: alpha = 1 - D_o / D_e (Krippendorff 2019, ch. 12).

    A unit is a pair of items; a value is one annotator's answer to it (one, the other, a tie). Each annotator counts
    once per unit, with the first answer. A ranking answers every pair of unequal ranks, so if all rank the same items
    D_o = (1 - mean Kendall's tau) / 2. The order of a pair's items is arbitrary, so D_e treats both as equally
    frequent. Interval: delta method for the ratio sum(m_u d_u) / sum(m_u) over units, D_e fixed; answers of two
    annotators to one larger set are not independent between units, which `variance_inflation` corrects for. Where all
    units are alike, as in unanimity or where there is one, that would have no width: there it is Wilson's for D_o over
    as many units.
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
    counts = np.stack([sum_by_group(number, (value[first] == one).astype(float), n_units) for one in range(3)], axis=1)
    counts = counts[counts.sum(axis=1) >= 2]
    m = counts.sum(axis=1)
    n, ties = float(m.sum()), float(counts[:, 2].sum()) if len(counts) else 0.0
    if n == 0:
        return Agreement(float("nan"), float("nan"), float("nan"), 0, 0)
    differ = 1 - (counts * (counts - 1)).sum(axis=1) / (m * (m - 1))
    side = (n - ties) / 2
    expected = 1 - (2 * side * (side - 1) + ties * (ties - 1)) / (n * (n - 1))
    if expected <= 0:  # all answers are ties: agreement cannot be distinguished from chance
        return Agreement(float("nan"), float("nan"), float("nan"), len(m), int(n))
    observed = float((m * differ).sum() / n)
    alpha, inflation = 1 - observed / expected, variance_inflation(data, float((m * (m - 1)).sum()))
    if np.ptp(differ) < ROUNDING:
        least, most = wilson_interval(observed, len(m) / inflation, level)
        low, high = 1 - max(most, observed) / expected, 1 - min(least, observed) / expected  # but for rounding
        return Agreement(alpha, max(-1.0, low), min(1.0, high), len(m), int(n))
    error = float(np.sqrt(inflation * (m**2 * (differ - observed) ** 2).sum())) / n
    reach = float(ndtri((1 + level) / 2)) * error / expected
    return Agreement(alpha, max(-1.0, alpha - reach), min(1.0, alpha + reach), len(m), int(n))


def variance_inflation(data: Comparisons, n_both: float) -> float:
    """Return the variance of chance agreement over that of as many independent pairs of items; 1 if sets are pairs.

    For two rankings of the same k items it is (2k + 5) / 9 (Kendall 1938). n_both: the number of pairs of items that
    both answered, summed over ordered pairs of annotators.
    """
    extra = 0.0
    for group in data.groups():
        kept = group.weights > 0
        if group.size == 2 or not kept.any():
            continue
        asked = np.column_stack([np.sort(group.items[kept], axis=1), group.annotators[kept]])
        _, n = np.unique(np.unique(asked, axis=0)[:, :-1], axis=0, return_counts=True)
        n_shared, variance = _chance_agreement(group.ranks[kept])
        extra += float((n * (n - 1)).sum()) * (variance - n_shared)
    return 1 + max(extra, 0.0) / n_both


def _chance_agreement(ranks: Ints) -> tuple[float, float]:
    """Simulate two random answers to one set, from a fixed seed. ranks: (n_labels, k), whose patterns of shared places
    are drawn as often as they came.

    Returns the mean number of pairs that both answer, and the variance of the number of agreements minus disagreements.
    """
    rng = np.random.default_rng(0)
    one, other = (rng.permuted(ranks[rng.integers(len(ranks), size=N_BY_CHANCE)], axis=1) for _ in range(2))
    above, below = np.triu_indices(ranks.shape[1], 1)
    alike = np.sign(one[:, above] - one[:, below]) * np.sign(other[:, above] - other[:, below])
    return float(np.abs(alike).sum(axis=1).mean()), float((alike.sum(axis=1) ** 2).mean())


def consensus_inflation(data: Comparisons) -> float:
    """Return the variance of chance agreement with one order of all items over that of as many independent pairs.

    The pairs of one answer depend on each other: for a ranking of k items it is (2k + 5) / 9 (Kendall 1938), for a pair
    1. Averaged over the sizes of sets, by their number of pairs; so many times fewer pairs an interval should count.
    """
    total = inflated = 0.0
    for group in data.groups():
        kept = group.weights > 0
        if not kept.any():
            continue
        if group.size == 2:
            total, inflated = total + kept.sum(), inflated + kept.sum()
            continue
        rng, ranks = np.random.default_rng(0), group.ranks[kept]
        drawn = rng.permuted(ranks[rng.integers(len(ranks), size=N_BY_CHANCE)], axis=1)
        above, below = np.triu_indices(group.size, 1)
        alike = np.sign(drawn[:, below] - drawn[:, above])
        n_pairs = float(np.abs(alike).sum(axis=1).mean()) * int(kept.sum())
        variance = float((alike.sum(axis=1) ** 2).mean()) * int(kept.sum())
        total, inflated = total + n_pairs, inflated + variance
    return max(inflated / total, 1.0) if total else 1.0


def first_shown_share(data: Comparisons, level: float = 0.9) -> Share:
    """Return how often the item shown first was ranked first, among labels with a single best and known order shown.

    If the order shown is random, the expected share is 1/k whatever the utilities. Interval: Wilson (1927).
    """
    counted, chosen = _find_single_best(data)
    n = int(counted.sum())
    chance = float(np.mean(1 / data.sizes[counted])) if n else float("nan")
    share = float(chosen.sum()) / n if n else float("nan")
    return Share(share, *wilson_interval(share, n, level), n, chance)


def count_first_shown_wins(data: Comparisons) -> tuple[Ints, Ints]:
    """Count, by annotator, the labels of `first_shown_share` and those with the item shown first ranked first."""
    counted, chosen = _find_single_best(data)
    n = np.bincount(data.annotators[counted], minlength=data.n_annotators)
    return n, np.bincount(data.annotators[data.rows[chosen]], minlength=data.n_annotators)


def _find_single_best(data: Comparisons) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return masks: labels with a single best and known order (n_labels,); rows of best items shown first
    (n_shown,).
    """
    first = data.ranks == 0
    n_best = sum_by_group(data.rows, first.astype(float), data.n_labels)
    known = sum_by_group(data.rows, (data.positions < 0).astype(float), data.n_labels) == 0
    counted = (n_best == 1) & known & (data.weights > 0)
    return counted, first & (data.positions == 0) & counted[data.rows]


def wilson_interval(share: float, n: float, level: float = 0.9) -> tuple[float, float]:
    """Return the ends of Wilson's score interval for a binomial share; nan without observations.

    share: 0 to 1.   n: how many observations, 0 or more, not whole where they are weighted.   level: between 0 and 1,
    exclusive. Raises InvalidData.
    """
    number, level = read_number(n, "n", least=0.0), read_number(level, "level", above=0.0, below=1.0)
    if number == 0:
        return float("nan"), float("nan")
    share, n = min(read_number(share, "share", least=0.0, most=1 + ROUNDING), 1.0), number
    z = float(ndtri((1 + level) / 2))
    total = n + z * z
    middle = (n * share + z * z / 2) / total
    reach = z / total * float(np.sqrt(share * (1 - share) * n + z * z / 4))
    return max(0.0, middle - reach), min(1.0, middle + reach)
