"""Form that reads the address of an annotator's page."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.annotators.page import queries
from annotate.dashboard.forms import QueryForm


class AnnotatorForm(QueryForm):
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

    def query(self) -> queries.OwnRankingQuery:
        asked: dict[str, Any] = self.cleaned()
        sort = asked.get("sort", "-difference")
        return queries.OwnRankingQuery(sort.removeprefix("-"), sort.startswith("-"), asked.get("page", 1))
