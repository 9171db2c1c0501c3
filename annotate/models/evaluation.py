"""How well the estimators predict a project's labels that they have not seen."""

from django.db import models

from annotate.models.leased_jobs import IdleJob
from annotate.models.projects import Project


class Evaluation(IdleJob):
    """The latest evaluation of the estimators by a criterion; empty until the first."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="evaluations", db_index=False)
    criterion = models.PositiveSmallIntegerField(default=1)
    # What it was made of: so many labels, at this fit, which used this estimator.
    n_labels = models.PositiveIntegerField(default=0)
    # So many of them, drawn at random, where all were too many; else null.
    n_drawn = models.PositiveIntegerField(null=True, blank=True)
    fit_number = models.PositiveIntegerField(null=True, blank=True)
    estimator = models.CharField(max_length=50, blank=True)
    # A list of models_engine.analysis.evaluation.Evaluation, as JSON.
    figures = models.JSONField(default=list)
    # Reliability from halves, {"annotators": ..., "answers": ...}: each a models_engine.analysis.reliability.SplitHalf
    # as JSON, or null where the labels do not suffice; empty where it was not computed.
    split_half = models.JSONField(default=dict)
    # Since when the labels have outgrown it; null where they have not.
    due_since = models.DateTimeField(null=True, blank=True)
    # When an owner kept the estimator in use although another one predicted better; null again with each evaluation.
    dismissed_at = models.DateTimeField(null=True, blank=True)
    made_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "criterion"], name="one_evaluation_per_criterion"),
        ]

    def __str__(self) -> str:
        return f"evaluation of {self.project_id}"
