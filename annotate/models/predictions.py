"""Predicting places of items that nobody compared, from their features: how well that does on items left out."""

from django.db import models

from annotate.models.leased_jobs import IdleJob
from annotate.models.projects import Project


class PredictionGain(IdleJob):
    """What features tell of items left out, by a criterion; empty until there is enough to leave out."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="prediction_gains", db_index=False)
    criterion = models.PositiveSmallIntegerField(default=1)
    # What it was made of: so many labels, at this fit, which used this estimator; 0 labels once features have changed.
    n_labels = models.PositiveIntegerField(default=0)
    fit_number = models.PositiveIntegerField(null=True, blank=True)
    estimator = models.CharField(max_length=50, blank=True)
    # A models_engine.analysis.held_out_items.HeldOutGain as JSON; empty where the items or answers are too few.
    figures = models.JSONField(default=dict)
    made_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "criterion"], name="one_prediction_gain_per_criterion"),
        ]

    def __str__(self) -> str:
        return f"gain of predictions in {self.project_id}"

    @property
    def helps(self) -> bool:
        """Return whether predictions from features beat those without by more than their standard error."""
        gain, error = self.figures.get("gain"), self.figures.get("error")
        return gain is not None and error is not None and gain > error
