"""For how long an owner keeps what names the annotators."""

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.models import MAX_RETENTION_DAYS, Retention

DROPS = [
    (Retention.Drops.PERSONAL.value, _("Personal data only; answers are kept anonymously")),
    (Retention.Drops.LABELS.value, _("Everything, including answers and all results computed from them")),
]


class RetentionForm(forms.Form):
    days = forms.IntegerField(
        label=_("Days after closing"),
        required=False,
        min_value=0,
        max_value=MAX_RETENTION_DAYS,
        help_text=_("0 keeps everything for good. Leave empty to use this site's default."),
    )
    drops = forms.ChoiceField(label=_("What is erased"), choices=DROPS, widget=forms.RadioSelect)
