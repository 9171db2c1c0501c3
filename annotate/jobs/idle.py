"""Leased background jobs that run on a published fit when no fit is pending; one row per criterion."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.db import IntegrityError
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from annotate.jobs.queues import Progress, load_work
from annotate.models import Evaluation, LabelForecast, MeasuredSaving, PredictionGain, Project, TasteMap
from models_engine.models import Fit

Row = TypeVar("Row", Evaluation, TasteMap, MeasuredSaving, PredictionGain)
Job = TypeVar("Job", Evaluation, TasteMap, MeasuredSaving, PredictionGain, LabelForecast)
# After so many yields a short job need not yield any more: else a busy project would never have one.
MAX_YIELDS = 5
RETRY_PAUSE = timedelta(minutes=10)
MAX_RETRY_PAUSE = timedelta(days=1)
# After so many jobs in a row that cross a limit the row is left alone until there is another fit.
MAX_CROSSINGS = 5
MAX_SHORT_LABELS = 3_000  # of a fit, up to which what goes through its labels is a short job


@dataclass(frozen=True)
class IdleJobs(Generic[Row]):
    """The queue of one table.

    outdated_fits: published fits without an up-to-date row, oldest first.   run: the dotted name of the function that
    does a row's work.   is_long: whether a row takes so long that it always yields to fits.
    """

    model: type[Row]
    outdated_fits: Callable[[], QuerySet[Fit]]
    run: str
    is_long: Callable[[Row], bool]

    def claim_next(self, *, owner: str, now: datetime) -> Row | None:
        """Claims the row of the oldest outdated fit that is free, not waiting to be retried and not archived."""
        return self.claim_among(self.outdated_fits(), owner=owner, now=now)

    def claim_overdue(self, *, owner: str, now: datetime) -> Row | None:
        """Claims a row that goes before fits, because it has waited too long: none, unless the queue says otherwise."""
        return None

    def claim_among(self, fits: QuerySet[Fit], *, owner: str, now: datetime) -> Row | None:
        claimable = self.model.is_free(now) & (Q(not_before=None) | Q(not_before__lte=now))
        rows = self.model._default_manager
        own = rows.filter(project_id=OuterRef("project_id"), criterion=OuterRef("criterion"))
        given_up = Exists(own.filter(given_up=OuterRef("number")))
        archived = Project.objects.filter(pk=OuterRef("project_id"), archived_at__isnull=False)
        waiting = fits.exclude(Exists(archived)).exclude(Exists(own.exclude(claimable)))
        for fit in waiting.exclude(given_up)[:5]:
            if not Project.objects.filter(pk=fit.project_id).exists():
                continue
            row = find_or_create(self.model, project_id=fit.project_id, criterion=fit.criterion)
            if row is not None and row.claim(claimable, owner=owner, now=now):
                return row
        return None

    def work(self, row: Row, *, progress: Progress) -> None:
        load_work(self.run)(row, progress)

    def may_yield(self, row: Row) -> bool:
        return row.gave_way < MAX_YIELDS or self.is_long(row)

    def release(self, row: Row) -> None:
        row.release(gave_way=F("gave_way") + 1)

    def record_failure(self, row: Row, *, message: str, now: datetime) -> None:
        row.retry(at=now + RETRY_PAUSE, message=message)

    def record_crossing(self, row: Row, *, message: str, now: datetime, killed: bool) -> bool:
        """Wait longer each time, 10 minutes to a day, and give the present fit up after MAX_CROSSINGS."""
        crossings = row.crossings + 1
        pause = min(RETRY_PAUSE * 2 ** min(row.crossings, 10), MAX_RETRY_PAUSE)
        is_last = crossings >= MAX_CROSSINGS
        row.retry(
            at=now + pause,
            message=message,
            crossings=min(crossings, MAX_CROSSINGS),
            given_up=published_number(row) if is_last else None,
        )
        return is_last or crossings == 1

    def n_rows(self, row: Row) -> int:
        return 0


def find_or_create(model: type[Job], **key: Any) -> Job | None:
    """Return the project's row, which is made where there is none; None where the project has just been deleted."""
    try:
        return model._default_manager.get_or_create(**key)[0]
    except IntegrityError:
        return None


def published_number(row: Row) -> int | None:
    return published_fits(row).values_list("number", flat=True).first()


def has_many_labels(row: Row) -> bool:
    """Return whether the published fit has so many labels that going through them is a long job."""
    return published_fits(row).filter(n_labels__gt=MAX_SHORT_LABELS).exists()


def published_fits(row: Row) -> QuerySet[Fit]:
    return Fit.objects.filter(project_id=row.project_id, criterion=row.criterion, published=True)
