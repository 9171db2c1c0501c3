"""Which questions a project asks, and the sets that the engine suggests for it."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotate.models.leased_jobs import IdleJob

MAX_SUGGESTED_SETS = 4096  # of one project and criterion
MAX_CLASSES = 12


class Policy(models.TextChoices):
    BALANCED = "balanced", _("Balanced")
    WHOLE = "whole", _("Whole ranking")
    BEST = "best", _("Find the best")
    CLASSES = "classes", _("Sort into classes")


# Of how many answers in a hundred the balanced rule chooses the question, unless the owner says otherwise.
USUAL_CONTROL = {Policy.WHOLE: 10, Policy.BEST: 30, Policy.CLASSES: 10}


class AskedBy(models.TextChoices):
    """The rule that chose a presentation's set; "" of checks, repeats and practice, and where nobody recorded it."""

    BALANCED = "balanced", _("balanced")
    # By the balanced rule too, but drawn at random to be it: these answers are a fair sample of the items.
    CONTROL = "control", _("control")
    ADAPTIVE = "adaptive", _("adaptive")


class PolicySettings(models.Model):
    """The columns of Project about which questions it asks."""

    policy = models.CharField(
        _("which questions are asked"),
        max_length=8,
        choices=Policy,
        default=Policy.BALANCED,
        db_default=Policy.BALANCED,
    )
    # For "classes": the percentage of the items in each class, the best class first; empty: the project's grades.
    class_shares = models.JSONField(_("classes, in percent of the items"), default=list, db_default=[], blank=True)
    control_percent = models.PositiveSmallIntegerField(
        _("percent of balanced answers"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
    )
    pause_at_goal = models.BooleanField(_("pause when the goal is met"), default=False, db_default=False)

    class Meta:
        abstract = True

    @property
    def is_adaptive(self) -> bool:
        """Return whether questions are chosen by the ranking so far; where there is a plan of sets, that decides."""
        return self.policy != Policy.BALANCED and not self.has_plan  # type: ignore[attr-defined]

    @property
    def control_share(self) -> float:
        """Return the share of the questions that stay balanced, 0.01 to 1."""
        percent = self.control_percent or USUAL_CONTROL.get(Policy(self.policy), 100)
        return max(percent, 1) / 100


class SuggestedSet(models.Model):
    """A set worth asking about next, by a fit: written whole after the fit, deleted when it is asked."""

    project = models.ForeignKey(
        "annotate.Project", on_delete=models.CASCADE, related_name="suggested_sets", db_index=False
    )
    criterion = models.PositiveSmallIntegerField(default=1)
    # 0 comes first. Sets of one round share no item; the rounds follow each other, in random order within.
    place = models.PositiveSmallIntegerField()
    key = models.CharField(max_length=220)  # as of ItemSet
    # The number of the fit, and the version of the data that it has seen.
    fit = models.PositiveIntegerField()
    version = models.PositiveBigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "criterion", "place"], name="one_suggestion_per_place"),
        ]

    def __str__(self) -> str:
        return self.key


class MeasuredSaving(IdleJob):
    """What the policy saves on the project's own answers, by a criterion; empty until there is enough to compare."""

    project = models.ForeignKey(
        "annotate.Project", on_delete=models.CASCADE, related_name="measured_savings", db_index=False
    )
    criterion = models.PositiveSmallIntegerField(default=1)
    # What it was made of: so many labels, so many of them of the control arm, at this fit, for this policy.
    n_labels = models.PositiveIntegerField(default=0)
    n_control = models.PositiveIntegerField(default=0)
    fit_number = models.PositiveIntegerField(null=True, blank=True)
    policy = models.CharField(max_length=8, choices=Policy, blank=True)
    # {"width", "loss"}: of each {"ratio", "low", "high"}, what all answers leave open to what as many answers of the
    # control arm do, with its 90% interval; below 1 saves. Empty where there are too few of either.
    figures = models.JSONField(default=dict)
    made_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "criterion"], name="one_measured_saving_per_criterion"),
        ]

    def __str__(self) -> str:
        return f"saving of {self.project_id}"
