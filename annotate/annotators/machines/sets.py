"""The sets that a machine is still to be asked, each with the kind of task and the orders that are missing."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations
from math import comb

from django.db.models import Exists, F, OuterRef
from django.utils.translation import gettext as _

from annotate.core.errors import UserError
from annotate.criteria import Criterion
from annotate.labelling.asked_tasks import AskedTask, tasks_now, tasks_of
from annotate.labelling.item_sets import items_of_key, set_key
from annotate.labelling.outcomes import INFORMATIVE
from annotate.models import MAX_ITEMS_SHOWN, Item, Label, Machine, MachineAnswer, Presentation, Project

WHICH = ("answered", "plan", "all")
MIN_ORDERS, MAX_ORDERS = 2, 2 * MAX_ITEMS_SHOWN
MAX_SETS_IN_ALL = 500_000  # every pair of a thousand items
CHUNK = 300


class TooManySets(UserError):
    def __init__(self, n: int) -> None:
        super().__init__(
            _("There are %(n)d sets in all; the limit is %(limit)d. Ask for those that people answered or of the plan.")
            % {"n": n, "limit": MAX_SETS_IN_ALL}
        )


@dataclass(frozen=True)
class AskedSet:
    """items: in the order of the set's key.   orders: those still to be shown, by place in `items`."""

    items: list[Item]
    task: AskedTask
    orders: list[tuple[int, ...]]


def asked_kinds(project: Project) -> dict[int, list[AskedTask]]:
    """Return the kinds of task by which machines are asked about a set of each size, the project's own first: all that
    are asked now, and of sizes that are asked no more those that were."""
    kinds: dict[int, list[AskedTask]] = {}
    for task in dict.fromkeys(tasks_now(project)):
        kinds.setdefault(task.k, []).append(task)
    sizes = set(kinds)
    for task in tasks_of(project):
        if task.k not in sizes:
            kinds.setdefault(task.k, []).append(task)
    return kinds


def orders_of(key: str, k: int, n: int) -> list[tuple[int, ...]]:
    """Return the first n orders of a set, 2 k at most: a drawn order turned, and each backwards after it.

    After two orders each item has stood before and behind each other; after all, equally often at each place.
    """
    drawn = range(k) if k == 2 else sorted(range(k), key=lambda place: sha256(f"{key} {place}".encode()).digest())
    drawn = list(drawn)
    turned = [(*drawn[turn:], *drawn[:turn]) for turn in range(k)]
    both = [order for one in turned for order in (one, one[::-1])]
    return list(dict.fromkeys(both))[:n]


def sets_to_judge(
    machine: Machine, criterion: Criterion, which: str, after: str, limit: int, n_orders: int
) -> tuple[list[AskedSet], str | None]:
    """Return up to `limit` sets that the machine is still to be asked, and where the next call goes on; None at the
    end. A set that is asked by several kinds of task comes once for each, together. which: one of WHICH. Raises
    TooManySets."""
    project, found = criterion.project, list[AskedSet]()
    kinds, before = asked_kinds(project), after
    source = every_set(project, kinds, after) if which == "all" else kept_sets(project, kinds, which, after)
    for chunk in chunks_of(source):
        done = answered_orders(machine, criterion, [set_key(pks) for _place, pks in chunk])
        items = Item.objects.select_related("context").in_bulk({pk for _place, pks in chunk for pk in pks})
        for place, pks in chunk:
            more = []
            if all(pk in items for pk in pks):
                more = missing(set_key(pks), [items[pk] for pk in pks], kinds[len(pks)], n_orders, done)
            if found and len(found) + len(more) > limit:
                return found, before
            found, before = found + more, place
            if len(found) >= limit:
                return found, place
    return found, None


def missing(
    key: str, items: list[Item], kinds: Iterable[AskedTask], n_orders: int, done: Collection[tuple[str, str, str]]
) -> list[AskedSet]:
    """Return the set for each kind of task by which it was not shown in every order yet. done: (set, task, shown)."""
    found = []
    for task in kinds:
        orders = [one for one in orders_of(key, len(items), n_orders) if (key, task.code, digits(one)) not in done]
        if orders:
            found.append(AskedSet(items, task, orders))
    return found


def digits(order: Iterable[int]) -> str:
    """Return MachineAnswer.shown."""
    return "".join(map(str, order))


def answered_orders(machine: Machine, criterion: Criterion, keys: list[str]) -> set[tuple[str, str, str]]:
    answers = MachineAnswer.objects.filter(machine=machine, criterion=criterion.number, item_set__key__in=keys)
    return set(answers.values_list("item_set__key", "task", "shown"))


def chunks_of(sets: Iterable[tuple[str, list[int]]]) -> Iterator[list[tuple[str, list[int]]]]:
    chunk: list[tuple[str, list[int]]] = []
    for one in sets:
        chunk.append(one)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def kept_sets(project: Project, kinds: Collection[int], which: str, after: str) -> Iterator[tuple[str, list[int]]]:
    """Yield (place, items) of the sets that people have answered, or of the plan. kinds: the sizes asked."""
    rows = project.item_sets.filter(pk__gt=int(after) if after.isdigit() else 0).order_by("pk")
    if which == "plan":
        rows = rows.filter(place__isnull=False)
    else:
        answers = Label.objects.filter(presentation=OuterRef("pk"), voided_at=None, outcome__in=INFORMATIVE)
        counted = Presentation.objects.filter(purpose__in=project.counted_purposes, item_set=OuterRef("pk"))
        rows = rows.filter(Exists(counted.filter(Exists(answers))))
    for pk, key in rows.values_list("pk", "key").iterator(2000):
        items = items_of_key(key)
        if len(items) in kinds:
            yield str(pk), items


def every_set(project: Project, kinds: Collection[int], after: str) -> Iterator[tuple[str, list[int]]]:
    """Yield (place, items) of all sets of active items that share a context, of each size asked. Raises TooManySets."""
    active = project.items.filter(retired_at=None)
    rows = active.order_by(F("context").asc(nulls_first=True), "pk").values_list("pk", "context")
    groups: dict[int | None, list[int]] = {}
    for pk, context in rows:
        groups.setdefault(context, []).append(pk)
    n = sum(comb(len(group), k) for group in groups.values() for k in kinds)
    if n > MAX_SETS_IN_ALL:
        raise TooManySets(n)
    start, place = int(after) if after.isdigit() else -1, 0
    for k in sorted(kinds):
        for group in groups.values():
            for some in combinations(group, k):
                if place > start:
                    yield str(place), list(some)
                place += 1
