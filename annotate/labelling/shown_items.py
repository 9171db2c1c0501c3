"""Reads the items of presentations in the order shown, each with its letter."""

from collections import defaultdict
from dataclasses import dataclass

from annotate.core.statements import Given, Statement
from annotate.models import Item, Presentation, PresentedItem

# Of an item, as annotators see it.
ITEM_COLUMNS = ("pk", "kind", "body", "name", "link", "captions__language", "n_pages", "metadata", "context_id")


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


# Item ids of a presentation, in the order shown.
items_shown = Statement(
    lambda: (
        PresentedItem.objects.filter(presentation=Given("presentation", PresentedItem))
        .order_by("position")
        .values_list("item_id", flat=True)
    )
)

# Token and, of each item of an annotator's open presentation in the order shown, the ITEM_COLUMNS.
rows_shown = Statement(
    lambda: (
        PresentedItem.objects.filter(
            presentation__annotator=Given("annotator", Presentation), presentation__state=Presentation.State.OPEN
        )
        .order_by("position")
        .values_list("presentation__token", "item_id", *(f"item__{column}" for column in ITEM_COLUMNS[1:]))
    )
)
