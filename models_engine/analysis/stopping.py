"""Forecasts, from one posterior, of how many labels are still needed for a goal."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from models_engine.analysis.attention import Attention
from models_engine.analysis.boundaries import CERTAINTY
from models_engine.arrays import read_count, read_number, read_values
from models_engine.constants import Z90
from models_engine.errors import InvalidSetting
from models_engine.linalg import centre
from models_engine.posterior import BasePosterior
from models_engine.summaries import rank_draws
from models_engine.validation import check_boundaries, check_rows, read_positive, read_spread

__all__ = [
    "MAX_GROWTH",
    "Forecast",
    "ForecastState",
    "Rule",
    "forecast_labels_for_boundaries",
    "forecast_labels_for_count",
    "forecast_labels_for_places",
    "forecast_labels_for_reliability",
    "forecast_labels_for_spread",
    "forecast_labels_for_top",
    "forecast_labels_for_width",
    "has_enough_history",
    "mean_place_error",
    "within_reach",
]

Floats = NDArray[np.float64]
LEVEL = 0.9
LEAST_SHARE = 1e-3  # of a variance that a scale that is not known leaves to the rest
WRONG = 0.1
PRIOR_SD = 1.5  # of a utility, where the estimator does not say
N_NEAR_BORDER = 8  # places on either side of the border that are considered for a forecast of the top k
N_DRAWS, MIN_DRAWS, MAX_PAIRS = 400, 40, 5_000
MAX_CELLS = 60_000  # draws times items of one simulation
Bools = NDArray[np.bool_]
MAX_GROWTH = 20.0  # labels needed, as a multiple of those so far, above which a forecast gives no number
N_LOOKS = 47  # one in about seven percent more labels, up to 1 + MAX_GROWTH times those there
ForecastState = Literal["met", "reachable", "not reachable this way"]
# Factor by which a forecast of the total may be wrong because of what the model ignores; tests/engine/analysis.
FORECAST_FACTOR = 1.75
MIN_FITS, MIN_COMPARISONS, MIN_GROWTH = 3, 5, 1.2


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule that asks of some items more often than of others. n_comparisons: (n_items,) so far."""

    attention: Attention
    n_comparisons: ArrayLike


@dataclass(frozen=True)
class Forecast:
    """Labels still needed: the middle and a 90% range. Infinite where none, or far too large a number, would do."""

    low: float
    middle: float
    high: float

    @property
    def is_known(self) -> bool:
        return bool(np.isfinite(self.middle))

    @property
    def state(self) -> ForecastState:
        """Return the state: met, no labels are needed; reachable; or not reachable this way, where more than MAX_GROWTH
        times the labels so far would be needed, so that no number is given.
        """
        if not self.is_known:
            return "not reachable this way"
        return "met" if self.middle == 0 else "reachable"


def within_reach(forecast: Forecast, n_labels: float) -> Forecast:
    """Replace ends above MAX_GROWTH times the n_labels so far by infinity."""
    ends = (forecast.low, forecast.middle, forecast.high)
    return Forecast(*(end if end <= MAX_GROWTH * n_labels else float("inf") for end in ends))


def forecast_labels_for_count(n_comparisons: ArrayLike, target: int, *, per_label: float) -> Forecast:
    """Forecast labels until every item has `target` comparisons, where each label adds `per_label` of them.

    low and middle: every new label adds missing comparisons, as balanced assignment does. high: all items get equally
    many, so that the item with the fewest determines the number. No items: none are needed.
    n_comparisons (n_items,), target, per_label: 0 or more, the last above 0. Raises InvalidData.
    """
    n, per_label = read_values(n_comparisons, "n_comparisons", least=0.0), read_positive(per_label, "per_label")
    missing = np.maximum(read_number(target, "target", least=0.0) - n, 0.0)
    if not missing.any():
        return Forecast(0.0, 0.0, 0.0)
    least = float(np.ceil(missing.sum() / per_label))
    return Forecast(least, least, float(np.ceil(missing.max() * len(missing) / per_label)))


def forecast_labels_for_width(
    deviations: ArrayLike,
    n_comparisons: ArrayLike,
    width: float,
    *,
    per_label: float,
    prior_sd: float = PRIOR_SD,
    level: float = LEVEL,
    along_scale: ArrayLike | None = None,
) -> Forecast:
    """Forecast labels until every item's central interval at `level` is no wider than `width`.

    deviations, n_comparisons: (n_items,) posterior standard deviations and comparisons so far. The precision of a
    utility is the prior's plus that of its comparisons, 1/sd^2 = 1/prior_sd^2 + c n, with c an item's own (that of
    all items if it has none yet), because comparisons of close items are more informative. All items end with as many
    comparisons as the one that needs most; low: none gets more than it needs. No items: none are needed.
    along_scale: (n_items,), the posterior's. A utility follows a learned scale by its shrinkage, sd^2 / prior_sd^2, so
    that the square of this, part of sd^2, falls as the square of the rest does.
    width, per_label, prior_sd: above 0.   level: between 0 and 1. Raises InvalidData.
    """
    sd, n = read_spread(deviations, n_comparisons)
    per_label, prior_sd = read_positive(per_label, "per_label"), read_positive(prior_sd, "prior_sd")
    width, level = read_positive(width, "width"), read_number(level, "level", above=0.0, below=1.0)
    moved = read_values(np.zeros(len(sd)) if along_scale is None else along_scale, "along_scale") ** 2
    check_rows({"deviations": sd, "along_scale": moved}, "item")
    sd = np.sqrt(np.maximum(sd**2 - moved, LEAST_SHARE * sd**2))
    flat = (2 * ndtri((1 + level) / 2) / width) ** 2
    needed = flat * (1 + np.sqrt(1 + 4 * (moved / sd**2) / sd**2 / flat)) / 2
    missing = np.maximum(needed - np.maximum(1 / sd**2, 1 / prior_sd**2), 0.0)
    if not missing.any():
        return Forecast(0.0, 0.0, 0.0)
    each = _precision_per_comparison(sd, n, prior_sd)
    if not each.all():
        return Forecast(np.inf, np.inf, np.inf)
    more = missing / each
    least = more.sum() / per_label
    middle = np.maximum((n + more)[missing > 0].max() - n, 0.0).sum() / per_label
    return forecast_around(middle, n.sum() / per_label, least)


def _precision_per_comparison(sd: Floats, n: Floats, prior_sd: float) -> Floats:
    """Return the precision per comparison, (n_items,), shrunk to that of all items; 0 without information."""
    information = np.maximum(1 / sd**2 - 1 / prior_sd**2, 0.0)
    common = information.sum() / n.sum() if n.sum() else 0.0
    return np.asarray((information + common) / (n + 1))


def forecast_labels_for_top(
    posterior: BasePosterior,
    k: int,
    *,
    n_labels: int,
    rng: np.random.Generator,
    prior_sd: float = PRIOR_SD,
    wrong: float = WRONG,
    margin: float = 0.0,
    rule: Rule | None = None,
) -> Forecast:
    """Forecast labels until the first k items are right: P(any of them is worse than any other item) at most `wrong`.

    Items less than `margin` apart count as tied. That P is taken for its bound, the sum over pairs.
    Future labels are simulated from the posterior, N_DRAWS times: a draw of the utilities is the truth, the precision
    of each grows from the prior's in proportion to the labels (under a `rule` to those it gets), its estimate changes
    as that says, and the goal is checked at steps of seven percent more labels. Without a rule only the N_NEAR_BORDER
    places on either side of the border are considered. low, middle, high: over the draws; infinite above MAX_GROWTH
    times the labels, as for a tie at the border.
    """
    k, margin = read_count(k, "k"), read_number(margin, "margin", least=0.0)
    wrong = read_number(wrong, "wrong", least=0.0, most=1.0)
    if not 0 < k < posterior.n_items:
        return Forecast(0.0, 0.0, 0.0)
    own, n_draws = posterior, _n_draws(posterior.n_items)
    if rule is None:
        items = np.argsort(-posterior.utilities(), kind="stable")[max(0, k - N_NEAR_BORDER) : k + N_NEAR_BORDER]
        own, n_draws, k = posterior.restrict(items), N_DRAWS, min(k, N_NEAR_BORDER)

    def is_right(mean: Floats, variance: Floats, truth: Floats) -> Bools:
        return _top_is_right(mean, variance, k, wrong, margin)

    return _until(own, is_right, n_labels=n_labels, n_draws=n_draws, prior_sd=prior_sd, rng=rng, rule=rule)


def forecast_labels_for_reliability(
    means: ArrayLike,
    deviations: ArrayLike,
    n_comparisons: ArrayLike,
    target: float,
    *,
    per_label: float,
    prior_sd: float = PRIOR_SD,
) -> Forecast:
    """Forecast labels until the scale-separation reliability (reliability.compute_separation) is at least `target` < 1.

    means, deviations, n_comparisons: (n_items,). The true variance, that of the means plus the mean posterior variance,
    stays what it is now; each item's precision grows by its information per comparison so far, as in
    forecast_labels_for_width, and all items get equally many. No items: none are needed.

    target: 0 to 1, which no number of labels reaches.   per_label, prior_sd: above 0. Raises InvalidData.
    """
    mean, (sd, n) = centre(read_values(means, "means")), read_spread(deviations, n_comparisons)
    check_rows({"means": mean, "deviations": sd}, "item")
    per_label, prior_sd = read_positive(per_label, "per_label"), read_positive(prior_sd, "prior_sd")
    target = read_number(target, "target", least=0.0, most=1.0)
    allowed = (1 - target) * float((mean**2).sum() + (sd**2).sum())
    if (sd**2).sum() <= allowed:
        return Forecast(0.0, 0.0, 0.0)
    each = _precision_per_comparison(sd, n, prior_sd)
    if not each.all():
        return Forecast(np.inf, np.inf, np.inf)
    least, most = 0.0, 1.0  # comparisons more, of each item
    while (doubt := (1 / (1 / sd**2 + most * each)).sum()) > allowed and most < 1e12:
        least, most = most, 2 * most
    for _ in range(60):
        middle = (least + most) / 2
        doubt = (1 / (1 / sd**2 + middle * each)).sum()
        least, most = (middle, most) if doubt > allowed else (least, middle)
    needed = most * len(sd) / per_label
    return forecast_around(needed, n.sum() / per_label, needed)


def forecast_labels_for_boundaries(
    posterior: BasePosterior,
    boundaries: ArrayLike,
    *,
    n_labels: int,
    rng: np.random.Generator,
    prior_sd: float = PRIOR_SD,
    certainty: float = CERTAINTY,
    rule: Rule | None = None,
) -> Forecast:
    """Forecast labels until every grade boundary is settled (boundaries.boundary_states), simulated as for the top k.

    boundaries: utilities, rising. Raises InvalidBoundaries.
    """
    cuts, certainty = check_boundaries(boundaries), read_number(certainty, "certainty", least=0.0, most=1.0)

    def is_settled(mean: Floats, variance: Floats, truth: Floats) -> Bools:
        wrong = [ndtr(-np.abs(mean - cut) / np.sqrt(variance)).mean(axis=1) for cut in cuts]
        return np.asarray(np.max(wrong, axis=0) <= 1 - certainty) if wrong else np.ones(len(mean), dtype=bool)

    own = _independent_variances(posterior)
    if is_settled(posterior.utilities()[None, :], own, own).all():
        return Forecast(0.0, 0.0, 0.0)
    n_draws = _n_draws(posterior.n_items)
    return _until(posterior, is_settled, n_labels=n_labels, n_draws=n_draws, prior_sd=prior_sd, rng=rng, rule=rule)


def forecast_labels_for_spread(
    posterior: BasePosterior,
    *,
    width: float | None = None,
    reliability: float | None = None,
    n_labels: int,
    rng: np.random.Generator,
    prior_sd: float = PRIOR_SD,
    rule: Rule,
) -> Forecast:
    """Forecast labels until each interval is at most `width` wide, or until `reliability` is reached, under a rule.

    Simulated as for the top k, with the range of forecast_around: the truth is no matter of chance here.
    """
    if (width is None) == (reliability is None):
        raise InvalidSetting(f"width is {width}, reliability {reliability}; give either of them.")
    expected = float((centre(posterior.utilities()) ** 2).sum() + (posterior.standard_deviations() ** 2).sum())

    def is_met(mean: Floats, variance: Floats, truth: Floats) -> Bools:
        spread = np.broadcast_to(variance, mean.shape)
        if width is not None:
            return np.asarray(2 * Z90 * np.sqrt(spread.max(axis=1)) <= width)
        return np.asarray(spread.sum(axis=1) <= (1 - (reliability or 0.0)) * expected)

    n_draws = min(_n_draws(posterior.n_items), MIN_DRAWS)
    found = _until(posterior, is_met, n_labels=n_labels, n_draws=n_draws, prior_sd=prior_sd, rng=rng, rule=rule)
    return forecast_around(found.middle, n_labels, found.middle) if found.is_known and found.middle else found


def mean_place_error(posterior: BasePosterior, *, rng: np.random.Generator, n_draws: int = 400) -> float:
    """Return the mean difference between an item's place and its true place, over items and the posterior."""
    ranks = rank_draws(posterior.utilities()[None, :])
    return float(np.abs(rank_draws(posterior.sample(n_draws, rng=rng)) - ranks).mean())


def forecast_labels_for_places(
    posterior: BasePosterior,
    places: float,
    *,
    n_labels: int,
    rng: np.random.Generator,
    prior_sd: float = PRIOR_SD,
    rule: Rule | None = None,
) -> Forecast:
    """Forecast labels until mean_place_error is at most `places` (stable places), simulated as for the top k."""
    places = read_number(places, "places", least=0.0)
    if posterior.n_items < 2 or mean_place_error(posterior, rng=rng) <= places:
        return Forecast(0.0, 0.0, 0.0)

    def is_stable(mean: Floats, variance: Floats, truth: Floats) -> Bools:
        return np.asarray(np.abs(rank_draws(mean) - rank_draws(truth)).mean(axis=1) <= places)

    n_draws = _n_draws(posterior.n_items)
    return _until(posterior, is_stable, n_labels=n_labels, n_draws=n_draws, prior_sd=prior_sd, rng=rng, rule=rule)


def _n_draws(n_items: int) -> int:
    return int(np.clip(MAX_CELLS // max(n_items, 1), MIN_DRAWS, N_DRAWS))


def _until(
    posterior: BasePosterior,
    is_met: Callable[[Floats, Floats, Floats], Bools],
    *,
    n_labels: int,
    n_draws: int,
    prior_sd: float,
    rng: np.random.Generator,
    rule: Rule | None = None,
) -> Forecast:
    """Forecast labels until is_met(means (n_draws, n_items), variances, truth (n_draws, n_items)) holds.

    variances: (n_items,), or under a rule (n_draws, n_items). See forecast_labels_for_top for the simulation.
    """
    n_labels, prior_sd = read_count(n_labels, "n_labels"), read_positive(prior_sd, "prior_sd")
    mean, variance = posterior.utilities(), _independent_variances(posterior)
    truth = mean + np.sqrt(variance) * rng.standard_normal((n_draws, posterior.n_items))
    information = _information(mean, variance, prior_sd, rule)
    growth, first = np.geomspace(1, 1 + MAX_GROWTH, N_LOOKS), np.full(n_draws, np.inf)
    new_evidence, precision = np.broadcast_to(mean / variance, truth.shape).copy(), 1 / variance
    for before, now in pairwise(growth):
        spread = 1.0 if rule is None else rule.attention.growth(new_evidence / precision, 1 / precision)
        step = (now - before) * information * spread
        new_evidence += step * truth + np.sqrt(step) * rng.standard_normal(truth.shape)
        precision = precision + step
        first[np.isinf(first) & is_met(new_evidence / precision, 1 / precision, truth)] = now
        if np.isfinite(first).all():
            break
    low, middle, high = np.quantile(first, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2], method="higher")
    return Forecast(*(float(n_labels * (end - 1)) if end < np.inf else np.inf for end in (low, middle, high)))


def _information(mean: Floats, variance: Floats, prior_sd: float, rule: Rule | None) -> Floats:
    """Return the precision, (n_items,), that as many labels as there are add; evenly spread, as a rule spreads them."""
    if rule is None:
        return np.maximum(1 / variance - 1 / prior_sd**2, 0.0)
    n = np.asarray(rule.n_comparisons, dtype=np.float64)
    return _precision_per_comparison(np.sqrt(variance), n, prior_sd) * n.mean() * rule.attention.gain(mean)


def _independent_variances(posterior: BasePosterior) -> Floats:
    """Return (n_items,) variances that, were items independent, give differences the posterior's variance on average.

    Over all pairs, or past MAX_PAIRS of them as many at random, always the same.
    """
    variance, n = posterior.standard_deviations() ** 2, posterior.n_items
    one, other = np.triu_indices(n, 1) if n * (n - 1) // 2 <= MAX_PAIRS else _random_pairs(n)
    if not len(one):
        return np.asarray(variance)
    apart = posterior.difference_variance(one, other).mean()
    return np.asarray(variance * apart / (variance[one] + variance[other]).mean())


def _random_pairs(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    one = rng.integers(n, size=MAX_PAIRS)
    return one, (one + rng.integers(1, n, size=MAX_PAIRS)) % n


def _top_is_right(mean: Floats, variance: Floats, k: int, wrong: float, margin: float) -> Bools:
    """Return whether P(one of the k highest is below one of the others by the margin), summed over pairs, is small."""
    order = np.argsort(-mean, axis=-1)[:, : k + N_NEAR_BORDER]
    mean = np.take_along_axis(mean, order, axis=-1)
    variance = np.take_along_axis(np.broadcast_to(variance, (len(mean), variance.shape[-1])), order, axis=-1)
    inside = slice(max(0, k - N_NEAR_BORDER), k)
    gap = mean[:, inside, None] - mean[:, None, k:] + margin
    spread = np.sqrt(variance[:, inside, None] + variance[:, None, k:])
    return np.asarray(ndtr(-gap / spread).sum(axis=(-2, -1)) <= wrong)


def has_enough_history(n_labels: Iterable[int], n_comparisons: ArrayLike) -> bool:
    """Return whether a forecast is possible: enough fits, of n_labels that grow (oldest first), and enough comparisons
    in the last, n_comparisons (n_items,)."""
    counts = [n for n in n_labels if n > 0]
    grown = [later for earlier, later in pairwise(counts) if later > earlier]
    compared = np.asarray(n_comparisons)
    if len(grown) < MIN_FITS - 1 or max(counts) < MIN_GROWTH * min(counts) or not len(compared):
        return False
    return bool(np.median(compared) >= MIN_COMPARISONS)


def forecast_around(middle: float, so_far: float, least: float) -> Forecast:
    """Return the range, within reach, in which the total of labels is at most FORECAST_FACTOR off the forecast."""
    total = so_far + middle
    low = min(max(total / FORECAST_FACTOR - so_far, 0.0), least)
    high = FORECAST_FACTOR * total - so_far
    return within_reach(Forecast(*(float(np.ceil(one)) for one in (low, middle, high))), so_far)
