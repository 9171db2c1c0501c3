"""Forms that read a dashboard address; values that are not valid are reported and left out."""

from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.dashboard.ranking import queries as ranking_queries
from annotate.models import Project, Tag

MAX_TAGS = 300  # beyond these a text field replaces the list


class QueryForm(forms.Form):
    """Bound to GET: `cleaned()` has the valid values, `problems()` says what was wrong with the others."""

    page = forms.IntegerField(required=False, min_value=1, widget=forms.HiddenInput, label=_("Page"))

    def cleaned(self) -> dict[str, Any]:
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value not in (None, "")}

    def problems(self) -> list[str]:
        return [f"{self.fields[name].label}: {error}" for name, errors in self.errors.items() for error in errors]


SORT_CHOICES = [
    ("rank", _("Rank, best first")),
    ("-rank", _("Rank, last first")),
    ("item", _("Item, A to Z")),
    ("-item", _("Item, Z to A")),
    ("-score", _("Score, highest first")),
    ("score", _("Score, lowest first")),
    ("-utility", _("Utility, highest first")),
    ("utility", _("Utility, lowest first")),
    ("-p_top_k", _("Chance to be in the top, highest first")),
    ("p_top_k", _("Chance to be in the top, lowest first")),
    ("-n_comparisons", _("Comparisons, most first")),
    ("n_comparisons", _("Comparisons, fewest first")),
    ("-divisiveness", _("Divisive, most first")),
    ("divisiveness", _("Divisive, least first")),
]
EXPERT_SORTS = {"utility", "p_top_k"}


class RankingForm(QueryForm):
    q = forms.CharField(
        required=False, max_length=200, label=_("Find an item"), widget=forms.TextInput(attrs={"type": "search"})
    )
    tag = forms.CharField(required=False, max_length=100, label=_("Tag"))
    sort = forms.ChoiceField(
        required=False,
        label=_("Order"),
        choices=SORT_CHOICES,
    )
    view = forms.ChoiceField(
        required=False,
        label=_("View"),
        choices=[("table", _("Table")), ("plot", _("Plot"))],
        widget=forms.HiddenInput,
    )

    def __init__(self, project: Project, data: Any, *, expert: bool = True) -> None:
        super().__init__(data)
        if not expert:  # still understood in an address, but not offered
            sort = cast(forms.ChoiceField, self.fields["sort"])
            sort.widget.choices = [one for one in SORT_CHOICES if one[0].removeprefix("-") not in EXPERT_SORTS]
        tags = list(Tag.objects.filter(project=project).order_by("name").values_list("name", flat=True)[: MAX_TAGS + 1])
        if not tags:
            del self.fields["tag"]
        elif len(tags) <= MAX_TAGS:
            self.fields["tag"] = forms.ChoiceField(
                required=False, label=_("Tag"), choices=[("", _("All tags")), *((tag, tag) for tag in tags)]
            )

    def query(self) -> ranking_queries.RankingQuery:
        asked = self.cleaned()
        sort = asked.get("sort", "rank")
        return ranking_queries.RankingQuery(
            sort=sort.removeprefix("-"),
            descending=sort.startswith("-"),
            q=asked.get("q", ""),
            tag=asked.get("tag", ""),
            page=asked.get("page", 1),
        )

    @property
    def is_plot(self) -> bool:
        return self.cleaned().get("view") == "plot"
