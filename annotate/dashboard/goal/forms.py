"""Form of a project's goal and of what labels cost."""

from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.models import Project
from annotate.models.goals import Goal, PricePer

GOALS = {
    Goal.NONE: _("Answers are collected for as long as you like."),
    Goal.TOP: _(
        "The best few are all among the best, with a probability of 90% or more. You choose how many in the settings."
    ),
    Goal.WIDTH: _("For every item, the interval of the utility (90%) is at most as wide as you set below."),
    Goal.COMPARISONS: _("Every item has at least as many comparisons as you set below."),
    Goal.PLAN: _("Every planned set has been answered by as many annotators as set in the settings."),
    Goal.RELIABILITY: _(
        "As many answers again would give nearly the same order: the reliability is what you say below."
    ),
    Goal.PLACES: _("An item's place is off by no more places than you say below, on average."),
    Goal.BOUNDARIES: _("At each grade boundary at most 5% of the items are expected on the wrong side."),
}


class GoalForm(forms.ModelForm):
    goal = forms.ChoiceField(
        label=_("When you have enough"),
        choices=[(goal.value, words) for goal, words in GOALS.items()],
        widget=forms.RadioSelect,
        required=False,
    )
    goal_width = forms.FloatField(
        label=_("Widest interval allowed"),
        min_value=0.01,
        max_value=20,
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text=_(
            "In logits of an average person's answer. 1 is common. "
            "Half the width needs about four times as many answers."
        ),
    )
    goal_reliability = forms.FloatField(
        label=_("Reliability to reach"),
        min_value=0.5,
        max_value=0.99,
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text=_("0.8 serves decisions about groups of items, 0.9 about single items."),
    )
    goal_places = forms.FloatField(
        label=_("Average error of the places"),
        min_value=0.1,
        max_value=1000,
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text=_("1: a typical item stands one place from where it belongs."),
    )
    goal_deadline = forms.DateField(
        label=_("Deadline"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        help_text=_(
            "The last day on which the goal should be met (UTC). Progress then says how likely that is. Answers are "
            "taken after it: “Accepts answers until”, under Quality checks, ends them."
        ),
    )
    pause_at_goal = forms.BooleanField(
        label=_("Pause the project when the goal is met"),
        required=False,
        help_text=_(
            "It pauses by itself once Progress says “You can stop now”, and the owners get an e-mail. You can resume "
            "it at any time; it does not pause again for the same goal."
        ),
    )
    price = forms.DecimalField(
        label=_("Price"),
        min_value=Decimal(0),
        max_digits=12,
        decimal_places=4,
        required=False,
        help_text=_("Leave empty to show no costs. Annotators never see this."),
    )
    price_per = forms.ChoiceField(label=_("Per"), choices=PricePer.choices, widget=forms.RadioSelect)
    currency = forms.RegexField(
        r"^[A-Za-z]{3}$",
        label=_("Currency"),
        initial="EUR",
        help_text=_("Three letters, for example EUR, USD or GBP."),
        error_messages={"invalid": _("Write the currency as three letters, for example EUR.")},
        widget=forms.TextInput(attrs={"size": 4, "autocomplete": "off"}),
    )

    class Meta:
        model = Project
        fields = [
            *("goal", "goal_width", "goal_comparisons", "goal_reliability", "goal_places", "goal_deadline"),
            *("pause_at_goal", "price", "price_per", "currency"),
        ]

    @property
    def goals(self) -> list[tuple[forms.boundfield.BoundWidget, str]]:
        """Return the radio buttons of the goals, each with its title."""
        return [(option, str(Goal(option.data["value"]).label)) for option in self["goal"]]

    def clean_currency(self) -> str:
        return str(self.cleaned_data["currency"]).upper()

    def clean(self) -> dict[str, Any]:
        """Return a goal needs its number, and a plan to be reached."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        goal = values.get("goal")
        if goal == Goal.WIDTH and values.get("goal_width") is None and "goal_width" not in self.errors:
            self.add_error(
                "goal_width", _("Enter the widest interval allowed, from 0.01 to 20, or choose another goal.")
            )
        if goal == Goal.COMPARISONS and not values.get("goal_comparisons") and "goal_comparisons" not in self.errors:
            self.add_error("goal_comparisons", _("Enter how many comparisons each item needs, or choose another goal."))
        if goal == Goal.RELIABILITY and not values.get("goal_reliability") and "goal_reliability" not in self.errors:
            self.add_error("goal_reliability", _("Say how reliable, 0.5 to 0.99; or choose another goal."))
        if goal == Goal.PLACES and not values.get("goal_places") and "goal_places" not in self.errors:
            self.add_error(
                "goal_places",
                _("Say by how many places an item may be off on average, 0.1 to 1000; or choose another goal."),
            )
        if goal == Goal.BOUNDARIES and len(self.instance.grades) < 2:
            self.add_error("goal", _("This project has no grades. Set them first: on the page Ranking, under Grades."))
        self._check_top(goal)
        if goal == Goal.PLAN and not self.instance.has_plan:
            self.add_error(
                "goal",
                _("This project has no planned sets. Enter a number of different sets in the settings first."),
            )
        return values

    def _check_top(self, goal: str | None) -> None:
        """Check that the top is a part of the items, where there are any."""
        if goal != Goal.TOP:
            return
        n, k = self.instance.items.filter(retired_at=None).count(), self.instance.top_k
        if 0 < n <= k:
            self.add_error(
                "goal",
                _(
                    "The top is %(value)d of %(n)d items, so there is nothing to find. Choose a smaller top, or import "
                    "more."
                )
                % {"value": k, "n": n},
            )

    def values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in self.Meta.fields}
