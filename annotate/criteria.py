"""The criteria of a project: each presentation is answered by every one of them, and each has a fit of its own.

A project without named criteria has one, number 1: its question.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass

from annotate.models import Project


@dataclass(frozen=True)
class Criterion:
    number: int  # from 1
    name: str
    question: str


def criteria_of(project: Project) -> list[Criterion]:
    """The named ones; of a project without any, none."""
    return [Criterion(number, one["name"], one["question"]) for number, one in enumerate(project.criteria, start=1)]


def n_criteria(project: Project) -> int:
    return max(1, len(project.criteria))


def seen_by(project: Project, number: int) -> Project:
    """The project as it is looked at by this criterion: fits, labels and figures of the copy are those of it."""
    copied = copy.copy(project)
    copied.criterion = number
    return copied


def chosen(project: Project, number: str | None) -> Project | None:
    """The project by the criterion of this number, as an address names it; by the first without one, None if none."""
    wanted = int(number) if number and number.isdecimal() and len(number) < 4 else 0
    if not number or wanted == 1:
        return project
    return seen_by(project, wanted) if 1 <= wanted <= n_criteria(project) else None


def each(project: Project) -> Iterator[Project]:
    """The project as it is looked at by each criterion."""
    return (seen_by(project, number) for number in range(1, n_criteria(project) + 1))
