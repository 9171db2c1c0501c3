"""Reads the items of presentations in the order shown, each with its letter."""

from collections import defaultdict
from dataclasses import dataclass

from annotate.models import Item, PresentedItem


@dataclass(frozen=True)
class LetteredItem:
    """One item of an answer; named: whether the answer is about it (chosen, best and worst, ranked)."""

    letter: str
    item: Item
    named: bool


def items_by_presentation(presentations: list[int]) -> dict[int, list[Item]]:
    """Return the items of each presentation, in the order shown."""
    found = defaultdict(list)
    rows = PresentedItem.objects.filter(presentation__in=presentations).select_related("item")
    for row in rows.order_by("presentation", "position"):
        found[row.presentation_id].append(row.item)
    return found
