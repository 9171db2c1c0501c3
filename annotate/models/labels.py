"""What was shown and what was answered."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotate.core.languages import MAX_LANGUAGE_LENGTH
from annotate.models.annotators import Annotator
from annotate.models.gold_sets import CHECKED_PURPOSES, GoldSet, Purpose
from annotate.models.items import Item, ItemSet
from annotate.models.policies import AskedBy
from annotate.models.projects import MAX_CRITERIA, MAX_ITEMS_SHOWN, Project
from annotate.models.quality import MAX_REASON_LENGTH
from annotate.models.tokens import new_token

MAX_COMMENT_LENGTH = 2000
ORDERED = ["best_worst", "ranking", "top"]  # outcomes that put items in order, by ranks
IMPORTED_APP_VERSION = "import"


class Presentation(models.Model):
    """The items shown to one annotator once, in the order shown."""

    class State(models.TextChoices):
        OPEN = "open"
        ANSWERED = "answered"
        # Not answered within the lease: the set went back to the pool.
        EXPIRED = "expired"
        # Its label was voided: undone, or the annotator was excluded.
        VOIDED = "voided"

    token = models.CharField(max_length=40, unique=True, default=new_token)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="presentations")
    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="presentations")
    item_set = models.ForeignKey(ItemSet, on_delete=models.PROTECT, related_name="presentations")
    items = models.ManyToManyField(Item, through="PresentedItem", related_name="presentations")
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    purpose = models.CharField(max_length=10, choices=Purpose, default=Purpose.ORDINARY)
    # Whose right answer the label is held against.
    known = models.ForeignKey(
        GoldSet, on_delete=models.PROTECT, null=True, blank=True, related_name="presentations", db_index=False
    )
    # 0, but for a repeat that was planned or imported, or a practice tried again: then the how many-th time this
    # annotator sees the set again.
    repeat = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField()
    leased_until = models.DateTimeField()
    # What was asked, where it is not what the project's own settings say (annotate.labelling.asked_tasks); else "".
    task = models.CharField(max_length=24, blank=True, default="", db_default="")
    # Whether it is held for the moment when its annotator has answered the one before; then `created_at` is set anew.
    ahead = models.BooleanField(default=False, db_default=False)
    # Which rule chose the set, and of an adaptive one the number of the fit that suggested it.
    asked_by = models.CharField(max_length=8, choices=AskedBy, blank=True, default="", db_default="")
    asked_fit = models.PositiveIntegerField(null=True, blank=True)
    # The presentation whose undone label this one asks for again.
    reopens = models.OneToOneField("self", on_delete=models.CASCADE, null=True, blank=True, related_name="reopened_as")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["annotator", "item_set", "repeat"],
                condition=Q(state__in=["open", "answered"]),
                name="no_unplanned_repeat",
            ),
            models.UniqueConstraint(
                fields=["annotator", "ahead"], condition=Q(state="open"), name="one_open_presentation_and_one_ahead"
            ),
            models.CheckConstraint(
                condition=Q(purpose__in=CHECKED_PURPOSES, known__isnull=False)
                | (~Q(purpose__in=CHECKED_PURPOSES) & Q(known__isnull=True)),
                name="known_if_its_purpose_says_so",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "leased_until"], condition=Q(state="open"), name="open_leases"),
            models.Index(fields=["known"], condition=Q(known__isnull=False), name="presentations_of_known"),
        ]

    def __str__(self) -> str:
        return f"{self.annotator}: {self.item_set}"


class PresentedItem(models.Model):
    """One item of a presentation at its place: 0 is A (of a pair the left one), 1 is B."""

    presentation = models.ForeignKey(Presentation, on_delete=models.CASCADE, related_name="presented")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="presented")
    position = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["presentation", "position"], name="one_item_per_position"),
            models.UniqueConstraint(fields=["presentation", "item"], name="no_item_twice_in_a_presentation"),
        ]

    def __str__(self) -> str:
        return f"{self.position}: {self.item_id}"


class Label(models.Model):
    """The answer to one presentation, where there are several criteria by the first: a fact, written once.

    Only the voided_* columns change afterwards.
    """

    class Outcome(models.TextChoices):
        CHOICE = "choice", _("Choice")
        BEST_WORST = "best_worst", _("Best and worst")
        RANKING = "ranking", _("Ranking")
        TOP = "top", _("Ranking of the best few")
        TIE = "tie", _("Tie")
        BOTH_GOOD = "both_good", _("Both good")
        BOTH_BAD = "both_bad", _("Both bad")
        CANT_JUDGE = "cant_judge", _("Can't judge")
        SKIP = "skip", _("Skip")

    class Grade(models.TextChoices):
        SLIGHTLY = "slightly", _("Slightly")
        CLEARLY = "clearly", _("Clearly")

    class VoidReason(models.TextChoices):
        UNDONE = "undone", _("Undone by the annotator")
        EXCLUDED = "excluded", _("Annotator excluded")
        SCREENED_OUT = "screened", _("Annotator screened out by a rule of the project")
        CONFLICT = "conflict", _("Conflict of interest found later")
        BULK = "bulk", _("Excluded with other answers of a time or a session")
        LATE = "late", _("Sent too late: others had answered in the meantime")

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="labels")
    presentation = models.OneToOneField(Presentation, on_delete=models.CASCADE, related_name="label")
    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="labels")
    outcome = models.CharField(max_length=10, choices=Outcome)
    # The chosen item; null for every outcome but a choice.
    chosen = models.ForeignKey(Item, on_delete=models.PROTECT, null=True, blank=True, related_name="chosen_in")
    # How much better the chosen one is, where that is asked; fits count the choice and leave this out.
    grade = models.CharField(max_length=10, choices=Grade, blank=True)
    # Best and worst, a ranking, the best few: the rank of each item in the order shown, one digit each; 0 is best,
    # equal digits were not told apart: of a ranking, they share a place. Empty for every other outcome.
    ranks = models.CharField(max_length=MAX_ITEMS_SHOWN, blank=True)
    comment = models.TextField(max_length=MAX_COMMENT_LENGTH, blank=True)
    # Why it was skipped, where that is asked.
    reason = models.CharField(max_length=MAX_REASON_LENGTH, blank=True)
    created_at = models.DateTimeField()
    # By the browser's clock: when the answer was given, and how long the items had been in view.
    client_at = models.DateTimeField(null=True, blank=True)
    response_ms = models.PositiveIntegerField(null=True, blank=True)
    # Of that, the time with a sign of life: a stretch without one counts for half a minute at most.
    active_ms = models.PositiveIntegerField(null=True, blank=True)
    session = models.CharField(max_length=16, blank=True)
    # In which language it was asked (labelling.wording.shown_language); empty where the project has said none.
    language = models.CharField(max_length=2 * MAX_LANGUAGE_LENGTH + 1, blank=True, default="", db_default="")
    app_version = models.CharField(max_length=20)  # IMPORTED where it came in by a file
    voided_at = models.DateTimeField(null=True, blank=True)
    voided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    void_reason = models.CharField(max_length=10, choices=VoidReason, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(outcome="choice", chosen__isnull=False) | (~Q(outcome="choice") & Q(chosen__isnull=True)),
                name="a_choice_names_its_item",
            ),
            models.CheckConstraint(
                condition=Q(outcome__in=ORDERED) & ~Q(ranks="") | ~Q(outcome__in=ORDERED) & Q(ranks=""),
                name="an_order_says_its_ranks",
            ),
            models.CheckConstraint(condition=Q(grade="") | Q(outcome="choice"), name="only_a_choice_is_graded"),
            models.CheckConstraint(condition=Q(reason="") | Q(outcome="skip"), name="only_a_skip_gives_a_reason"),
            models.CheckConstraint(
                condition=Q(voided_at__isnull=True, void_reason="") | (Q(voided_at__isnull=False) & ~Q(void_reason="")),
                name="a_voided_label_says_why",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "created_at"], name="labels_over_time"),
            models.Index(fields=["annotator", "created_at"], name="labels_of_annotator"),
        ]

    def __str__(self) -> str:
        return f"{self.annotator}: {self.outcome}"


class CriterionAnswer(models.Model):
    """What a label says by a criterion after the first, whose answer is in the label's own columns.

    Written with the label and never changed; it counts while the label does.
    """

    label = models.ForeignKey(Label, on_delete=models.CASCADE, related_name="further", db_index=False)
    criterion = models.PositiveSmallIntegerField()  # from 2
    # As in Label.
    outcome = models.CharField(max_length=10, choices=Label.Outcome)
    chosen = models.ForeignKey(Item, on_delete=models.PROTECT, null=True, blank=True, related_name="chosen_further_in")
    grade = models.CharField(max_length=10, choices=Label.Grade, blank=True)
    ranks = models.CharField(max_length=MAX_ITEMS_SHOWN, blank=True)

    class Meta:
        db_table = "annotate_furtheranswer"
        constraints = [
            models.UniqueConstraint(fields=["label", "criterion"], name="one_answer_per_criterion"),
            models.CheckConstraint(condition=Q(criterion__range=(2, MAX_CRITERIA)), name="a_criterion_after_the_first"),
            models.CheckConstraint(
                condition=Q(outcome="choice", chosen__isnull=False) | (~Q(outcome="choice") & Q(chosen__isnull=True)),
                name="a_further_choice_names_its_item",
            ),
            models.CheckConstraint(
                condition=Q(outcome__in=ORDERED) & ~Q(ranks="") | ~Q(outcome__in=ORDERED) & Q(ranks=""),
                name="a_further_order_says_its_ranks",
            ),
            models.CheckConstraint(condition=Q(grade="") | Q(outcome="choice"), name="only_a_further_choice_is_graded"),
        ]

    def __str__(self) -> str:
        return f"{self.criterion}: {self.outcome}"
