"""Responses kept for requests that are sent again with the same Idempotency-Key."""

from django.conf import settings
from django.db import models


class StoredResponse(models.Model):
    """What a request with an Idempotency-Key was answered; sent again, it gets the same. Kept for a day."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    # Of method, address and body: another request under the same key is a mistake.
    digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField()
    body = models.TextField()
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        db_table = "annotate_storedanswer"
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="one_answer_per_idempotency_key")]

    def __str__(self) -> str:
        return self.key
