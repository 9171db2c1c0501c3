"""Lists a project's criteria and picks one: each presentation is answered for every criterion, each has its own fit.

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
    """Return the named criteria; an empty list where the question is the only one."""
    return [Criterion(number, one["name"], one["question"]) for number, one in enumerate(project.criteria, start=1)]


def n_criteria(project: Project) -> int:
    return max(1, len(project.criteria))


def for_criterion(project: Project, number: int) -> Project:
    """Return a copy of the project whose fits, labels and figures are those of this criterion."""
    copied = copy.copy(project)
    copied.criterion = number
    return copied


def criterion_from_query(project: Project, number: str | None) -> Project | None:
    """Return the project for the criterion that an address names, the first without one; None if it does not exist."""
    wanted = int(number) if number and number.isdecimal() and len(number) < 4 else 0
    if not number or wanted == 1:
        return project
    return for_criterion(project, wanted) if 1 <= wanted <= n_criteria(project) else None


def for_each_criterion(project: Project) -> Iterator[Project]:
    """Yield the project for each of its criteria."""
    return (for_criterion(project, number) for number in range(1, n_criteria(project) + 1))
