"""The questionnaire's forms: what an annotator fills in, and where the owner says what is asked."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.models import MAX_QUESTION_FIELDS, MAX_TEXT_LENGTH, QuestionField
from annotate.participation.questionnaire.actions import QuestionValues, RequestedQuestion

Kind = QuestionField.Kind
MAX_NUMBER = 1_000_000_000
MAX_CHOICES = 30
LAST = 1000
BLANK_ROWS = 2


class AnswersForm(forms.Form):
    """A control for each field; `earlier` has what was said before, by the field's primary key."""

    def __init__(self, data: Any, *, asked: Sequence[QuestionField], earlier: Mapping[int, str]) -> None:
        super().__init__(data)
        self.asked = asked
        for field in asked:
            self.fields[f"field-{field.pk}"] = answer_field(field, earlier.get(field.pk, ""))

    def values(self) -> dict[int, str]:
        """Return what was said to each, as it is stored: "" of nothing."""
        answers = {field.pk: self.cleaned_data[f"field-{field.pk}"] for field in self.asked}
        return {pk: "" if value is None else str(value) for pk, value in answers.items()}


def answer_field(field: QuestionField, earlier: str) -> forms.Field:
    missing = {"required": _("Please answer this before you continue.")}
    common: dict[str, Any] = {
        "label": getattr(field, "shown_label", field.label),
        "required": field.required,
        "initial": earlier,
    }
    if field.kind == Kind.NUMBER:
        return Number(field.least, field.most, error_messages=missing, **common)
    if field.kind == Kind.TEXT:
        widget = forms.TextInput(attrs={"dir": "auto"})
        return forms.CharField(max_length=MAX_TEXT_LENGTH, widget=widget, error_messages=missing, **common)
    choices: list[tuple[str, Any]] = list(
        zip(field.choices, getattr(field, "shown_choices", field.choices), strict=True)
    )
    if field.kind == Kind.YES_NO:
        choices = [("yes", _("Yes")), ("no", _("No"))]
    if not field.required:
        choices.append(("", _("No answer")))
    return forms.ChoiceField(choices=choices, widget=forms.RadioSelect, error_messages=missing, **common)


class Number(forms.IntegerField):
    """A whole number whose bounds are told with what was given."""

    def __init__(self, least: int | None, most: int | None, **common: Any) -> None:
        super().__init__(**common)
        self.least = -MAX_NUMBER if least is None else least
        self.most = MAX_NUMBER if most is None else most
        self.error_messages["invalid"] = _("Give a whole number, in digits.")
        if least is not None and most is not None and not self.help_text:
            self.help_text = _("A whole number from %(least)d to %(most)d.") % {"least": least, "most": most}

    def validate(self, value: int | None) -> None:
        super().validate(value)
        if value is not None and value < self.least:
            raise forms.ValidationError(
                _("%(value)d is too small; the minimum is %(limit)d."), params={"value": value, "limit": self.least}
            )
        if value is not None and value > self.most:
            raise forms.ValidationError(
                _("%(value)d is too large; the maximum is %(limit)d."), params={"value": value, "limit": self.most}
            )


class QuestionForm(forms.Form):
    """One field as the owner wants it; a new one that is left alone is none."""

    pk = forms.IntegerField(required=False, widget=forms.HiddenInput)
    label = forms.CharField(
        label=_("Question"), max_length=MAX_TEXT_LENGTH, widget=forms.TextInput(attrs={"dir": "auto"})
    )
    kind = forms.ChoiceField(label=_("Kind of answer"), choices=Kind.choices, initial=Kind.TEXT)
    choices = forms.CharField(
        label=_("Answers to choose from"),
        required=False,
        max_length=5_000,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
        help_text=_("For “One of a list”: one answer per line, at least two."),
    )
    least = Number(
        None,
        None,
        label=_("Smallest number"),
        required=False,
        help_text=_("For whole numbers. Leave empty for no limit."),
    )
    most = Number(
        None,
        None,
        label=_("Largest number"),
        required=False,
        help_text=_("For whole numbers. Leave empty for no limit."),
    )
    at_end = forms.BooleanField(
        label=_("Ask after the last task"),
        required=False,
        help_text=_("When off, it is asked after consent and before the first task."),
    )
    required = forms.BooleanField(label=_("An answer is required"), required=False)
    position = Number(1, LAST, label=_("Position"), required=False, help_text=_("Leave empty to put it last."))

    def clean_choices(self) -> list[str]:
        lines = [line.strip() for line in self.cleaned_data["choices"].splitlines() if line.strip()]
        for line in lines:
            if len(line) > MAX_TEXT_LENGTH:
                raise forms.ValidationError(
                    _("“%(start)s…” has %(n)d characters; the limit is %(limit)d."),
                    params={"start": line[:30], "n": len(line), "limit": MAX_TEXT_LENGTH},
                )
            if lines.count(line) > 1:
                raise forms.ValidationError(_("“%(text)s” is in the list twice."), params={"text": line[:100]})
        return lines

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        n = len(values.get("choices", []))
        if values.get("kind") == Kind.CHOICE and "choices" in values and not 2 <= n <= MAX_CHOICES:
            text = _("Answers in the list: %(n)d. Give 2 to %(limit)d, one per line.")
            self.add_error("choices", text % {"n": n, "limit": MAX_CHOICES})
        least, most = values.get("least"), values.get("most")
        if values.get("kind") == Kind.NUMBER and least is not None and most is not None and least > most:
            text = _(
                "%(most)d is less than the smallest number, %(least)d. Make it larger, or leave one of the two empty."
            )
            self.add_error("most", text % {"most": most, "least": least})
        return values

    def wanted(self) -> RequestedQuestion:
        data = self.cleaned_data
        is_number, is_asked = data["kind"] == Kind.NUMBER, data["kind"] != Kind.IMPORTED
        asked = QuestionValues(
            at_end=data["at_end"] and is_asked,
            kind=data["kind"],
            label=data["label"],
            choices=data["choices"] if data["kind"] == Kind.CHOICE else [],
            least=data["least"] if is_number else None,
            most=data["most"] if is_number else None,
        )
        return RequestedQuestion(data["pk"], asked, data["required"] and is_asked)


class BaseQuestionForms(forms.BaseFormSet):
    """Every field of a project and a few blank ones."""

    def add_fields(self, form: forms.Form, index: int | None) -> None:
        super().add_fields(form, index)
        if "DELETE" in form.fields:  # which blank ones do not have
            form.fields["DELETE"].label = _("Remove this field")
            form.fields["DELETE"].help_text = _("Answers to it stay in the exports.")

    def wanted(self) -> list[RequestedQuestion]:
        """Return the questions in the order of their places; those without one last, as they stand on the page."""
        kept = [form for form in self.forms if form.has_changed() or form.initial]
        kept = [form for form in kept if not form.cleaned_data.get("DELETE")]
        kept.sort(key=position_of)
        return [form.wanted() for form in kept]

    def removed(self) -> list[int]:
        return [form.cleaned_data["pk"] for form in self.deleted_forms if form.cleaned_data.get("pk")]


def position_of(form: forms.Form) -> tuple[int, int]:
    """Return what the forms are sorted by: of two with the same place, the one moved there pushes the other
    on its way."""
    wanted, stood = form.cleaned_data["position"] or LAST, form.initial.get("position", LAST)
    return wanted, (wanted > stood) - (wanted < stood)


QuestionForms = forms.formset_factory(
    QuestionForm,
    formset=BaseQuestionForms,
    extra=BLANK_ROWS,
    max_num=MAX_QUESTION_FIELDS,
    validate_max=True,
    absolute_max=MAX_QUESTION_FIELDS + BLANK_ROWS,
    can_delete=True,
    can_delete_extra=False,
)


def question_forms(data: Any, asked: Sequence[QuestionField]) -> BaseQuestionForms:
    rows = [
        {
            "pk": field.pk,
            "label": field.label,
            "kind": field.kind,
            "choices": "\n".join(field.choices),
            "least": field.least,
            "most": field.most,
            "at_end": field.at_end,
            "required": field.required,
            "position": place,
        }
        for place, field in enumerate(asked, start=1)
    ]
    return cast(BaseQuestionForms, QuestionForms(data, initial=rows, prefix="fields"))
