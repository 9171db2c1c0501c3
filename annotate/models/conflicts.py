"""What an annotator is never shown: conflicts of interest, named by the owner or by the annotator at a task."""

from django.db import models
from django.db.models import Q

from annotate.models.annotators import Annotator
from annotate.models.items import Item, Tag
from annotate.models.labels import Presentation


class ConflictOfInterest(models.Model):
    """One item, or every item that has this tag, now or later."""

    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="never_shown")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    tag = models.ForeignKey(Tag, on_delete=models.CASCADE, null=True, blank=True, related_name="+")

    # Where the annotator said so themselves: at which task, and when.
    declared_in = models.ForeignKey(
        Presentation, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    declared_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "annotate_nevershown"
        constraints = [
            models.CheckConstraint(
                condition=Q(item__isnull=False, tag=None) | Q(item=None, tag__isnull=False), name="an_item_or_a_tag"
            ),
            models.UniqueConstraint(fields=["annotator", "item"], name="item_never_shown_once"),
            models.UniqueConstraint(fields=["annotator", "tag"], name="tag_never_shown_once"),
        ]
        indexes = [  # looked at for each presentation that is deleted
            models.Index(
                fields=["declared_in"], condition=Q(declared_in__isnull=False), name="conflicts_by_presentation"
            )
        ]

    def __str__(self) -> str:
        return f"{self.annotator}: {self.item or self.tag}"
