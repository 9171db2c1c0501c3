"""What a project lets its annotators do besides answering: add ideas of their own, see the result."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

MIN_IDEA_LENGTH, MAX_IDEA_LENGTH = 20, 1000  # characters that the owner may set as the limit
MAX_IDEAS_EACH = 100


class ShowResult(models.TextChoices):
    NEVER = "never", _("Never")
    AFTER = "after", _("After a number of answers")
    END = "end", _("At the end: when they have nothing left to answer, or the project is closed")


class ParticipantSettings(models.Model):
    """The columns of Project about what annotators may add and see."""

    ideas_open = models.BooleanField(_("participants may add ideas"), default=False)
    ideas_at_once = models.BooleanField(_("approve ideas at once"), default=False)
    idea_length = models.PositiveSmallIntegerField(
        _("most characters of an idea"),
        default=200,
        validators=[MinValueValidator(MIN_IDEA_LENGTH), MaxValueValidator(MAX_IDEA_LENGTH)],
    )
    ideas_each = models.PositiveSmallIntegerField(
        _("most ideas of one person"),
        default=20,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_IDEAS_EACH)],
    )
    # Whether an item was ever made of an idea, so that choosing what to ask need not look.
    has_idea_items = models.BooleanField(default=False, editable=False)
    show_result = models.CharField(
        _("show participants the result"), max_length=5, choices=ShowResult, default=ShowResult.NEVER
    )
    show_result_after = models.PositiveSmallIntegerField(
        _("answers before the result is shown"),
        default=10,
        validators=[MinValueValidator(1), MaxValueValidator(1000)],
    )
    show_groups = models.BooleanField(_("show participants their group"), default=False)

    class Meta:
        abstract = True
