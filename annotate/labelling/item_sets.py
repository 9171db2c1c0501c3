"""Item sets: their keys, which presentations take them, which are checks; and the statements that count them."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from django.db.models import Exists, F, OuterRef, QuerySet
from django.db.models.functions import Random

from annotate.core.statements import Given, Statement, UpdateStatement
from annotate.models import Annotator, GoldSet, Item, ItemSet, Presentation, Purpose

HIDDEN_CHECKS = [Purpose.GOLD, Purpose.ATTENTION]
TAKEN_STATES = [Presentation.State.OPEN, Presentation.State.ANSWERED]
MAX_WAITING_SETS = 20
# n more presentations of a set or an item; its tie-breaker is drawn anew.
TAKEN: dict[str, Any] = {"n_taken": F("n_taken") + Given("n", ItemSet, "n_taken"), "shuffle": Random()}


def is_check() -> Exists:
    """Return whether a set is asked as a gold question or attention check: an ordinary task would use it up."""
    kept = GoldSet.objects.filter(item_set=OuterRef("pk"), purpose__in=HIDDEN_CHECKS, retired_at=None)
    return Exists(kept)


def set_key(items: Sequence[int]) -> str:
    return "-".join(map(str, sorted(items)))


def items_of_key(key: str) -> list[int]:
    return [int(item) for item in key.split("-")]


@cache
def active_among(k: int) -> Statement:
    """Return the statement that reads which of k items, item_0 to item_(k-1), are not retired."""
    return Statement(lambda: items_given(k).filter(retired_at=None).values_list("pk", flat=True))


@cache
def count_among(k: int) -> UpdateStatement:
    """Return the statement that counts n more presentations of k items, item_0 to item_(k-1)."""
    return UpdateStatement(lambda: items_given(k), **TAKEN)


def items_given(k: int) -> QuerySet[Item]:
    return Item.objects.filter(pk__in=[Given(f"item_{place}", Item, "id") for place in range(k)])


def named_items(items: Sequence[int]) -> dict[str, int]:
    return {f"item_{place}": item for place, item in enumerate(items)}


def already_shown_to(annotator: Annotator | Given) -> Exists:
    return Exists(Presentation.objects.filter(annotator=annotator, item_set=OuterRef("pk"), state__in=TAKEN_STATES))


# Of the commonest project, without a plan, for an annotator without conflicts of interest.
plain_waiting_sets = Statement(
    lambda: (
        ItemSet.objects.filter(
            ~already_shown_to(Given("annotator", Presentation)),
            ~is_check(),
            project=Given("project", ItemSet),
            n_taken__gte=1,
            n_taken__lt=Given("overlap", ItemSet, "n_taken"),
        )
        .order_by("n_taken", "shuffle")
        .values_list("n_taken", "pk", "key")[:MAX_WAITING_SETS]
    )
)


def free_sets() -> QuerySet[ItemSet]:
    free = ItemSet.objects.filter(pk=Given("id", ItemSet), n_taken__lt=Given("overlap", ItemSet, "n_taken"))
    return free.filter(~already_shown_to(Given("annotator", Presentation)))


take_set = UpdateStatement(free_sets, **TAKEN)
take_given_set = UpdateStatement(lambda: free_sets().filter(place__isnull=False), **TAKEN)
