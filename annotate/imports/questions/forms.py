"""What owners say of a file of questions: the file or its text, how to read it, how the questions are asked."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.imports.comparisons.actions import LONGEST_NAME
from annotate.imports.forms import LONGEST_PASTE
from annotate.imports.questions.columns import (
    FORMATS,
    OF_FORMAT,
    Asking,
    guess_places,
    item_columns,
    label_of,
    of_format,
)
from annotate.models import GivenOrder


class QuestionsFileForm(forms.Form):
    file = forms.FileField(
        label=_("File"),
        required=False,
        allow_empty_file=True,  # refused in our own words
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.tsv,.txt,.json,.jsonl,.ndjson,.xlsx,.parquet,.gz"}),
        help_text=_("CSV, TSV, XLSX, JSON, JSON lines or Parquet; up to 50 MB and 100,000 rows."),
    )
    text = forms.CharField(
        label=_("Or paste the table"),
        required=False,
        max_length=LONGEST_PASTE,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6, "dir": "auto", "spellcheck": "false"}),
        help_text=_("With a first line that names the columns."),
    )

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if not values.get("file") and not (values.get("text") or "").strip() and "file" not in self.errors:
            self.add_error("file", _("Choose a file, or paste a table below."))
        return values


class AskingForm(forms.Form):
    """How to read the file, and how its questions are asked."""

    use_required_attribute = False

    format = forms.ChoiceField(label=_("Read as"), choices=list(FORMATS.items()))
    order = forms.ChoiceField(label=_("Asked"), choices=[("", _("As before")), *GivenOrder.choices], required=False)
    first_wins = forms.BooleanField(label=_("The first answer of each row was preferred to the second"), required=False)
    someone = forms.CharField(
        label=_("Annotator for votes that name none"), max_length=LONGEST_NAME, required=False, empty_value="imported"
    )
    score = forms.CharField(
        label=_("Field of a completion that is its score"),
        max_length=100,
        required=False,
        help_text=_("Empty: overall_score, score or rating. Completions are voted on by their scores; equal ones tie."),
    )
    before = forms.CharField(label=_("Prefix for annotators' names"), max_length=40, required=False, strip=False)

    def __init__(self, names: Sequence[str], format: str, k: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        places = [("", _("none")), *((str(place), name[:60]) for place, name in enumerate(names))]
        first = [one for one in OF_FORMAT[format] if one in ("set", "prompt")]
        rest = [one for one in OF_FORMAT[format] if one not in first]
        self.chosen = [*first, *item_columns(format, k), *rest]
        for what in self.chosen:
            self.fields[what] = forms.TypedChoiceField(
                label=label_of(what), choices=places, coerce=int, required=False, empty_value=None
            )
        if format == "keys":
            for name in ("someone", "before"):
                del self.fields[name]
        if format != "answers":
            del self.fields["first_wins"]
        if format != "completions":
            del self.fields["score"]


def asking_of(names: Sequence[str], guessed: Asking, k: int, data: Mapping[str, Any]) -> Asking:
    """Return what the owner chose as far as it is valid, else what was guessed."""
    if data.get("format") in FORMATS and data["format"] != guessed.format:
        guessed = replace(guessed, format=data["format"], columns=columns_for(data["format"], names), first_wins=False)
    if "cut" not in data:
        return guessed
    form = AskingForm(names, guessed.format, k, data)
    if not form.is_valid():
        return guessed
    values = form.cleaned_data
    columns = dict(guessed.columns)
    if data["cut"] == guessed.format:  # columns chosen for one format mean nothing for another
        for what in form.chosen:
            columns.pop(what, None)
            if values[what] is not None:
                columns[what] = values[what]
    settings = {name: values[name] for name in ("first_wins", "someone", "score") if name in values}
    return replace(guessed, columns=columns, order=values["order"], prefix=values.get("before", ""), **settings)


def columns_for(format: str, names: Sequence[str]) -> dict[str, int]:
    return of_format(format, guess_places(names))


def initial_of(asking: Asking) -> dict[str, Any]:
    return {**asking.columns, **{n: v for n, v in asdict(asking).items() if n != "columns"}, "before": asking.prefix}


def hidden_fields(form: AskingForm, asking: Asking) -> list[tuple[str, str]]:
    """Return the same reading as fields of a form."""
    values = initial_of(asking)
    named = [(name, values.get(name)) for name in form.fields]
    fields = [(name, str(value)) for name, value in named if value is not None and value is not False and value != ""]
    return [("cut", asking.format), *fields]
