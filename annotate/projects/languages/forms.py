"""Forms of a project's languages and of its words in one of them."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.conf.locale import LANG_INFO
from django.utils.translation import gettext_lazy as _

from annotate.core.languages import MAX_LANGUAGE_LENGTH, is_language_tag, language_name
from annotate.files.limits import MAX_TEXT, MAX_TITLE
from annotate.models import MAX_TEXT_LENGTH, ParticipationRules, Project, ProjectTranslation, QuestionField
from annotate.models.task_words import LETTER

KNOWN = sorted((code for code, info in LANG_INFO.items() if "name_local" in info), key=language_name)


class LanguageField(forms.CharField):
    """A language code; a list of common ones is offered, others may be written."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.TextInput(attrs={"list": "language-codes", "autocapitalize": "none", "spellcheck": "false"})
        super().__init__(max_length=MAX_LANGUAGE_LENGTH, widget=widget, **kwargs)

    def clean(self, value: Any) -> str:
        language: str = super().clean(value)
        if language and not is_language_tag(language):
            raise forms.ValidationError(
                _("“%(language)s” is not a language code. Use codes such as fr or pt-BR."),
                params={"language": language[:40]},
            )
        return language


class LanguagesForm(forms.Form):
    language = LanguageField(
        label=_("Language of your own words and items"),
        help_text=_("A language code, such as en, de or pt-BR. It is shown where a translation is missing."),
    )
    add = LanguageField(label=_("Add a language"), required=False, help_text=_("A language code, such as fr."))


class WordsForm(forms.ModelForm):
    """What the project says and may say in another language; fields of what it does not say are left out."""

    class Meta:
        model = ProjectTranslation
        fields = ProjectTranslation.WORDS
        widgets = {"instructions": forms.Textarea(attrs={"rows": 6, "dir": "auto"})}

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.criteria = project.criteria
        self.questions: list[QuestionField] = []
        for name in ProjectTranslation.WORDS:
            own = getattr(project, name)
            if not own or (name == "question" and project.criteria):
                del self.fields[name]
            else:
                self.fields[name].help_text = own if len(own) <= 500 else own[:500] + "…"
        criteria = self.instance.criteria or []
        for number, criterion in enumerate(project.criteria, start=1):
            given = criteria[number - 1] if number <= len(criteria) else {}
            for part in ("name", "question"):
                self.fields[f"criterion_{number}_{part}"] = forms.CharField(
                    label=_("Criterion %(n)d") % {"n": number},
                    help_text=criterion[part],
                    required=False,
                    max_length=500 if part == "question" else 60,
                    initial=given.get(part, ""),
                )

    def add_texts(self, rules: ParticipationRules, questions: Sequence[QuestionField]) -> None:
        """Add what people read before and after the tasks; a translation of an earlier consent text begins empty."""
        for name, rows in (("consent", 10), ("thanks", 4)):
            own = getattr(rules, name)
            if own:
                model_field: Any = ProjectTranslation._meta.get_field(name)
                self.fields[name] = forms.CharField(
                    label=model_field.verbose_name,
                    help_text=own if len(own) <= 500 else own[:500] + "…",
                    required=False,
                    max_length=model_field.max_length,
                    initial=getattr(self.instance, name),
                    widget=forms.Textarea(attrs={"rows": rows, "dir": "auto"}),
                )
        if "consent" in self.fields and self.instance.consent_of != rules.project.consent_version:
            self.fields["consent"].initial = ""
        self.questions = list(questions)
        translations = {one["number"]: one for one in self.instance.questions}
        for field in self.questions:
            one = translations.get(field.number, {})
            given = [*one.get("choices", []), *[""] * len(field.choices)]
            label = _("Question %(n)d about people") % {"n": field.number}
            self.add_line(f"question_{field.number}", label, field.label, one.get("label", ""))
            for place, (own, text) in enumerate(zip(field.choices, given, strict=False)):
                choice = _("Question %(n)d, choice %(place)d") % {"n": field.number, "place": place + 1}
                self.add_line(f"question_{field.number}_{place}", choice, own, text)

    def add_line(self, name: str, label: str, own: str, given: str) -> None:
        self.fields[name] = forms.CharField(
            label=label, help_text=own, required=False, max_length=MAX_TEXT_LENGTH, initial=given
        )

    def clean_choice_words(self) -> str:
        return self.words_with_letter("choice_words")

    def clean_slightly_words(self) -> str:
        return self.words_with_letter("slightly_words")

    def clean_clearly_words(self) -> str:
        return self.words_with_letter("clearly_words")

    def words_with_letter(self, name: str) -> str:
        words: str = self.cleaned_data[name]
        if words and LETTER not in words:
            raise forms.ValidationError(_("Write {letter} where the item's letter stands, as in your own words."))
        return words

    def words(self) -> dict[str, Any]:
        """Return the fields of ProjectTranslation as they were filled in."""
        values = {name: self.cleaned_data[name] for name in ProjectTranslation.WORDS if name in self.fields}
        values |= {name: self.cleaned_data[name] for name in ("consent", "thanks") if name in self.fields}
        if self.questions:
            values["questions"] = [
                {
                    "number": field.number,
                    "label": self.cleaned_data[f"question_{field.number}"],
                    "choices": [
                        self.cleaned_data[f"question_{field.number}_{place}"] for place in range(len(field.choices))
                    ],
                }
                for field in self.questions
            ]
        if self.criteria:
            values["criteria"] = [
                {part: self.cleaned_data[f"criterion_{number}_{part}"] for part in ("name", "question")}
                for number in range(1, len(self.criteria) + 1)
            ]
        return values


class ContextTextForm(forms.Form):
    """One context's text in a language."""

    body = forms.CharField(
        label=_("Text"),
        required=False,
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
        strip=True,
    )


class ItemTextForm(forms.Form):
    """One item's text and title in a language."""

    body = forms.CharField(
        label=_("Text"),
        required=False,
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
        strip=True,
    )
    title = forms.CharField(label=_("Title"), required=False, max_length=MAX_TITLE)

    def texts(self) -> tuple[str, str]:
        return self.cleaned_data["body"], " ".join(self.cleaned_data["title"].split())
