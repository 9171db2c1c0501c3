"""What a table of the export is: its columns, each with its definition, and its rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from django.utils.functional import Promise
from django.utils.text import format_lazy

from models_engine.models import MAX_COMPONENTS

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

Row = Sequence[Any]


class Kind(Enum):
    """What a column's cells hold, where they hold something, for formats that have types."""

    TEXT = auto()
    INTEGER = auto()
    NUMBER = auto()
    TRUTH = auto()
    MOMENT = auto()
    TEXTS = auto()
    GROUPS = auto()  # lists of texts in a list
    OBJECT = auto()
    MESSAGES = auto()  # of a chat: objects with role and content


@dataclass(frozen=True)
class Column:
    name: str
    meaning: Promise
    kind: Kind = Kind.TEXT


def of_components(meaning: "_StrPromise") -> list[Column]:
    """Return a column for each component of taste that a fit may have; `meaning` names its {number}."""
    return [Column(f"taste_{n}", format_lazy(meaning, number=n), Kind.NUMBER) for n in range(1, MAX_COMPONENTS + 1)]


def by_component(values: list[float] | None) -> list[float | None]:
    """Return what those columns hold: empty where the fit has no such component."""
    known = values or []
    return [*known, *[None] * (MAX_COMPONENTS - len(known))]
