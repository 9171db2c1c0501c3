"""Projects and who may do what in them."""

import uuid

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from annotate.core.languages import MAX_LANGUAGE_LENGTH
from annotate.models.goals import GoalSettings
from annotate.models.grades import GradeSettings
from annotate.models.participant_settings import ParticipantSettings
from annotate.models.policies import PolicySettings
from annotate.models.quality import QualitySettings
from annotate.models.task_words import TaskWords
from annotate.models.tokens import new_token
from annotate.models.weights import CriterionWeights

MAX_ITEMS_SHOWN = 10
MAX_CRITERIA = 5
MAX_TARGET = 100_000  # answers asked of one annotator, and annotators expected
MAX_PLANNED_SETS = 20_000  # drawing them takes two seconds, in which nobody else writes to the project


class ItemsShownBy(models.TextChoices):
    TITLE = "title", _("Title; where there is none, the first words")
    TEXT = "text", _("First words")
    BOTH = "both", _("Title and first words")


class MediaCaptions(models.TextChoices):
    """What annotators see under an item's image or recording."""

    NOTHING = "none", _("Nothing")
    TITLE = "title", _("Its title")
    TEXT = "text", _("Its text")
    BOTH = "both", _("Title and text")


class GivenOrder(models.TextChoices):
    """In which order the owner's own questions are asked."""

    BALANCED = "balanced", _("Least answered first")
    IN_ORDER = "in_order", _("In the order of the list")
    PRIORITY = "priority", _("By priority, highest first")


class Project(
    CriterionWeights, GoalSettings, GradeSettings, ParticipantSettings, PolicySettings, QualitySettings, TaskWords
):
    class State(models.TextChoices):
        DRAFT = "draft", _("Draft")
        OPEN = "open", _("Open")
        PAUSED = "paused", _("Paused")
        CLOSED = "closed", _("Closed")

    class TaskType(models.TextChoices):
        PAIR = "pair", _("Better of two")
        GRADED = "graded", _("How much better of two")
        BEST = "best", _("Best of several")
        BEST_WORST = "best_worst", _("Best and worst of several")
        RANKING = "ranking", _("Ranking of several")
        TOP = "top", _("Ranking of the best few")

    class Evidence(models.TextChoices):
        COMPARISONS = "comparisons", _("Comparisons")
        COUNTS = "counts", _("Counts")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(_("name"), max_length=200)
    question = models.CharField(_("question"), max_length=500)
    # Where each presentation is answered by several criteria, one after the other: a list of {"name", "question"};
    # empty where the question above is all. They are numbered from 1, by their place.
    criteria = models.JSONField(_("criteria"), default=list, blank=True)
    instructions = models.TextField(_("instructions"), blank=True, max_length=50_000)
    more_means = models.CharField(_("a higher place means"), max_length=100, default="better")
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    task_type = models.CharField(_("what annotators do"), max_length=10, choices=TaskType, default=TaskType.PAIR)
    # How many items are shown at a time, and of a ranking of the best few how many are ranked.
    k = models.PositiveSmallIntegerField(
        _("items shown at a time"), default=2, validators=[MinValueValidator(2), MaxValueValidator(MAX_ITEMS_SHOWN)]
    )
    m = models.PositiveSmallIntegerField(_("how many are ranked"), null=True, blank=True)
    # Whether several items of a ranking may have the same place.
    shared_places = models.BooleanField(_("places may be shared"), default=False, db_default=False)
    # Kinds of task that are asked besides: a list of {"task_type", "k", "m", "shared_places", "percent"}, whose shares
    # leave some for the project's own; and the codes of those asked no more (annotate.labelling.asked_tasks).
    further_tasks = models.JSONField(_("further kinds of task"), default=list, blank=True, db_default=[])
    earlier_tasks = models.JSONField(default=list, blank=True, db_default=[], editable=False)
    # Which of the items' metadata annotators see, by name, in their order.
    shown_metadata = models.JSONField(_("metadata shown"), default=list, blank=True, db_default=[])
    # Whether the words in which two plain texts differ are marked.
    marks_differences = models.BooleanField(_("differences are marked"), default=False, db_default=False)
    # Whether texts are folded at the same height where one of those shown is long.
    folds_long_texts = models.BooleanField(_("long texts are folded"), default=False, db_default=False)
    # Outcomes an annotator may give besides what the task asks for: a list of Label.Outcome values.
    outcomes = models.JSONField(_("other answers allowed"), default=list, blank=True)
    comments = models.BooleanField(_("comments allowed"), default=False)
    # Whether each item shown can be commented on by itself.
    item_comments = models.BooleanField(_("comments on each item"), default=False, db_default=False)
    # Whether the page behind an entry link also tells the item's place and score.
    entry_places = models.BooleanField(_("place and score for entrants"), default=False, db_default=False)
    # Whether every answer but a skip and "can't judge" needs a comment, where comments are allowed.
    comment_required = models.BooleanField(_("comments required"), default=False, db_default=False)
    # Whether annotators may say of an item shown that they know it, such as their own work.
    known_button = models.BooleanField(_("“I know this one” on each item"), default=False, db_default=False)
    # What stands under images and recordings on the task; without it annotators never see titles.
    media_captions = models.CharField(
        _("under images and recordings"), max_length=5, choices=MediaCaptions, default="none", db_default="none"
    )
    overlap = models.PositiveIntegerField(
        _("annotators per set"), default=3, validators=[MinValueValidator(1), MaxValueValidator(1000)]
    )
    cap = models.PositiveIntegerField(
        _("maximum answers per annotator"), null=True, blank=True, validators=[MinValueValidator(1)]
    )
    # How many answers each annotator is asked for, without being a limit; where it is null, their share of twenty
    # appearances of each item, if the owner says how many annotators to expect.
    target = models.PositiveIntegerField(
        _("answers asked of each annotator"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_TARGET)],
    )
    annotators_expected = models.PositiveIntegerField(
        _("annotators expected"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_TARGET)],
    )
    # How many different sets are asked about; they are drawn beforehand. Null: new ones are made as annotators ask.
    n_sets = models.PositiveIntegerField(
        _("different sets"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_PLANNED_SETS)],
    )
    # What Entry says, so that answering needs no look at it: which text must be agreed to (ConsentText.version), and
    # whether there is an ending behind the last task.
    consent_version = models.CharField(max_length=64, blank=True, editable=False)
    has_ending = models.BooleanField(default=False, editable=False)
    # The newest Field asked before the first task and after the last; 0 if none is.
    fields_before = models.PositiveBigIntegerField(default=0, editable=False)
    fields_after = models.PositiveBigIntegerField(default=0, editable=False)
    fields_imported = models.PositiveBigIntegerField(default=0, db_default=0, editable=False)  # never asked
    # How the questions are asked that the owner gave (ItemSet.number); empty where sets are drawn.
    given_order = models.CharField(
        _("order of the given questions"),
        max_length=10,
        choices=GivenOrder,
        blank=True,
        default="",
        db_default="",
        editable=False,
    )
    # In which language its words and items are, empty if nobody has said; and in which others there are translations.
    language = models.CharField(_("language"), max_length=MAX_LANGUAGE_LENGTH, blank=True, default="", db_default="")
    languages = models.JSONField(_("further languages"), default=list, blank=True)
    # Sites whose pages may show the vote and the results in a frame, such as https://www.example.org.
    embed_origins = models.JSONField(default=list, blank=True, editable=False)
    # What webhooks say, so that an answer needs no look at them: whether some are told of answers.
    notes_answers = models.BooleanField(default=False, editable=False)
    join_token = models.CharField(max_length=40, unique=True, default=new_token)
    # The end of the short address that leads to the join link; null where the owner has not switched it on.
    join_code = models.CharField(max_length=7, unique=True, null=True, blank=True, default=None, editable=False)
    estimator = models.CharField(_("estimator"), max_length=50, default="CrowdBT")
    # Whether items that nobody compared get a predicted place from their features, where that was found to help.
    predict_unseen = models.BooleanField(_("use what items look like"), default=False, db_default=False)
    # How tables, plots and reports name an item.
    items_shown_by = models.CharField(_("items are shown by"), max_length=5, choices=ItemsShownBy, default="title")
    top_k = models.PositiveIntegerField(_("size of the top"), default=10, validators=[MinValueValidator(1)])
    tie_margin = models.FloatField(_("tied within (logit)"), default=0.1, validators=[MinValueValidator(0.0)])
    # Whether an item names its competitor, so that pages need no look at the items.
    has_competitors = models.BooleanField(default=False, db_default=False, editable=False)
    # Features of the items that the leaderboard holds equal, by name (annotate.fitting.leaderboard.style).
    style_features = models.JSONField(_("held equal on the leaderboard"), default=list, db_default=[], editable=False)
    # Whether the ranking counts what machines answered, which only an owner decides.
    count_machines = models.BooleanField(
        _("machines' answers count in the ranking"), default=False, db_default=False, editable=False
    )
    # What the ranking is made of. Counts are imported into a project without answers, and such a project takes none.
    evidence = models.CharField(
        max_length=11, choices=Evidence, default=Evidence.COMPARISONS, db_default="comparisons", editable=False
    )
    # True where the labels come from a program: every page says so.
    simulated = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now())
    # Put away: nothing in it changes and the list of projects leaves it out.
    archived_at = models.DateTimeField(null=True, blank=True, editable=False)
    # No column: the role of whom annotate.access found the project for; None where nobody asked for it.
    role: str | None = None
    # No column: of a copy that says what one of several kinds of task asks, how many items they show on average.
    mean_k: float | None = None
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, through="Membership", related_name="projects")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(task_type__in=["pair", "graded"], k=2, m=None)
                | Q(task_type__in=["best", "ranking"], k__range=(2, MAX_ITEMS_SHOWN), m=None)
                | Q(task_type="best_worst", k__range=(3, MAX_ITEMS_SHOWN), m=None)
                | Q(task_type="top", k__range=(3, MAX_ITEMS_SHOWN), m__isnull=False, m__gte=2, m__lt=F("k")),
                name="a_task_that_can_be_done",
            ),
            models.CheckConstraint(condition=Q(given_order="") | Q(n_sets=None), name="questions_are_given_or_drawn"),
            models.CheckConstraint(
                condition=Q(opens_at=None) | Q(closes_at=None) | Q(opens_at__lt=F("closes_at")),
                name="opens_before_it_closes",
            ),
            models.CheckConstraint(
                condition=Q(archived_at=None) | Q(state__in=["draft", "closed"]), name="nobody_answers_in_the_archive"
            ),
            models.CheckConstraint(
                condition=Q(evidence="comparisons") | Q(evidence="counts", state__in=["draft", "paused", "closed"]),
                name="counts_are_not_answered",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def shows_titles(self) -> bool:
        """Return whether annotators see the titles of images and recordings."""
        return self.media_captions in (MediaCaptions.TITLE, MediaCaptions.BOTH)

    @property
    def shows_image_texts(self) -> bool:
        return self.media_captions in (MediaCaptions.TEXT, MediaCaptions.BOTH)

    @property
    def ranks_counts(self) -> bool:
        """Return whether the ranking is made of counts that were imported, and not of answers."""
        return self.evidence == self.Evidence.COUNTS

    @property
    def has_plan(self) -> bool:
        """Return whether only the sets of a plan are asked: drawn beforehand, or given by the owner."""
        return self.n_sets is not None or bool(self.given_order)


class Membership(models.Model):
    class Role(models.TextChoices):
        OWNER = "owner", _("Owner")
        MANAGER = "manager", _("Manager")
        ANNOTATOR = "annotator", _("Annotator")
        VIEWER = "viewer", _("Viewer")

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "user"], name="one_role_per_user_and_project")]

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"
