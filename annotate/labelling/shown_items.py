"""Reads the items of presentations in the order shown, each with its letter."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from annotate.core.statements import Given, Statement
from annotate.models import Annotator, Item, Presentation, PresentedItem

# Of an item, as annotators see it.
ITEM_COLUMNS = ("pk", "kind", "body", "name", "link", "captions__language", "n_pages", "metadata", "context_id")

MIN_FOLDED = 1500  # characters above which the texts of a task are folded, where the project says so
TEXTS = (Item.Kind.TEXT, Item.Kind.MARKDOWN, Item.Kind.HTML, Item.Kind.CHAT, Item.Kind.SECTIONS)


@dataclass(frozen=True)
class LetteredItem:
    """One item of an answer; named: whether the answer is about it (chosen, best and worst, ranked)."""

    letter: str
    item: Item
    named: bool


def has_long_text(rows: Sequence[tuple]) -> bool:
    """Return whether a text of these items (values of ITEM_COLUMNS) is to be folded, and the others with it."""
    return any(row[1] in TEXTS and len(row[2]) > MIN_FOLDED for row in rows)


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

# Of an annotator's open presentation and then of the one leased ahead: token, whether it is ahead, when its lease ends,
# task (Presentation.task) and, of each item in the order shown, the ITEM_COLUMNS.
rows_shown = Statement(
    lambda: (
        PresentedItem.objects.filter(
            presentation__annotator=Given("annotator", Presentation), presentation__state=Presentation.State.OPEN
        )
        .order_by("presentation__ahead", "position")
        .values_list(
            *("presentation__token", "presentation__ahead", "presentation__leased_until", "presentation__task"),
            *("item_id", *(f"item__{column}" for column in ITEM_COLUMNS[1:])),
        )
    )
)


@dataclass(frozen=True)
class ShownRows:
    """A presentation's token, end of its lease, task and items (values of ITEM_COLUMNS) in the order shown."""

    token: str = ""
    leased_until: datetime | None = None
    task: str = ""
    rows: Sequence[tuple] = ()

    def lease_ms(self, now: datetime) -> int:
        return max(round((self.leased_until - now).total_seconds() * 1000), 0) if self.leased_until else 0


NO_ROWS = ShownRows()


def open_rows(annotator: Annotator) -> tuple[ShownRows, ShownRows]:
    """Return the open presentation and the one leased ahead; empty ones where there is none. A lease may be over."""
    found: dict[bool, ShownRows] = {}
    for token, ahead, leased_until, task, *row in rows_shown(annotator=annotator.pk):
        before = found[ahead].rows if ahead in found else ()
        found[ahead] = ShownRows(token, leased_until, task, (*before, tuple(row)))
    return found.get(False, NO_ROWS), found.get(True, NO_ROWS)
