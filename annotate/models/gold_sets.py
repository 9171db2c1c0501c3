"""Sets of items whose right answer the owner knows, and what a presentation is for."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotate.models.items import Item, ItemSet
from annotate.models.projects import Project


class Purpose(models.TextChoices):
    """What a presentation is for. Only ordinary ones count towards overlap and balance."""

    ORDINARY = "ordinary", _("Ordinary")
    PRACTICE = "practice", _("Practice")
    GOLD = "gold", _("Gold question")
    ATTENTION = "attention", _("Attention check")
    REPEAT = "repeat", _("Planned repeat")


CHECKED_PURPOSES = [Purpose.PRACTICE.value, Purpose.GOLD.value, Purpose.ATTENTION.value]


class GoldSet(models.Model):
    """A set of items with its right answer: for practice, or mixed in as a gold question or an attention check.

    The right answer never leaves the server but in the feedback after practice.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="known_sets")
    purpose = models.CharField(max_length=10, choices=Purpose)
    item_set = models.ForeignKey(ItemSet, on_delete=models.PROTECT, related_name="known_sets")
    items = models.ManyToManyField(Item, through="GoldSetItem", related_name="known_sets")
    # A Label.Outcome, and the primary keys of the items that the right answer names, best first.
    outcome = models.CharField(max_length=10)
    named = models.JSONField(default=list)
    # Which of them, counted from 0, share the place of the one before.
    shared = models.JSONField(default=list, db_default=[])
    # Told after practice: why this is right.
    why = models.TextField(blank=True, max_length=2000)
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "annotate_knownset"
        constraints = [
            models.UniqueConstraint(
                fields=["project", "purpose", "item_set"], condition=Q(retired_at=None), name="known_once_for_a_purpose"
            ),
            models.CheckConstraint(condition=Q(purpose__in=CHECKED_PURPOSES), name="known_for_a_purpose"),
        ]

    def __str__(self) -> str:
        return f"{self.purpose}: {self.item_set}"


class GoldSetItem(models.Model):
    """One item of a set whose right answer is known."""

    gold_set = models.ForeignKey(GoldSet, on_delete=models.CASCADE, related_name="+", db_column="knownset_id")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="+")

    class Meta:
        db_table = "annotate_knownset_items"
        unique_together = [("gold_set", "item")]

    def __str__(self) -> str:
        return f"{self.gold_set_id}: {self.item_id}"
