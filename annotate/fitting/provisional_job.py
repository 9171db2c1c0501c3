"""Between fits that take long, adds the newest answers in one quick step, for those who watch the ranking.

It begins as soon as an answer is newer than the published fit, beside the fit that is to follow or in the pause before
it, and starts from the published posterior each time, so that nothing adds up.
"""

import logging
import time
from datetime import timedelta

import numpy as np
from django.utils import timezone

from annotate.criteria import Criterion
from annotate.fitting.answers import Ints
from annotate.fitting.arrays import stored_posterior
from annotate.fitting.estimates import EstimateColumns, estimates_of_part
from annotate.fitting.reading import newer_answers
from annotate.fitting.stored_columns import SITE
from annotate.fitting.stored_provisional import to_bytes
from annotate.jobs.queues import Progress
from annotate.models import FitState, ProvisionalRanking
from annotate.models.leased_jobs import LeaseLost
from models_engine.analysis.newest_answers import update_posterior
from models_engine.errors import Cancelled, InsufficientData
from models_engine.models import Estimate, Fit

logger = logging.getLogger(__name__)

SHARE = 2  # a step waits so many times as long as the one before took
MIN_PAUSE = timedelta(milliseconds=100)
N_DRAWS = 500  # behind the places: a quarter of a fit's, since these stand for seconds


def work(row: ProvisionalRanking, progress: Progress) -> None:
    """Make a step, for nothing where a fit is published before it ends. Raises Cancelled and LeaseLost."""
    try:
        make_step(row, progress)
    except LeaseLost:
        if ProvisionalRanking.objects.filter(pk=row.pk).exclude(owner="").exists():
            raise
        logger.info("A fit was published before the %s was made.", row)


def make_step(row: ProvisionalRanking, progress: Progress) -> None:
    """Compute and store what answers newer than the published fit change. Raises Cancelled and LeaseLost."""
    began, criterion = time.perf_counter(), Criterion(row.project, row.criterion)
    version = FitState.objects.values_list("wanted", flat=True).get(pk=row.project_id)
    fit = Fit.objects.filter(
        project_id=row.project_id, criterion=row.criterion, number=row.fit_number, published=True
    ).first()
    if fit is None:
        raise LeaseLost(str(row))
    estimates, n_newest = add_newest_answers(criterion, fit, row.last_label)
    if progress(0, 0, float("nan")) is False:
        raise Cancelled("the worker was asked to stop.")
    now = timezone.now()
    pause = max(MIN_PAUSE, timedelta(seconds=SHARE * (time.perf_counter() - began)))
    made = {"rows": to_bytes(estimates), "made_at": now} if estimates else {"rows": None, "made_at": None}
    row.complete(version=version, n_newest=n_newest, not_before=now + pause, message="", **made)


def add_newest_answers(criterion: Criterion, fit: Fit, last_label: int) -> tuple[list[Estimate], int]:
    """Return the estimates of the parts that newer labels are about, by part and rank, and how many labels these are.

    Labels that reach from one part to another, or tell of an item that the fit ranks nowhere, are left to the next fit,
    as are those taken back since. Nothing where the fit keeps no posterior, or too few of its draws agree with them.
    """
    posterior, arrays = stored_posterior(fit)
    if posterior is None:
        return [], 0
    item_ids, project = arrays[SITE + "items"], criterion.project
    parts, compared = places_of(fit, item_ids)
    newest = newer_answers(criterion, last_label, item_ids, parts)
    if not newest.n_labels:
        return [], 0
    try:
        updated = update_posterior(posterior, newest)
    except InsufficientData:
        return [], 0
    divisive = updated.divisiveness()
    columns = EstimateColumns(
        fit, item_ids, compared + newest.n_comparisons(), divisive if divisive.any() else None, None
    )
    found: list[Estimate] = []
    for part in np.unique(parts[newest.items]).tolist():
        items = np.flatnonzero(parts == part)
        found += estimates_of_part(columns, project, updated, part, items, n_draws=N_DRAWS)
    return found, newest.n_labels


def places_of(fit: Fit, item_ids: Ints) -> tuple[Ints, Ints]:
    """Return (part, comparisons), both (n_items,), as published; part -1 of items that have no place."""
    parts, compared = np.full(len(item_ids), -1), np.zeros(len(item_ids), dtype=np.int64)
    rows = Estimate.objects.filter(fit=fit, n_comparisons__gt=0).values_list("item_id", "part", "n_comparisons")
    table = np.array(list(rows), dtype=np.int64).reshape(-1, 3)
    where = np.searchsorted(item_ids, table[:, 0])
    parts[where], compared[where] = table[:, 1], table[:, 2]
    return parts, compared
