"""Which presentation an annotator gets next: sets waiting for more annotators first, then the least compared items.

Items made of ideas come before both until they have been compared as often as the others; a plan of sets knows none.
Questions that the owner gave are such a plan: asked in the order that the owner chose.
"""

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import merge
from itertools import combinations, islice
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.db.models import Avg, Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Random

from annotate.core.errors import NothingToCompare
from annotate.core.transactions import write_transaction
from annotate.labelling import special_tasks
from annotate.labelling.eligibility import check_can_get_task, check_caps
from annotate.labelling.item_sets import (
    MAX_WAITING_SETS,
    active_among,
    already_shown_to,
    count_among,
    is_check,
    items_of_key,
    named_items,
    plain_waiting_sets,
    set_key,
    take_given_set,
    take_set,
)
from annotate.labelling.plan.queries import NO_LIMIT
from annotate.labelling.requirements import check_requirements
from annotate.labelling.special_tasks import conflicting_items
from annotate.locks import advisory_lock, lock_annotator
from annotate.models import Annotator, GivenOrder, Idea, Item, ItemSet, Presentation, PresentedItem, Project, Purpose

MAX_ITEMS_TRIED_FIRST = 40  # least compared items among which a set is sought first
MAX_COMPANIONS = 400  # items of the same contexts, looked at besides
# By what the sets of a plan come, before a random number: first a drawn one's, which is balanced in itself.
RANKS = {
    "": ("place",),
    GivenOrder.BALANCED: ("n_taken",),
    GivenOrder.IN_ORDER: ("number",),
    GivenOrder.PRIORITY: ("-priority", "n_taken"),
}
MAX_CANDIDATES = MAX_ITEMS_TRIED_FIRST * (MAX_ITEMS_TRIED_FIRST - 1) // 2  # all their pairs, or as many larger sets


@dataclass(frozen=True)
class ChosenSet:
    """Items to show together, and the row of their set where it is known."""

    items: Sequence[int]
    item_set_id: int | None = None


def next_presentation(*, annotator: Annotator, now: datetime, rng: random.Random) -> Presentation:
    """Return the annotator's open presentation, else a new one, leased; raises a Refusal that says why
    there is none."""
    likely = choose_ahead(annotator, now)
    with write_transaction():
        return open_or_renew(lock_annotator(annotator), likely, now, rng)


def choose_ahead(annotator: Annotator, now: datetime) -> ChosenSet | None:
    """Return what the annotator will probably be shown next.

    Choosing takes longest and happens before the step begins; in it the choice is claimed or, if somebody was faster or
    nothing was left, made anew.
    """
    if cache.add(expiry_check_key(annotator.project_id, now), True, timeout=5):
        release_expired(annotator.project, now, but=annotator)
    try:
        return choose_items(annotator.project, annotator)
    except NothingToCompare:
        release_expired(annotator.project, now, but=annotator)
        return None


def expiry_check_key(project_id: UUID, now: datetime) -> str:
    """Return names the look for a project's expired leases that one request takes in each second, for the others."""
    return f"expired-{project_id}-{int(now.timestamp())}"


def open_or_renew(annotator: Annotator, likely: ChosenSet | None, now: datetime, rng: random.Random) -> Presentation:
    """Return what next_presentation says, in the annotator's step."""
    check_can_get_task(annotator.project, annotator, now)
    current = annotator.presentations.filter(state=Presentation.State.OPEN)
    if current.update(leased_until=now + lease_duration()):
        return current.get()
    return open_next_task(annotator, likely, now, rng)


def open_next_task(annotator: Annotator, likely: ChosenSet | None, now: datetime, rng: random.Random) -> Presentation:
    """Return a new presentation, in the step of an annotator who may answer and has none open."""
    check_requirements(annotator.project, annotator)
    check_caps(annotator, now)
    special = special_tasks.next_special_task(annotator)
    try:
        choice, item_set_id = claim_next_set(annotator, likely, count=not special)
    except NothingToCompare:
        if special is None:
            raise
    if special:
        return create_presentation(annotator, special.item_set_id, special.in_order(rng), now, special=special)
    return create_presentation(annotator, item_set_id, rng.sample(choice.items, len(choice.items)), now)


def claim_next_set(annotator: Annotator, likely: ChosenSet | None, *, count: bool) -> tuple[ChosenSet, int]:
    """Return the set of the next ordinary task, and its id; raises NothingToCompare.

    Without `count` it stays free. A check takes these steps too, and the same statements: what the server does, and
    how long, is as for any other task.
    """
    choice = likely if likely and not conflicting_items(annotator) & set(likely.items) else None
    choice = choice or choose_items(annotator.project, annotator)
    while (item_set_id := claim_set(annotator, choice, int(count))) is None:
        choice = choose_items(annotator.project, annotator)
    return choice, item_set_id


def lease_duration() -> timedelta:
    return timedelta(minutes=settings.PRESENTATION_LEASE_MINUTES)


# --- Choosing reads only ----------------------------------------------------------------------------------------------


def choose_items(project: Project, annotator: Annotator) -> ChosenSet:
    """Return what this annotator would be shown next; raises NothingToCompare."""
    if project.has_idea_items and not project.has_plan and (choice := newcomer_set(project, annotator)):
        return choice
    if project.given_order:
        return planned_set(project, annotator)
    following = planned_set if project.has_plan else least_compared_set
    if project.overlap < NO_LIMIT:
        return waiting_set(project, annotator) or following(project, annotator)
    try:  # sets never wait to become full: else all would be shown the same few
        return following(project, annotator)
    except NothingToCompare:
        waiting = waiting_set(project, annotator)
        if waiting is None:
            raise
        return waiting


def newcomer_set(project: Project, annotator: Annotator) -> ChosenSet | None:
    """Return one item made of an idea that is behind the others, and the least compared of these; else None.

    Newcomers are not set against each other: compared with nothing but themselves, they would be a ranking apart. Where
    the overlap has a limit, a set of theirs that waits for more annotators comes first: else all of theirs would wait.
    """
    late = items_behind(project, annotator)
    if not late:
        return None
    if project.overlap < NO_LIMIT and (waiting := waiting_set(project, annotator, of_items=late)):
        return waiting
    others = active_items(project, annotator).filter(context=None).exclude(pk__in=late)
    least = list(others.order_by("n_taken", "shuffle", "pk").values_list("pk", flat=True)[:MAX_ITEMS_TRIED_FIRST])
    sets = ((one, *rest) for one in late for rest in combinations(least, project.k - 1))
    return first_allowed(project, annotator, list(islice(sets, MAX_CANDIDATES)))


def items_behind(project: Project, annotator: Annotator) -> list[int]:
    """Return the items made of ideas that were compared less often, by one time or more, than the others on average."""
    is_new = Exists(Idea.objects.filter(item=OuterRef("pk"), state=Idea.State.APPROVED))
    active = active_items(project, annotator)
    new = active.filter(is_new).order_by("n_taken", "shuffle", "pk").values_list("pk", "n_taken")
    found = list(new[:MAX_ITEMS_TRIED_FIRST])
    if not found:
        return []
    means = active.aggregate(others=Avg("n_taken", filter=~is_new), all=Avg("n_taken"))
    usual = means["all"] if means["others"] is None else means["others"]
    return [item for item, n_taken in found if n_taken + 1 <= usual]


def active_items(project: Project, annotator: Annotator) -> QuerySet[Item]:
    """Return the items that this annotator may be shown."""
    items = project.items.filter(retired_at=None)
    return items.exclude(pk__in=conflicting_items(annotator)) if annotator.has_never_shown else items


def planned_set(project: Project, annotator: Annotator) -> ChosenSet:
    """Return the plan's next set that this annotator may get; raises NothingToCompare.

    Of a drawn plan, which balances the items, one that nobody has: others wait to become full (waiting_set). Of given
    questions the first by their own order that has room.
    """
    planned = project.item_sets.filter(~already_shown_to(annotator), ~is_check(), place__isnull=False)
    # The sum keeps databases from an index by n_taken: they would sort all questions instead of taking the first.
    given = planned.alias(taken=F("n_taken") + 0).filter(number__isnull=False, taken__lt=project.overlap)
    free: QuerySet[ItemSet] = given if project.given_order else planned.filter(n_taken=0)
    ranks = RANKS[project.given_order]
    columns = (*(rank.removeprefix("-") for rank in ranks), "pk", "key")
    found = without_conflicts(free.order_by(*ranks, "shuffle").values_list(*columns), annotator)
    choice = first_active_set(row[-2:] for row in rotated(found, annotator))
    if choice is None:
        raise NothingToCompare(project.items.filter(retired_at=None).count(), project.k)
    return choice


def waiting_set(project: Project, annotator: Annotator, of_items: Collection[int] | None = None) -> ChosenSet | None:
    """Return a set with some but not all of its annotators, new to this one: the least taken, random among equals.

    of_items: only sets with one of these.
    """
    if project.overlap < 2:
        return None
    if not (project.has_plan or of_items is not None or annotator.has_never_shown):
        values = {"project": project.pk, "overlap": project.overlap, "annotator": annotator.pk}
        return first_active_set(row[-2:] for row in rotated(plain_waiting_sets(**values), annotator))
    waiting = project.item_sets.filter(n_taken__gte=1, n_taken__lt=project.overlap)
    waiting = waiting.filter(~already_shown_to(annotator), ~is_check())
    if project.has_plan:
        waiting = waiting.filter(place__isnull=False)
    if of_items is not None:
        waiting = waiting.filter(pk__in=Presentation.objects.filter(items__in=of_items).values("item_set"))
    found = without_conflicts(waiting.order_by("n_taken", "shuffle").values_list("n_taken", "pk", "key"), annotator)
    return first_active_set(row[-2:] for row in rotated(found, annotator))


def rotated(found: list[tuple], annotator: Annotator) -> list[tuple]:
    """Return these rows, which end with primary key and key, but begun at another one of the first's equals.

    Annotators who ask at once begin at different ones, so that they seldom want the same.
    """
    n_equal = sum(row[:-2] == found[0][:-2] for row in found)
    turn = annotator.pk % n_equal if found else 0
    return [*found[turn:n_equal], *found[:turn], *found[n_equal:]]


def without_conflicts(sets: QuerySet, annotator: Annotator) -> list[tuple]:
    """Return the first of these rows, whose last column is the set's key, that hold nothing the annotator is never
    shown."""
    hidden = conflicting_items(annotator)
    if not hidden:
        return list(sets[:MAX_WAITING_SETS])
    free = (row for row in sets.iterator() if not hidden.intersection(items_of_key(row[-1])))
    return list(islice(free, MAX_WAITING_SETS))


def first_active_set(sets: Iterable[tuple[int, str]]) -> ChosenSet | None:
    """Return the first of these (primary key, key) none of whose items is retired."""
    for item_set_id, key in sets:
        items = items_of_key(key)
        if len(active_among(len(items))(**named_items(items))) == len(items):
            return ChosenSet(items, item_set_id)
    return None


def least_compared_set(project: Project, annotator: Annotator) -> ChosenSet:
    """Return the least compared items, such that their set may still be shown; raises NothingToCompare."""
    active = active_items(project, annotator).order_by("n_taken", "shuffle", "pk").values_list("pk", "context_id")
    order = list(active[:MAX_ITEMS_TRIED_FIRST])
    all_seen = len(order) < MAX_ITEMS_TRIED_FIRST
    if contexts := {context for _item, context in order} - {None}:
        seen = [item for item, _context in order]
        order += active.filter(context__in=contexts).exclude(pk__in=seen)[:MAX_COMPANIONS]
    candidates = list(islice(possible_sets(order, project.k), MAX_CANDIDATES))
    choice = first_allowed(project, annotator, candidates)
    if choice is None and not (all_seen and len(candidates) < MAX_CANDIDATES):
        order = list(active)
        choice = first_unblocked(possible_sets(order, project.k), blocked_keys(project, annotator))
    if choice is None:
        raise NothingToCompare(len(order), project.k)
    return choice


def first_allowed(project: Project, annotator: Annotator, candidates: list[tuple[int, ...]]) -> ChosenSet | None:
    """Return the first of these sets that this annotator may get; most often it is among the very first."""
    first = candidates[: MAX_ITEMS_TRIED_FIRST - 1]
    choice = first_unblocked(first, blocked_keys(project, annotator, first))
    return choice or first_unblocked(candidates, blocked_keys(project, annotator, candidates))


def possible_sets(order: Sequence[tuple[int, int | None]], k: int) -> Iterator[tuple[int, ...]]:
    """Yield every k of these items (each with its context) that share a context, those of the first ones first."""
    places: dict[int | None, list[int]] = {}
    for place, (_item, context) in enumerate(order):
        places.setdefault(context, []).append(place)
    for chosen in merge(*(combinations(group, k) for group in places.values())):
        yield tuple(order[place][0] for place in chosen)


def first_unblocked(sets: Iterable[tuple[int, ...]], blocked: set[str]) -> ChosenSet | None:
    return next((ChosenSet(items) for items in sets if set_key(items) not in blocked), None)


def blocked_keys(project: Project, annotator: Annotator, among: list[tuple[int, ...]] | None = None) -> set[str]:
    """Return the sets, among these or all, that this annotator may not get: full, seen, or of checks."""
    sets = project.item_sets.filter(Q(n_taken__gte=project.overlap) | Q(already_shown_to(annotator)) | Q(is_check()))
    if among is not None:
        sets = sets.filter(key__in=map(set_key, among))
    return set(sets.values_list("key", flat=True))


# --- Taking writes, in the annotator's step ---------------------------------------------------------------------------


def claim_set(annotator: Annotator, choice: ChosenSet, n: int = 1) -> int | None:
    """Counts `n` more presentations of the set if it has room and is new to the annotator; the set's id, else None.

    Where questions are given, the set has to be one of them, too: it may have been withdrawn since it was chosen.
    """
    project = annotator.project
    item_set_id = choice.item_set_id or get_or_create_set(project.pk, set_key(choice.items))
    take = take_given_set if project.given_order else take_set
    if not take(id=item_set_id, overlap=project.overlap, annotator=annotator.pk, n=n):
        return None
    count_items(choice.items, n)
    return item_set_id


def get_or_create_set(project_id: UUID, key: str) -> int:
    """Return the row of the set, by the same two statements whether it is new or not."""
    ItemSet.objects.bulk_create([ItemSet(project_id=project_id, key=key)], ignore_conflicts=True)
    return ItemSet.objects.values_list("pk", flat=True).get(project_id=project_id, key=key)


def reopen_presentation(
    *, annotator: Annotator, items: list[int], now: datetime, reopens: Presentation | None = None, take: bool = True
) -> Presentation:
    """Opens a presentation of these items in this order; `take` counts it (an undone label's count is kept instead)."""
    item_set, _ = ItemSet.objects.get_or_create(project_id=annotator.project_id, key=set_key(items))
    if take:
        count_presentation(item_set.pk, items, +1)
    return create_presentation(annotator, item_set.pk, items, now, reopens)


def create_presentation(
    annotator: Annotator,
    item_set_id: int,
    items: list[int],
    now: datetime,
    reopens: Presentation | None = None,
    special: special_tasks.SpecialTask | None = None,
) -> Presentation:
    like = reopens or special
    presentation = Presentation.objects.create(
        project_id=annotator.project_id,
        annotator=annotator,
        item_set_id=item_set_id,
        purpose=like.purpose if like else Purpose.ORDINARY,
        known_id=like.known_id if like else None,
        repeat=like.repeat if like else 0,
        reopens=reopens,
        created_at=now,
        leased_until=now + lease_duration(),
    )
    PresentedItem.objects.bulk_create(
        PresentedItem(presentation=presentation, item_id=item, position=place) for place, item in enumerate(items)
    )
    return presentation


def count_presentation(item_set_id: int, items: list[int], change: int) -> None:
    """Adds to the counts that overlap and balance go by, and draws the tie-breakers anew."""
    ItemSet.objects.filter(pk=item_set_id).update(n_taken=F("n_taken") + change, shuffle=Random())
    count_items(items, change)


def count_items(items: Sequence[int], change: int) -> None:
    if connection.features.has_select_for_update:  # by key, so that no two steps wait for each other
        chosen = Item.objects.filter(pk__in=items)
        list(chosen.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    count_among(len(items))(n=change, **named_items(items))


def release_expired(project: Project, now: datetime, but: Annotator | None = None) -> int:
    """Gives the sets of up to 50 presentations whose lease ran out back to the pool, but for one annotator's own."""
    expired = project.presentations.filter(state=Presentation.State.OPEN, leased_until__lt=now)
    if but:
        expired = expired.exclude(annotator=but)
    found = list(expired.order_by("leased_until").values_list("pk", "item_set_id")[:50])
    return sum(release(project, *one) for one in found)


def release(project: Project, presentation_id: int, item_set_id: int) -> bool:
    """Gives one presentation's set back, unless it was answered or released meanwhile."""
    with write_transaction():
        advisory_lock(project.pk, shared=True)
        still_open = Presentation.objects.filter(pk=presentation_id, state=Presentation.State.OPEN)
        if not still_open.update(state=Presentation.State.EXPIRED):
            return False
        shown = PresentedItem.objects.filter(presentation=presentation_id)
        items = list(shown.filter(presentation__purpose=Purpose.ORDINARY).values_list("item_id", flat=True))
        if items:
            count_presentation(item_set_id, items, -1)
        return True
