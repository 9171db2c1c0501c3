"""For how long what annotators said of themselves is kept."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from annotate.models.projects import Project

LONGEST_RETENTION = 3650  # days


class Retention(models.Model):
    """A project's promise to its annotators; one without this row has the site's (settings.RETENTION_DAYS)."""

    class Drops(models.TextChoices):
        PERSONAL = "personal", _("What names people; their answers stay, of nobody in particular")
        LABELS = "labels", _("Everything: answers too, and what was computed from them")

    project = models.OneToOneField(Project, on_delete=models.CASCADE, primary_key=True, related_name="retention")
    # Days from closing; 0 keeps everything, null is what the site does.
    days = models.PositiveIntegerField(null=True, blank=True)
    drops = models.CharField(max_length=10, choices=Drops, default=Drops.PERSONAL)
    # The closing for which it was done; reopened and closed again, the project is due again.
    done_for = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.project_id}: {self.days}"
