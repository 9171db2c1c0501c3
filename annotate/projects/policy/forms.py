"""Form of the rule by which a project's questions are chosen."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.models import MAX_CLASSES, USUAL_CONTROL, Policy, Project

# What each asks, saves and costs: `python -m models_engine.benchmarks active` prints the figures.
POLICIES = {
    Policy.BALANCED: _(
        "Every item is compared about equally often. Choose this for studies and wherever all items must be judged "
        "alike."
    ),
    Policy.WHOLE: _(
        "Asks most about items close to each other in the ranking. In our simulations the intervals were as narrow, "
        "and the order as right, after about a tenth fewer answers."
    ),
    Policy.BEST: _(
        "Asks most about items near the edge of the best few. In our simulations the best 10 of 200 were found with "
        "fewer than half as many answers. The price: the order of all others stays vague, and a ranking of all items "
        "needs about a tenth more answers."
    ),
    Policy.CLASSES: _(
        "Asks most about items near the boundary of two classes. In our simulations as many items were in the right "
        "class after about one tenth fewer answers. Items far from every boundary are asked about less."
    ),
}
TOTAL = 100.0


class SharesField(forms.CharField):
    """Percentages of the items, best class first: "20, 60, 20"."""

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(f"{one:g}" for one in value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> list[float]:  # type: ignore[override]
        words = value if isinstance(value, list) else (super().to_python(value) or "").replace(";", ",").split(",")
        shares = []
        for word in words:
            text = str(word).strip().removesuffix("%").strip()
            if not text:
                continue
            try:
                shares.append(float(text))
            except ValueError:
                raise forms.ValidationError(
                    _("“%(value)s” is not a number. Write the classes in percent with commas, for example 20, 60, 20."),
                    params={"value": text[:40]},
                ) from None
        return shares

    def validate(self, value: Any) -> None:
        if not value:
            return
        if not 2 <= len(value) <= MAX_CLASSES:
            raise forms.ValidationError(
                _("There are %(n)d classes; enter 2 to %(limit)d."), params={"n": len(value), "limit": MAX_CLASSES}
            )
        for one in value:
            if not 0 < one < TOTAL:
                raise forms.ValidationError(
                    _("A class has %(value)s%% of the items; enter more than 0 and less than 100 for each."),
                    params={"value": f"{one:g}"},
                )
        if abs(sum(value) - TOTAL) > 0.01:
            raise forms.ValidationError(
                _("The classes add up to %(value)s%%; they must add up to 100. Change one of them."),
                params={"value": f"{sum(value):g}"},
            )

    def run_validators(self, value: Any) -> None:
        """Skip the validators of CharField, which are for one text."""


class PolicyForm(forms.ModelForm):
    policy = forms.ChoiceField(
        label=_("Which questions are asked"),
        choices=[(policy.value, words) for policy, words in POLICIES.items()],
        widget=forms.RadioSelect,
    )
    top_k = forms.IntegerField(
        label=_("How many are the best"),
        min_value=1,
        help_text=_("For “Find the best”. It is the size of the top in the ranking, too."),
    )
    class_shares = SharesField(
        label=_("Classes, in percent of the items"),
        required=False,
        help_text=_(
            "For “Sort into classes”, the best class first, for example 20, 60, 20. A project with grades is sorted "
            "into these instead."
        ),
    )
    control_percent = forms.IntegerField(
        label=_("Percent of balanced questions"),
        min_value=1,
        max_value=100,
        required=False,
        help_text=_(
            "So many of the questions stay balanced, drawn at random: the control arm. It shows what the rule saves, "
            "and figures such as agreement leave all other questions out. Leave empty for the usual: 30 for “Find the "
            "best”, 10 for the others."
        ),
    )

    class Meta:
        model = Project
        fields = ["policy", "top_k", "class_shares", "control_percent"]

    @property
    def policies(self) -> list[tuple[forms.boundfield.BoundWidget, str]]:
        """Return the radio buttons of the policies, each with its title."""
        return [(option, str(Policy(option.data["value"]).label)) for option in self["policy"]]

    def clean(self) -> dict[str, Any]:
        """Check that the policy suits the items, the plan and the grades."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        policy = values.get("policy")
        if policy in (None, Policy.BALANCED):
            return values
        self._check_items(policy, values.get("top_k"))
        if self.instance.has_plan:
            self.add_error(
                "policy",
                _(
                    "The sets of this project are planned or given, and these decide what is asked. Remove the plan "
                    "first, under “How many answers” or “Given questions”; or choose Balanced."
                ),
            )
        classless = not self.instance.grades and not values.get("class_shares")
        if policy == Policy.CLASSES and classless and "class_shares" not in self.errors:
            self.add_error(
                "class_shares",
                _("Enter the classes in percent of the items, for example 20, 60, 20; or set grades first."),
            )
        return values

    def _check_items(self, policy: str, top_k: int | None) -> None:
        """Check the number of items, where there are any: a draft is often set up before its items come."""
        n = self.instance.items.filter(retired_at=None).count()
        if n == 1:
            self.add_error(
                "policy",
                _("The project has 1 item; at least 2 are needed to choose among. Import more, or choose Balanced."),
            )
        elif n and policy == Policy.BEST and top_k is not None and top_k >= n:
            self.add_error(
                "top_k",
                _("You ask for the best %(value)d of %(n)d items. Enter 1 to %(limit)d, or import more items.")
                % {"value": top_k, "n": n, "limit": n - 1},
            )

    def values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in self.Meta.fields}


def usual_control(policy: str) -> int:
    """Return the percentage of balanced questions where the owner says none."""
    return USUAL_CONTROL.get(Policy(policy), 100)
