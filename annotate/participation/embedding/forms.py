"""Form of the sites whose pages may show a project's vote and results."""

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.core.framing import is_site_origin

MAX_SITES = 20


class SitesForm(forms.Form):
    origins = forms.CharField(
        label=_("Sites that may show the vote and the results"),
        required=False,
        max_length=8_000,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "dir": "ltr"}),
        help_text=_(
            "One address a line, with https:// and nothing after the name, such as https://www.example.org. "
            "https://*.example.org stands for every name in front. Empty: no site may."
        ),
    )

    def clean_origins(self) -> list[str]:
        given = [line.strip().lower().rstrip("/") for line in self.cleaned_data["origins"].splitlines()]
        origins = list(dict.fromkeys(filter(None, given)))
        check_origins(origins)
        return origins


def check_origins(origins: list[str]) -> None:
    """Raise ValidationError for the first that is no https address of a site, and for too many."""
    for origin in origins:
        if not is_site_origin(origin):
            raise forms.ValidationError(
                _(
                    "“%(origin)s” is not the address of a site. Write https:// and its name, such as https://example.org."
                ),
                params={"origin": origin[:80]},
            )
    if len(origins) > MAX_SITES:
        raise forms.ValidationError(
            _("There are %(n)d sites; the limit is %(limit)d. Remove some."),
            params={"n": len(origins), "limit": MAX_SITES},
        )
