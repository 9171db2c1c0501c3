"""The state of each project's fits, and the running worker processes."""

from django.db import models
from django.db.models import F, Q

from annotate.models.leased_jobs import LeasedJob
from annotate.models.projects import Project


class FitState(LeasedJob):
    """Which version of a project's data is fitted, and the lease of the worker that fits it."""

    FREE = LeasedJob.FREE | {"not_before": None, "step": 0, "steps": 0}

    project = models.OneToOneField(Project, on_delete=models.CASCADE, primary_key=True, related_name="engine_state")
    # The data's version: the number of changes so far, and the version that the published fit has seen.
    wanted = models.PositiveBigIntegerField(default=0)
    fitted = models.PositiveBigIntegerField(default=0)
    # The highest number that a fit had before an erasure deleted it: numbers are never given twice.
    erased_fit = models.PositiveIntegerField(default=0)
    published_fit = models.PositiveIntegerField(null=True, blank=True)
    # How far the worker that holds the row is with the fit.
    step = models.PositiveIntegerField(default=0)
    steps = models.PositiveIntegerField(default=0)
    # Fits since the last success, when the next may start, and what the last one said.
    attempts = models.PositiveIntegerField(default=0)
    not_before = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True)
    error_at = models.DateTimeField(null=True, blank=True)
    # The data's version that is not fitted again, because its fits crossed a limit too often.
    given_up = models.PositiveBigIntegerField(null=True, blank=True)
    # Of a project with several criteria, those whose last fit failed, by number: {"attempts", "error", "error_at",
    # "not_before", "estimator", "given_up"}; and when the first of them is tried again. The others go on without them.
    failing = models.JSONField(default=dict, blank=True)
    retry_at = models.DateTimeField(null=True, blank=True)
    # How many answers the project held when its owners were last told that it is full.
    told_full = models.PositiveBigIntegerField(default=0, db_default=0)
    last_fit_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "annotate_enginestate"
        constraints = [
            models.CheckConstraint(condition=Q(fitted__lte=F("wanted")), name="no_fit_of_labels_to_come"),
        ]

    def __str__(self) -> str:
        return f"{self.project_id}: {self.fitted} of {self.wanted}"


class WorkerProcess(models.Model):
    """A running worker process and when it was last heard of."""

    name = models.CharField(max_length=100, primary_key=True)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    project = models.ForeignKey(Project, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        db_table = "annotate_engineprocess"
        verbose_name_plural = "engine processes"

    def __str__(self) -> str:
        return self.name
