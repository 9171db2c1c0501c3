"""What the task page asks by each criterion, where there are several: a fieldset of plain controls for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from annotate.criteria import Criterion, criteria_of
from annotate.models import Label, Project

Outcome = Label.Outcome


@dataclass(frozen=True)
class Control:
    """One radio button: its name and value in the form, its words, the key that presses it."""

    name: str
    value: str
    words: str
    action: str
    checked: bool


@dataclass(frozen=True)
class Row:
    """Radio buttons of which one is marked: the best, or the worst."""

    words: str
    controls: list[Control]


@dataclass(frozen=True)
class Place:
    """The place of one item in an order: a list of ranks."""

    name: str
    letter: str
    action: str
    given: str


@dataclass(frozen=True)
class Asked:
    """Of a choice `controls` answer; of best and worst `rows`, of an order `places`, and `controls` only instead."""

    criterion: Criterion
    controls: list[Control]
    rows: list[Row]
    places: list[Place]


def asked_by_each(project: Project, task: Any, given: Mapping[str, str]) -> list[Asked]:
    """task: annotate.queries.labelling.Task.   given: a form to show again."""
    return [asked_by(criterion, task, given) for criterion in criteria_of(project)]


def asked_by(criterion: Criterion, task: Any, given: Mapping[str, str]) -> Asked:
    n = criterion.number
    controls = [control(f"answer_{n}", *one, given) for one in answers_to(task)]
    rows, places = [], []
    if task.layout == "best_worst":
        for name, words in (("best", _("Best")), ("worst", _("Worst"))):
            marks = [(option.value, option.letter, option.place) for option in task.options]
            rows.append(Row(words, [control(f"{name}_{n}", *mark, given) for mark in marks]))
    elif task.layout == "ranking":
        names = [(f"rank_{option.value}_{n}", option) for option in task.options]
        places = [Place(name, option.letter, option.place, given.get(name, "")) for name, option in names]
    return Asked(criterion, controls, rows, places)


def answers_to(task: Any) -> Sequence[tuple[str, str, str]]:
    """(value, words, action) of what one press says; skipping is of the whole task and has its own button."""
    others = [(other.value, other.words, other.value) for other in task.buttons if other.value != Outcome.SKIP]
    if task.graded:
        return [(grade.value, grade.words, grade.place) for grade in task.grades] + others
    if task.asked == Outcome.CHOICE:
        return [(option.value, option.words, option.place) for option in task.options] + others
    return others


def control(name: str, value: str, words: str, action: str, given: Mapping[str, str]) -> Control:
    return Control(name, value, words, action, given.get(name) == value)
