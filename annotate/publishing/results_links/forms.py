"""Forms of results links: which ranking, how long it works, and what its projector view shows."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.criteria import named_criteria
from annotate.models import OVERALL, Project
from annotate.projects.quality_settings.forms import LocalDateTimeInput

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
    track = forms.ChoiceField(
        label=_("Track"),
        required=False,
        help_text=_("Only the items with this tag, ranked among themselves. Visitors see the tag's name."),
    )
    hides_names = forms.BooleanField(
        label=_("Hide the names until I reveal them"),
        required=False,
        help_text=_("For an award ceremony: visitors see places and scores without names until you press Reveal."),
    )
    shows_join = forms.BooleanField(
        label=_("Show on the projector view how to take part"),
        required=False,
        help_text=_("The join link and its QR code, while the project is open."),
    )
    deadline = forms.DateTimeField(
        label=_("The projector view counts down to"),
        required=False,
        widget=LocalDateTimeInput(),
        help_text=_("Leave empty for the time at which the project closes, if it has one."),
    )
    shows_methods = forms.BooleanField(
        label=_("Show the methods, too"),
        required=False,
        help_text=_("A page that says how the ranking was computed, for readers of a paper."),
    )
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

    shows_leaderboard = forms.BooleanField(
        label=_("Show the leaderboard"),
        required=False,
        help_text=_("Names the competitors and ranks them, above the ranking of single items."),
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not project.has_competitors:
            del self.fields["shows_leaderboard"]
        tags = list(project.tags.order_by("name").values_list("name", flat=True))
        self.fields["track"].choices = [("", _("All items")), *((name, name) for name in tags)]  # type: ignore[attr-defined]
        if not tags:
            del self.fields["track"]
        if project.criteria:
            named = [(one.number, one.name) for one in named_criteria(project)]
            self.fields["criterion"].choices = [(OVERALL, _("Overall")), *named]  # type: ignore[attr-defined]
            self.fields["criterion"].initial = OVERALL  # where the winner stands
        else:
            del self.fields["criterion"]

    @property
    def live(self) -> dict[str, Any]:
        """Return what the link shows, and what its projector view is set to."""
        own = {name: self.cleaned_data[name] for name in ("hides_names", "shows_join", "deadline")}
        return own | {"track": self.cleaned_data.get("track", "")}

    @property
    def criterion_chosen(self) -> int:
        return int(self.cleaned_data.get("criterion", 1))

    def expires_at(self, now: datetime) -> datetime | None:
        days = self.cleaned_data["lifetime"]
        return now + timedelta(days=int(days)) if days else None


class LiveForm(forms.Form):
    """A button of the owner's projector view, or its deadline."""

    action = forms.ChoiceField(choices=[("reveal", ""), ("hide", ""), ("deadline", "")])
    deadline = forms.DateTimeField(label=_("Counts down to"), required=False, widget=LocalDateTimeInput())
