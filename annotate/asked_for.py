"""Rows of work that somebody asked an engine for: claimed with a lease, the one asked for first before the others."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.db.models import Q, QuerySet

from annotate.models import CohortComparison, RunRecord
from annotate.reconciler import lease

Row = TypeVar("Row", RunRecord, CohortComparison)
MOST_ATTEMPTS = 3


class AskedFor(Generic[Row]):
    """Of one Django model. `why_died(owner)` is the message of a row whose making has ended too many engines."""

    def __init__(self, model: type[Row], why_died: Callable[[str], str], *heavy: str) -> None:
        """`heavy`: fields that a claim does without."""
        self.model: type[Row] = model
        self.why_died, self.heavy = why_died, heavy

    def owed(self, now: datetime) -> QuerySet[Row]:
        """Those that nobody is making."""
        abandoned = Q(status=self.model.Status.RUNNING) & (Q(lease_until=None) | Q(lease_until__lt=now))
        asked = Q(status=self.model.Status.ASKED)
        return self.model._default_manager.filter(asked | abandoned).order_by("asked_at", "pk")

    def claim_next(self, *, owner: str, now: datetime) -> Row | None:
        """The one asked for first, now this owner's. One whose making has ended three engines is given up."""
        for row in self.owed(now).select_related("project").defer(*self.heavy)[:5]:
            mine = self.owed(now).filter(pk=row.pk, attempts=row.attempts)
            n = row.attempts + 1
            if row.attempts >= MOST_ATTEMPTS:
                message = self.why_died(row.owner)
                mine.update(status=self.model.Status.FAILED, message=message, owner="", finished_at=now)
            elif mine.update(status=self.model.Status.RUNNING, owner=owner, lease_until=now + lease(), attempts=n):
                row.owner, row.attempts = owner, n
                return row
        return None

    def held(self, row: Row) -> QuerySet[Row]:
        running: dict[str, Any] = {"status": self.model.Status.RUNNING}
        return self.model._default_manager.filter(pk=row.pk, owner=row.owner, **running)

    def renew(self, row: Row, *, now: datetime) -> bool:
        """Extends the lease; False where the row is another's, or gone."""
        return bool(self.held(row).update(lease_until=now + lease()))

    def give_back(self, row: Row) -> None:
        """Lets another engine make it: this one is asked to stop. It was no failure."""
        self.held(row).update(status=self.model.Status.ASKED, owner="", lease_until=None, attempts=row.attempts - 1)

    def record_failure(self, row: Row, *, message: str, now: datetime) -> None:
        failed = self.model.Status.FAILED
        self.held(row).update(status=failed, message=message, owner="", lease_until=None, finished_at=now)
