"""What a visitor of one annotator's page, the taste map or the cohorts may ask for in the address."""

from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from annotate.forms.dashboard import AskForm
from annotate.queries import cohorts, person
from models_engine.models import MOST_COMPONENTS


class PersonForm(AskForm):
    sort = forms.ChoiceField(
        required=False,
        label=_("Order"),
        choices=[
            ("-difference", _("Widest differences first")),
            ("difference", _("Smallest differences first")),
            ("place", _("Own place, best first")),
            ("-place", _("Own place, last first")),
            ("crowd", _("Consensus, best first")),
            ("-crowd", _("Consensus, last first")),
        ],
    )

    def wish(self) -> person.Wish:
        asked: dict[str, Any] = self.cleaned()
        sort = asked.get("sort", "-difference")
        return person.Wish(sort.removeprefix("-"), sort.startswith("-"), asked.get("page", 1))


class TastesForm(AskForm):
    x = forms.IntegerField(required=False, min_value=1, max_value=MOST_COMPONENTS, label=_("Across"))
    y = forms.IntegerField(required=False, min_value=1, max_value=MOST_COMPONENTS, label=_("Up"))

    def __init__(self, data: QueryDict) -> None:
        super().__init__({"x": 1, "y": 2, **data.dict()})  # what is drawn without being asked for is shown as chosen

    def axes(self) -> tuple[int, int]:
        asked = self.cleaned()
        return asked.get("x", 1), asked.get("y", 2)


class CohortsForm(AskForm):
    """What the table shows; bound to GET."""

    show = forms.IntegerField(required=False, min_value=1, widget=forms.HiddenInput, label=_("Comparison"))
    tag = forms.CharField(required=False, max_length=100, label=_("Tag"))
    sort = forms.ChoiceField(
        required=False,
        label=_("Order"),
        choices=[
            ("-difference", _("Widest differences first")),
            ("difference", _("Smallest differences first")),
            ("first", _("First cohort, best first")),
            ("-first", _("First cohort, last first")),
            ("second", _("Second cohort, best first")),
            ("-second", _("Second cohort, last first")),
        ],
    )

    def __init__(self, tags: list[str], data: Any) -> None:
        super().__init__(data)
        if tags:
            choices = [("", _("All tags")), *((tag, tag) for tag in tags)]
            self.fields["tag"] = forms.ChoiceField(required=False, label=_("Tag"), choices=choices)
        else:
            del self.fields["tag"]

    def wish(self) -> cohorts.Wish:
        asked = self.cleaned()
        sort = asked.get("sort", "-difference")
        return cohorts.Wish(
            asked.get("show"), sort.removeprefix("-"), sort.startswith("-"), asked.get("tag", ""), asked.get("page", 1)
        )


class CompareCohortsForm(forms.Form):
    """Two cohorts to compare; each is named by what divides and the value, parted by a bar."""

    first = forms.CharField(max_length=300, label=_("First cohort"))
    second = forms.CharField(max_length=300, required=False, label=_("Second cohort"))

    def cohorts(self) -> tuple[str, str, str]:
        """(what divides, first value, second value); the second is "" for everybody else."""
        by, _bar, first = self.cleaned_data["first"].partition("|")
        other, _bar, second = self.cleaned_data["second"].partition("|")
        return (by, first, second) if other in ("", by) else ("", "", "")
