"""What a project is to reach and what its labels cost."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _


class Goal(models.TextChoices):
    NONE = "", _("No goal")
    TOP = "top", _("The top places are clear")
    WIDTH = "width", _("Every interval is narrow enough")
    COMPARISONS = "comparisons", _("Every item is compared often enough")
    PLAN = "plan", _("Every planned set is answered")
    RELIABILITY = "reliability", _("The order is reliable enough")
    PLACES = "places", _("Places are stable")
    BOUNDARIES = "boundaries", _("Grade boundaries are settled")


COUNTED = (Goal.PLAN, Goal.COMPARISONS)  # these are counted, not estimated


class PricePer(models.TextChoices):
    LABEL = "label", _("answer given")
    HOUR = "hour", _("hour of active time")


class GoalSettings(models.Model):
    """The columns of Project about its goal and its cost."""

    goal = models.CharField(_("goal"), max_length=12, choices=Goal, blank=True, default=Goal.NONE)
    goal_width = models.FloatField(_("widest interval allowed"), null=True, blank=True)
    goal_comparisons = models.PositiveIntegerField(
        _("comparisons of each item"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(10**6)],
    )
    goal_reliability = models.FloatField(_("reliability to reach"), null=True, blank=True)
    goal_places = models.FloatField(_("average error of the places"), null=True, blank=True)
    # The last day on which it should be met, in UTC.
    goal_deadline = models.DateField(_("deadline"), null=True, blank=True)
    price = models.DecimalField(_("price"), max_digits=12, decimal_places=4, null=True, blank=True)
    price_per = models.CharField(_("price per"), max_length=5, choices=PricePer, default=PricePer.LABEL)
    currency = models.CharField(_("currency"), max_length=3, default="EUR")

    class Meta:
        abstract = True

    @property
    def goal_value(self) -> float | None:
        """Return what the goal is measured by, such as the size of the top or a width; of boundaries, their number."""
        values = {
            Goal.TOP: self.top_k,  # type: ignore[attr-defined]
            Goal.WIDTH: self.goal_width,
            Goal.COMPARISONS: self.goal_comparisons,
            Goal.PLAN: self.overlap,  # type: ignore[attr-defined]
            Goal.RELIABILITY: self.goal_reliability,
            Goal.PLACES: self.goal_places,
            Goal.BOUNDARIES: len(self.grades) - 1 if self.grades else None,  # type: ignore[attr-defined]
        }
        return values.get(Goal(self.goal))
