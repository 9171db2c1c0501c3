"""Work on the side, made of a published fit while none waits: a row for each criterion, claimed with a lease."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from annotate.models import Evaluation, Portrait, Project
from annotate.reconciler import lease
from models_engine.models import Fit

Row = TypeVar("Row", Evaluation, Portrait)
# Past so often, a row need not give way to fits any more: else a busy project would never have one.
MOST_PATIENCE = 5
AFTER_FAILURE = timedelta(minutes=10)
FREE: dict[str, Any] = {"owner": "", "lease_until": None}


class OnTheSide(Generic[Row]):
    """Of one Django model. `owed()` are the fits of which there is none yet, the one that waits the longest first."""

    def __init__(self, model: type[Row], owed: Callable[[], QuerySet[Fit]]) -> None:
        self.model: type[Row] = model
        self.owed = owed

    def claim_next(self, *, owner: str, now: datetime) -> Row | None:
        """The one owed the longest that nobody is at, that does not rest and is not archived, now this owner's."""
        free = Q(owner="") | Q(lease_until=None) | Q(lease_until__lt=now)
        rested = Q(not_before=None) | Q(not_before__lte=now)
        rows = self.model._default_manager
        own = rows.filter(project_id=OuterRef("project_id"), criterion=OuterRef("criterion"))
        archived = Project.objects.filter(pk=OuterRef("project_id"), archived_at__isnull=False)
        for fit in self.owed().exclude(Exists(archived)).exclude(Exists(own.exclude(free & rested)))[:5]:
            if not Project.objects.filter(pk=fit.project_id).exists():
                continue
            row, _ = rows.get_or_create(project_id=fit.project_id, criterion=fit.criterion)
            if rows.filter(free, rested, pk=row.pk).update(owner=owner, lease_until=now + lease()):
                row.owner = owner
                return row
        return None

    def held(self, row: Row) -> QuerySet[Row]:
        return self.model._default_manager.filter(pk=row.pk, owner=row.owner)

    def renew(self, row: Row, *, now: datetime) -> bool:
        """Extends the lease; False where the row is another's, or gone."""
        return bool(self.held(row).update(lease_until=now + lease()))

    def give_back(self, row: Row) -> None:
        """To a fit that waits, or to whoever asked this engine to stop."""
        self.held(row).update(**FREE, gave_way=F("gave_way") + 1)

    def record_failure(self, row: Row, *, message: str, now: datetime) -> None:
        self.held(row).update(**FREE, message=message, not_before=now + AFTER_FAILURE)
