"""The owner's own words on the task page, in place of “best”, “worst” and “A is better”."""

from django.db import models
from django.utils.translation import gettext_lazy as _

MAX_END_LENGTH = 40
MAX_CHOICE_LENGTH = 60
MAX_INSTRUCTION_LENGTH = 200
LETTER = "{letter}"  # in choice_words it stands for A, B, ...


class TaskWords(models.Model):
    """Columns of Project; where one is empty, the task page has the usual words."""

    best_words = models.CharField(_("wording for the best"), max_length=MAX_END_LENGTH, blank=True, default="")
    worst_words = models.CharField(_("wording for the worst"), max_length=MAX_END_LENGTH, blank=True, default="")
    choice_words = models.CharField(_("wording on the buttons"), max_length=MAX_CHOICE_LENGTH, blank=True, default="")
    # On the buttons of the other answers, and of how much better one is (with {letter}).
    slightly_words = models.CharField(_("wording for slightly"), max_length=MAX_CHOICE_LENGTH, blank=True, default="")
    clearly_words = models.CharField(_("wording for clearly"), max_length=MAX_CHOICE_LENGTH, blank=True, default="")
    tie_words = models.CharField(_("wording for a tie"), max_length=MAX_END_LENGTH, blank=True, default="")
    both_good_words = models.CharField(_("wording for both good"), max_length=MAX_END_LENGTH, blank=True, default="")
    both_bad_words = models.CharField(_("wording for both bad"), max_length=MAX_END_LENGTH, blank=True, default="")
    cant_judge_words = models.CharField(_("wording for can't judge"), max_length=MAX_END_LENGTH, blank=True, default="")
    skip_words = models.CharField(_("wording for skipping"), max_length=MAX_END_LENGTH, blank=True, default="")
    instruction_line = models.CharField(
        _("instruction above the items"), max_length=MAX_INSTRUCTION_LENGTH, blank=True, default=""
    )

    class Meta:
        abstract = True
