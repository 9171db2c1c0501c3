"""Why an annotator is excluded, in the owner's words."""

from django import forms
from django.utils.translation import gettext_lazy as _


class ExcludeForm(forms.Form):
    reason = forms.CharField(label=_("Reason"), required=False, max_length=500)
