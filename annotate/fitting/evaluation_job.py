"""Evaluates the estimators on held-out labels while no fit is pending, and before fits where it has long been due."""

from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from annotate.core.stored_messages import store_engine_message
from annotate.criteria import Criterion
from annotate.fitting.answers import RULES
from annotate.fitting.cluster import fit_on_cluster
from annotate.fitting.published import published_fit
from annotate.fitting.reading import read_labels
from annotate.fitting.reliability import measure_halves
from annotate.fitting.run import SEED
from annotate.jobs.idle import IdleJobs, find_or_create, has_many_labels
from annotate.jobs.queues import Progress
from annotate.models import AskedBy, Evaluation, Project
from annotate.models.leased_jobs import LeaseLost
from models_engine.analysis.evaluation import evaluate_estimators, sample_annotators
from models_engine.estimators.choosing import MIN_LABELS, candidate_names
from models_engine.estimators.table import ESTIMATORS
from models_engine.models import Fit

# With more labels four more fits take too long for a background job: so many are drawn at random then.
MAX_LABELS = 200_000
# A new evaluation is worth its time when the labels are half as many again, or a third fewer.
GROWTH = 1.5
# With more labels it takes longer than people wait for their answer to show, and always yields to a fit.


def outdated_fits() -> QuerySet[Fit]:
    """Return published fits whose labels have changed much since their evaluation, or whose estimator has."""
    has_one = Evaluation.objects.filter(
        project_id=OuterRef("project_id"), criterion=OuterRef("criterion"), estimator=OuterRef("estimator")
    )
    current = has_one.filter(n_labels__gt=OuterRef("n_labels") / GROWTH, n_labels__lt=OuterRef("n_labels") * GROWTH)
    fits = Fit.objects.filter(published=True, n_labels__gte=MIN_LABELS)
    return fits.exclude(Exists(current)).defer("arrays", "diagnostics").order_by("finished_at")


def record_due(now: datetime) -> None:
    """Record since when evaluations have been due, and forget it of those that no longer are."""
    own = Evaluation.objects.filter(project_id=OuterRef("project_id"), criterion=OuterRef("criterion"))
    live = Project.objects.filter(pk=OuterRef("project_id"), archived_at=None)
    new = outdated_fits().filter(Exists(live)).exclude(Exists(own.exclude(due_since=None)))
    for project_id, criterion in new.values_list("project_id", "criterion"):
        row = find_or_create(Evaluation, project_id=project_id, criterion=criterion)
        if row is not None:
            Evaluation.objects.filter(pk=row.pk).update(due_since=now)
    still = outdated_fits().filter(project_id=OuterRef("project_id"), criterion=OuterRef("criterion"))
    Evaluation.objects.exclude(due_since=None).exclude(Exists(still)).update(due_since=None)


def is_overdue(row: Evaluation, now: datetime) -> bool:
    return row.due_since is not None and row.due_since <= latest_due(now)


def latest_due(now: datetime) -> datetime:
    """Return the moment since which an evaluation must have been due to go before fits."""
    return now - timedelta(minutes=settings.WORKER_EVALUATION_MINUTES)


class EvaluationJobs(IdleJobs[Evaluation]):
    """Idle jobs, each of which goes before fits once it has been due for WORKER_EVALUATION_MINUTES: else a site that is
    never idle would never evaluate."""

    def claim_overdue(self, *, owner: str, now: datetime) -> Evaluation | None:
        record_due(now)
        own = Evaluation.objects.filter(project_id=OuterRef("project_id"), criterion=OuterRef("criterion"))
        overdue = outdated_fits().filter(Exists(own.filter(due_since__lte=latest_due(now))))
        return self.claim_among(overdue, owner=owner, now=now)

    def may_yield(self, row: Evaluation) -> bool:
        return not is_overdue(row, timezone.now()) and super().may_yield(row)


def work(row: Evaluation, progress: Progress) -> None:
    """Evaluate every estimator that suits the labels and the one in use, and rank halves of the labels apart.

    Raises Cancelled and LeaseLost.
    """
    criterion = Criterion(row.project, row.criterion)
    fit, labels = published_fit(criterion), read_labels(criterion, machines=False)
    if fit is None or labels is None:
        raise LeaseLost(str(row.project_id))
    data, fair = labels.data, labels.rules != RULES[AskedBy.ADAPTIVE]
    if data.n_labels > MAX_LABELS:
        drawn = sample_annotators(data, MAX_LABELS, seed=SEED)
        data, fair = data.subset(drawn), fair[drawn]
    names = candidate_names(data)
    if fit.estimator in ESTIMATORS and fit.estimator not in names:
        names.append(fit.estimator)
    candidates = {name: ESTIMATORS[name].estimator() for name in names}
    found, _ = fit_on_cluster(
        lambda: evaluate_estimators(data, candidates, reference=fit.estimator, fair=fair, seed=SEED, progress=progress)
    )
    values: dict[str, Any] = {
        "n_labels": fit.n_labels,
        "n_drawn": data.n_labels if data.n_labels < labels.data.n_labels else None,
        "fit_number": fit.number,
        "estimator": fit.estimator,
        "split_half": measure_halves(labels, progress),
        "figures": [finite_json(asdict(one)) | {"failed": store_engine_message(one.failed)} for one in found],
        "made_at": timezone.now(),
        "dismissed_at": None,
    }
    row.complete(**values, gave_way=0, due_since=None, not_before=None, message="", crossings=0, given_up=None)


def finite_json(value: Any) -> Any:
    """Return JSON with None for what is not known."""
    if isinstance(value, dict):
        return {name: finite_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite_json(one) for one in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


QUEUE = EvaluationJobs(Evaluation, outdated_fits, work, has_many_labels)
