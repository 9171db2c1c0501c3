"""What a project asks of its annotators besides the answer itself: when, how long, with which pauses."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

MAX_REASON_LENGTH = 200


class QualitySettings(models.Model):
    """The columns of Project that guard the quality of its labels; empty and 0 switch a thing off."""

    opens_at = models.DateTimeField(_("opens at"), null=True, blank=True)
    closes_at = models.DateTimeField(_("closes at"), null=True, blank=True)
    ask_why_skipped = models.BooleanField(_("ask why something is skipped"), default=False)
    # Offered to choose from, besides words of one's own.
    skip_reasons = models.JSONField(_("reasons to skip"), default=list, blank=True)
    min_seconds = models.PositiveSmallIntegerField(
        _("shortest time to read"), default=0, validators=[MaxValueValidator(120)]
    )
    break_every = models.PositiveIntegerField(
        _("answers between breaks"), null=True, blank=True, validators=[MinValueValidator(2)]
    )
    sitting_cap = models.PositiveIntegerField(
        _("maximum answers in one sitting"), null=True, blank=True, validators=[MinValueValidator(1)]
    )
    # Whether the page of a task holds the next one ready.
    question_ahead = models.BooleanField(_("next question held ready"), default=True, db_default=True)
    # Practice comes before the first task, where there are sets for it; empty: none.
    practice_pass = models.PositiveSmallIntegerField(_("right answers to pass the practice"), null=True, blank=True)
    practice_tries = models.PositiveSmallIntegerField(
        _("attempts at the practice"), default=2, validators=[MinValueValidator(1), MaxValueValidator(10)]
    )
    # One among so many tasks, at a random place.
    gold_every = models.PositiveSmallIntegerField(
        _("tasks with one gold question"), null=True, blank=True, validators=[MinValueValidator(2)]
    )
    attention_every = models.PositiveSmallIntegerField(
        _("tasks with one attention check"), null=True, blank=True, validators=[MinValueValidator(2)]
    )
    # So many failed checks screen an annotator out; their answers count or not, as the switch below says.
    attention_fails = models.PositiveSmallIntegerField(
        _("failed attention checks that screen out"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
    )
    gold_fails = models.PositiveSmallIntegerField(
        _("failed gold questions that screen out"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
    )
    count_screened_out = models.BooleanField(_("answers of people screened out count"), default=False)
    repeat_percent = models.PositiveSmallIntegerField(
        _("percent of tasks that repeat an earlier one"), default=0, validators=[MaxValueValidator(50)]
    )
    count_gold = models.BooleanField(_("gold questions count in the ranking"), default=False)
    count_repeats = models.BooleanField(_("planned repeats count in the ranking"), default=False)

    class Meta:
        abstract = True

    @property
    def counted_purposes(self) -> list[str]:
        """Return what presentations are for whose labels reach the engine. Practice taught its answer; an attention
        check has one that is no opinion."""
        return ["ordinary", *(["gold"] if self.count_gold else []), *(["repeat"] if self.count_repeats else [])]
