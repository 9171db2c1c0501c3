"""What owners send as the captions of a recording: a WebVTT file and its language."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.files.limits import Unusable
from annotate.items.captions.webvtt import LANGUAGE, text_of


class CaptionsForm(forms.Form):
    file = forms.FileField(
        label=_("Captions"), help_text=_("A WebVTT file (.vtt) in UTF-8: what is said and heard, and when.")
    )
    language = forms.RegexField(
        LANGUAGE,
        label=_("Language"),
        max_length=35,
        help_text=_("Language code of the captions, such as en, de or pt-BR."),
        error_messages={"invalid": _("That is not a language code. Write two or three letters, as in en or de.")},
    )

    def clean_language(self) -> str:
        language: str = self.cleaned_data["language"]
        if not LANGUAGE.fullmatch(language):
            raise forms.ValidationError(self.fields["language"].error_messages["invalid"])
        return language

    def clean_file(self) -> Any:
        try:
            return text_of(self.cleaned_data["file"])
        except Unusable as problem:
            raise forms.ValidationError(str(problem)) from problem
