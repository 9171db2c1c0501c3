"""Forms of the list of annotators and of excluding one."""

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.annotators import queries
from annotate.dashboard.forms import QueryForm


class ExcludeForm(forms.Form):
    reason = forms.CharField(label=_("Reason"), required=False, max_length=500)


class AnnotatorsForm(QueryForm):
    q = forms.CharField(
        required=False, max_length=100, label=_("Find an annotator"), widget=forms.TextInput(attrs={"type": "search"})
    )
    sort = forms.ChoiceField(
        required=False,
        label=_("Order"),
        choices=[
            ("-labels", _("Answers, most first")),
            ("labels", _("Answers, fewest first")),
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
            ("-returns", _("Return, most likely first")),
            ("returns", _("Return, least likely first")),
            ("-last_seen", _("Last seen, most recent first")),
            ("last_seen", _("Last seen, longest ago first")),
        ],
    )

    def query(self) -> queries.AnnotatorsQuery:
        asked = self.cleaned()
        sort = asked.get("sort", "-labels")
        return queries.AnnotatorsQuery(
            sort=sort.removeprefix("-"),
            descending=sort.startswith("-"),
            q=asked.get("q", ""),
            page=asked.get("page", 1),
        )
