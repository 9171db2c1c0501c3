"""Is the goal met, and if not: how many labels more? What is left to ask, forecast from one posterior."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from models_engine.posterior import BasePosterior

__all__ = ["Forecast", "enough_history", "labels_for_count", "labels_for_top", "labels_for_width"]

Floats = NDArray[np.float64]
LEVEL = 0.9
SUPERIORITY = 0.95
PRIOR_SD = 1.5  # of a utility, where the estimator does not say
NEAR = 8  # places on either side of the border that may decide when the top is told apart
N_DRAWS = 400
MOST_GROWTH, N_LOOKS = 50.0, 59
# How far a forecast of the total may be off for what the model leaves out; see tests/engine/test_stopping.py.
SPREAD = 1.75
FEWEST_FITS, FEWEST_COMPARISONS, FEWEST_GROWTH = 3, 5, 1.2


@dataclass(frozen=True)
class Forecast:
    """Labels still needed: the middle and a 90% range. Infinite where no number of labels may do."""

    low: float
    middle: float
    high: float

    @property
    def is_known(self) -> bool:
        return bool(np.isfinite(self.middle))


def labels_for_count(n_comparisons: ArrayLike, target: int, *, per_label: float) -> Forecast:
    """Labels until every item has `target` comparisons, where each label brings `per_label` of them.

    low and middle: every new label goes where comparisons are missing, as balanced assignment does. high: all items
    get equally many, so that the item furthest behind decides.
    """
    missing = np.maximum(target - np.asarray(n_comparisons, dtype=np.float64), 0.0)
    if not missing.any():
        return Forecast(0.0, 0.0, 0.0)
    least = float(np.ceil(missing.sum() / per_label))
    return Forecast(least, least, float(np.ceil(missing.max() * len(missing) / per_label)))


def labels_for_width(
    deviations: ArrayLike,
    n_comparisons: ArrayLike,
    width: float,
    *,
    per_label: float,
    prior_sd: float = PRIOR_SD,
    level: float = LEVEL,
) -> Forecast:
    """Labels until every item's central interval at `level` is no wider than `width`.

    deviations, n_comparisons: (n_items,) posterior standard deviations and comparisons so far. The precision of a
    utility is the prior's plus what its comparisons told, 1/sd^2 = 1/prior_sd^2 + c n, with c an item's own (that of
    all items where it has none yet): comparisons of close items tell most. All items end with as many comparisons as
    the one that needs most; low: none gets more than it needs.
    """
    sd, n = np.asarray(deviations, dtype=np.float64), np.asarray(n_comparisons, dtype=np.float64)
    wanted = (2 * ndtri((1 + level) / 2) / width) ** 2
    told = np.maximum(1 / sd**2 - 1 / prior_sd**2, 0.0)
    missing = np.maximum(wanted - np.maximum(1 / sd**2, 1 / prior_sd**2), 0.0)
    if not missing.any():
        return Forecast(0.0, 0.0, 0.0)
    common = told.sum() / n.sum() if n.sum() else 0.0
    each = (told + common) / (n + 1)  # an item with few comparisons borrows from all
    if not each.all():
        return Forecast(np.inf, np.inf, np.inf)
    more = missing / each
    least = more.sum() / per_label
    middle = np.maximum((n + more)[missing > 0].max() - n, 0.0).sum() / per_label
    return _around(middle, n.sum() / per_label, least)


def labels_for_top(
    posterior: BasePosterior,
    k: int,
    *,
    n_labels: int,
    rng: np.random.Generator,
    prior_sd: float = PRIOR_SD,
    superiority: float = SUPERIORITY,
) -> Forecast:
    """Labels until each of the first k items is told apart from every other: P(above) at least `superiority`.

    What is to come is simulated from the posterior, N_DRAWS times: a draw of the utilities is taken for the truth, the
    precision of each utility grows from the prior's in proportion to the labels, its estimate moves as answers with
    that precision would move it, and one look in seven percent more labels asks whether the goal is met. Only the NEAR
    places on either side of the border are followed. low, middle, high: over the draws; infinite beyond MOST_GROWTH
    times the labels, which is where ties at the border end.
    """
    if not 0 < k < posterior.n_items:
        return Forecast(0.0, 0.0, 0.0)
    items = np.argsort(-posterior.utilities(), kind="stable")[max(0, k - NEAR) : k + NEAR]
    own = posterior.restrict(items)
    k, mean, variance = min(k, NEAR), own.utilities(), _independent_variance(own)
    truth = mean + np.sqrt(variance) * rng.standard_normal((N_DRAWS, len(items)))
    growth = np.geomspace(1, MOST_GROWTH, N_LOOKS)
    steps = np.diff(growth)[:, None, None] * np.maximum(1 / variance - 1 / prior_sd**2, 0.0)
    heard = np.cumsum(steps * truth + np.sqrt(steps) * rng.standard_normal((len(steps), *truth.shape)), axis=0)
    precision = 1 / variance + np.cumsum(steps, axis=0)
    met = _is_apart((mean / variance + heard) / precision, 1 / precision, k, superiority)
    first = np.where(met.any(axis=0), growth[1:][met.argmax(axis=0)], np.inf)
    low, middle, high = np.quantile(first, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2], method="higher")
    return Forecast(*(float(n_labels * (value - 1)) for value in (low, middle, high)))


def _independent_variance(posterior: BasePosterior) -> Floats:
    """(n_items,) variances that give differences the posterior's own variance on average, were items independent."""
    variance = posterior.standard_deviations() ** 2
    one, other = np.triu_indices(posterior.n_items, 1)
    return variance * posterior.difference_variance(one, other).mean() / (variance[one] + variance[other]).mean()


def _is_apart(mean: Floats, variance: Floats, k: int, superiority: float) -> NDArray[np.bool_]:
    """(n_looks, n_draws) whether each of the k highest is above each of the others with that probability."""
    order = np.argsort(-mean, axis=-1)
    mean = np.take_along_axis(mean, order, axis=-1)
    variance = np.take_along_axis(np.broadcast_to(variance, mean.shape), order, axis=-1)
    gap = mean[..., :k, None] - mean[..., None, k:]
    spread = np.sqrt(variance[..., :k, None] + variance[..., None, k:])
    return np.asarray((gap >= ndtri(superiority) * spread).all(axis=(-2, -1)))


def enough_history(n_labels: Iterable[int], n_comparisons: ArrayLike) -> bool:
    """Whether a forecast may be made: from some fits of growing labels, and items that are half settled.

    n_labels: of the fits so far, oldest first.   n_comparisons: (n_items,) in the last of them.
    """
    counts = [n for n in n_labels if n > 0]
    grown = [later for earlier, later in pairwise(counts) if later > earlier]
    compared = np.asarray(n_comparisons)
    if len(grown) < FEWEST_FITS - 1 or max(counts) < FEWEST_GROWTH * min(counts) or not len(compared):
        return False
    return bool(np.median(compared) >= FEWEST_COMPARISONS)


def _around(middle: float, so_far: float, least: float) -> Forecast:
    """The range in which the total, labels so far and needed, is no further off than by SPREAD."""
    total = so_far + middle
    low = min(max(total / SPREAD - so_far, 0.0), least)
    return Forecast(float(np.ceil(low)), float(np.ceil(middle)), float(np.ceil(SPREAD * total - so_far)))
