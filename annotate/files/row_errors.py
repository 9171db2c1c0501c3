"""Rows of a table with what is wrong with them; for pages, those with the same message together."""

from collections.abc import Iterable
from typing import NamedTuple

from annotate.files.cells import names_listed

SHOWN_PLACES, SHOWN_MESSAGES = 10, 100


class RowError(NamedTuple):
    place: int
    message: str


class SameMessage(NamedTuple):
    """A message; how many rows have it; where, in words, or nothing where their places are not known."""

    message: str
    n_rows: int
    places: str


class GroupedErrors(NamedTuple):
    groups: list[SameMessage]
    n_rows: int  # in these groups
    n_all: int


def grouped(errors: Iterable[tuple[int, str]]) -> GroupedErrors:
    """Return the first messages, each once, with its rows."""
    places: dict[str, list[int]] = {}
    for place, message in errors:
        places.setdefault(message, []).append(place)
    groups = [
        SameMessage(text, len(rows), names_listed([str(row) for row in rows if row], SHOWN_PLACES))
        for text, rows in list(places.items())[:SHOWN_MESSAGES]
    ]
    return GroupedErrors(groups, sum(group.n_rows for group in groups), sum(map(len, places.values())))
