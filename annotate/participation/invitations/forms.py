"""What owners say to invite people: addresses, one a line, and a few words of their own."""

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext_lazy as _

MAX_ADDRESSES = 100


class InviteForm(forms.Form):
    addresses = forms.CharField(
        label=_("E-mail addresses, one a line"),
        help_text=_("At most 100 at a time."),
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "autocomplete": "off", "dir": "ltr"}),
        max_length=30_000,
    )
    words = forms.CharField(
        label=_("Your message"),
        required=False,
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
    )

    def clean_addresses(self) -> list[str]:
        """Return each once, in the order given; refused as a whole if one is none, so that nobody is written to
        twice."""
        lines = [line.strip(" \t,;") for line in self.cleaned_data["addresses"].splitlines()]
        addresses = list({line.lower(): line for line in lines if line}.values())
        if len(addresses) > MAX_ADDRESSES:
            raise ValidationError(
                _("These are %(n)d addresses; the limit is %(limit)d at a time. Send them in parts."),
                params={"n": len(addresses), "limit": MAX_ADDRESSES},
            )
        for address in addresses:
            try:
                validate_email(address)
            except ValidationError:
                raise ValidationError(
                    _("“%(value)s” is not an e-mail address. Correct or remove it; nothing has been sent yet."),
                    params={"value": address[:100]},
                ) from None
        return addresses
