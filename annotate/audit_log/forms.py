"""What owners ask of the log: by whom, what, since when."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.audit_log.queries import LogFilter
from annotate.models import Event, EventVerb, Project, User


class LogForm(forms.Form):
    """Bound to GET; what is not valid is told and counts as not asked for."""

    who = forms.ChoiceField(label=_("Who"), required=False)
    what = forms.ChoiceField(label=_("What"), required=False)
    since = forms.DateField(label=_("Since"), required=False, widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        events = Event.objects.filter(project=project).exclude(verb=EventVerb.COMPARISONS_STORED).order_by()
        people = User.objects.filter(pk__in=events.values("actor")).order_by("email", "username")
        names = [(str(one.pk), one.email or one.username) for one in people]
        verbs = events.values_list("verb", flat=True).distinct()
        kinds = sorted(((verb, name_in_filter(verb)) for verb in verbs), key=lambda one: one[1].casefold())
        self.fields["who"].choices = [("", _("Everybody")), *names]  # type: ignore[attr-defined]
        self.fields["what"].choices = [("", _("Everything")), *kinds]  # type: ignore[attr-defined]

    def log_filter(self) -> LogFilter:
        """Return what the fields say; one that is not valid counts as empty."""
        self.is_valid()
        asked = self.cleaned_data
        who = asked.get("who")
        return LogFilter(int(who) if who else None, asked.get("what", ""), asked.get("since"))


def name_in_filter(verb: str) -> str:
    known = EventVerb.parse(verb)
    return str(known.name_in_filter) if known and known.name_in_filter else verb
