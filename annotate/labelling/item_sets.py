"""Item sets: their keys, which presentations take them, which are checks."""

from collections.abc import Sequence

from django.db.models import Exists, OuterRef

from annotate.models import GoldSet, Presentation, Purpose

HIDDEN_CHECKS = [Purpose.GOLD, Purpose.ATTENTION]


TAKEN_STATES = [Presentation.State.OPEN, Presentation.State.ANSWERED]


def is_check() -> Exists:
    """Return whether a set is asked as a gold question or attention check: an ordinary task would use it up."""
    kept = GoldSet.objects.filter(item_set=OuterRef("pk"), purpose__in=HIDDEN_CHECKS, retired_at=None)
    return Exists(kept)


def set_key(items: Sequence[int]) -> str:
    return "-".join(map(str, sorted(items)))


def items_of_key(key: str) -> list[int]:
    return [int(item) for item in key.split("-")]
