"""What was excluded by time, session or tag in one step, so that one step brings it back."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotate.models.projects import Project


class BulkExclusion(models.Model):
    """One step. Its labels have its moment as `voided_at`, annotators excluded by a tag as `excluded_at`.

    Who did it and why is in the log.
    """

    class By(models.TextChoices):
        SPAN = "span", _("Time: answers given in it")
        SESSION = "session", _("Session: answers given in it")
        TAG = "tag", _("Tag: everybody who has it")

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="bulk_exclusions")
    by = models.CharField(max_length=10, choices=By)
    since = models.DateTimeField(null=True, blank=True)
    until = models.DateTimeField(null=True, blank=True)
    # The session or the tag.
    value = models.CharField(max_length=200, blank=True)
    n_labels = models.PositiveIntegerField()
    n_annotators = models.PositiveIntegerField()
    at = models.DateTimeField()
    undone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(by="span", since__isnull=False, until__isnull=False, value="", since__lt=models.F("until"))
                | Q(by__in=["session", "tag"], since=None, until=None) & ~Q(value=""),
                name="a_bulk_exclusion_says_what",
            ),
            models.UniqueConstraint(fields=["project", "at"], name="one_bulk_exclusion_at_a_time"),
        ]

    def __str__(self) -> str:
        return f"{self.by}: {self.value or f'{self.since} to {self.until}'}"
