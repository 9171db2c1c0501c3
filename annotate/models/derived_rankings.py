"""Rankings that are computed from those of a project's criteria: the weighted total, and each track by itself."""

from django.db import models

from annotate.models.projects import Project

OVERALL = 0  # in place of a criterion's number: the weighted total of all


class DerivedRanking(models.Model):
    """Places of items, derived from published posteriors by the worker and replaced with each fit."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="derived_rankings", db_index=False)
    criterion = models.PositiveSmallIntegerField()
    # The tag whose items are ranked among themselves; empty for all items.
    track = models.CharField(max_length=100, blank=True)
    # The number of the fit that caused it.
    fit_number = models.PositiveIntegerField()
    made_at = models.DateTimeField()
    # Equally long lists by name, best item first; annotate.fitting.derived says which. Empty where there is no ranking.
    columns = models.JSONField(default=dict)
    # What it was made from, or why there is none; annotate.fitting.overall says what.
    details = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "criterion", "track"], name="one_derived_ranking_per_track")
        ]

    def __str__(self) -> str:
        return f"{self.project_id}: {self.criterion} {self.track}"
