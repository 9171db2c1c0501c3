"""Predicts places of items that nobody compared from their features, where the owner asks for it and it helps."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from annotate.criteria import Criterion
from annotate.fitting.answers import Ints
from annotate.fitting.features import known_items
from annotate.fitting.reading import Labels
from annotate.models import FeatureNames, Item, PredictionGain, Project
from models_engine.analysis.unseen_items import (
    MIN_ITEMS,
    PredictedPlaces,
    Predictions,
    learned_from_features,
    place_predictions,
    predict_unseen,
)
from models_engine.constants import Z90
from models_engine.models import Fit
from models_engine.posterior import BasePosterior, GaussianPosterior

LEVEL = 0.9
MAX_NAMES = 3  # of features that a fit keeps
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PredictedItems:
    """figures: by the number of the item, the columns of its Estimate; explained: the share of the differences between
    items that features explain, None where the estimator does not say.   basis: what it rests on (basis_of)."""

    figures: dict[int, dict[str, Any]]
    explained: float | None = None
    basis: dict[str, Any] = field(default_factory=dict)

    def diagnostics(self) -> dict[str, Any]:
        return {"n": len(self.figures), "explained": self.explained, **self.basis}


@dataclass(frozen=True, eq=False)
class ItemsToPredict:
    """compared (n_items,): which items have answers and a place.   items (n,): those that get a predicted place; homes
    (n,): the part among whose items each has it.   enough: whether so many are compared that anything is learned."""

    compared: NDArray[np.bool_]
    items: Ints
    homes: Ints
    enough: bool

    @classmethod
    def of(cls, project: Project, labels: Labels) -> Self:
        compared = labels.ranked & (labels.data.n_comparisons() > 0)
        known, homes = known_items(project, labels.item_ids), homes_of(labels, compared)
        new = np.flatnonzero(labels.ranked & (labels.data.n_comparisons() == 0) & known & (homes >= 0))
        return cls(compared, new, homes[new], bool((compared & known).sum() >= MIN_ITEMS))


def predict_places(criterion: Criterion, fit: Fit, labels: Labels, posterior: BasePosterior) -> PredictedItems | None:
    """Return what is predicted; None where that is switched off, or did not help on items left out."""
    features = labels.data.item_features
    if not criterion.project.predict_unseen or features is None or not helps(criterion):
        return None
    to_predict, parts = ItemsToPredict.of(criterion.project, labels), labels.parts()
    basis = basis_of(criterion, features)
    compared, new, homes = to_predict.compared, to_predict.items, to_predict.homes
    if not len(new) or not to_predict.enough:
        return PredictedItems({}, basis=basis)
    found = predict_unseen(posterior, features, parts, compared, new, homes)
    figures: dict[int, dict[str, Any]] = {}
    for home in np.unique(homes).tolist():
        inside = homes == home
        own = posterior.restrict(np.flatnonzero(compared & (parts == home)))
        predicted = Predictions(found.mean[inside], found.sd[inside], found.explained)
        places = place_predictions(
            predicted,
            own,
            level=LEVEL,
            k=fit.settings.get("top_k", criterion.project.top_k),
            rng=np.random.default_rng(fit.seed),
        )
        figures |= figures_of(new[inside], home, predicted, places, own)
    explained = None if learned_from_features(posterior) else found.explained
    return PredictedItems(figures, explained, basis)


def helps(criterion: Criterion) -> bool:
    """Return whether predictions beat those without features on items left out, by more than a standard error."""
    gain = gain_of(criterion)
    return gain is not None and gain.helps


def gain_of(criterion: Criterion) -> PredictionGain | None:
    return PredictionGain.objects.filter(project=criterion.project, criterion=criterion.number).first()


def basis_of(criterion: Criterion, features: Floats) -> dict[str, Any]:
    """Return what predictions rest on: how many features, the first of their names where none is left out, and what was
    gained on items left out."""
    names = FeatureNames.objects.filter(project=criterion.project).values_list("names", flat=True).first() or []
    gain = gain_of(criterion)
    figures = {} if gain is None else gain.figures
    return {
        "n_features": features.shape[1],
        "features": names[:MAX_NAMES] if len(names) == features.shape[1] else [],
        **{name: figures[name] for name in ("gain", "error", "n_items", "n_pairs") if name in figures},
    }


def record_of_predictions(criterion: Criterion, fit: Fit, labels: Labels, keys: list[str]) -> dict[str, str]:
    """Return what a run record predicts, by key: each item with one of the compared items among which it has its place;
    empty where the fit predicted nothing.

    keys (n_items,): of the items of the labels.
    """
    if "predicted" not in fit.diagnostics or labels.data.item_features is None:
        return {}
    to_predict, parts = ItemsToPredict.of(criterion.project, labels), labels.parts()
    if not to_predict.enough:
        return {}
    first = {int(parts[place]): place for place in np.flatnonzero(to_predict.compared)[::-1].tolist()}
    pairs = zip(to_predict.items.tolist(), to_predict.homes.tolist(), strict=True)
    return {keys[item]: keys[first[home]] for item, home in pairs}


def homes_of(labels: Labels, compared: NDArray[np.bool_]) -> Ints:
    """Return (n_items,) the part among whose items one would have its place: that of most of those of its context, of
    equals the largest part; -1 where nothing of its context is compared."""
    contexts = dict(Item.objects.filter(pk__in=labels.item_ids.tolist()).values_list("pk", "context_id"))
    own = [contexts.get(item) for item in labels.item_ids.tolist()]
    parts, counted = labels.parts(), defaultdict[int | None, Counter[int]](Counter)
    for place in np.flatnonzero(compared).tolist():
        counted[own[place]][int(parts[place])] += 1
    home = {context: min(count, key=lambda part: (-count[part], part)) for context, count in counted.items()}
    return np.array([home.get(context, -1) for context in own], dtype=np.int64)


def figures_of(
    items: Ints, home: int, predicted: Predictions, places: PredictedPlaces, own: BasePosterior
) -> dict[int, dict[str, Any]]:
    """Return the columns of the Estimate of each item."""
    taste = own.taste.variances().mean() if isinstance(own, GaussianPosterior) and own.taste is not None else 0.0
    low, high = predicted.mean - Z90 * predicted.sd, predicted.mean + Z90 * predicted.sd
    chance = own.likelihood.preference
    score = 100 * chance(predicted.mean, predicted.sd**2 + taste)
    ends = np.minimum(100 * chance(low, taste), score), np.maximum(100 * chance(high, taste), score)
    return {
        item: {
            "predicted_in": home,
            "utility": float(predicted.mean[row]),
            "sd": float(predicted.sd[row]),
            "low": float(low[row]),
            "high": float(high[row]),
            "score": float(score[row]),
            "score_low": float(ends[0][row]),
            "score_high": float(ends[1][row]),
            "rank": int(places.rank[row]),
            "rank_low": int(places.low[row]),
            "rank_high": int(places.high[row]),
            "p_top": float(places.p_top_k[row]),
        }
        for row, item in enumerate(items.tolist())
    }
