"""Rankings between two fits: the published fit with the newest answers added in a quick step, until the next fit."""

from django.db import models

from annotate.models.leased_jobs import LeasedJob
from annotate.models.projects import Project


class ProvisionalRanking(LeasedJob):
    """What the newest answers change in the ranking by a criterion; there only where fits take long.

    Only the ranking page shows it. It is no fit: exports, run records, links to results and goals do not read it.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="provisional_rankings", db_index=False)
    criterion = models.PositiveSmallIntegerField(default=1)
    # The published fit that it starts from, and the last label that this fit holds.
    fit_number = models.PositiveIntegerField()
    last_label = models.PositiveBigIntegerField(default=0)
    # The data's version that it has seen; how many newer answers it holds, and the figures of the items in the parts
    # that these are about (annotate.fitting.stored_provisional). None: there are none that it could add.
    version = models.PositiveBigIntegerField()
    n_newest = models.PositiveIntegerField(default=0)
    rows = models.BinaryField(null=True)
    made_at = models.DateTimeField(null=True, blank=True)
    not_before = models.DateTimeField(null=True, blank=True)
    message = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "criterion"], name="one_provisional_ranking_per_criterion"),
        ]

    def __str__(self) -> str:
        return f"provisional ranking of {self.project_id}"
