"""What the task page asks by each criterion, where there are several: a fieldset of plain controls for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotate.criteria import Criterion, named_criteria
from annotate.models import Label, Project

Outcome = Label.Outcome


@dataclass(frozen=True)
class RadioControl:
    """One radio button: its name and value in the form, its words, the key that presses it."""

    name: str
    value: str
    words: str
    action: str
    checked: bool


@dataclass(frozen=True)
class RadioRow:
    """Radio buttons of which one is marked: the best, or the worst."""

    words: str
    controls: list[RadioControl]


@dataclass(frozen=True)
class RankSelect:
    """The place of one item in an order: a list of ranks."""

    name: str
    letter: str
    action: str
    given: str


@dataclass(frozen=True)
class CriterionFields:
    """Of a choice `controls` answer; of best and worst `rows`, of an order `places`, and `controls` only instead."""

    criterion: Criterion
    controls: list[RadioControl]
    rows: list[RadioRow]
    places: list[RankSelect]


def fields_by_criterion(project: Project, task: Any, given: Mapping[str, str]) -> list[CriterionFields]:
    """task: annotate.labelling.queries.Task.   given: a form to show again."""
    return [fields_of_criterion(criterion, task, given) for criterion in named_criteria(project)]


def fields_of_criterion(criterion: Criterion, task: Any, given: Mapping[str, str]) -> CriterionFields:
    n = criterion.number
    controls = [make_control(f"answer_{n}", *one, given) for one in choices_of(task)]
    rows, places = [], []
    for name, words in task.marks:
        marks = [(option.value, option.letter, option.place) for option in task.options]
        rows.append(RadioRow(words, [make_control(f"{name}_{n}", *mark, given) for mark in marks]))
    if task.type.is_ordered and not rows:
        names = [(f"rank_{option.value}_{n}", option) for option in task.options]
        places = [RankSelect(name, option.letter, option.place, given.get(name, "")) for name, option in names]
    return CriterionFields(criterion, controls, rows, places)


def choices_of(task: Any) -> Sequence[tuple[str, str, str]]:
    """Return (value, words, action) of what one press says; skipping is of the whole task and has its own button."""
    others = [(other.value, other.words, other.value) for other in task.buttons if other.value != Outcome.SKIP]
    if task.graded:
        return [(grade.value, grade.words, grade.place) for grade in task.grades] + others
    if not task.type.is_ordered:
        return [(option.value, option.words, option.place) for option in task.options] + others
    return others


def make_control(name: str, value: str, words: str, action: str, given: Mapping[str, str]) -> RadioControl:
    return RadioControl(name, value, words, action, given.get(name) == value)
