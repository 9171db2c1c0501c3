"""Run records asked for, and the files that the engine made of them."""

from django.db import models
from django.db.models import Q

from annotate.models.leased_jobs import RequestedJob
from annotate.models.projects import Project


class RunRecord(RequestedJob):
    """One run record: asked for by a person, made by an engine process, then there to be taken away."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="run_records")
    criterion = models.PositiveSmallIntegerField(default=1)  # of the project, whose answers it holds
    # What it holds: the state of the labels (FitState.wanted), and the fit whose estimator and settings it repeats.
    data_version = models.PositiveBigIntegerField(null=True, blank=True)
    fit_number = models.PositiveIntegerField(null=True, blank=True)
    n_labels = models.PositiveIntegerField(default=0)
    n_bytes = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project"], condition=Q(status__in=["asked", "running"]), name="one_run_record_at_a_time"
            )
        ]
        indexes = [
            models.Index(fields=["asked_at"], condition=Q(status__in=["asked", "running"]), name="run_records_owed")
        ]

    def __str__(self) -> str:
        return f"run record {self.pk}"


class RunRecordPart(models.Model):
    """A piece of the record's .zip: no statement writes or reads more than one."""

    record = models.ForeignKey(RunRecord, on_delete=models.CASCADE, related_name="parts")
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["record", "number"], name="one_part_per_number")]

    def __str__(self) -> str:
        return f"part {self.number}"
