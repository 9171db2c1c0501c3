"""A first-in, first-out queue of jobs requested by users; workers claim rows with a lease."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from django.db.models import Q, QuerySet

from annotate.jobs.queues import Progress, load_work
from annotate.models import CohortComparison, MachineReport, RunRecord

Row = TypeVar("Row", RunRecord, CohortComparison, MachineReport)
MAX_ATTEMPTS = 3


@dataclass(frozen=True)
class RequestedJobs(Generic[Row]):
    """The queue of one table.

    run: the dotted name of the function that does a row's work.
    why_died: the message of a row whose last worker was this owner, once it is given up.
    deferred: columns that a claim does not read.
    """

    model: type[Row]
    run: str
    why_died: Callable[[str], str]
    deferred: tuple[str, ...] = ()

    def pending(self, now: datetime) -> QuerySet[Row]:
        return self.model._default_manager.filter(self.model.is_free(now)).order_by("asked_at", "pk")

    def claim_next(self, *, owner: str, now: datetime) -> Row | None:
        """Claims the oldest request. One that three workers did not survive fails."""
        for row in self.pending(now).select_related("project").defer(*self.deferred)[:5]:
            unchanged = self.model.is_free(now) & Q(attempts=row.attempts)
            if row.attempts >= MAX_ATTEMPTS:
                message, failed = self.why_died(row.owner), self.model.Status.FAILED
                rows = self.model._default_manager.filter(unchanged, pk=row.pk)
                rows.update(status=failed, message=message, owner="", finished_at=now)
            elif row.claim(
                unchanged, owner=owner, now=now, status=self.model.Status.RUNNING, attempts=row.attempts + 1
            ):
                return row
        return None

    def work(self, row: Row, *, progress: Progress) -> None:
        load_work(self.run)(row, progress)

    def record_crossing(self, row: Row, *, message: str, now: datetime, killed: bool) -> bool:
        """Fails a request that crossed a limit; one whose process was killed is claimed again, three times in all."""
        if killed:
            row.held().update(lease_until=None)
        else:
            self.record_failure(row, message=message, now=now)
        return True

    def n_rows(self, row: Row) -> int:
        return 0

    def may_yield(self, row: Row) -> bool:
        return False

    def release(self, row: Row) -> None:
        """Lets another worker do it; it was no failure."""
        row.release(status=self.model.Status.ASKED, attempts=row.attempts - 1)

    def record_failure(self, row: Row, *, message: str, now: datetime) -> None:
        row.release(status=self.model.Status.FAILED, message=message, finished_at=now)
