"""The further kinds of task in a project's settings: up to three rows of a kind, its size and its share."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotate.labelling.asked_tasks import AskedTask, as_json
from annotate.labelling.task_types.registry import TASK_TYPES
from annotate.models import MAX_ITEMS_SHOWN, Project

MAX_FURTHER_TASKS = 3
MAX_SHARE = 95  # percent that further kinds take together, so that the project's own is asked, too
PARTS = ("task_type", "k", "m", "shared_places", "percent")
Rows = list[dict[str, Any]]


class FurtherTaskRows(forms.Widget):
    """As the page sends them, `further_tasks-1-task_type` and so on; a program may give the list itself."""

    template_name = "projects/further_task_rows.html"
    use_fieldset = True

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        given = value if isinstance(value, list) else []
        context["rows"] = [given[place] if place < len(given) else {} for place in range(MAX_FURTHER_TASKS)]
        context["is_filled"] = bool(given)
        return context | {"kinds": list(TASK_TYPES.values()), "most": MAX_ITEMS_SHOWN, "most_share": MAX_SHARE}

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> Any:
        if name in data:
            return data[name]
        numbers = range(1, MAX_FURTHER_TASKS + 1)
        rows = [{part: data.get(f"{name}-{n}-{part}", "") for part in PARTS} for n in numbers]
        return [row for row in rows if row["task_type"] or row["percent"]]

    def value_omitted_from_data(self, data: Mapping[str, Any], files: Any, name: str) -> bool:
        return name not in data and f"{name}-1-task_type" not in data

    def id_for_label(self, id_: str) -> str:
        return ""


class FurtherTasksField(forms.Field):
    """A list of {"task_type", "k", "m", "shared_places", "percent"}, none to MAX_FURTHER_TASKS."""

    widget = FurtherTaskRows
    default_error_messages = forms.MultipleChoiceField.default_error_messages

    def has_changed(self, initial: Any, data: Any) -> bool:
        return list(initial or []) != list(data or [])

    def clean(self, value: Any) -> Rows:
        if not isinstance(value or [], list) or not all(isinstance(row, Mapping) for row in value or []):
            raise forms.ValidationError(self.error_messages["invalid_list"])  # a form made by hand
        rows = [read_row(n, row) for n, row in enumerate(value or [], start=1)]
        if len(rows) > MAX_FURTHER_TASKS:
            raise forms.ValidationError(
                _("You gave %(n)d further kinds of task; the limit is %(limit)d. Remove some."),
                params={"n": len(rows), "limit": MAX_FURTHER_TASKS},
            )
        total = sum(row["percent"] for row in rows)
        if total > MAX_SHARE:
            raise forms.ValidationError(
                _("The shares of the further kinds add up to %(n)d%%; the limit is %(limit)d%%. Lower some."),
                params={"n": total, "limit": MAX_SHARE},
            )
        return rows


def read_row(n: int, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a kind of task with its share; raises ValidationError."""
    kind = TASK_TYPES.get(str(row.get("task_type", "")))
    if kind is None:
        raise forms.ValidationError(
            _("Further kind %(n)d: “%(value)s” is no kind of task. Choose one, or leave the row empty."),
            params={"n": n, "value": str(row.get("task_type", ""))[:50]},
        )
    fewest, most = kind.n_items
    k = fewest if kind.is_fixed_size else read_number(n, row.get("k"), _("Items shown"), fewest, most)
    m = read_number(n, row.get("m"), _("Ranked"), 2, k - 1) if kind.ranks_some else None
    percent = read_number(n, row.get("percent"), _("Share in percent"), 1, MAX_SHARE)
    shared = kind.may_share and bool(row.get("shared_places"))
    return as_json(AskedTask(str(Project.TaskType(kind.name).value), k, m, shared), percent)


def read_number(n: int, value: Any, name: Any, least: int, most: int) -> int:
    """Return a whole number within the limits; raises ValidationError."""
    text = str("" if value is None else value).strip()
    if not text.isascii() or not text.isdigit() or len(text) > 4 or not least <= int(text) <= most:
        raise forms.ValidationError(
            _("Further kind %(n)d, %(name)s: “%(value)s” does not do. Write a number from %(least)d to %(most)d."),
            params={"n": n, "name": name, "value": text[:20], "least": least, "most": most},
        )
    return int(text)
