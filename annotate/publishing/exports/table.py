"""Defines an export table: its columns and when it is offered."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise

from annotate.criteria import Criterion
from annotate.files.columns import Column, Row
from annotate.models import Project


@dataclass(frozen=True)
class Table:
    """`columns` may differ with the project's task; `rows` are by one criterion, read as they are asked for.

    of_answers: whether rows are made of the answers themselves, which an archive of labels keeps in a file.
    """

    name: str
    title: Promise
    about: Promise
    columns: Callable[[Project], Sequence[Column]]
    rows: Callable[[Criterion], Iterator[Row]]
    of_answers: bool = True

    def names(self, project: Project) -> list[str]:
        return [column.name for column in self.columns(project)]


def always(columns: Sequence[Column]) -> Callable[[Project], Sequence[Column]]:
    """Return the same columns whatever the project."""
    return lambda project: columns


def of_project(rows: Callable[[Project], Iterator[Row]]) -> Callable[[Criterion], Iterator[Row]]:
    """Return the same rows whatever the criterion."""
    return lambda criterion: rows(criterion.project)
