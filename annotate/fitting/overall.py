"""Computes the weighted total of a project's criteria from their published posteriors, after each criterion's fit."""

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from django.conf import settings
from django.db.models import Q

from annotate.criteria import Criterion, list_criteria
from annotate.fitting.answers import Ints
from annotate.fitting.arrays import from_bytes, restore_covariances
from annotate.fitting.derived import rank_items
from annotate.fitting.leaderboard.total import compute_board_total
from annotate.fitting.stored_columns import SITE
from annotate.fitting.tracks import rank_tracks
from annotate.fitting.weights import weights_of
from annotate.models import OVERALL, DerivedRanking, Project
from models_engine.analysis.overall import WeightedTotal, weighted_total
from models_engine.estimators.table import posterior_class
from models_engine.models import Estimate, Fit
from models_engine.posterior import BasePosterior

logger = logging.getLogger("annotate.worker")
MIN_ITEMS = 2
NOT_FITTED, NOT_STORED = "not fitted", "not stored"


@dataclass(frozen=True, eq=False)
class FittedCriterion:
    """item_ids (n_items,): primary keys in the posterior's order.   ranked: comparisons of those with a place in the
    largest part, by primary key."""

    criterion: Criterion
    fit: Fit
    item_ids: Ints
    posterior: BasePosterior
    ranked: dict[int, int]

    def restrict(self, items: Ints) -> BasePosterior:
        """Restricts the posterior to items given by ascending primary key."""
        order = np.argsort(self.item_ids)
        return self.posterior.restrict(order[np.searchsorted(self.item_ids, items, sorter=order)])


def compute_overall(project: Project, fit: Fit, now: datetime) -> list[DerivedRanking]:
    """Return the weighted total and its tracks, not yet stored, with `fit`, which is written but not yet published, in
    place of the published fit of its criterion; nothing for a project without named criteria.

    Columns are empty where a criterion that counts has no fit, or fewer than two items have a place by each of them:
    the details say why.
    """
    if not project.criteria:
        return []
    row = DerivedRanking(project=project, criterion=OVERALL, fit_number=fit.number, made_at=now)
    board = compute_board_total(project, fit)
    try:
        row.columns, row.details, posterior = total_of(project, fit)
        row.details |= board
        return [row, *overall_tracks(row, fit, posterior)]
    except Exception:  # the fit itself is sound, and is published without the total
        logger.exception("The weighted total of project %s failed.", project.pk)
        row.columns, row.details = {}, {"why": "failed"} | board
    return [row]


def overall_tracks(row: DerivedRanking, fit: Fit, posterior: BasePosterior | None) -> list[DerivedRanking]:
    """Return the total ranked within each track."""
    if posterior is None:
        return []
    names = [name for name in row.columns if name != "item_id"]
    figures = zip(*(row.columns[name] for name in names), strict=True)
    whole = {
        item: dict(zip(names, one, strict=True)) for item, one in zip(row.columns["item_id"], figures, strict=True)
    }
    items = np.array(sorted(whole), dtype=np.int64)

    def restrict(some: Ints) -> BasePosterior:
        return posterior.restrict(np.searchsorted(items, some))

    return rank_tracks(fit, row.project, OVERALL, whole, restrict, row.made_at)


def total_of(project: Project, fit: Fit) -> tuple[dict[str, Any], dict[str, Any], BasePosterior | None]:
    """Return columns and details of the weighted total, and its posterior over the items by ascending primary key."""
    weights = weights_of(project)
    counted = [criterion for criterion in list_criteria(project) if weights[criterion.number - 1] > 0]
    found, missing = [], {}
    for criterion in counted:
        fitted = load_criterion(criterion, fit)
        if isinstance(fitted, str):
            missing[str(criterion.number)] = fitted
        else:
            found.append(fitted)
    details: dict[str, Any] = {"weights": weights, "top_k": project.top_k}
    if missing:
        return {}, details | {"why": "missing", "missing": missing}, None
    shared = set.intersection(*(set(one.ranked) for one in found))
    items = np.array(sorted(shared), dtype=np.int64)
    details["n_left_out"] = len(set.union(*(set(one.ranked) for one in found))) - len(items)
    if len(items) < MIN_ITEMS:
        return {}, details | {"why": "few"}, None
    return rank_total(project, fit, found, items, details)


def rank_total(
    project: Project, fit: Fit, found: list[FittedCriterion], items: Ints, details: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], BasePosterior]:
    weights = [details["weights"][one.criterion.number - 1] for one in found]
    total = weighted_total([one.restrict(items) for one in found], weights, rng=np.random.default_rng(fit.seed))
    compared = np.array([min(one.ranked[item] for one in found) for item in items.tolist()])
    columns = rank_items(fit, project, total.posterior, items, compared)
    details["criteria"] = [criterion_details(one, total, place) for place, one in enumerate(found)]
    return columns, details, total.posterior


def criterion_details(one: FittedCriterion, total: WeightedTotal, place: int) -> dict[str, Any]:
    """Return what the page says of a criterion: the fit it was taken from, and its share of the differences."""
    share = None if total.shares is None else float(total.shares[place])
    return {
        "number": one.criterion.number,
        "fit": one.fit.number,
        "data_version": one.fit.data_version,
        "estimator": one.fit.estimator,
        "unit": float(total.units[place]),
        "share": share,
    }


def load_criterion(criterion: Criterion, new: Fit) -> FittedCriterion | str:
    """Return the posterior of the criterion's fit as it was stored; or why there is none.

    A posterior too large to store its covariances (annotate.fitting.arrays.MAX_BYTES) has variances alone: items'
    errors then count as independent.
    """
    project = criterion.project
    used = Q(pk=new.pk) if criterion.number == new.criterion else Q(published=True)
    fit = Fit.objects.filter(used, project_id=project.pk, criterion=criterion.number).first()
    if fit is None or not fit.arrays:
        return NOT_FITTED
    arrays = from_bytes(bytes(fit.arrays))
    if ("mean" not in arrays and "draws" not in arrays) or str(arrays[SITE + "version"]) != settings.VERSION:
        return NOT_STORED
    own = restore_covariances({name: array for name, array in arrays.items() if not name.startswith(SITE)})
    posterior = posterior_class(fit.estimator).from_arrays(own)
    ranked = Estimate.objects.filter(fit=fit, part=0, n_comparisons__gt=0).values_list("item_id", "n_comparisons")
    return FittedCriterion(criterion, fit, arrays[SITE + "items"], posterior, dict(ranked))
