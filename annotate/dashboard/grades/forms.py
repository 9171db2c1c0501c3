"""Form of a project's grades: a name and a limit each, the best grade first."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.core.numbers import format_number
from annotate.models import Project
from annotate.models.grades import MAX_GRADES, GradesBy

MAX_NAME_LENGTH = 40
FEWEST_ROWS = 5


@dataclass(frozen=True)
class GradeFields:
    """A line of the form."""

    name: forms.BoundField
    limit: forms.BoundField


class GradesForm(forms.Form):
    """Empty names leave a line out; no name at all removes the grades."""

    grades_by = forms.ChoiceField(
        label=gettext_lazy("How grades are given"), choices=GradesBy.choices, widget=forms.RadioSelect
    )

    def __init__(self, project: Project, data: Any = None) -> None:
        initial: dict[str, Any] = {"grades_by": project.grades_by}
        for number, grade in enumerate(project.grades):
            limit = grade["limit"]
            shown = int(limit) if limit is not None and float(limit).is_integer() else limit
            initial |= {f"name_{number}": grade["name"], f"limit_{number}": shown}
        super().__init__(data, initial=initial)
        used = max((number + 1 for number in range(MAX_GRADES) if data and data.get(f"name_{number}")), default=0)
        self.n_rows = min(MAX_GRADES, max(FEWEST_ROWS, len(project.grades) + 1, used))
        for number in range(self.n_rows):
            self.fields |= grade_fields(number + 1, number)

    @property
    def lines(self) -> list[GradeFields]:
        return [GradeFields(self[f"name_{number}"], self[f"limit_{number}"]) for number in range(self.n_rows)]

    def clean(self) -> dict[str, Any]:
        """Limits fall from grade to grade, or sum to less than all items; the last grade takes the rest."""
        values = super().clean() or self.cleaned_data
        if self.errors:
            return values
        numbers = [number for number in range(self.n_rows) if values[f"name_{number}"]]
        self.grades = [{"name": values[f"name_{n}"], "limit": values[f"limit_{n}"]} for n in numbers]
        for place, field, problem in find_problems(values["grades_by"], self.grades):
            self.add_error(f"{field}_{numbers[place]}", problem)
        if self.grades:
            self.grades[-1]["limit"] = None
        return values

    def values(self) -> dict[str, Any]:
        """Return the columns of Project."""
        return {"grades_by": self.cleaned_data["grades_by"], "grades": self.grades}


def grade_fields(shown: int, number: int) -> dict[str, forms.Field]:
    return {
        f"name_{number}": forms.CharField(
            label=_("Grade %(n)d") % {"n": shown},
            max_length=MAX_NAME_LENGTH,
            required=False,
            widget=forms.TextInput(attrs={"size": 10, "autocomplete": "off"}),
        ),
        f"limit_{number}": forms.FloatField(
            label=_("Number of grade %(n)d") % {"n": shown},
            min_value=0,
            max_value=100,
            required=False,
            widget=forms.NumberInput(attrs={"step": "any"}),
        ),
    }


def find_problems(by: str, grades: list[dict[str, Any]]) -> list[tuple[int, str, str]]:
    """Return what is wrong: the grade's place in the list, the field, a message; nothing where there are none."""
    if len(grades) == 1:
        text = _("“%(name)s” is the only grade; it takes two or more. Add another, or empty the name for no grades.")
        return [(0, "name", text % grades[0])]
    names = [grade["name"].casefold() for grade in grades]
    found = [
        (place, "name", _("“%(name)s” is there twice. Give each grade a name of its own.") % grade)
        for place, grade in enumerate(grades)
        if names.index(names[place]) < place
    ]
    missing = _("Say where “%(name)s” begins; only the last grade goes without, for it takes the rest.")
    if by == GradesBy.SHARE:
        missing = _("Say which share of the items has “%(name)s”; only the last grade goes without.")
    found += [(place, "limit", missing % grade) for place, grade in enumerate(grades[:-1]) if grade["limit"] is None]
    if found or not grades:
        return found
    last = len(grades) - 1
    if by == GradesBy.SHARE:
        return find_share_problems(grades)
    if grades[-1]["limit"]:
        text = _("“%(name)s” is the last grade and takes the rest. Empty its number, or add a grade below it.")
        found.append((last, "limit", text % grades[-1]))
    return found + find_order_problems(grades)


def find_order_problems(grades: list[dict[str, Any]]) -> list[tuple[int, str, str]]:
    found = []
    for place, grade in enumerate(grades[:-1]):
        shown = {"name": grade["name"], "value": short(grade["limit"])}
        if not 0 < grade["limit"] < 100:
            text = _("“%(name)s” begins at %(value)s; scores lie between 0 and 100. Write a number between them.")
            found.append((place, "limit", text % shown))
        above = grades[place - 1] if place else None
        if above and grade["limit"] >= above["limit"]:
            shown |= {"above": above["name"], "limit": short(above["limit"])}
            text = _(
                "“%(name)s” begins at %(value)s, but “%(above)s” above it at %(limit)s. "
                "Write less than %(limit)s here, or raise “%(above)s”."
            )
            found.append((place, "limit", text % shown))
    return found


def find_share_problems(grades: list[dict[str, Any]]) -> list[tuple[int, str, str]]:
    for place, grade in enumerate(grades[:-1]):
        if grade["limit"] <= 0:
            text = _("“%(name)s” has a share of 0%%. Write more than 0, or leave the grade out.")
            return [(place, "limit", text % grade)]
    total = sum(grade["limit"] for grade in grades[:-1])
    rest = grades[-1]["limit"]
    if total >= 100:
        text = _(
            "The shares above “%(name)s” add up to %(value)s%% and leave it nothing. Lower them below 100%% in all."
        )
        return [(len(grades) - 2, "limit", text % {"name": grades[-1]["name"], "value": short(total)})]
    if rest is not None and abs(total + rest - 100) > 0.5:
        text = _("All shares add up to %(value)s%%, not to 100%%. Empty the last one: “%(name)s” takes the rest.")
        return [(len(grades) - 1, "limit", text % {"name": grades[-1]["name"], "value": short(total + rest)})]
    return []


def short(value: float) -> str:
    return format_number(value, 0 if float(value).is_integer() else 1)
