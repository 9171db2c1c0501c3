"""How many answers a project is likely to get, who comes back, and when its goals are likely to be met."""

from django.db import models

from annotate.models.leased_jobs import IdleJob
from annotate.models.projects import Project


class LabelForecast(IdleJob):
    """The latest forecast of a project's answers; without figures until the first, and where there is no answer yet."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, related_name="forecast")
    # When it was computed, from the answers until then, and before when it is not computed again.
    as_of = models.DateTimeField(null=True, blank=True)
    next_at = models.DateTimeField(null=True, blank=True)
    # What annotate.fitting.forecast.figures returns.
    figures = models.JSONField(default=dict)
    # What annotate.fitting.returns.return_figures returns.
    returns = models.JSONField(db_default={}, default=dict)
    # The deadline that webhooks were told is at risk.
    at_risk = models.DateField(null=True, blank=True)

    def __str__(self) -> str:
        return f"forecast of {self.project_id}"
