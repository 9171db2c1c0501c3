"""Ideas: texts that annotators propose as items, until the owner has decided about them."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotate.models.annotators import Annotator
from annotate.models.items import Item
from annotate.models.projects import Project
from annotate.models.quality import MAX_REASON_LENGTH

MAX_IDEAS = 10_000  # of one project
IDEA_TAG = "idea"  # of the items made of ideas


class Idea(models.Model):
    """One text as its annotator wrote it, and what became of it."""

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        APPROVED = "approved", _("Approved")
        MERGED = "merged", _("Merged")
        REFUSED = "refused", _("Refused")

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="ideas")
    # None once its author was erased; then `text` is empty, too, and only what became an item stays.
    annotator = models.ForeignKey(Annotator, on_delete=models.SET_NULL, null=True, blank=True, related_name="ideas")
    text = models.TextField()
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    # The item made of it where it was approved, the one that says the same where it was merged.
    item = models.ForeignKey(Item, on_delete=models.SET_NULL, null=True, blank=True, related_name="ideas")
    reason = models.CharField(max_length=MAX_REASON_LENGTH, blank=True)  # why it was refused
    created_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state="waiting", decided_at=None) | (~Q(state="waiting") & Q(decided_at__isnull=False)),
                name="an_idea_is_decided_or_waits",
            ),
        ]
        indexes = [models.Index(fields=["project", "state", "id"], name="ideas_by_state")]

    def __str__(self) -> str:
        return self.text
