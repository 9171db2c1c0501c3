"""Form for a pasted table of conflicts of interest."""

from django import forms
from django.utils.translation import gettext_lazy as _


class NeverShownForm(forms.Form):
    table = forms.CharField(
        label=_("Table"),
        strip=False,
        max_length=1_000_000,
        widget=forms.Textarea(attrs={"rows": 6, "dir": "auto", "spellcheck": "false"}),
        help_text=_("Separate columns with commas, semicolons or tabs, or paste from a spreadsheet."),
    )
    void = forms.BooleanField(
        label=_("Also void the answers that they have given about these items"),
        required=False,
        help_text=_("Without this, answers given before stay and count."),
    )
