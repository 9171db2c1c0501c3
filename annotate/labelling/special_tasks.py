"""Tasks besides the ordinary ones (practice, gold, attention, repeats): which is due, and what is right.

Between tasks this only reads. Nothing here reaches a page but the feedback after practice.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Exists, Max, OuterRef, QuerySet
from django.utils.crypto import salted_hmac

from annotate.labelling.asked_tasks import code_for, is_mixed
from annotate.labelling.eligibility import counted_labels, n_counted_labels
from annotate.labelling.item_sets import items_of_key
from annotate.labelling.outcomes import INFORMATIVE, decode_ranks, decode_shared
from annotate.models import (
    Annotator,
    AskedBy,
    ConflictOfInterest,
    GoldSet,
    Item,
    Label,
    Presentation,
    PresentedItem,
    Project,
    Purpose,
)

MIN_ANSWERS_BEFORE_REPEAT = 5  # answers at least between a set and its repeat
MAX_ROWS_READ = 200
GOING_ON, AGAIN, PASSED, FAILED = "going on", "again", "passed", "failed"


@dataclass(frozen=True)
class SpecialTask:
    """What to show that is not ordinary; `mirrored` items are shown as they stand, others at random places."""

    purpose: str
    item_set_id: int
    items: Sequence[int]
    known_id: int | None = None
    repeat: int = 0
    mirrored: bool = False
    task: str = ""  # Presentation.task

    def in_order(self, rng: random.Random) -> list[int]:
        return list(self.items) if self.mirrored else rng.sample(self.items, len(self.items))


def next_special_task(
    annotator: Annotator, n_done: int | None = None, unanswered: Sequence[str] = ()
) -> SpecialTask | None:
    """Return what the annotator is shown next instead of an ordinary task, if anything.

    Every kind is looked up whether it has its turn or not, so that how long a page takes tells nothing.
    n_done: how many answers count, where that is known.   unanswered: what the tasks before it are for, the latest
    first, that will have been answered by then.
    """
    project = annotator.project
    if is_practising(annotator):
        found = next_practice(annotator)
        if found:
            return found
    rhythms = frequencies(project)
    if not rhythms:
        return None
    n_done = (n_counted_labels(annotator) if n_done is None else n_done) + len(unanswered)
    lately = counted_labels(annotator).order_by("-created_at", "-pk").values_list("presentation__purpose", flat=True)
    recent = [*unanswered, *lately[: max(rhythms.values())]]
    ready = {purpose: next_task_of_purpose(annotator, purpose) for purpose in rhythms}
    for purpose, every in rhythms.items():
        place = n_done % every
        has_turn = place >= slot_in_block(annotator, purpose, every, n_done // every) and purpose not in recent[:place]
        if has_turn and ready[purpose]:
            return ready[purpose]
    return None


def next_task_of_purpose(annotator: Annotator, purpose: str) -> SpecialTask | None:
    return next_repeat(annotator) if purpose == Purpose.REPEAT else next_gold(annotator, purpose)


def frequencies(project: Project) -> dict[str, int]:
    """Return of how many tasks one is of each kind; kinds that are switched off are left out."""
    every = {
        Purpose.ATTENTION.value: project.attention_every,
        Purpose.GOLD.value: project.gold_every,
        Purpose.REPEAT.value: round(100 / project.repeat_percent) if project.repeat_percent else None,
    }
    return {purpose: n for purpose, n in every.items() if n}


def slot_in_block(annotator: Annotator, purpose: str, every: int, block: int) -> int:
    """Return where in this block of tasks the kind has its turn: as good as random to all who don't know the secret
    key."""
    return pseudorandom_below(f"{annotator.pk}-{purpose}-{block}", every)


def pseudorandom_below(what: str, n: int) -> int:
    return int(salted_hmac("annotate.checks", what, algorithm="sha256").hexdigest()[:12], 16) % n


def next_gold(annotator: Annotator, purpose: str) -> SpecialTask | None:
    """Return a set of this purpose that the annotator has never been shown."""
    shown = Presentation.objects.filter(annotator=annotator, item_set=OuterRef("item_set"))
    sets = active_gold_sets(annotator.project, purpose).filter(~Exists(shown))
    hidden = conflicting_items(annotator)
    rows = sets.values_list("pk", "item_set_id", "item_set__key", "outcome")[:MAX_ROWS_READ]
    found = [row for row in rows if not hidden.intersection(items_of_key(row[2]))]
    if not found:
        return None
    known_id, item_set_id, key, outcome = found[
        pseudorandom_below(f"{annotator.pk}-{purpose}-{len(found)}", len(found))
    ]
    items = items_of_key(key)
    return SpecialTask(purpose, item_set_id, items, known_id, task=code_of_check(annotator.project, outcome, items))


def code_of_check(project: Project, outcome: str, items: Sequence[int]) -> str:
    """Return Presentation.task of a set whose right answer is known: that of the kind it was made for."""
    return code_for(project, outcome, len(items)) if is_mixed(project) else ""


def conflicting_items(annotator: Annotator) -> frozenset[int]:
    """Return the items that the annotator's conflicts of interest name, by key or tag; asks nothing where there are
    none."""
    if not annotator.has_never_shown:
        return frozenset()
    own = ConflictOfInterest.objects.filter(annotator=annotator)
    by_key, by_tag = own.exclude(item=None).values("item"), own.exclude(tag=None).values("tag")
    named = Item.objects.filter(project=annotator.project_id)
    return frozenset(
        [
            *named.filter(pk__in=by_key).values_list("pk", flat=True),
            *named.filter(tags__in=by_tag).values_list("pk", flat=True),
        ]
    )


def active_gold_sets(project: Project, purpose: str) -> QuerySet[GoldSet]:
    return GoldSet.objects.filter(project=project, purpose=purpose, retired_at=None).order_by("pk")


def next_repeat(annotator: Annotator) -> SpecialTask | None:
    """Return a set that the annotator answered some time ago and that has not been repeated, in mirrored order.

    Where there are any, one of those that the ranking did not choose: self-consistency is computed on these alone.
    """
    again = Presentation.objects.filter(annotator=annotator, item_set=OuterRef("presentation__item_set"))
    earlier = (
        counted_labels(annotator)
        .filter(presentation__purpose=Purpose.ORDINARY, outcome__in=INFORMATIVE)
        .filter(~Exists(again.filter(purpose=Purpose.REPEAT)))
        .order_by("-created_at", "-pk")
        .values_list(
            "presentation",
            "presentation__item_set",
            "presentation__task",
            "presentation__item_set__key",
            "presentation__asked_by",
        )
    )
    hidden = conflicting_items(annotator)
    free = [
        row
        for row in earlier[MIN_ANSWERS_BEFORE_REPEAT : MIN_ANSWERS_BEFORE_REPEAT + MAX_ROWS_READ]
        if not hidden.intersection(items_of_key(row[3]))
    ]
    found = [row[:3] for row in free if row[4] != AskedBy.ADAPTIVE] or [row[:3] for row in free]
    # Where there is nothing to repeat, the rest is asked for nothing: the same statements for every task.
    place = pseudorandom_below(f"{annotator.pk}-repeat-{found[:1]}", len(found) or 1)
    presentation_id, item_set_id, task = found[place] if found else (0, 0, "")
    shown = PresentedItem.objects.filter(presentation=presentation_id).order_by("-position")
    seen = Presentation.objects.filter(annotator=annotator, item_set=item_set_id).aggregate(last=Max("repeat"))
    items = list(shown.values_list("item_id", flat=True))
    if not found:
        return None
    return SpecialTask(Purpose.REPEAT, item_set_id, items, repeat=seen["last"] + 1, mirrored=True, task=task)


# --- What is right ----------------------------------------------------------------------------------------------------


def items_named(label: Label, shown: Sequence[int]) -> list[int]:
    """Return the items that a label names, best first. shown: the items by place."""
    if label.chosen_id is not None:
        return [label.chosen_id]
    return [shown[place] for place in decode_ranks(label.outcome, label.ranks)] if label.ranks else []


def is_correct(known: GoldSet, label: Label, shown: Sequence[int]) -> bool:
    if label.outcome != known.outcome:
        return False
    shared = decode_shared(label.outcome, label.ranks) if label.ranks else ()
    return by_place(items_named(label, shown), shared) == by_place(known.named, known.shared)


def by_place(named: Sequence[int], shared: Sequence[int]) -> list[set[int]]:
    """Return the items by place: those that share one together, in no order."""
    found: list[set[int]] = []
    for index, item in enumerate(named):
        if index in shared and found:
            found[-1].add(item)
        else:
            found.append({item})
    return found


def correctness(labels: QuerySet[Label]) -> dict[int, bool]:
    """Return whether each of these labels, by primary key, is right; those of sets without a right answer
    are left out."""
    found = list(labels.filter(presentation__known__isnull=False).select_related("presentation__known"))
    shown: dict[int, list[int]] = {}
    rows = PresentedItem.objects.filter(presentation__in=[label.presentation_id for label in found])
    for presentation, item in rows.order_by("position").values_list("presentation", "item"):
        shown.setdefault(presentation, []).append(item)
    return {
        label.pk: is_correct(label.presentation.known, label, shown[label.presentation_id])
        for label in found
        if label.presentation.known
    }


# --- Practice ---------------------------------------------------------------------------------------------------------


def is_practising(annotator: Annotator) -> bool:
    """Return whether practice may still be asked; who had begun before there was any is not asked."""
    if not annotator.project.practice_pass or annotator.practice_over_at or annotator.screened_out_at:
        return False
    return not counted_labels(annotator).exists()


@dataclass(frozen=True)
class PracticeState:
    """How an annotator stands. `sets`: those to practise on, in turn; `right`: of those answered in this try, which."""

    sets: list[GoldSet]
    right: dict[int, bool]
    attempt: int
    pass_mark: int
    tries: int

    @property
    def n_right(self) -> int:
        return sum(self.right.values())

    @property
    def left(self) -> list[GoldSet]:
        return [known for known in self.sets if known.pk not in self.right]

    @property
    def needed(self) -> int:
        return min(self.pass_mark, len(self.sets))

    @property
    def verdict(self) -> str:
        if self.left:
            return GOING_ON
        if self.n_right >= self.needed:
            return PASSED
        return AGAIN if self.attempt + 1 < self.tries else FAILED


def practice_state(annotator: Annotator) -> PracticeState:
    project = annotator.project
    hidden = conflicting_items(annotator)
    practised_on = active_gold_sets(project, Purpose.PRACTICE).select_related("item_set")
    sets = [known for known in practised_on if not hidden.intersection(items_of_key(known.item_set.key))]
    labels = Label.objects.filter(annotator=annotator, voided_at=None, presentation__purpose=Purpose.PRACTICE)
    right = correctness(labels)
    answered = labels.values_list("pk", "presentation__known", "presentation__repeat")
    attempt = max((repeat for *_, repeat in answered), default=0)
    now = {known: right[pk] for pk, known, repeat in answered if repeat == attempt}
    kept = {known.pk for known in sets}
    of_sets = {known: value for known, value in now.items() if known in kept}
    return PracticeState(sets, of_sets, attempt, project.practice_pass or 0, project.practice_tries)


def next_practice(annotator: Annotator) -> SpecialTask | None:
    state = practice_state(annotator)
    if not state.sets:
        return None
    attempt, left = state.attempt, state.left
    if not left:
        attempt, left = attempt + 1, state.sets
    known = left[0]
    items = items_of_key(known.item_set.key)
    task = code_of_check(annotator.project, known.outcome, items)
    return SpecialTask(Purpose.PRACTICE, known.item_set_id, items, known.pk, attempt, task=task)
