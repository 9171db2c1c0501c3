"""What owners say of the roster: a table of people, and a few words for the messages with their links."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.annotators.roster.queries import Group
from annotate.core.errors import UserError
from annotate.files.decoding import decode_upload

LONGEST_TABLE = 500_000


class RosterForm(forms.Form):
    """A table pasted or uploaded; `table` is its text in either case."""

    table = forms.CharField(
        label=_("Table"),
        required=False,
        strip=False,
        max_length=LONGEST_TABLE,
        widget=forms.Textarea(attrs={"rows": 6, "dir": "auto", "spellcheck": "false"}),
        help_text=_("Separate columns with commas, semicolons or tabs, or paste from a spreadsheet."),
    )
    file = forms.FileField(
        label=_("Or a file"),
        required=False,
        allow_empty_file=True,
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.tsv,.txt"}),
        help_text=_("CSV or TSV, up to 500 rows."),
    )

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or {}
        if values.get("file"):
            try:
                values["table"] = decode_upload(values["file"]).text
            except UserError as refusal:
                self.add_error("file", str(refusal))
                return values
            if len(values["table"]) > LONGEST_TABLE:
                self.add_error("file", _("The file has more than 500,000 characters. Divide it."))
        elif not (values.get("table") or "").strip() and "table" not in self.errors:
            self.add_error("table", _("Paste a table or choose a file."))
        return values


class MessageForm(forms.Form):
    to = forms.ChoiceField(choices=[(one.value, one.value) for one in Group], widget=forms.HiddenInput())
    words = forms.CharField(
        label=_("Your message"),
        required=False,
        max_length=1000,
        help_text=_("The message begins with the person's name and ends with their link."),
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
    )
