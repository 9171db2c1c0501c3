"""Claims evaluations of the estimators while no fit is pending, and before fits where one has long been due."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from annotate.jobs.idle import IdleJobs, find_or_create, has_many_labels
from annotate.models import Evaluation, Project
from models_engine.constants import MIN_LABELS_TO_CHOOSE
from models_engine.models import Fit

# A new evaluation is worth its time when the labels are half as many again, or a third fewer.
GROWTH = 1.5


def outdated_fits() -> QuerySet[Fit]:
    """Return published fits whose labels have changed much since their evaluation, or whose estimator has."""
    has_one = Evaluation.objects.filter(
        project_id=OuterRef("project_id"), criterion=OuterRef("criterion"), estimator=OuterRef("estimator")
    )
    current = has_one.filter(n_labels__gt=OuterRef("n_labels") / GROWTH, n_labels__lt=OuterRef("n_labels") * GROWTH)
    fits = Fit.objects.filter(published=True, n_labels__gte=MIN_LABELS_TO_CHOOSE)
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


# With many labels it takes longer than people wait for their answer to show, and always yields to a fit.
QUEUE = EvaluationJobs(Evaluation, outdated_fits, "annotate.fitting.evaluation_job.work", has_many_labels)
