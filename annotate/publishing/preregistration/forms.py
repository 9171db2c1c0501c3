"""Forms of freezing a plan and of the reason of a deviation."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.models import MAX_DEVIATION_REASON, MAX_STATEMENT_LENGTH


def statement(label: Any, help_text: Any) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": 4, "dir": "auto"})
    return forms.CharField(
        label=label, help_text=help_text, required=False, max_length=MAX_STATEMENT_LENGTH, widget=widget
    )


class FreezeForm(forms.Form):
    hypotheses = statement(_("Hypotheses"), _("What you expect to find. Leave empty if the study explores."))
    stopping_rule = statement(_("Stopping rule"), _("When you will stop: a number of people or answers, or the goal."))
    exclusion_rules = statement(
        _("Exclusion rules"), _("Whose answers you will leave out, besides the rules that are set in the project.")
    )
    analysis = statement(_("Analysis"), _("What you will compute from the ranking, and how."))


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=_("Reason"), max_length=MAX_DEVIATION_REASON, widget=forms.TextInput(attrs={"dir": "auto"})
    )
