"""What owners say of who may take part, and a code to check."""

import re
from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from annotate.models import ParticipationRules
from annotate.participation.completion.codes import PLACEHOLDERS, may_return_to

PARAMETERS = ["participant_parameter", "study_parameter", "session_parameter"]
CODE_FIELDS = ["complete_code", "screened_out_code", "quota_full_code", "no_consent_code"]


class ParticipationRulesForm(forms.ModelForm):
    codes = forms.ChoiceField(label=_("Codes"), choices=ParticipationRules.Codes.choices, widget=forms.RadioSelect)

    class Meta:
        model = ParticipationRules
        fields = [
            "open_link",
            "places",
            "place_minutes",
            "platform",
            *PARAMETERS,
            "consent",
            "thanks",
            "codes",
            *CODE_FIELDS,
            "return_url",
        ]
        help_texts = {
            "open_link": _(
                "Anyone with the join link can take part. When off, no new people can join; existing "
                "annotators are not affected."
            ),
            "places": _("Counts people who joined by a link, not members with an account. Leave empty for no limit."),
            "place_minutes": _(
                "How long somebody who stops half-way keeps their place after their last answer. Then somebody "
                "else gets it; anyone who comes back may still finish. Leave empty to keep places for good."
            ),
            "platform": _("A separate link for participants sent by a platform such as Prolific or SONA."),
            "participant_parameter": _("PROLIFIC_PID for Prolific, participantId for CloudResearch Connect."),
            "study_parameter": _("Stored with the participant. Leave empty if the platform sends none."),
            "session_parameter": _(
                "Lets a participant continue in another browser. Unlike a participant ID, it can't be guessed."
            ),
            "consent": _(
                "Shown before the first task; nobody can answer without agreeing. Markdown. If you change it, "
                "everybody is asked again. Each version is stored with who agreed to it and when."
            ),
            "thanks": _("Shown at the end, above the code. Markdown."),
            "return_url": _(
                "An https address in which {code} and {participant} are filled in, such as "
                "https://app.prolific.com/submissions/complete?cc={code}"
            ),
        }
        widgets = {
            "consent": forms.Textarea(attrs={"rows": 8, "dir": "auto"}),
            "thanks": forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
            **{name: forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}) for name in CODE_FIELDS},
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("places", "place_minutes"):
            self.fields[name].validators.append(validate_at_least_one)

    def clean_return_url(self) -> str:
        template: str = self.cleaned_data["return_url"].strip()
        if template and not may_return_to(template):
            raise forms.ValidationError(
                _("“%(value)s” is not an https address of an allowed host. Allowed: %(hosts)s."),
                params={"value": template[:100], "hosts": ", ".join(settings.ALLOWED_RETURN_HOSTS)},
            )
        unknown = [word for word in re.findall(r"\{[^{}]*\}?|\}", template) if word not in PLACEHOLDERS]
        if unknown:
            raise forms.ValidationError(
                _("“%(word)s” is not a placeholder. Use only %(known)s."),
                params={"word": unknown[0], "known": ", ".join(PLACEHOLDERS)},
            )
        return template

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        named = [values[name] for name in PARAMETERS if values.get(name)]
        for name in PARAMETERS:
            value = values.get(name, "")
            if value and not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]*", value):
                self.add_error(
                    name,
                    _(
                        "“%(value)s” is not a valid parameter name. Start with a letter; use only letters, digits, "
                        "“_”, “-” and “.”."
                    )
                    % {"value": value},
                )
            elif value and named.count(value) > 1:
                self.add_error(
                    name, _("“%(value)s” is used twice. Give each parameter its own name.") % {"value": value}
                )
        if values.get("codes") == ParticipationRules.Codes.STUDY and not values.get("complete_code"):
            self.add_error("complete_code", _("Enter the code that everybody gets. Copy it from the platform's page."))
        return values

    def values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in self.Meta.fields}


def validate_at_least_one(value: int) -> None:
    if value < 1:
        raise forms.ValidationError(
            _("%(value)d is too few: give 1 or more, or leave the field empty for no limit."), params={"value": value}
        )


class CodeForm(forms.Form):
    code = forms.CharField(
        label=_("Code"), max_length=100, widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    )
