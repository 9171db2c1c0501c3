"""Form of a new results link: its criterion and how long it works."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.criteria import named_criteria
from annotate.models import Project

LIFETIMES = [
    ("", _("Until you revoke it")),
    ("7", _("7 days")),
    ("30", _("30 days")),
    ("90", _("90 days")),
    ("365", _("A year")),
]


class ResultsLinkForm(forms.Form):
    criterion = forms.TypedChoiceField(label=_("Ranking by"), coerce=int)
    lifetime = forms.ChoiceField(label=_("Valid"), choices=LIFETIMES, required=False)
    invites = forms.BooleanField(
        label=_("Button “Take part”"),
        required=False,
        help_text=_("Leads to your join link while the project is open, so anyone with this link can answer."),
    )
    shows_groups = forms.BooleanField(
        label=_("Show groups"),
        required=False,
        help_text=_(
            "Tells which groups of people prefer different items, once some stand out. Groups of fewer than 5 people "
            "are left out; nobody is named."
        ),
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if project.criteria:
            self.fields["criterion"].choices = [(one.number, one.name) for one in named_criteria(project)]  # type: ignore[attr-defined]
        else:
            del self.fields["criterion"]

    @property
    def criterion_chosen(self) -> int:
        return int(self.cleaned_data.get("criterion", 1))

    def expires_at(self, now: datetime) -> datetime | None:
        days = self.cleaned_data["lifetime"]
        return now + timedelta(days=int(days)) if days else None
