"""Counts of what the web processes answered, added up in one small table for monitoring."""

from django.db import models


class RequestCount(models.Model):
    """How many requests of one kind were answered with one class of status within one span of time; names nobody."""

    kind = models.CharField(max_length=20)
    # The first digit of the HTTP status.
    status = models.PositiveSmallIntegerField()
    # The upper end of the span, in milliseconds; 0 for all that took longer than the last one.
    at_most_ms = models.PositiveIntegerField()
    n = models.PositiveBigIntegerField(default=0)
    milliseconds = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "status", "at_most_ms"], name="one_count_of_requests")]

    def __str__(self) -> str:
        return f"{self.n} of {self.kind}"
