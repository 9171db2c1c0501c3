"""What owners choose to exclude at once, and why."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.annotators.bulk.queries import Choice
from annotate.annotators.tags.queries import tag_names
from annotate.models import BulkExclusion, Project
from annotate.projects.quality_settings.forms import LocalDateTimeInput

By = BulkExclusion.By


class ChoiceForm(forms.Form):
    by = forms.ChoiceField(label=_("Choose by"), choices=By.choices, initial=By.SPAN)
    since = forms.DateTimeField(label=_("From"), required=False, widget=LocalDateTimeInput)
    until = forms.DateTimeField(
        label=_("Until"), required=False, widget=LocalDateTimeInput, help_text=_("Not included.")
    )
    session = forms.CharField(
        label=_("Session"),
        required=False,
        max_length=200,
        help_text=_("A session of a browser, as in the export of labels, or a session or study of a platform."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "ltr"}),
    )
    tag = forms.ChoiceField(label=_("Tag"), required=False)

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = tag_names(project)
        self.fields["tag"].choices = [("", _("None")), *((name, name) for name in names)]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or {}
        by, since, until = values.get("by"), values.get("since"), values.get("until")
        if by == By.SPAN:
            for name in ("since", "until"):
                if not values.get(name) and name not in self.errors:
                    self.add_error(name, _("Give a date and a time."))
            if since and until and since >= until:
                self.add_error("until", _("This is not after the beginning. Give a later time."))
        elif by in (By.SESSION, By.TAG) and not values.get(by) and by not in self.errors:
            self.add_error(by, _("Name the session.") if by == By.SESSION else _("Choose a tag."))
        return values

    @property
    def choice(self) -> Choice:
        """What was chosen; other fields than those of its kind are left out."""
        values = self.cleaned_data
        by = values["by"]
        if by == By.SPAN:
            return Choice(by, values["since"], values["until"])
        return Choice(by, value=values[by])


class ReasonForm(forms.Form):
    reason = forms.CharField(label=_("Reason, for the log (optional)"), required=False, max_length=500)
