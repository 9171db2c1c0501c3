"""Item sets: their keys, which presentations take them, which are checks; and the statements that count them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, When
from django.db.models.functions import Random

from annotate.core.statements import Given, Statement, UpdateStatement
from annotate.models import Annotator, AskedBy, GoldSet, Item, ItemSet, Presentation, Purpose

HIDDEN_CHECKS = [Purpose.GOLD, Purpose.ATTENTION]
TAKEN_STATES = [Presentation.State.OPEN, Presentation.State.ANSWERED]
MAX_WAITING_SETS = 20


@dataclass(frozen=True)
class ChosenSet:
    """Items to show together, and the row of their set where it is known.

    asked_by: the rule that chose them.   suggestion, fit: of an adaptive choice the row of the suggested set and the
    number of its fit.   token: of the presentation to be, where the rule was drawn by it.   task: Presentation.task.
    """

    items: Sequence[int]
    item_set_id: int | None = None
    asked_by: str = AskedBy.BALANCED
    suggestion: int | None = None
    fit: int | None = None
    token: str = ""
    task: str = ""


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
    """Return the statement that counts n more presentations of k items, item_0 to item_(k-1), and n_control more of the
    control arm; their tie-breakers are drawn anew."""
    return UpdateStatement(
        lambda: items_given(k),
        n_taken=F("n_taken") + Given("n", Item, "n_taken"),
        n_control=F("n_control") + Given("n_control", Item),
        shuffle=Random(),
    )


def items_given(k: int) -> QuerySet[Item]:
    return Item.objects.filter(pk__in=[Given(f"item_{place}", Item, "id") for place in range(k)])


def named_items(items: Sequence[int]) -> dict[str, int]:
    return {f"item_{place}": item for place, item in enumerate(items)}


def already_shown_to(annotator: Annotator | Given) -> Exists:
    return Exists(Presentation.objects.filter(annotator=annotator, item_set=OuterRef("pk"), state__in=TAKEN_STATES))


@cache
def blocked_among(n: int) -> Statement:
    """Return the statement that reads which of n sets, key_0 to key_(n-1), an annotator may not get: full, seen, or of
    checks."""
    return Statement(
        lambda: ItemSet.objects.filter(
            blocked(Given("overlap", ItemSet, "n_taken"), Given("annotator", Presentation)),
            project=Given("project", ItemSet),
            key__in=[Given(f"key_{place}", ItemSet, "key") for place in range(n)],
        ).values_list("key", flat=True)
    )


def blocked(overlap: int | Given, annotator: Annotator | Given) -> Q:
    """Return what an annotator may not get: sets that are full, seen, or of checks."""
    return Q(n_taken__gte=overlap) | Q(already_shown_to(annotator)) | Q(is_check())


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


def free_sets(k: int) -> QuerySet[ItemSet]:
    """Return the set of these k items, item_0 to item_(k-1), if it has room, is new to the annotator and none of the
    items has been retired or deleted since it was chosen."""
    free = ItemSet.objects.filter(pk=Given("id", ItemSet), n_taken__lt=Given("overlap", ItemSet, "n_taken"))
    active = Item.objects.filter(retired_at=None)
    shown = [Exists(active.filter(pk=Given(f"item_{place}", Item, "id"))) for place in range(k)]
    return free.filter(~already_shown_to(Given("annotator", Presentation)), *shown)


# n more presentations of a set; adaptive: whether it is a suggestion that begins it.
TAKEN: dict[str, Any] = {
    "n_taken": F("n_taken") + Given("n", ItemSet, "n_taken"),
    "shuffle": Random(),
    "adaptive": Case(When(n_taken=0, then=Given("adaptive", ItemSet)), default=F("adaptive")),
}


@cache
def take_set(k: int, *, given: bool) -> UpdateStatement:
    """Return the statement that takes a set of k items; `given`: of the owner's questions, where it is still asked."""
    asked = {"place__isnull": False} if given else {}
    return UpdateStatement(lambda: free_sets(k).filter(**asked), **TAKEN)
