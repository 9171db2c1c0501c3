"""Leased background jobs that run on a published fit when no fit is pending; one row per criterion."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from annotate.jobs.queues import Progress
from annotate.models import Evaluation, Project, TasteMap
from models_engine.models import Fit

Row = TypeVar("Row", Evaluation, TasteMap)
# After so many yields a short job need not yield any more: else a busy project would never have one.
MAX_YIELDS = 5
RETRY_PAUSE = timedelta(minutes=10)


@dataclass(frozen=True)
class IdleJobs(Generic[Row]):
    """The queue of one table.

    outdated_fits: published fits without an up-to-date row, oldest first.   run: does a row's work.
    is_long: whether a row takes so long that it always yields to fits.
    """

    model: type[Row]
    outdated_fits: Callable[[], QuerySet[Fit]]
    run: Callable[[Row, Progress], None]
    is_long: Callable[[Row], bool]

    def claim_next(self, *, owner: str, now: datetime) -> Row | None:
        """Claims the row of the oldest outdated fit that is free, not waiting to be retried and not archived."""
        claimable = self.model.is_free(now) & (Q(not_before=None) | Q(not_before__lte=now))
        rows = self.model._default_manager
        own = rows.filter(project_id=OuterRef("project_id"), criterion=OuterRef("criterion"))
        archived = Project.objects.filter(pk=OuterRef("project_id"), archived_at__isnull=False)
        for fit in self.outdated_fits().exclude(Exists(archived)).exclude(Exists(own.exclude(claimable)))[:5]:
            if not Project.objects.filter(pk=fit.project_id).exists():
                continue
            row, _ = rows.get_or_create(project_id=fit.project_id, criterion=fit.criterion)
            if row.claim(claimable, owner=owner, now=now):
                return row
        return None

    def work(self, row: Row, *, progress: Progress) -> None:
        self.run(row, progress)

    def may_yield(self, row: Row) -> bool:
        return row.gave_way < MAX_YIELDS or self.is_long(row)

    def release(self, row: Row) -> None:
        row.release(gave_way=F("gave_way") + 1)

    def record_failure(self, row: Row, *, message: str, now: datetime) -> None:
        row.retry(at=now + RETRY_PAUSE, message=message)
