"""Form of the join page and its signed ticket."""

from datetime import timedelta
from typing import Any

from django import forms
from django.core import signing
from django.utils.translation import gettext_lazy as _

from annotate.models import Project, new_token
from annotate.participation.joining import pseudonyms


class JoinForm(forms.Form):
    """The name that an annotator goes by in one project, and the ticket that makes this form count once."""

    pseudonym = forms.CharField(
        label=_("Your name here"),
        max_length=pseudonyms.MAX_PSEUDONYM_LENGTH,
        help_text=_("The project's owner sees your answers under this name. It need not be your real one."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "dir": "auto"}),
    )
    ticket = forms.Field(required=False, widget=forms.HiddenInput)

    taken_name = ""  # so that the page offers who has the name their link

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project

    def clean_pseudonym(self) -> str:
        name = pseudonyms.normalize_name(self.cleaned_data["pseudonym"])
        if not any(character.isalnum() for character in name):
            raise forms.ValidationError(
                _("A name needs at least one letter or digit. Type one, or keep our suggestion.")
            )
        return name

    def clean_ticket(self) -> str:
        """Return the resume token that the annotator of this form gets."""
        try:
            return str(ticket_signer(self.project).unsign(self.cleaned_data["ticket"] or "", max_age=timedelta(days=1)))
        except signing.BadSignature:
            return new_token()


def new_ticket(project: Project) -> str:
    return ticket_signer(project).sign(new_token())


def ticket_signer(project: Project) -> signing.TimestampSigner:
    return signing.TimestampSigner(salt=f"annotate.join.{project.pk}")
