"""What item features tell of items that nobody compared, measured on items whose answers are withheld."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models_engine.analysis.unseen_items import Predictions, learned_from_features, predict_unseen
from models_engine.data import Comparisons
from models_engine.errors import InsufficientData, InvalidData, NotConverged
from models_engine.estimators.base import Estimator
from models_engine.linalg import sum_by_group
from models_engine.posterior import BasePosterior, GaussianPosterior
from models_engine.progress import Progress

__all__ = ["MIN_HELD_OUT", "HeldOutGain", "dyadic_error", "held_out_gain"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
N_FOLDS = 5
MIN_HELD_OUT = 20  # items with features and answers, and answers about them, below which nothing is measured


@dataclass(frozen=True)
class HeldOutGain:
    """gain: how much smaller the loss, the mean of -log P(the item preferred) over pairs with an item whose answers
    are withheld, is with features than without, in nats; error: its standard error (dyadic_error).   loss, accuracy:
    with features, loss_without, accuracy_without: where such an item counts as one like any other.   n_items, n_pairs:
    withheld, and predicted.   explained: share of the differences between items that features explain, nan where the
    estimator does not say.
    """

    gain: float
    error: float
    loss: float
    loss_without: float
    accuracy: float
    accuracy_without: float
    n_items: int
    n_pairs: int
    explained: float


def held_out_gain(
    data: Comparisons,
    estimator: Estimator,
    known: NDArray[np.bool_],
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> HeldOutGain:
    """Withhold every answer about a fifth of the items in turn and predict those answers, with and without features.

    data: with item_features.   known (n_items,): which items' features are known; the others are not withheld.
    The estimator is fitted to the answers left; one that learns from features itself once with and once without them.
    An item without features is one like any other of its part: the prediction of predict_unseen without columns.
    Ties tell nothing and are left out, as are pairs of items that are no longer in one part.
    Raises InsufficientData for fewer than 20 items or pairs to predict, InvalidData without features, what the
    estimator raises, and Cancelled.
    """
    if data.item_features is None:
        raise InvalidData("data have no item_features to be measured.")
    held = np.flatnonzero((data.n_comparisons() > 0) & known)
    if len(held) < MIN_HELD_OUT:
        raise InsufficientData(f"{len(held)} items have features and answers; {MIN_HELD_OUT} are needed.")
    fold = np.full(data.n_items, -1)
    fold[held] = np.random.default_rng([seed, 4]).permutation(len(held)) % N_FOLDS
    found = [_withhold(data, estimator, fold == one, seed, progress) for one in range(N_FOLDS)]
    columns = [np.concatenate([one[place] for one in found]) for place in range(4)]
    p, p_without, left, right = columns[0], columns[1], columns[2].astype(np.int64), columns[3].astype(np.int64)
    if len(p) < MIN_HELD_OUT:
        raise InsufficientData(f"{len(p)} answers are about withheld items; {MIN_HELD_OUT} are needed.")
    difference = np.log(p) - np.log(p_without)
    return HeldOutGain(
        gain=float(difference.mean()),
        error=dyadic_error(difference, left, right),
        loss=float(-np.log(p).mean()),
        loss_without=float(-np.log(p_without).mean()),
        accuracy=float(np.mean(p > 0.5)),
        accuracy_without=float(np.mean(p_without > 0.5)),
        n_items=len(np.unique(np.concatenate([left, right])[np.isin(np.concatenate([left, right]), held)])),
        n_pairs=len(p),
        explained=float(np.mean([one[4] for one in found])),
    )


def _withhold(
    data: Comparisons, estimator: Estimator, out: Bools, seed: int, progress: Progress | None
) -> tuple[Floats, Floats, Ints, Ints, float]:
    """Return P(the preferred item) with and without features, (n,) each, the withheld items of each pair, (n,) each,
    the same one twice where it is one; and the share explained."""
    touched = np.add.reduceat(out[data.items], data.starts[:-1]) > 0 if data.n_labels else np.zeros(0, bool)
    train, pairs = data.subset(~touched), data.subset(touched).pairs()
    compared = train.n_comparisons() > 0
    parts = train.connected_parts()
    homes = _homes(pairs.left, pairs.right, out, parts, compared)
    usable = (pairs.outcome != 0.5) & (homes[pairs.left] == homes[pairs.right]) & (homes[pairs.left] >= 0)
    left, right = pairs.left[usable], pairs.right[usable]
    better, worse = np.where(pairs.outcome[usable] == 1, (left, right), (right, left))
    new = np.flatnonzero(out & (homes >= 0))
    if not len(better) or not len(new):
        empty: Ints = np.zeros(0, np.int64)
        return np.zeros(0), np.zeros(0), empty, empty, float("nan")
    posterior = _fit(train, estimator, seed, progress)
    plain = posterior
    if learned_from_features(posterior):
        plain = _fit(replace(train, item_features=None), estimator, seed, progress)

    def chances(one: BasePosterior, columns: Floats) -> tuple[Floats, float]:
        predicted = predict_unseen(one, columns, parts, compared, new, homes[new])
        return _chances(one, predicted, new, parts, compared, better, worse), predicted.explained

    with_features, explained = chances(posterior, np.asarray(data.item_features))
    without, _none = chances(plain, np.zeros((data.n_items, 0)))
    first = np.where(out[better], better, worse)
    return with_features, without, first, np.where(out[worse], worse, better), explained


def _fit(data: Comparisons, estimator: Estimator, seed: int, progress: Progress | None) -> BasePosterior:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # predictions are scored even so
        return estimator.fit(data, rng=np.random.default_rng(seed), progress=progress)


def _homes(left: Ints, right: Ints, out: Bools, parts: Ints, compared: Bools) -> Ints:
    """Return (n_items,) each item's part; of a withheld one that of most of those it was compared with, -1 if none."""
    homes = np.where(compared, parts, -1)
    n = int(parts.max()) + 1
    item, other = np.concatenate([left, right]), np.concatenate([right, left])
    asks = out[item] & (homes[other] >= 0)
    votes, counts = np.unique(item[asks] * n + homes[other[asks]], return_counts=True)
    order = np.argsort(counts, kind="stable")
    homes[votes[order] // n] = votes[order] % n
    return homes


def _chances(
    posterior: BasePosterior,
    predicted: Predictions,
    new: Ints,
    parts: Ints,
    compared: Bools,
    better: Ints,
    worse: Ints,
) -> Floats:
    """Return P(better preferred to worse), (n_pairs,), the withheld items' utilities predicted."""
    n = int(parts.max()) + 1
    mean, variance = posterior.utilities().copy(), posterior.standard_deviations() ** 2
    centre = np.bincount(parts[compared], mean[compared], n) / np.maximum(np.bincount(parts[compared], minlength=n), 1)
    mean -= centre[parts]
    mean[new], variance[new] = predicted.mean, predicted.sd**2
    taste = getattr(posterior, "taste", None) if isinstance(posterior, GaussianPosterior) else None
    own = np.zeros(posterior.n_items) if taste is None else taste.variances()
    spread = variance[better] + variance[worse] + own[better] + own[worse]
    return np.clip(posterior.likelihood.preference(mean[better] - mean[worse], spread), 1e-12, 1.0)


def dyadic_error(values: Floats, one: Ints, other: Ints) -> float:
    """Return the standard error of the mean of values (n,), each about the items one and other, the same or two.

    Values that share an item count as dependent: the dyadic-robust variance (Fafchamps & Gubert 2007; Aronow, Samii &
    Assenova 2015), at least that of independent values.
    """
    apart = values - values.mean()
    n = int(max(one.max(), other.max())) + 1
    low, high = np.minimum(one, other), np.maximum(one, other)
    _keys, dyad = np.unique(low * n + high, return_inverse=True)
    by_item = sum_by_group(low, apart, n) + sum_by_group(high[low != high], apart[low != high], n)
    by_dyad = sum_by_group(dyad, apart, len(_keys))
    single = np.zeros(len(_keys), bool)
    single[dyad] = low == high
    robust = float((by_item**2).sum() - (by_dyad[~single] ** 2).sum())
    return float(np.sqrt(max(robust, float((apart**2).sum())))) / len(values)
