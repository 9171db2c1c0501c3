"""The form by which an owner adds a machine."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.models.machines import MAX_CURRENCY_LENGTH, MAX_PROMPT_LENGTH, MAX_VERSION_LENGTH

MAX_NAME_LENGTH = 100


class MachineForm(forms.Form):
    name = forms.CharField(
        label=_("Name"), max_length=MAX_NAME_LENGTH, help_text=_("How pages, exports and reports call it.")
    )
    program = forms.CharField(label=_("Program or model"), max_length=200)
    version = forms.CharField(label=_("Version"), max_length=MAX_VERSION_LENGTH, required=False)
    prompt = forms.CharField(
        label=_("Prompt"),
        max_length=MAX_PROMPT_LENGTH,
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6, "dir": "auto"}),
        help_text=_("What the model is told, with the places of the items. Another prompt is another machine."),
    )
    price = forms.DecimalField(
        label=_("Cost per answer"), min_value=0, max_digits=12, decimal_places=6, required=False,
        help_text=_("Used for answers that come without their own cost."),
    )  # fmt: skip
    currency = forms.CharField(
        label=_("Currency"), max_length=MAX_CURRENCY_LENGTH, required=False, help_text=_("As in EUR.")
    )

    def values(self) -> dict[str, Any]:
        """Return what actions.add_machine takes."""
        return dict(self.cleaned_data)
