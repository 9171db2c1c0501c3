"""Evaluates the estimators on labels held out, while no fit waits: the site's idle work, claimed like a fit."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

import numpy as np
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from annotate.criteria import seen_by
from annotate.fitting import SEED, Progress
from annotate.fitting_rows import read_labels
from annotate.models import Evaluation
from annotate.on_the_side import FREE, MOST_PATIENCE, OnTheSide
from annotate.queries.project import published_fit
from annotate.reconciler import LostClaim, due
from models_engine.estimators.choosing import FEWEST_LABELS, names_for
from models_engine.estimators.table import ESTIMATORS
from models_engine.evaluation import evaluate, whole_annotators
from models_engine.models import Fit

# Past so many labels four more fits take too long to be done on the side: so many are drawn at random then.
MOST_LABELS = 200_000
# A new evaluation is worth its time when the labels are half as many again, or a third fewer.
GROWTH = 1.5
# With more labels it takes longer than people wait for their answer to show, and gives way until there is a quiet time.
ALWAYS_PATIENT = 3_000


def owed() -> QuerySet[Fit]:
    """Published fits of projects whose labels have changed much since their evaluation, or whose estimator has."""
    has_one = Evaluation.objects.filter(
        project_id=OuterRef("project_id"), criterion=OuterRef("criterion"), estimator=OuterRef("estimator")
    )
    current = has_one.filter(n_labels__gt=OuterRef("n_labels") / GROWTH, n_labels__lt=OuterRef("n_labels") * GROWTH)
    fits = Fit.objects.filter(published=True, n_labels__gte=FEWEST_LABELS)
    return fits.exclude(Exists(current)).defer("arrays", "diagnostics").order_by("finished_at")


queue = OnTheSide(Evaluation, owed)
claim_next, held, renew = queue.claim_next, queue.held, queue.renew
give_back, record_failure = queue.give_back, queue.record_failure


def gives_way(row: Evaluation, *, now: datetime) -> bool:
    """Whether a fit waits and this evaluation is not so short that, having given way often, it may go on."""
    return (row.gave_way < MOST_PATIENCE or is_long(row)) and due(now).exists()


def is_long(row: Evaluation) -> bool:
    fits = Fit.objects.filter(project_id=row.project_id, criterion=row.criterion, published=True)
    return fits.filter(n_labels__gt=ALWAYS_PATIENT).exists()


def make(row: Evaluation, *, progress: Progress) -> None:
    """Evaluates every estimator that suits the labels, and the one in use. Raises Cancelled and LostClaim."""
    project = seen_by(row.project, row.criterion)
    fit, labels = published_fit(project), read_labels(project)
    if fit is None or labels is None:
        raise LostClaim(str(row.project_id))
    data = labels.data
    if data.n_labels > MOST_LABELS:
        data = data.subset(whole_annotators(data, MOST_LABELS, seed=SEED))
    names = names_for(data)
    if fit.estimator in ESTIMATORS and fit.estimator not in names:
        names.append(fit.estimator)
    candidates = {name: ESTIMATORS[name].estimator() for name in names}
    found = evaluate(data, candidates, seed=SEED, progress=progress)
    values = {
        "n_labels": fit.n_labels,
        "n_drawn": data.n_labels if data.n_labels < labels.data.n_labels else None,
        "fit_number": fit.number,
        "estimator": fit.estimator,
        "figures": [plain(asdict(one)) for one in found],
        "made_at": timezone.now(),
    }
    if not held(row).update(**FREE, **values, gave_way=0, not_before=None, message=""):
        raise LostClaim(str(row.project_id))


def plain(value: Any) -> Any:
    """JSON: None for what is not known."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
