"""Chooses what an annotator is shown next, by reading alone: sets waiting for more annotators first, then the least
compared items; where the policy is adaptive, what the engine suggested.

Items made of ideas come before both until they have been compared as often as the others; a plan of sets knows none.
Questions that the owner gave are such a plan: asked in the order that the owner chose.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from heapq import merge
from itertools import combinations, islice

from django.db.models import Avg, Exists, F, OuterRef, QuerySet

from annotate.core.errors import NothingToCompare
from annotate.labelling.asked_tasks import codes_to_try, draw_task, is_mixed, of_size, project_for_task
from annotate.labelling.item_sets import (
    MAX_WAITING_SETS,
    ChosenSet,
    active_among,
    already_shown_to,
    blocked,
    blocked_among,
    is_check,
    items_of_key,
    named_items,
    plain_waiting_sets,
    set_key,
)
from annotate.labelling.plan.queries import NO_LIMIT
from annotate.labelling.special_tasks import conflicting_items
from annotate.labelling.suggestions import (
    first_suitable,
    in_control_arm,
    of_task,
    rarely_shown,
    read_suggestions,
)
from annotate.models import (
    Annotator,
    AskedBy,
    GivenOrder,
    Idea,
    Item,
    ItemSet,
    Presentation,
    Project,
)

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


def choose_items(project: Project, annotator: Annotator, token: str = "") -> ChosenSet:
    """Return what this annotator would be shown next; raises NothingToCompare.

    token: of the presentation to be. Where several kinds of task are asked it draws the kind, and another is asked
    where that one has no set left. Where the policy is adaptive it draws the rule; without one the balanced rule
    chooses, which finds a set wherever another rule does.
    """
    if not project.further_tasks:
        return choose_for_task(project, annotator, token)
    first_refusal = None
    for code in codes_to_try(project, draw_task(project, token)):
        try:
            return replace(choose_for_task(project_for_task(project, code), annotator, token), task=code)
        except NothingToCompare as refusal:
            first_refusal = first_refusal or refusal
    raise first_refusal or NothingToCompare(0, project.k)


def choose_for_task(project: Project, annotator: Annotator, token: str) -> ChosenSet:
    """Return the same for one kind of task; project: as this kind asks it."""
    if not token or not project.is_adaptive:
        return balanced_set(project, annotator)
    if in_control_arm(project, token):
        choice = replace(balanced_set(project, annotator, control=True), asked_by=AskedBy.CONTROL)
    else:
        choice = suggested_set(project, annotator, token) or balanced_set(project, annotator)
    return replace(choice, token=token)


def suggested_set(project: Project, annotator: Annotator, token: str) -> ChosenSet | None:
    """Return the best free set that the engine suggested, but first, by the balanced rule, what was shown too rarely;
    None where there is neither."""
    suggestions = of_task(read_suggestions(project, annotator, token), project)
    if suggestions.behind is not None:
        try:
            choice = least_compared_set(project, annotator, unpredicted=True)
        except NothingToCompare:
            return None
        if suggestions.behind in choice.items or rarely_shown(project, annotator).filter(pk__in=choice.items).exists():
            return choice
    if project.has_idea_items and (newcomers := newcomer_set(project, annotator)):
        return newcomers
    return first_suitable(suggestions, annotator)


def balanced_set(project: Project, annotator: Annotator, *, control: bool = False) -> ChosenSet:
    """Return what the balanced rule shows next; raises NothingToCompare.

    control: as if there were no other rule, by the counts of the control arm and the sets that it has begun.
    """
    if project.has_idea_items and not project.has_plan and (choice := newcomer_set(project, annotator)):
        return choice
    if project.given_order:
        return planned_set(project, annotator)
    following = planned_set if project.has_plan else partial(least_compared_set, control=control)
    if project.overlap < NO_LIMIT:
        return waiting_set(project, annotator, control=control) or following(project, annotator)
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


def waiting_set(
    project: Project, annotator: Annotator, of_items: Collection[int] | None = None, *, control: bool = False
) -> ChosenSet | None:
    """Return a set with some but not all of its annotators, new to this one: the least taken, random among equals.

    of_items: only sets with one of these.   control: none that the engine suggested.
    """
    if project.overlap < 2:
        return None
    mixed = is_mixed(project)
    if not (project.has_plan or control or of_items is not None or annotator.has_never_shown or mixed):
        values = {"project": project.pk, "overlap": project.overlap, "annotator": annotator.pk}
        return first_active_set(row[-2:] for row in rotated(plain_waiting_sets(**values), annotator))
    waiting = project.item_sets.filter(n_taken__gte=1, n_taken__lt=project.overlap)
    waiting = waiting.filter(~already_shown_to(annotator), ~is_check())
    if mixed:
        waiting = of_size(waiting, project.k)
    if project.has_plan:
        waiting = waiting.filter(place__isnull=False)
    if control:
        waiting = waiting.filter(adaptive=False)
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


def least_compared_set(
    project: Project, annotator: Annotator, *, control: bool = False, unpredicted: bool = False
) -> ChosenSet:
    """Return the least compared items, such that their set may still be shown; raises NothingToCompare.

    control: those that the control arm has shown least.   unpredicted: none that is asked about by its prediction.
    """
    count = "n_control" if control else "n_taken"
    items = active_items(project, annotator)
    if unpredicted:
        items = items.filter(asked_by_prediction=False)
    active = items.order_by(count, "shuffle", "pk").values_list("pk", "context_id")
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
    choice = first_unblocked(first, blocked_first(project, annotator, first))
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


def blocked_first(project: Project, annotator: Annotator, sets: list[tuple[int, ...]]) -> set[str]:
    """Return those of these sets, MAX_ITEMS_TRIED_FIRST - 1 at most, that this annotator may not get.

    By one statement for any number of them: of fewer the last is repeated.
    """
    keys, n = [set_key(items) for items in sets], MAX_ITEMS_TRIED_FIRST - 1
    if not keys:
        return set()
    named = {f"key_{place}": key for place, key in enumerate(keys + keys[-1:] * (n - len(keys)))}
    values = {"project": project.pk, "annotator": annotator.pk, "overlap": project.overlap}
    return set(blocked_among(n)(**values, **named))


def blocked_keys(project: Project, annotator: Annotator, among: list[tuple[int, ...]] | None = None) -> set[str]:
    """Return the sets, among these or all, that this annotator may not get: full, seen, or of checks."""
    sets = project.item_sets.filter(blocked(project.overlap, annotator))
    if among is not None:
        sets = sets.filter(key__in=map(set_key, among))
    return set(sets.values_list("key", flat=True))
