"""A study's preregistration: its plan, frozen with a hash and a time, and the deviations from it."""

from django.conf import settings
from django.db import models

from annotate.models.projects import Project

MAX_STATEMENT_LENGTH = 10_000
MAX_DEVIATION_REASON = 1_000


class Preregistration(models.Model):
    """The frozen plan of one project; made once and never changed but for `current`."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, related_name="preregistration")
    # The canonical JSON text whose SHA-256 is `digest`, as it was frozen.
    document = models.TextField()
    digest = models.CharField(max_length=64)
    # The values of the plan with every deviation that has been listed; what the next change is compared with.
    current = models.JSONField()
    n_labels = models.PositiveIntegerField()  # that there were when it was frozen
    at = models.DateTimeField()
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    def __str__(self) -> str:
        return self.digest


class Deviation(models.Model):
    """One value of the plan that was changed after it was frozen; only its reason may be added, once."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="deviations")
    field = models.CharField(max_length=50)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    n_labels = models.PositiveIntegerField()  # that there were then
    at = models.DateTimeField()
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    reason = models.CharField(max_length=MAX_DEVIATION_REASON, blank=True)

    class Meta:
        indexes = [models.Index(fields=["project", "at"], name="deviations_of_project")]

    def __str__(self) -> str:
        return self.field
