"""How well estimators predict labels not seen: log loss, accuracy, and whether their probabilities come true."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_engine.agreement import wilson
from models_engine.data import Comparisons
from models_engine.errors import Cancelled, EngineError, NotConverged
from models_engine.estimators.base import Estimator
from models_engine.estimators.choosing import ALL_FOLDS, N_FOLDS, folds_of
from models_engine.posterior import BasePosterior
from models_engine.progress import Progress

__all__ = ["Bin", "Evaluation", "calibration", "evaluate", "spiegelhalter", "two_of_each", "whole_annotators"]

Floats = NDArray[np.float64]
EDGES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
EVEN = 1e-9  # a probability no further from 1/2 is that of a draw: what is left is rounding


@dataclass(frozen=True)
class Bin:
    """Predictions whose favourite had a probability between low and high: mean of those, the share that came true."""

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

    bins: calibration, empty ones left out.   z: Spiegelhalter's statistic, standard normal where probabilities are
    right.   n: labels predicted, n_pairs: pairs.   seconds: of a fit, on average.   failed: why there are no figures.
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


def evaluate(
    data: Comparisons, candidates: Mapping[str, Estimator], *, seed: int = 0, progress: Progress | None = None
) -> list[Evaluation]:
    """Each candidate, fitted without one fifth of the labels and scored on it; up to 2,000 labels each fifth in turn.

    Folds are those of the automatic choice. One that cannot be fitted says why. Raises Cancelled.
    """
    fold = folds_of(data, seed)
    tested = range(N_FOLDS) if data.n_labels <= ALL_FOLDS else range(1)
    found = []
    for name, estimator in candidates.items():
        try:
            found.append(_evaluation(name, estimator, data, [fold == one for one in tested], seed, progress))
        except Cancelled:
            raise
        except EngineError as error:
            found.append(Evaluation(name, failed=str(error)))
    return found


def _evaluation(
    name: str,
    estimator: Estimator,
    data: Comparisons,
    held_out: Sequence[NDArray[np.bool_]],
    seed: int,
    progress: Progress | None,
) -> Evaluation:
    losses, favourites, seconds, converged = [], [], 0.0, True
    for out in held_out:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConverged)  # `converged` says it
            posterior = estimator.fit(data.subset(~out), rng=np.random.default_rng(seed), progress=progress)
        converged = converged and posterior.diagnostics.converged
        tested = data.subset(out)
        losses.append(-posterior.log_predictive(tested))
        favourites.append(_favourites(posterior, two_of_each(tested, seed)))
        seconds += posterior.diagnostics.seconds
    loss, pairs = np.concatenate(losses), np.concatenate(favourites)
    probability, came_true = pairs[:, 0], pairs[:, 1]
    accuracy = float(np.mean(came_true)) if len(pairs) else float("nan")
    return Evaluation(
        name=name,
        loss=float(loss.mean()) if len(loss) else float("nan"),
        accuracy=accuracy,
        z=spiegelhalter(probability, came_true),
        bins=calibration(probability, came_true),
        n=len(loss),
        n_pairs=len(pairs),
        seconds=seconds / len(held_out),
        converged=converged,
    )


def whole_annotators(data: Comparisons, n: int, seed: int = 0) -> NDArray[np.bool_]:
    """(n_labels,) which labels to keep, n of them: all of annotators drawn at random, of the last one a random part.

    Whole, because a reliability or a taste shows only in many labels of one annotator. All labels where there are no
    more than n.
    """
    rng = np.random.default_rng([seed, 3])
    turn = rng.permutation(data.n_annotators)[data.annotators]  # by annotator, in an order drawn
    kept = np.zeros(data.n_labels, dtype=bool)
    kept[np.lexsort((rng.random(data.n_labels), turn))[:n]] = True
    return kept


def two_of_each(data: Comparisons, seed: int = 0) -> Comparisons:
    """At most one untied pair of each label: of larger sets, two items drawn without regard to the answer."""
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


def _favourites(posterior: BasePosterior, pairs: Comparisons) -> Floats:
    """(n_pairs, 2): P(the favourite wins | one of the two does), and 1 where it did; 1/2 where neither is favoured,
    as of two items that no label fitted tells of."""
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
    right = np.where(np.abs(right - 0.5) < EVEN, 0.5, right)
    return np.stack([np.maximum(right, 1 - right), (1 + np.sign(right - 0.5)) / 2], axis=1)


def calibration(probability: Floats, came_true: Floats) -> tuple[Bin, ...]:
    """Predictions in five bins by the favourite's probability, with Wilson's 90% interval of what came true."""
    place = np.clip(np.searchsorted(EDGES, probability, side="right") - 1, 0, len(EDGES) - 2)
    bins = []
    for number in range(len(EDGES) - 1):
        inside = place == number
        n = int(inside.sum())
        if n:
            share = float(came_true[inside].mean())
            predicted = float(probability[inside].mean())
            bins.append(Bin(EDGES[number], EDGES[number + 1], n, predicted, share, *wilson(share, n)))
    return tuple(bins)


def spiegelhalter(probability: Floats, came_true: Floats) -> float:
    """Z = sum (y - p)(1 - 2p) / sqrt(sum (1 - 2p)^2 p (1 - p)), Spiegelhalter 1986; nan where every p is 0, 1/2 or 1.

    Positive where favourites win less often than they should: too sure of itself.
    """
    p, y = np.asarray(probability, float), np.asarray(came_true, float)
    variance = float(((1 - 2 * p) ** 2 * p * (1 - p)).sum())
    return float(((y - p) * (1 - 2 * p)).sum() / np.sqrt(variance)) if variance > 0 else float("nan")
