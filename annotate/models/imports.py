"""Imports that the engine carries out, and the features that came with items."""

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotate.models.items import Item
from annotate.models.leased_jobs import LeasedJob
from annotate.models.projects import Project


class ImportJob(LeasedJob):
    """One file on its way into a project: every row is checked first, then they are written in chunks."""

    class Kind(models.TextChoices):
        ITEMS = "items", _("Items")
        MEDIA = "media", _("Media files")
        COMPARISONS = "comparisons", _("Comparisons")
        FEATURES = "features", _("Features of items")
        QUESTIONS = "questions", _("Given questions")
        COUNTS = "counts", _("Counts")
        MEASURED = "measured", _("Measured pictures")
        MEASURED_TEXTS = "measured_texts", _("Measured texts")
        ANNOTATORS = "annotators", _("Features of annotators")

    # Of what the project has already, by the engine: nothing is uploaded.
    MEASURED = (Kind.MEASURED, Kind.MEASURED_TEXTS)

    class State(models.TextChoices):
        UPLOADED = "uploaded", _("Waiting to be checked")
        CHECKED = "checked", _("Checked: waiting for you to confirm")
        RUNNING = "running", _("Being imported")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Stopped")

    UNDER_WAY = (State.UPLOADED, State.RUNNING)

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="imports")
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    asked_at = models.DateTimeField()
    kind = models.CharField(max_length=15, choices=Kind)
    state = models.CharField(max_length=10, choices=State, default=State.UPLOADED)
    # What the person's file was called, and how it is to be read.
    source = models.CharField(max_length=255)
    mapping = models.JSONField(default=dict)
    # SHA-256 of the file: comparisons are taken in once.
    digest = models.CharField(max_length=64)
    # In the store: the folder of the upload, of the rows as checked, and of those that can't be taken.
    folder = models.CharField(max_length=100)
    # Write as soon as every row is found right; write without those that are not.
    at_once = models.BooleanField(default=False)
    leave_out = models.BooleanField(default=False)
    # Rows read; those that can't be taken, and why the first of them can't: [row, why].
    n_rows = models.PositiveIntegerField(default=0)
    n_bad = models.PositiveIntegerField(default=0)
    errors = models.JSONField(default=list)
    # What the first of the others say, to be looked at.
    first = models.JSONField(default=list)
    # Checked lines, how many of them are written, and the byte at which the next one begins: one transaction writes a
    # chunk and says so here.
    n_lines = models.PositiveIntegerField(default=0)
    n_written = models.PositiveIntegerField(default=0)
    place = models.PositiveBigIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)
    message = models.TextField(blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project"], condition=Q(state__in=["uploaded", "running"]), name="one_import_at_a_time"
            )
        ]
        indexes = [
            models.Index(fields=["asked_at"], condition=Q(state__in=["uploaded", "running"]), name="imports_owed")
        ]

    def __str__(self) -> str:
        return f"import {self.pk} ({self.source})"

    @classmethod
    def is_free(cls, now: datetime) -> Q:
        return super().is_free(now) & Q(state__in=cls.UNDER_WAY)

    def is_held(self) -> Q:
        return super().is_held() & Q(state__in=self.UNDER_WAY)

    @property
    def n_good(self) -> int:
        return self.n_rows - self.n_bad

    @property
    def n_new_items(self) -> int:
        """Return how many items the lines begin with that the file names and the project did not have."""
        return int(self.mapping.get("new_items", 0))

    @property
    def n_rows_written(self) -> int:
        return max(self.n_written - self.n_new_items, 0)

    @property
    def n_rows_to_write(self) -> int:
        return self.n_lines - self.n_new_items

    @property
    def state_words(self) -> str:
        """Return the state as people read it: nothing can be confirmed where no row is right."""
        if self.state == self.State.CHECKED and not self.n_good:
            return str(_("Checked: nothing can be imported"))
        return str(self.get_state_display())

    @property
    def is_under_way(self) -> bool:
        return self.state in self.UNDER_WAY


class FeatureNames(models.Model):
    """What the numbers in ItemFeatures.values are, in their order; it only grows."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, primary_key=True, related_name="feature_names")
    names = models.JSONField(default=list)

    def __str__(self) -> str:
        return ", ".join(self.names)


class ItemFeatures(models.Model):
    """An item's features: 8-byte little-endian floats, NaN where one is not known."""

    item = models.OneToOneField(Item, on_delete=models.CASCADE, primary_key=True, related_name="features")
    values = models.BinaryField()

    def __str__(self) -> str:
        return f"features of {self.item_id}"
