"""Defines an export table: its columns, its rows, and where the page lists it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import TextChoices
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotate.criteria import Criterion
from annotate.files.columns import Column, Row
from annotate.models import Project


class Group(TextChoices):
    """What tables are about, in the order of the page."""

    RESULTS = "results", _("Results")
    ANSWERS = "answers", _("Answers")
    PEOPLE_AND_ITEMS = "people-and-items", _("People and items")
    WHOLE = "whole", _("The whole project")


@dataclass(frozen=True)
class Table:
    """`columns` may differ with the project's task; `rows` are by one criterion, read as they are asked for.

    is_used: whether the project uses what the table is about; one that it does not use has no rows.
    of_answers: whether rows are made of the answers themselves, which an archive of labels keeps in a file.
    """

    name: str
    title: Promise
    about: Promise
    columns: Callable[[Project], Sequence[Column]]
    rows: Callable[[Criterion], Iterator[Row]]
    group: Group
    of_answers: bool = True
    is_used: Callable[[Project], bool] = lambda project: True

    def names(self, project: Project) -> list[str]:
        return [column.name for column in self.columns(project)]


def always(columns: Sequence[Column]) -> Callable[[Project], Sequence[Column]]:
    """Return the same columns whatever the project."""
    return lambda project: columns


def of_project(rows: Callable[[Project], Iterator[Row]]) -> Callable[[Criterion], Iterator[Row]]:
    """Return the same rows whatever the criterion."""
    return lambda criterion: rows(criterion.project)
