"""What owners say of a webhook: where it is and what it is told."""

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.models import ANSWER_EVENTS, Webhook
from annotate.webhooks.http_client import Unreachable, parse_url


class WebhookForm(forms.Form):
    url = forms.CharField(
        label=_("Address"),
        max_length=500,
        help_text=_("For example https://example.org/hook. It receives signed POST requests with JSON."),
        widget=forms.URLInput(attrs={"autocomplete": "off", "dir": "ltr"}),
    )
    events = forms.MultipleChoiceField(
        label=_("Events"),
        choices=Webhook.Event.choices,
        initial=[event for event in Webhook.Event.values if event not in ANSWER_EVENTS],
        widget=forms.CheckboxSelectMultiple,
    )

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"]
        try:
            parse_url(url)
        except Unreachable as error:
            raise forms.ValidationError(str(error)) from error
        return url


class WebhookActionForm(forms.Form):
    action = forms.ChoiceField(choices=[(name, "") for name in ("test", "on", "off", "secret", "remove")])
