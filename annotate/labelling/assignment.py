"""Opens the next presentation of an annotator: claims the chosen set, counts it, leases it; gives back what expired."""

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Random

from annotate.core.errors import AnnotatorErased, NothingToCompare, UserError
from annotate.core.statements import Given, InsertStatement, UpdateStatement
from annotate.core.transactions import write_transaction
from annotate.labelling import special_tasks
from annotate.labelling.choosing import choose_items
from annotate.labelling.eligibility import break_is_due, check_can_get_task, check_caps, n_counted_labels
from annotate.labelling.handed_out import HANDED_OUT
from annotate.labelling.item_sets import (
    TAKEN_STATES,
    ChosenSet,
    count_among,
    named_items,
    set_key,
    take_set,
)
from annotate.labelling.requirements import check_requirements
from annotate.labelling.special_tasks import conflicting_items
from annotate.labelling.suggestions import take_suggestion
from annotate.locks import advisory_lock, check_alone, in_step, lock_annotator
from annotate.models import (
    Annotator,
    AskedBy,
    Item,
    ItemSet,
    Presentation,
    PresentedItem,
    Project,
    Purpose,
    new_token,
)

MAX_OVERLAP = 2**31 - 1
AHEAD_LEASE = timedelta(minutes=1)  # of a question that is not shown yet


def next_presentation(*, annotator: Annotator, now: datetime, rng: random.Random, ahead: bool = False) -> Presentation:
    """Return the annotator's open presentation, else a new one, leased; raises a Refusal that says why
    there is none.

    ahead: lease the one after it, too, for those who can show it before they are asked for it.
    """
    likely = choose_ahead(annotator, now)
    presentation = in_step(annotator, lambda locked: open_or_renew(locked, likely, now, rng))
    if ahead:
        lease_next(annotator, now, rng)
    return presentation


def choose_ahead(annotator: Annotator, now: datetime) -> ChosenSet | None:
    """Return what the annotator will probably be shown next.

    Choosing takes longest and happens before the step begins; in it the choice is claimed or, if somebody was faster or
    nothing was left, made anew.
    """
    if cache.add(expiry_check_key(annotator.project_id, now), True, timeout=5):
        release_expired(annotator.project, now, but=annotator)
    try:
        return choose_items(annotator.project, annotator, new_token())
    except NothingToCompare:
        release_expired(annotator.project, now, but=annotator)
        return None


def expiry_check_key(project_id: UUID, now: datetime) -> str:
    """Return names the look for a project's expired leases that one request takes in each second, for the others."""
    return f"expired-{project_id}-{int(now.timestamp())}"


def open_or_renew(annotator: Annotator, likely: ChosenSet | None, now: datetime, rng: random.Random) -> Presentation:
    """Return what next_presentation says, in the annotator's step."""
    check_can_get_task(annotator.project, annotator, now)
    current = annotator.presentations.filter(state=Presentation.State.OPEN, ahead=False)
    if current.update(leased_until=now + lease_duration()):
        return current.get()
    opened = open_next_task(annotator, likely, now, rng)
    return opened or current.get()


def open_next_task(
    annotator: Annotator, likely: ChosenSet | None, now: datetime, rng: random.Random, n_done: int | None = None
) -> Presentation | None:
    """Open a presentation, in the step of an annotator who may answer and has none open.

    Return the new one; None where it is the one that was leased ahead.   n_done: as for check_caps.
    """
    check_requirements(annotator.project, annotator)
    check_caps(annotator, now, n_done)
    if open_leased_ahead(annotator, now):
        return None
    return lease_next_task(annotator, likely, now, rng, special_tasks.next_special_task(annotator, n_done))


show_leased_ahead = UpdateStatement(
    lambda: Presentation.objects.filter(
        annotator=Given("annotator", Presentation), state=Presentation.State.OPEN, ahead=True
    ),
    ahead=False,
    created_at=Given("created_at", Presentation),
    leased_until=Given("leased_until", Presentation),
)


def open_leased_ahead(annotator: Annotator, now: datetime) -> bool:
    """Open the presentation that was leased ahead, if there is one; time to read it counts from now."""
    if not annotator.project.question_ahead:
        return False
    hidden = conflicting_items(annotator)
    if hidden and leased_ahead(annotator).filter(items__in=hidden).exists():
        check_alone(annotator)
        release_ahead(annotator)
    times = {"created_at": now, "leased_until": now + lease_duration()}
    return show_leased_ahead(annotator=annotator.pk, **times) > 0


def leased_ahead(annotator: Annotator) -> QuerySet[Presentation]:
    return Presentation.objects.filter(annotator=annotator, state=Presentation.State.OPEN, ahead=True)


def release_ahead(annotator: Annotator) -> None:
    """Give the set that was leased ahead back, in the annotator's step."""
    for one in leased_ahead(annotator).values_list("pk", "item_set_id"):
        release(annotator.project, *one)


def release_held_with(project: Project, items: Sequence[int]) -> None:
    """Give back what is held ahead with one of these items, which are shown no more; the caller holds the project.

    Checks stay: they may be made of items that nothing else shows.
    """
    held = Presentation.objects.filter(project=project, state=Presentation.State.OPEN, ahead=True, items__in=items)
    for one in held.filter(purpose=Purpose.ORDINARY).distinct().values_list("pk", "item_set_id"):
        release(project, *one)


def count_if_needed(project: Project, annotator: Annotator) -> int | None:
    """Return how many answers count, where what comes next goes by it."""
    if project.cap is None and not project.break_every and not special_tasks.frequencies(project):
        return None
    return n_counted_labels(annotator)


def lease_next(annotator: Annotator, now: datetime, rng: random.Random) -> None:
    """Lease the question after the open one in a step of its own, unless one is leased already.

    A step counts one set, so that no two steps wait for each other's items.
    """
    if not annotator.project.question_ahead:
        return
    with write_transaction():
        try:
            annotator = lock_annotator(annotator)
        except AnnotatorErased:
            return
        if not leased_ahead(annotator).exists():
            lease_ahead(annotator, None, now, rng)


def lease_ahead(
    annotator: Annotator, likely: ChosenSet | None, now: datetime, rng: random.Random, n_done: int | None = None
) -> None:
    """Lease the question after the open one for AHEAD_LEASE, in the annotator's step; unless something else comes next.

    It is chosen by the same rule, as if the open one had been answered. Where that answer reaches a limit, a break is
    due after it or practice is not over, nothing is leased: what the answer brings is not foreseen.
    """
    project = annotator.project
    if not project.question_ahead or special_tasks.is_practising(annotator):
        return
    if n_done is None:
        n_done = count_if_needed(project, annotator)
    try:
        if not check_caps(annotator, now, n_done) or break_is_due(annotator, (n_done or 0) + 1):
            return
        special = None
        if special_tasks.frequencies(project):
            open_now = annotator.presentations.filter(state=Presentation.State.OPEN, ahead=False)
            purposes = list(open_now.values_list("purpose", flat=True))
            special = special_tasks.next_special_task(annotator, n_done, purposes)
        lease_next_task(annotator, likely, now, rng, special, ahead=True)
    except UserError:
        return


def lease_next_task(
    annotator: Annotator,
    likely: ChosenSet | None,
    now: datetime,
    rng: random.Random,
    special: special_tasks.SpecialTask | None,
    *,
    ahead: bool = False,
) -> Presentation:
    """Return a new presentation: of this special task, else of the next ordinary set, which is claimed."""
    try:
        choice, item_set_id = claim_next_set(annotator, likely, count=not special)
    except NothingToCompare:
        if special is None:
            raise
    if special:
        items = special.in_order(rng)
        return create_presentation(annotator, special.item_set_id, items, now, special=special, ahead=ahead)
    items = rng.sample(choice.items, len(choice.items))
    return create_presentation(annotator, item_set_id, items, now, choice=choice, ahead=ahead)


def claim_next_set(annotator: Annotator, likely: ChosenSet | None, *, count: bool) -> tuple[ChosenSet, int]:
    """Return the set of the next ordinary task, and its id; raises NothingToCompare.

    Without `count` it stays free. A check takes these steps too, and the same statements: what the server does, and
    how long, is as for any other task.
    """
    choice = likely if likely and not conflicting_items(annotator) & set(likely.items) else None
    choice = choice or choose_items(annotator.project, annotator, new_token())
    while (item_set_id := claim_set(annotator, choice, int(count))) is None:
        choice = choose_items(annotator.project, annotator, choice.token or new_token())
    return choice, item_set_id


def lease_duration() -> timedelta:
    return timedelta(minutes=settings.PRESENTATION_LEASE_MINUTES)


def claim_set(annotator: Annotator, choice: ChosenSet, n: int = 1) -> int | None:
    """Count `n` more presentations of the set if it has room and is new to the annotator; the set's id, else None.

    It may have been chosen before the step: None, too, where an item has been retired or deleted since, or the set is
    none of the given questions any more.
    """
    project = annotator.project
    if choice.suggestion and not take_suggestion(choice.suggestion, choice.items, take=n > 0):
        return None
    item_set_id = choice.item_set_id or get_or_create_set(project.pk, set_key(choice.items))
    take = take_set(len(choice.items), given=bool(project.given_order))
    values = {"id": item_set_id, "overlap": project.overlap, "annotator": annotator.pk, "n": n}
    adaptive = choice.asked_by == AskedBy.ADAPTIVE
    if not take(**values, **named_items(choice.items), adaptive=adaptive):
        return None
    count_items(choice.items, n, control=choice.asked_by == AskedBy.CONTROL)
    return item_set_id


def get_or_create_set(project_id: UUID, key: str) -> int:
    """Return the row of the set, by the same two statements whether it is new or not."""
    ItemSet.objects.bulk_create([ItemSet(project_id=project_id, key=key)], ignore_conflicts=True)
    return ItemSet.objects.values_list("pk", flat=True).get(project_id=project_id, key=key)


def reopen_presentation(
    *, annotator: Annotator, items: list[int], now: datetime, reopens: Presentation | None = None, take: bool = True
) -> Presentation:
    """Open a presentation of these items in this order; `take` counts it (an undone label's count is kept instead)."""
    item_set, _ = ItemSet.objects.get_or_create(project_id=annotator.project_id, key=set_key(items))
    if take:
        count_presentation(item_set.pk, items, +1)
    return create_presentation(annotator, item_set.pk, items, now, reopens=reopens)


insert_presentation = InsertStatement(Presentation)
insert_presented_items = InsertStatement(PresentedItem)


def create_presentation(
    annotator: Annotator,
    item_set_id: int,
    items: list[int],
    now: datetime,
    *,
    choice: ChosenSet | None = None,
    reopens: Presentation | None = None,
    special: special_tasks.SpecialTask | None = None,
    ahead: bool = False,
) -> Presentation:
    like = reopens or special
    asked_by, asked_fit = (choice.asked_by, choice.fit) if choice else ("", None)
    presentation = insert_presentation(
        Presentation(
            token=(choice.token if choice else "") or new_token(),
            asked_by=reopens.asked_by if reopens else asked_by,
            asked_fit=reopens.asked_fit if reopens else asked_fit,
            project_id=annotator.project_id,
            annotator=annotator,
            item_set_id=item_set_id,
            purpose=like.purpose if like else Purpose.ORDINARY,
            task=like.task if like else choice.task if choice else "",
            known_id=like.known_id if like else None,
            repeat=like.repeat if like else 0,
            reopens=reopens,
            created_at=now,
            leased_until=now + (AHEAD_LEASE if ahead else lease_duration()),
            ahead=ahead,
        )
    )
    insert_presented_items.many(
        [PresentedItem(presentation=presentation, item_id=item, position=place) for place, item in enumerate(items)]
    )
    HANDED_OUT.add(presentation.token, annotator.project_id)
    return presentation


def count_presentation(item_set_id: int, items: list[int], change: int) -> None:
    """Add to the counts that overlap and balance go by, and draw the tie-breakers anew."""
    ItemSet.objects.filter(pk=item_set_id).update(n_taken=F("n_taken") + change, shuffle=Random())
    count_items(items, change)


def count_items(items: Sequence[int], change: int, *, control: bool = False) -> None:
    if connection.features.has_select_for_update:  # by key, so that no two steps wait for each other
        chosen = Item.objects.filter(pk__in=items)
        list(chosen.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    count_among(len(items))(n=change, n_control=change if control else 0, **named_items(items))


def release_expired(project: Project, now: datetime, but: Annotator | None = None) -> int:
    """Give the sets of up to 50 presentations whose lease ran out back to the pool, but for one annotator's own.

    A check that nobody has seen yet holds no set back; given back, it would count as shown.
    """
    expired = project.presentations.filter(state=Presentation.State.OPEN, leased_until__lt=now)
    expired = expired.filter(Q(ahead=False) | Q(purpose=Purpose.ORDINARY))
    if but:
        expired = expired.exclude(annotator=but)
    found = list(expired.order_by("leased_until").values_list("pk", "item_set_id")[:50])
    return sum(release(project, *one, expired_at=now) for one in found)


def release(project: Project, presentation_id: int, item_set_id: int, expired_at: datetime | None = None) -> bool:
    """Give one presentation's set back, unless it was answered or released meanwhile.

    expired_at: only if its lease has run out by then; it may have been renewed since somebody looked.
    """
    with write_transaction():
        advisory_lock(project.pk, shared=True)
        still_open = Presentation.objects.filter(pk=presentation_id, state=Presentation.State.OPEN)
        if expired_at:
            still_open = still_open.filter(leased_until__lt=expired_at)
        if not still_open.update(state=Presentation.State.EXPIRED):
            return False
        shown = PresentedItem.objects.filter(presentation=presentation_id)
        items = list(shown.filter(presentation__purpose=Purpose.ORDINARY).values_list("item_id", flat=True))
        if items:
            count_presentation(item_set_id, items, -1)
        return True


def reclaim_expired_set(project: Project, presentation: Presentation, items: list[int]) -> bool:
    """Claims the set of an expired presentation anew if overlap allows and its annotator has not seen it since."""
    if presentation.state != Presentation.State.EXPIRED:
        return False
    shown_since = Presentation.objects.filter(
        annotator=presentation.annotator,
        item_set=presentation.item_set_id,
        repeat=presentation.repeat,
        state__in=TAKEN_STATES,
    )
    if shown_since.exists():
        return False
    n = int(presentation.purpose == Purpose.ORDINARY)  # the same statements for a check, which always has room
    most = project.overlap if n else MAX_OVERLAP
    room = ItemSet.objects.filter(pk=presentation.item_set_id, n_taken__lt=most)
    if not room.update(n_taken=F("n_taken") + n, shuffle=Random()):
        return False
    count_items(items, n)
    return True


def release_open_presentation(annotator: Annotator) -> None:
    """Take the annotator's open presentation back, and the one leased ahead: their sets return to the pool."""
    for presentation in annotator.presentations.filter(state=Presentation.State.OPEN):
        still_open = Presentation.objects.filter(pk=presentation.pk, state=Presentation.State.OPEN)
        if not still_open.update(state=Presentation.State.EXPIRED):
            continue  # whoever looks for expired leases was faster, and has counted it
        items = list(presentation.presented.values_list("item_id", flat=True))
        change = -1 if presentation.purpose == Purpose.ORDINARY else 0  # the same statements for a check
        count_presentation(presentation.item_set_id, items, change)
