"""Defines an export table: its columns and when it is offered."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise

from annotate.files.columns import Column, Row
from annotate.models import Project


@dataclass(frozen=True)
class Table:
    """`columns` may differ with the project's task; `rows` reads the database as it is asked for rows."""

    name: str
    title: Promise
    about: Promise
    columns: Callable[[Project], Sequence[Column]]
    rows: Callable[[Project], Iterator[Row]]

    def names(self, project: Project) -> list[str]:
        return [column.name for column in self.columns(project)]


def always(columns: Sequence[Column]) -> Callable[[Project], Sequence[Column]]:
    """Return the same columns whatever the project."""
    return lambda project: columns
