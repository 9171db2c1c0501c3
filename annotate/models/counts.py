"""Counts that a file says of annotators and items, such as plays, clicks or seconds: what a project may rank by."""

from django.db import models
from django.db.models import Q

from annotate.models.annotators import Annotator
from annotate.models.items import Item
from annotate.models.projects import Project

MAX_COUNT = 10**9
MIN_EXPOSURE, MAX_EXPOSURE = 1e-9, 1e9


class Count(models.Model):
    """How often or how long an annotator chose an item, as one row of a file says.

    A fact, as a label is: never updated. Rows of the same annotator and item are added up by the fit, which leaves out
    those of annotators who are excluded.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="counts")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="counts")
    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="counts")
    count = models.PositiveBigIntegerField()
    # How often or how long the annotator could have: times shown, seconds on offer; 1 where the file says nothing.
    exposure = models.FloatField(default=1.0, db_default=1.0)
    imported_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(count__range=(0, MAX_COUNT)), name="a_count_within_reach"),
            models.CheckConstraint(
                condition=Q(exposure__range=(MIN_EXPOSURE, MAX_EXPOSURE)), name="an_exposure_above_zero"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.annotator}: {self.count} of {self.item}"
