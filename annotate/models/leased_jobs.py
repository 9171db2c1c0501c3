"""Abstract tables of jobs that workers claim with a lease: one worker at a time holds a row, until its lease ends."""

from datetime import datetime, timedelta
from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import Q, QuerySet


class LeaseLost(Exception):
    """The lease ran out and another worker took over, or the row is gone."""


def lease_duration() -> timedelta:
    return timedelta(seconds=settings.WORKER_LEASE_SECONDS)


class LeasedJob(models.Model):
    """A row that one worker at a time holds: `owner` until `lease_until`, unless the lease is renewed.

    Each method is one conditional UPDATE of this row. A condition must not lead to another table: the UPDATE would then
    look the row up in a subquery, which PostgreSQL does not repeat after waiting for a lock, and two workers would both
    win the claim.
    """

    FREE: ClassVar[dict[str, Any]] = {"owner": "", "lease_until": None}

    owner = models.CharField(max_length=100, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @classmethod
    def is_free(cls, now: datetime) -> Q:
        return Q(owner="") | Q(lease_until=None) | Q(lease_until__lt=now)

    def lease(self, owner: str, now: datetime) -> dict[str, Any]:
        """Return the columns that give the row to `owner`."""
        return {"owner": owner, "lease_until": now + lease_duration()}

    def claim(self, condition: Q, *, owner: str, now: datetime, **changes: Any) -> bool:
        """Take the row for `owner` if `condition` still holds; False where another worker was first."""
        values = self.lease(owner, now) | changes
        if not type(self)._default_manager.filter(condition, pk=self.pk).update(**values):
            return False
        for name, value in values.items():
            setattr(self, name, value)
        return True

    def is_held(self) -> Q:
        """Return the condition under which the lease is not lost."""
        return Q(owner=self.owner)

    def held(self) -> QuerySet[Self]:
        """Return the row as long as its owner holds it: empty once another worker has taken it, or it is gone."""
        return type(self)._default_manager.filter(self.is_held(), pk=self.pk)

    def renew(self, *, now: datetime, **changes: Any) -> bool:
        """Extend the lease; False where it is lost."""
        return bool(self.held().update(lease_until=now + lease_duration(), **changes))

    def release(self, **changes: Any) -> bool:
        """End the lease, so that any worker may claim the row; False where it is lost."""
        return bool(self.held().update(**self.FREE | changes))

    def retry(self, *, at: datetime, **changes: Any) -> bool:
        """End the lease; no worker may claim the row before `at`. False where the lease is lost."""
        return self.release(not_before=at, **changes)

    def complete(self, **values: Any) -> None:
        """Write the result and end the lease. Raises LeaseLost, with nothing written."""
        if not self.release(**values):
            raise LeaseLost(str(self))


class IdleJob(LeasedJob):
    """A job that runs on a published fit while no fit is pending; one row per project and criterion."""

    # How often it yielded to a fit, and when it may be claimed next.
    gave_way = models.PositiveIntegerField(default=0)
    not_before = models.DateTimeField(null=True, blank=True)
    message = models.TextField(blank=True)
    # How often in a row it crossed a limit, and the fit on which it is not tried again because of that.
    crossings = models.PositiveSmallIntegerField(default=0)
    given_up = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        abstract = True


class RequestedJob(LeasedJob):
    """A job that somebody requested; the oldest request is done first."""

    class Status(models.TextChoices):
        ASKED = "asked"
        RUNNING = "running"
        READY = "ready"
        FAILED = "failed"

    status = models.CharField(max_length=10, choices=Status, default=Status.ASKED)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    asked_at = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)
    message = models.TextField(blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @classmethod
    def is_free(cls, now: datetime) -> Q:
        abandoned = Q(status=cls.Status.RUNNING) & (Q(lease_until=None) | Q(lease_until__lt=now))
        return Q(status=cls.Status.ASKED) | abandoned

    def is_held(self) -> Q:
        return super().is_held() & Q(status=self.Status.RUNNING)
