"""The criteria of a project in its settings: up to five rows of a name and a question, and how much each counts."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.fitting.weights import MAX_WEIGHT
from annotate.models import MAX_CRITERIA

LONGEST_NAME = 60
LONGEST_QUESTION = 500
PARTS = ("name", "question")
Rows = list[dict[str, str]]


class CriteriaRows(forms.Widget):
    """As the page sends them, `criteria-1-name` and so on; a program may give the list itself.

    `n` is how many rows there are to fill, `questions_fixed` whether the questions are only told.
    """

    template_name = "projects/criteria_rows.html"
    use_fieldset = True
    n = MAX_CRITERIA
    questions_fixed = False

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        given = value if isinstance(value, list) else []
        blank = dict.fromkeys(PARTS, "")
        context["rows"] = [given[place] if place < len(given) else blank for place in range(self.n)]
        context["is_filled"] = bool(given)
        context |= {"longest_name": LONGEST_NAME, "longest_question": LONGEST_QUESTION}
        return context | {"questions_fixed": self.questions_fixed}

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> Any:
        if name in data:
            return data[name]
        rows = [{part: data.get(f"{name}-{n}-{part}", "") for part in PARTS} for n in range(1, MAX_CRITERIA + 1)]
        while rows and not any(rows[-1].values()):
            rows.pop()
        return rows

    def value_omitted_from_data(self, data: Mapping[str, Any], files: Any, name: str) -> bool:
        return name not in data and f"{name}-1-name" not in data

    def id_for_label(self, id_: str) -> str:
        return ""


class CriteriaField(forms.Field):
    """A list of {"name", "question"}: none, or two to five."""

    widget = CriteriaRows
    default_error_messages = forms.MultipleChoiceField.default_error_messages

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(initial or []) != bool(data or []) or initial != data

    def clean(self, value: Any) -> Rows:
        if not isinstance(value or [], list) or not all(isinstance(row, Mapping) for row in value or []):
            raise forms.ValidationError(self.error_messages["invalid_list"])  # a form made by hand
        rows = [{part: " ".join(str(row.get(part, "")).split()) for part in PARTS} for row in value or []]
        rows = [row for row in rows if any(row.values())]
        if len(rows) == 1 or len(rows) > MAX_CRITERIA:
            raise forms.ValidationError(
                _(
                    "You named %(n)d criteria. Name 2 to %(limit)d, or none: for a single criterion, use the "
                    "project's question."
                ),
                params={"n": len(rows), "limit": MAX_CRITERIA},
            )
        for n, row in enumerate(rows, start=1):
            validate_row(n, row)
        names = [row["name"].casefold() for row in rows]
        for n, name in enumerate(names):
            if name in names[:n]:
                raise forms.ValidationError(
                    _("Two criteria are called “%(name)s”. Give each a name of its own."),
                    params={"name": rows[n]["name"]},
                )
        return rows


def validate_row(n: int, row: dict[str, str]) -> None:
    if not all(row.values()):
        raise forms.ValidationError(
            _("Criterion %(n)d needs both a name and a question. Fill in both, or leave the row empty."),
            params={"n": n},
        )
    for part, limit in zip(PARTS, (LONGEST_NAME, LONGEST_QUESTION), strict=True):
        if len(row[part]) > limit:
            raise forms.ValidationError(
                _("“%(start)s…” has %(n)d characters; the limit is %(limit)d. Shorten it."),
                params={"start": row[part][:40], "n": len(row[part]), "limit": limit},
            )


class WeightInputs(forms.Widget):
    """One number for each criterion, `weights-1` and so on; a program may give the list itself. `names`: of them."""

    template_name = "projects/weight_inputs.html"
    use_fieldset = True
    names: Sequence[str] = ()

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        given = value if isinstance(value, list) and len(value) == len(self.names) else [1] * len(self.names)
        context["rows"] = list(zip(self.names, map(shown_weight, given), strict=True))
        return context | {"most": shown_weight(MAX_WEIGHT)}

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> Any:
        if name in data:
            return data[name]
        return [data[key] for n in range(1, MAX_CRITERIA + 1) if (key := f"{name}-{n}") in data]

    def value_omitted_from_data(self, data: Mapping[str, Any], files: Any, name: str) -> bool:
        return name not in data and f"{name}-1" not in data

    def id_for_label(self, id_: str) -> str:
        return ""


class WeightsField(forms.Field):
    """A list of numbers of 0 or more, one of them above 0; empty where all count the same."""

    widget = WeightInputs

    def has_changed(self, initial: Any, data: Any) -> bool:
        return list(initial or []) != list(data or [])

    def clean(self, value: Any) -> list[float]:
        weights = [read_weight(n, one) for n, one in enumerate(value or [], start=1)]
        if weights and not any(weights):
            raise forms.ValidationError(
                _("All weights are 0, so nothing would count. Give at least one criterion more.")
            )
        return weights


def read_weight(n: int, value: Any) -> float:
    """Return the weight of criterion n; raises ValidationError."""
    params = {"n": n, "value": str(value)[:20], "limit": shown_weight(MAX_WEIGHT)}
    try:
        weight = float(str(value).strip().replace(",", "."))
    except ValueError:
        raise forms.ValidationError(
            _("The weight of criterion %(n)d is “%(value)s”. Write a number from 0 to %(limit)s, such as 2."),
            params=params,
        ) from None
    if not 0 <= weight <= MAX_WEIGHT:
        raise forms.ValidationError(
            _("The weight of criterion %(n)d is %(value)s. Write a number from 0 to %(limit)s."), params=params
        )
    return weight


def shown_weight(weight: Any) -> str:
    """Return the number as an input shows it; what was typed and is none stays as it is."""
    if isinstance(weight, int | float):
        return str(int(weight)) if float(weight).is_integer() else str(weight)
    return str(weight)
