"""Reads the given questions: a page of them with their answers, and whether they connect what is to be ranked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Generic, TypeVar

from django.db.models import Q, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotate.core.caching import cached_if_slow
from annotate.labelling.item_sets import items_of_key
from annotate.labelling.plan.given import names_item, questions_of
from annotate.models import Item, ItemSet, Project

T = TypeVar("T")
PAGE_SIZE = 50
MAX_CONNECTED = 20_000  # questions; to read more for one page would take too long
UNANSWERED, PARTLY, DONE, NOT_ASKED, WITHDRAWN = "unanswered", "partly", "done", "not_asked", "withdrawn"
STATES: dict[str, Promise] = {
    UNANSWERED: _("No answer"),
    PARTLY: _("Some answers"),
    DONE: _("All answers"),
    NOT_ASKED: _("Can't be asked"),
    WITHDRAWN: _("Withdrawn"),
}


@dataclass(frozen=True)
class Question:
    """A given question with its items; n_answers counts those being given."""

    row: ItemSet
    items: list[Item]
    overlap: int

    @property
    def number(self) -> int:
        return self.row.number or 0

    @property
    def priority(self) -> int:
        return self.row.priority

    @property
    def n_answers(self) -> int:
        return self.row.n_taken

    @property
    def state(self) -> str:
        return state_of(self.row.place, self.row.n_taken, self.overlap, is_withdrawn=self.row.withdrawn_at is not None)

    @property
    def state_in_words(self) -> Promise:
        return STATES[self.state]

    @property
    def keys(self) -> list[str]:
        return [item.key for item in self.items]

    @property
    def retired(self) -> list[Item]:
        return [item for item in self.items if item.retired_at]


def state_of(place: int | None, n_taken: int, overlap: int, *, is_withdrawn: bool) -> str:
    if is_withdrawn:
        return WITHDRAWN
    if place is None:
        return NOT_ASKED
    return DONE if n_taken >= overlap else PARTLY if n_taken else UNANSWERED


def filtered_questions(project: Project, state: str = "", item: str = "") -> QuerySet[ItemSet]:
    """Return the questions in this state that name the item with this key; all where nothing is said."""
    asked = Q(place__isnull=False)
    rules = {
        UNANSWERED: asked & Q(n_taken=0),
        PARTLY: asked & Q(n_taken__gt=0, n_taken__lt=project.overlap),
        DONE: asked & Q(n_taken__gte=project.overlap),
        NOT_ASKED: Q(place=None, withdrawn_at=None),
        WITHDRAWN: Q(withdrawn_at__isnull=False),
    }
    rows = questions_of(project)
    if state:
        rows = rows.filter(rules[state])
    if item:
        pk = project.items.filter(key=item).values_list("pk", flat=True).first()
        rows = rows.filter(names_item(pk)) if pk else rows.none()
    return rows


def with_items(project: Project, rows: Sequence[ItemSet]) -> list[Question]:
    """Return these questions with their items, from one query."""
    members = {row.pk: items_of_key(row.key) for row in rows}
    wanted = {pk for items in members.values() for pk in items}
    items = Item.objects.filter(pk__in=wanted).defer("media", "link").in_bulk()
    return [Question(row, [items[pk] for pk in members[row.pk]], project.overlap) for row in rows]


@dataclass(frozen=True)
class Connection:
    """What the asked questions join. n_groups: of items within the same context, beyond one for each context;
    n_left_out: active items in no question; n_boards: groups of competitors that nothing joins."""

    n_groups: int
    n_left_out: int
    n_boards: int


def connection_of(project: Project) -> Connection:
    """Return what the questions connect; kept for a while where it took long."""
    return cached_if_slow(f"questions-connect-{project.pk}", partial(read_connection, project))


def read_connection(project: Project) -> Connection:
    """Read it from two queries, in one pass over the questions."""
    contexts: dict[int, int | None] = {}
    competitors: dict[int, str] = {}
    active = project.items.filter(retired_at=None).values_list("pk", "context_id", "competitor")
    for pk, context, competitor in active.iterator(2000):
        contexts[pk] = context
        if competitor:
            competitors[pk] = competitor
    joined, boards = Groups[int](), Groups[str]()
    keys = questions_of(project).order_by().filter(place__isnull=False).values_list("key", flat=True)
    for key in keys.iterator(2000):
        items = items_of_key(key)
        joined.join(items)
        boards.join(competitors[pk] for pk in items if pk in competitors)
    named = {contexts[pk] for pk in joined.parents if pk in contexts}
    left_out = sum(pk not in joined.parents for pk in contexts)
    return Connection(max(joined.n() - len(named), 0), left_out, boards.n())


class Groups(Generic[T]):
    """Groups of things that were named together, directly or by others between them."""

    def __init__(self) -> None:
        self.parents: dict[T, T] = {}

    def top(self, one: T) -> T:
        self.parents.setdefault(one, one)
        while self.parents[one] != one:
            self.parents[one] = self.parents[self.parents[one]]
            one = self.parents[one]
        return one

    def join(self, things: Iterable[T]) -> None:
        tops = [self.top(one) for one in things]
        for left, right in pairwise(tops):
            self.parents[self.top(right)] = self.top(left)

    def n(self) -> int:
        return sum(one == parent for one, parent in self.parents.items())
