"""Item sets: their keys, which presentations take them, which are checks."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from annotate.models import Annotator, AskedBy, GoldSet, Presentation, Purpose

HIDDEN_CHECKS = [Purpose.GOLD, Purpose.ATTENTION]


TAKEN_STATES = [Presentation.State.OPEN, Presentation.State.ANSWERED]


@dataclass(frozen=True)
class ChosenSet:
    """Items to show together, and the row of their set where it is known.

    asked_by: the rule that chose them.   suggestion, fit: of an adaptive choice the row of the suggested set and the
    number of its fit.   token: of the presentation to be, where the rule was drawn by it.
    """

    items: Sequence[int]
    item_set_id: int | None = None
    asked_by: str = AskedBy.BALANCED
    suggestion: int | None = None
    fit: int | None = None
    token: str = ""


def already_shown_to(annotator: Annotator) -> Exists:
    return Exists(Presentation.objects.filter(annotator=annotator, item_set=OuterRef("pk"), state__in=TAKEN_STATES))


def is_check() -> Exists:
    """Return whether a set is asked as a gold question or attention check: an ordinary task would use it up."""
    kept = GoldSet.objects.filter(item_set=OuterRef("pk"), purpose__in=HIDDEN_CHECKS, retired_at=None)
    return Exists(kept)


def set_key(items: Sequence[int]) -> str:
    return "-".join(map(str, sorted(items)))


def items_of_key(key: str) -> list[int]:
    return [int(item) for item in key.split("-")]
