"""What the choice of questions knows of each item: what the fit says, and of items never compared what is predicted."""

from dataclasses import dataclass

import numpy as np
from django.db.models import Q
from numpy.typing import NDArray

from annotate.criteria import Criterion
from annotate.fitting.answers import Ints, read_answers
from annotate.fitting.overall import load_criterion
from annotate.fitting.predicted_start import uses_predictions
from annotate.fitting.reading import Floats, comparisons_in
from annotate.models import Item
from models_engine.acquisition import add_answers
from models_engine.analysis.unseen_items import learned_from_features
from models_engine.models import Estimate, Fit

Bools = NDArray[np.bool_]
# Up to so many items the covariances tell what an answer is worth; beyond, the variances alone.
MAX_ITEMS_WITH_COVARIANCES = 1000


@dataclass(frozen=True, eq=False)
class ChoosingPosterior:
    """items (n,): primary keys, ascending.   means, deviations (n,): in logits of an average annotator's answer. Wrong
    answers are in this unit, so that no lapse is told besides: it would count them twice.   largest, predicted (n,):
    which are of the largest part, and which the fit predicted.
    """

    items: Ints
    means: Floats
    deviations: Floats
    largest: Bools
    predicted: Bools

    def covariance(self, criterion: Criterion, fit: Fit) -> Floats | None:
        """Return (n, n) in squared logits, or None where there are too many items or it was not stored.

        A prediction counts as independent of all else, except by an estimator that learned from features itself.
        """
        if len(self.items) > MAX_ITEMS_WITH_COVARIANCES:
            return None
        fitted = load_criterion(criterion, fit)
        if isinstance(fitted, str):
            return None
        unit, compared = unit_of(fit), ~self.predicted
        if compared.all():
            return unit**2 * fitted.restrict(self.items).covariance()
        if learned_from_features(fitted.posterior):
            found = fitted.restrict(self.items).covariance()
            scale = self.deviations / np.sqrt(np.diagonal(found))
            return scale[:, None] * found * scale
        covariance = np.diag(self.deviations**2)
        covariance[np.ix_(compared, compared)] = unit**2 * fitted.restrict(self.items[compared]).covariance()
        return covariance


def read_choosing_posterior(criterion: Criterion, fit: Fit) -> ChoosingPosterior:
    """Return what is known of the items that the fit compared and, where these are used, of those it predicted, with
    the answers about the latter that came in since then."""
    held = Q(n_comparisons__gt=0)
    if uses_predictions(criterion.project, fit):
        held |= Q(predicted_in__isnull=False)
    rows = list(Estimate.objects.filter(held, fit=fit).order_by("item_id"))
    unit = unit_of(fit)
    items: Ints = np.array([row.item_id for row in rows], dtype=np.int64)
    predicted = np.array([row.is_predicted for row in rows], dtype=bool)
    means: Floats = unit * np.array([row.utility for row in rows], dtype=np.float64)
    deviations: Floats = unit * np.array([row.sd for row in rows], dtype=np.float64)
    part = [row.part if row.predicted_in is None else row.predicted_in for row in rows]
    if predicted.any():
        means, deviations = with_late_answers(criterion, items, means, deviations, predicted)
    return ChoosingPosterior(items, means, deviations, np.array(part, dtype=np.int64) == 0, predicted)


def unit_of(fit: Fit) -> float:
    """Return what turns the fit's utilities into logits of an average annotator's answer."""
    return 1.0 if fit.unit is None else fit.unit


def with_late_answers(
    criterion: Criterion, items: Ints, means: Floats, deviations: Floats, predicted: Bools
) -> tuple[Floats, Floats]:
    """Return means and deviations with the answers about predicted items, none of which the fit has.

    Only these items' figures change; ties say nothing, and neither do answers that compare with an item that nothing is
    known of.
    """
    asked = Item.objects.filter(project=criterion.project, n_taken__gt=0).values_list("pk", flat=True)
    answers = read_answers(criterion, about=np.intersect1d(items[predicted], list(asked)).tolist())
    if not len(answers):
        return means, deviations
    named = np.unique(answers.items)
    counts = {"n_items": len(named), "n_annotators": 1}
    nobody = np.zeros(len(answers), dtype=np.int64)
    pairs = comparisons_in(criterion.project, answers, named, annotators=nobody, **counts).pairs()
    place = np.where(np.isin(named, items), np.searchsorted(items, named), -1)
    left, right = place[pairs.left], place[pairs.right]
    usable = (left >= 0) & (right >= 0) & (pairs.outcome != 0.5)
    winners, losers = np.where(pairs.outcome == 1, (left, right), (right, left))[:, usable]
    found = add_answers(means, deviations, winners, losers, changes=predicted, weights=pairs.weight[usable])
    return found.mean, found.sd
