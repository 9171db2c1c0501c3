"""Who did what."""

from django.conf import settings
from django.db import models

from annotate.models.annotators import Annotator
from annotate.models.projects import Project


class Event(models.Model):
    """Who did what to a project, when; never changed."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="events")
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    annotator = models.ForeignKey(Annotator, on_delete=models.SET_NULL, null=True, blank=True, related_name="events")
    verb = models.CharField(max_length=50)
    details = models.JSONField(default=dict)
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["project", "at"], name="events_of_project")]

    def __str__(self) -> str:
        return self.verb
