"""How well estimators predict held-out labels: log loss, accuracy, calibration."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models_engine.analysis.agreement import wilson_interval
from models_engine.analysis.metrics import read_predictions
from models_engine.data import Comparisons
from models_engine.errors import Cancelled, EngineError, NotConverged
from models_engine.estimators.base import Estimator
from models_engine.estimators.choosing import MAX_LABELS_ALL_FOLDS, N_FOLDS, assign_folds, paired_difference
from models_engine.executor import map_tasks
from models_engine.messages import message_of
from models_engine.posterior import BasePosterior
from models_engine.progress import Progress

__all__ = [
    "Bin",
    "Evaluation",
    "calibration_bins",
    "evaluate_estimators",
    "sample_annotators",
    "sample_pairs",
    "spiegelhalter_z",
]

Floats = NDArray[np.float64]
BIN_EDGES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
EVEN_TOLERANCE = 1e-9  # a probability no further from 1/2 counts as 1/2: the difference is rounding


@dataclass(frozen=True)
class Bin:
    """Predictions whose favourite has a probability between low and high: their mean, and the share that came true."""

    low: float
    high: float
    n: int
    predicted: float
    came_true: float
    came_low: float
    came_high: float


@dataclass(frozen=True)
class Evaluation:
    """One estimator on held-out labels. loss: mean of -log P(label), nats. accuracy: of the favourite of two items.

    bins: calibration, empty ones left out.   z: Spiegelhalter's statistic, standard normal if probabilities are
    correct.   n: labels predicted, n_pairs: pairs.   seconds: mean of a fit.   failed: why there are no figures.
    gain: how much smaller the loss is than the reference's on the same labels, in nats, gain_error: its standard error;
    nan without a reference.
    """

    name: str
    loss: float = float("nan")
    accuracy: float = float("nan")
    z: float = float("nan")
    bins: tuple[Bin, ...] = ()
    n: int = 0
    n_pairs: int = 0
    seconds: float = 0.0
    converged: bool = True
    failed: str = ""
    gain: float = float("nan")
    gain_error: float = float("nan")


def evaluate_estimators(
    data: Comparisons,
    candidates: Mapping[str, Estimator],
    *,
    reference: str = "",
    fair: NDArray[np.bool_] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Evaluation]:
    """Evaluate each candidate on one fifth of the labels, fitted to the others; up to 2,000 labels on each fifth in
    turn.

    reference: the candidate against which the others' gains are measured, label by label (choosing.paired_difference).
    fair: (n_labels,) the labels whose predictions count for accuracy and calibration; all where it is not given. Labels
    of questions chosen by the ranking so far are fitted to, but would show both worse than they are.
    Folds are those of the automatic choice. `failed` says why a candidate could not be fitted. Raises Cancelled.
    """
    fold = assign_folds(data, seed)
    tested = range(N_FOLDS) if data.n_labels <= MAX_LABELS_ALL_FOLDS else range(1)
    held_out = [fold == one for one in tested]
    counted = np.ones(data.n_labels, dtype=bool) if fair is None else fair
    tasks = [(name, one) for name in candidates for one in range(len(held_out))]
    shared = [dict(candidates), data, held_out, counted, seed]
    folds = list(map_tasks(_evaluate_fold, tasks, shared=shared, progress=progress))
    found, losses = [], {}
    for name in candidates:
        results = [one for (other, _), one in zip(tasks, folds, strict=True) if other == name]
        figures = [one for one in results if isinstance(one, _Fold)]
        failed = next((one for one in results if isinstance(one, EngineError)), None)
        if failed is None:
            losses[name] = np.concatenate([one.losses for one in figures])
        found.append(_evaluation(name, figures) if failed is None else Evaluation(name, failed=message_of(failed)))
    if reference not in losses:
        return found
    annotators = np.concatenate([data.annotators[out] for out in held_out])
    return [_with_gain(one, losses, reference, annotators) for one in found]


def _with_gain(
    one: Evaluation, losses: Mapping[str, Floats], reference: str, annotators: NDArray[np.int64]
) -> Evaluation:
    if one.name not in losses or one.name == reference or not one.n:
        return one
    gain, error = paired_difference(losses[reference], losses[one.name], annotators)
    return replace(one, gain=gain, gain_error=error)


@dataclass(frozen=True, eq=False)
class _Fold:
    """What an estimator predicts of one fold: the loss of each label, `_predict_favourites`, and of its fit seconds and
    whether it converged."""

    losses: Floats
    favourites: Floats
    seconds: float
    converged: bool


def _evaluate_fold(
    task: tuple[str, int],
    candidates: Mapping[str, Estimator],
    data: Comparisons,
    held_out: Sequence[NDArray[np.bool_]],
    counted: NDArray[np.bool_],
    seed: int,
    progress: Progress | None,
) -> _Fold | EngineError:
    """Fit the named candidate to all labels but those of one fold and predict these; or why it can't be fitted."""
    name, number = task
    out = held_out[number]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConverged)  # reported by `converged`
            posterior = candidates[name].fit(data.subset(~out), rng=np.random.default_rng(seed), progress=progress)
        tested = data.subset(out).without_grades()  # not every estimator predicts these
        losses = -posterior.log_predictive(tested)
        favourites = _predict_favourites(posterior, sample_pairs(tested.subset(counted[out]), seed))
    except Cancelled:
        raise
    except EngineError as error:
        return error
    return _Fold(losses, favourites, posterior.diagnostics.seconds, posterior.diagnostics.converged)


def _evaluation(name: str, folds: Sequence[_Fold]) -> Evaluation:
    loss, pairs = np.concatenate([one.losses for one in folds]), np.concatenate([one.favourites for one in folds])
    probability, came_true = pairs[:, 0], pairs[:, 1]
    return Evaluation(
        name=name,
        loss=float(loss.mean()) if len(loss) else float("nan"),
        accuracy=float(np.mean(came_true)) if len(pairs) else float("nan"),
        z=spiegelhalter_z(probability, came_true),
        bins=calibration_bins(probability, came_true),
        n=len(loss),
        n_pairs=len(pairs),
        seconds=sum(one.seconds for one in folds) / len(folds),
        converged=all(one.converged for one in folds),
    )


def sample_annotators(data: Comparisons, n: int, seed: int = 0) -> NDArray[np.bool_]:
    """Choose n labels, a mask (n_labels,): all labels of random annotators, a random part of the last one's.

    Annotators are kept whole, because reliability and taste need many labels of one annotator. Keeps all labels if
    there are at most n.
    """
    rng = np.random.default_rng([seed, 3])
    turn = rng.permutation(data.n_annotators)[data.annotators]  # by annotator, in an order drawn
    kept = np.zeros(data.n_labels, dtype=bool)
    kept[np.lexsort((rng.random(data.n_labels), turn))[:n]] = True
    return kept


def sample_pairs(data: Comparisons, seed: int = 0) -> Comparisons:
    """Sample at most one untied pair of each label; of larger sets, two items drawn independently of the answer."""
    rng = np.random.default_rng([seed, 2])
    n = data.n_labels
    one = np.floor(rng.random(n) * data.sizes).astype(np.int64)
    other = np.floor(rng.random(n) * (data.sizes - 1)).astype(np.int64)
    other += other >= one
    first, second = (data.starts[:-1] + np.minimum(one, other), data.starts[:-1] + np.maximum(one, other))
    apart = data.ranks[first] != data.ranks[second]
    swapped = data.positions[first] > data.positions[second]
    first, second = np.where(swapped, second, first)[apart], np.where(swapped, first, second)[apart]
    return Comparisons.from_pairs(
        data.items[first],
        data.items[second],
        (data.ranks[first] < data.ranks[second]).astype(float),
        data.annotators[apart],
        n_items=data.n_items,
        n_annotators=data.n_annotators,
        item_features=data.item_features,
        annotator_features=data.annotator_features,
    )


def _predict_favourites(posterior: BasePosterior, pairs: Comparisons) -> Floats:
    """Return P(the favourite wins | no tie) and 1 where it did, (n_pairs, 2); 1/2 if neither item is favoured."""
    as_answered = posterior.log_predictive(pairs)
    other_way = posterior.log_predictive(
        Comparisons.from_pairs(
            pairs.items[::2],
            pairs.items[1::2],
            (pairs.ranks[::2] > pairs.ranks[1::2]).astype(float),
            pairs.annotators,
            n_items=pairs.n_items,
            n_annotators=pairs.n_annotators,
            item_features=pairs.item_features,
            annotator_features=pairs.annotator_features,
        )
    )
    right = 1 / (1 + np.exp(other_way - as_answered))
    right = np.where(np.abs(right - 0.5) < EVEN_TOLERANCE, 0.5, right)
    return np.stack([np.maximum(right, 1 - right), (1 + np.sign(right - 0.5)) / 2], axis=1)


def calibration_bins(probability: Floats, came_true: Floats) -> tuple[Bin, ...]:
    """Group predictions into five bins by the favourite's probability, with Wilson's 90% interval of the share true.

    probability, came_true: (n,), 0 to 1, and 1 / 0 / 0.5. Raises InvalidData.
    """
    probability, came_true = read_predictions(probability, came_true)
    place = np.clip(np.searchsorted(BIN_EDGES, probability, side="right") - 1, 0, len(BIN_EDGES) - 2)
    bins = []
    for number in range(len(BIN_EDGES) - 1):
        inside = place == number
        n = int(inside.sum())
        if n:
            share = float(came_true[inside].mean())
            predicted = float(probability[inside].mean())
            bins.append(Bin(BIN_EDGES[number], BIN_EDGES[number + 1], n, predicted, share, *wilson_interval(share, n)))
    return tuple(bins)


def spiegelhalter_z(probability: Floats, came_true: Floats) -> float:
    """Compute Z = sum (y - p)(1 - 2p) / sqrt(sum (1 - 2p)^2 p (1 - p)) (Spiegelhalter 1986).

    nan if every p is 0, 1/2 or 1. Positive if favourites win less often than predicted (overconfident).
    Arguments and errors as for calibration_bins.
    """
    p, y = read_predictions(probability, came_true)
    variance = float(((1 - 2 * p) ** 2 * p * (1 - p)).sum())
    return float(((y - p) * (1 - 2 * p)).sum() / np.sqrt(variance)) if variance > 0 else float("nan")
