"""What owners say of a file of counts: the file, which column is which, whose the counts are."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.imports.comparisons.actions import LONGEST_NAME
from annotate.imports.counts.columns import COLUMNS, NEEDED, Counting


class CountsFileForm(forms.Form):
    file = forms.FileField(
        label=_("File"),
        allow_empty_file=True,  # refused in our own words
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.tsv,.txt,.json,.jsonl,.ndjson,.xlsx,.parquet,.gz"}),
        help_text=_("CSV, TSV, XLSX, JSON, JSON lines or Parquet; up to 50 MB and 250,000 rows."),
    )


class CountingForm(forms.Form):
    """How to read the file, and what to do about names."""

    use_required_attribute = False

    someone = forms.CharField(
        label=_("Annotator for rows that name none"), max_length=LONGEST_NAME, required=False, empty_value="imported"
    )
    before = forms.CharField(label=_("Prefix for annotators' names"), max_length=40, required=False, strip=False)
    create = forms.BooleanField(
        label=_("Create the items that the file names but this project does not have"),
        required=False,
        help_text=_("Otherwise their rows are refused. New items show their key."),
    )

    def __init__(self, names: Sequence[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        places = [("", _("none")), *((str(place), name[:60]) for place, name in enumerate(names))]
        for what, label in COLUMNS.items():
            self.fields[what] = forms.TypedChoiceField(
                label=label, choices=places, coerce=int, required=False, empty_value=None
            )
            # Shown as needed; what is sent may lack it, which the page then says.
            self.fields[what].required = what in NEEDED and not self.is_bound
        self.order_fields([*COLUMNS, "someone", "before", "create"])


def counting_of(names: Sequence[str], guessed: Counting, data: Mapping[str, Any]) -> Counting:
    """Return what the owner chose as far as it is valid, else what was guessed."""
    if "cut" not in data:
        return guessed
    form = CountingForm(names, data)
    if not form.is_valid():
        return guessed
    values = form.cleaned_data
    columns = {what: values[what] for what in COLUMNS if values[what] is not None}
    return replace(
        guessed, columns=columns, someone=values["someone"], prefix=values["before"], create=values["create"]
    )


def initial_of(counting: Counting) -> dict[str, Any]:
    settings = {"someone": counting.someone, "before": counting.prefix, "create": counting.create}
    return {**counting.columns, **settings}


def hidden_fields(counting: Counting) -> list[tuple[str, str]]:
    """Return the same reading as fields of a form."""
    named = initial_of(counting).items()
    return [("cut", "1"), *((name, str(value)) for name, value in named if value is not False and value != "")]
