"""Comments on single items, which the owner may release to the people behind them, and the links that show them."""

import uuid

from django.core import signing
from django.db import models
from django.db.models import Q

from annotate.models.items import Item
from annotate.models.labels import MAX_COMMENT_LENGTH, Label
from annotate.models.projects import Project

# As of results links: the id with a signature of the site.
entry_signer = signing.Signer(sep=".", salt="annotate.entry-link")


class ItemComment(models.Model):
    """What a label says about one of the items shown: written with the label; only release and hiding change.

    Whoever made the item reads it while it is released, not hidden, and its label counts.
    """

    label = models.ForeignKey(Label, on_delete=models.CASCADE, related_name="item_comments", db_index=False)
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="comments")
    text = models.TextField(max_length=MAX_COMMENT_LENGTH)
    released_at = models.DateTimeField(null=True, blank=True)
    hidden_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["label", "item"], name="one_comment_per_item_of_a_label")]

    def __str__(self) -> str:
        return f"{self.label_id}: {self.item_id}"

    @property
    def is_shown(self) -> bool:
        return self.released_at is not None and self.hidden_at is None


class EntryLink(models.Model):
    """Shows one item's released comments to whoever has it, until it is revoked; rows stay, so that it stays dead."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="entry_links")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="entry_links")
    made_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item"], condition=Q(revoked_at=None), name="one_entry_link_in_use")
        ]

    def __str__(self) -> str:
        return str(self.pk)

    @property
    def token(self) -> str:
        return entry_signer.sign(self.pk.hex)
