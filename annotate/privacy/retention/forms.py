"""For how long an owner keeps what names the annotators."""

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.models import MAX_RETENTION_DAYS, Retention


class RetentionForm(forms.Form):
    days = forms.IntegerField(
        label=_("Days from closing"),
        required=False,
        min_value=0,
        max_value=MAX_RETENTION_DAYS,
        help_text=_("0 keeps everything. Empty: what this site does."),
    )
    drops = forms.ChoiceField(label=_("What is erased then"), choices=Retention.Drops.choices, widget=forms.RadioSelect)
