"""Forms that choose how annotators are divided into cohorts and which are compared."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.annotators.cohorts import queries
from annotate.dashboard.forms import QueryForm


class CohortsForm(QueryForm):
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

    def query(self) -> queries.SideBySideQuery:
        asked = self.cleaned()
        sort = asked.get("sort", "-difference")
        return queries.SideBySideQuery(
            asked.get("show"), sort.removeprefix("-"), sort.startswith("-"), asked.get("tag", ""), asked.get("page", 1)
        )


class CompareCohortsForm(forms.Form):
    """Two cohorts to compare; each is named by what divides and the value, parted by a bar."""

    first = forms.CharField(max_length=300, label=_("First cohort"))
    second = forms.CharField(max_length=300, required=False, label=_("Second cohort"))

    def cohorts(self) -> tuple[str, str, str]:
        """Return (what divides, first value, second value); the second is "" for everybody else."""
        by, _bar, first = self.cleaned_data["first"].partition("|")
        other, _bar, second = self.cleaned_data["second"].partition("|")
        return (by, first, second) if other in ("", by) else ("", "", "")
