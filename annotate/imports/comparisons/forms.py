"""What owners say of comparisons made elsewhere: the file, how to read it, whose they are."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.imports.comparisons.actions import LONGEST_NAME
from annotate.imports.comparisons.tables import COLUMNS, FORMATS, NEEDED

ACCEPTED = ".csv,.tsv,.txt,.json,.jsonl,.ndjson,.xlsx,.parquet,.gz,.soc,.soi,.toc,.toi"
# The columns that each format has besides.
ALSO = {
    "pairs": ("annotator", "at", "seconds"),
    "winners": ("annotator", "at", "seconds"),
}


class ComparisonsFileForm(forms.Form):
    file = forms.FileField(
        label=_("File"),
        allow_empty_file=True,  # refused in our own words
        widget=forms.ClearableFileInput(attrs={"accept": ACCEPTED}),
        help_text=_(
            "CSV, TSV, XLSX, JSON, JSON lines, Parquet, a list of pairs, or PrefLib; up to 50 MB and 250,000 "
            "comparisons."
        ),
    )


class VotingForm(forms.Form):
    """How to read the file, and what to do about names."""

    use_required_attribute = False

    format = forms.ChoiceField(label=_("Read as"), choices=list(FORMATS.items()))
    someone = forms.CharField(
        label=_("Annotator for rows that name none"), max_length=LONGEST_NAME, required=False, empty_value="imported"
    )
    before = forms.CharField(
        label=_("Prefix for annotators' names"),
        max_length=40,
        required=False,
        strip=False,
        help_text=_("For example “2019 ”, if the file names somebody who also answers here in person."),
    )
    numbers = forms.ChoiceField(
        label=_("Numbers in a list of pairs are"),
        choices=[("keys", _("keys of items")), ("places", _("positions in the list of items, from 0"))],
    )
    create = forms.BooleanField(
        label=_("Create the items that the file names but this project does not have"),
        required=False,
        help_text=_("Otherwise their rows are refused. New items show their text from the file, or their key."),
    )

    def __init__(self, names: Sequence[str], format: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        places = [("", _("none")), *((str(place), name[:60]) for place, name in enumerate(names))]
        self.chosen = [*NEEDED.get(format, ()), *ALSO.get(format, ())] if format in ALSO else []
        for what in self.chosen:
            self.fields[what] = forms.TypedChoiceField(
                label=COLUMNS[what], choices=places, coerce=int, required=False, empty_value=None
            )
            # Shown as needed; what is sent may lack it all the same, while another format is chosen.
            self.fields[what].required = what in NEEDED[format] and not self.is_bound
        if format != "indices":
            del self.fields["numbers"]
        if format in ("labels", "orders"):
            del self.fields["someone"]


def voting_of(names: Sequence[str], guessed: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the owner chose as far as it is valid, else what was guessed; as the mapping's `voting`."""
    form = VotingForm(names, guessed["format"], data)
    if "cut" not in data or not form.is_valid():
        return dict(guessed)
    values = form.cleaned_data
    columns = dict(guessed["columns"])
    if data["cut"] == guessed["format"]:  # columns chosen for one format mean nothing for another
        for what in form.chosen:
            columns.pop(what, None)
            if values[what] is not None:
                columns[what] = values[what]
    plain: dict[str, Any] = {name: values[name] for name in ("someone", "numbers", "create") if name in values}
    return {**guessed, **plain, "prefix": values["before"], "columns": columns}


def initial_of(voting: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **voting["columns"],
        **{name: value for name, value in voting.items() if name != "columns"},
        "before": voting["prefix"],
    }
