"""What a visitor of the dashboard may ask for in the address; anything else is said to be wrong and left out."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.models import Project, Tag
from annotate.queries import annotators, ranking

MOST_TAGS = 300  # beyond these a list to choose from helps nobody


class AskForm(forms.Form):
    """Bound to GET: `cleaned()` has the valid values, `problems()` says what was wrong with the others."""

    page = forms.IntegerField(required=False, min_value=1, widget=forms.HiddenInput, label=_("Page"))

    def cleaned(self) -> dict[str, Any]:
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value not in (None, "")}

    def problems(self) -> list[str]:
        return [f"{self.fields[name].label}: {error}" for name, errors in self.errors.items() for error in errors]


class RankingForm(AskForm):
    q = forms.CharField(
        required=False, max_length=200, label=_("Find an item"), widget=forms.TextInput(attrs={"type": "search"})
    )
    tag = forms.CharField(required=False, max_length=100, label=_("Tag"))
    sort = forms.ChoiceField(
        required=False,
        label=_("Order"),
        choices=[
            ("rank", _("Rank, best first")),
            ("-rank", _("Rank, last first")),
            ("item", _("Item, A to Z")),
            ("-item", _("Item, Z to A")),
            ("-utility", _("Utility, highest first")),
            ("utility", _("Utility, lowest first")),
            ("-p_top_k", _("P(top), highest first")),
            ("p_top_k", _("P(top), lowest first")),
            ("-n_comparisons", _("Comparisons, most first")),
            ("n_comparisons", _("Comparisons, fewest first")),
            ("-divisiveness", _("Divisive, most first")),
            ("divisiveness", _("Divisive, least first")),
        ],
    )
    view = forms.ChoiceField(
        required=False,
        label=_("View"),
        choices=[("table", _("Table")), ("plot", _("Plot"))],
        widget=forms.HiddenInput,
    )

    def __init__(self, project: Project, data: Any) -> None:
        super().__init__(data)
        tags = list(
            Tag.objects.filter(project=project).order_by("name").values_list("name", flat=True)[: MOST_TAGS + 1]
        )
        if not tags:
            del self.fields["tag"]
        elif len(tags) <= MOST_TAGS:
            self.fields["tag"] = forms.ChoiceField(
                required=False, label=_("Tag"), choices=[("", _("All tags")), *((tag, tag) for tag in tags)]
            )

    def wish(self) -> ranking.Wish:
        asked = self.cleaned()
        sort = asked.get("sort", "rank")
        return ranking.Wish(
            sort=sort.removeprefix("-"),
            descending=sort.startswith("-"),
            q=asked.get("q", ""),
            tag=asked.get("tag", ""),
            page=asked.get("page", 1),
        )

    @property
    def is_plot(self) -> bool:
        return self.cleaned().get("view") == "plot"


class AnnotatorsForm(AskForm):
    q = forms.CharField(
        required=False, max_length=100, label=_("Find an annotator"), widget=forms.TextInput(attrs={"type": "search"})
    )
    sort = forms.ChoiceField(
        required=False,
        label=_("Order"),
        choices=[
            ("-labels", _("Labels, most first")),
            ("labels", _("Labels, fewest first")),
            ("pseudonym", _("Pseudonym, A to Z")),
            ("-pseudonym", _("Pseudonym, Z to A")),
            ("-skips", _("Skips, most first")),
            ("skips", _("Skips, fewest first")),
            ("time", _("Median time, fastest first")),
            ("-time", _("Median time, slowest first")),
            ("-agreement", _("Agreement, highest first")),
            ("agreement", _("Agreement, lowest first")),
            ("-reliability", _("Reliability, highest first")),
            ("reliability", _("Reliability, lowest first")),
            ("-taste", _("Taste distance, farthest first")),
            ("taste", _("Taste distance, nearest first")),
            ("-consistency", _("Self-consistency, highest first")),
            ("consistency", _("Self-consistency, lowest first")),
            ("-cycles", _("Circles, most first")),
            ("cycles", _("Circles, fewest first")),
            ("-side", _("First place, most often first")),
            ("side", _("First place, least often first")),
            ("-gold", _("Gold questions, most right first")),
            ("gold", _("Gold questions, fewest right first")),
            ("-flags", _("Flags, most first")),
            ("flags", _("Flags, fewest first")),
            ("-last_seen", _("Last seen, latest first")),
            ("last_seen", _("Last seen, longest ago first")),
        ],
    )

    def wish(self) -> annotators.Wish:
        asked = self.cleaned()
        sort = asked.get("sort", "-labels")
        return annotators.Wish(
            sort=sort.removeprefix("-"),
            descending=sort.startswith("-"),
            q=asked.get("q", ""),
            page=asked.get("page", 1),
        )
