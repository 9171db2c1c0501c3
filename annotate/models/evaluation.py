"""How well the estimators predict a project's labels that they have not seen."""

from django.db import models

from annotate.models.projects import Project


class Evaluation(models.Model):
    """The latest evaluation by a criterion, made by an engine process when no fit waits; empty until the first."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="evaluations", db_index=False)
    criterion = models.PositiveSmallIntegerField(default=1)
    # What it was made of: so many labels, at this fit, which used this estimator.
    n_labels = models.PositiveIntegerField(default=0)
    # So many of them, drawn at random, where all were too many; else null.
    n_drawn = models.PositiveIntegerField(null=True, blank=True)
    fit_number = models.PositiveIntegerField(null=True, blank=True)
    estimator = models.CharField(max_length=50, blank=True)
    # A list of models_engine.evaluation.Evaluation, as JSON.
    figures = models.JSONField(default=list)
    made_at = models.DateTimeField(null=True, blank=True)
    # Which engine process is at it, how often one gave way to a fit, and when the next may begin.
    owner = models.CharField(max_length=100, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    gave_way = models.PositiveIntegerField(default=0)
    not_before = models.DateTimeField(null=True, blank=True)
    message = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "criterion"], name="one_evaluation_per_criterion"),
        ]

    def __str__(self) -> str:
        return f"evaluation of {self.project_id}"
