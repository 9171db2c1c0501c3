"""What annotators are asked about themselves, before the first task or after the last, and what they said."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotate.models.annotators import Annotator
from annotate.models.projects import Project

MAX_TEXT_LENGTH = 200
MAX_QUESTION_FIELDS = 20


class QuestionField(models.Model):
    """One thing asked. What it asks never changes: a changed one is retired, deleted if unanswered, and made anew."""

    class Kind(models.TextChoices):
        TEXT = "text", _("Short text")
        NUMBER = "number", _("Whole number")
        CHOICE = "choice", _("One of a list")
        YES_NO = "yes_no", _("Yes or no")
        IMPORTED = "imported", _("Imported number, not asked")

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="fields")
    number = models.PositiveIntegerField()  # within the project; names the column of the export
    at_end = models.BooleanField()
    kind = models.CharField(max_length=10, choices=Kind)
    label = models.CharField(max_length=MAX_TEXT_LENGTH)
    choices = models.JSONField(default=list, blank=True)  # of a list, its texts
    least = models.IntegerField(null=True, blank=True)
    most = models.IntegerField(null=True, blank=True)
    required = models.BooleanField()
    position = models.PositiveIntegerField()
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "annotate_field"
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="one_field_per_number"),
            models.CheckConstraint(condition=Q(kind="number") | Q(least=None, most=None), name="numbers_have_bounds"),
        ]

    def __str__(self) -> str:
        return self.label


class QuestionAnswer(models.Model):
    """What an annotator said last: words, digits, a text of the list, or yes or no."""

    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="field_answers")
    field = models.ForeignKey(QuestionField, on_delete=models.CASCADE, related_name="answers")
    value = models.CharField(max_length=MAX_TEXT_LENGTH)
    at = models.DateTimeField()

    class Meta:
        db_table = "annotate_fieldanswer"
        constraints = [models.UniqueConstraint(fields=["annotator", "field"], name="one_answer_per_field")]

    def __str__(self) -> str:
        return f"{self.annotator}: {self.value}"
