"""Tells webhooks of answers in batches: an answer leaves a notice, the worker process makes messages of them."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Count, Exists, OuterRef

from annotate.core.transactions import write_transaction
from annotate.locks import advisory_lock
from annotate.models import ANSWER_EVENTS, AnswerNotice, Label, PresentedItem, Project, Purpose, Webhook
from annotate.webhooks.actions import enqueue_event

# How long notices are gathered from the first on, and how many a message tells at most.
BATCH_DELAY = timedelta(seconds=5)
MAX_ANSWERS_IN_MESSAGE = 200


def note_answer(project: Project, label: Label, now: datetime, *, undone: bool = False) -> None:
    """Leaves a notice of a label, where some webhook is told of answers; one statement there, none elsewhere."""
    if project.notes_answers:
        AnswerNotice.objects.create(project=project, label=label, undone=undone, created_at=now)


def enqueue_answer_events(now: datetime) -> bool:
    """Enqueues the messages of the project whose notices have waited longest; returns False where none are due."""
    due = AnswerNotice.objects.filter(created_at__lte=now - BATCH_DELAY).order_by("created_at", "pk")
    project_id = due.values_list("project", flat=True).first()
    if project_id is None:
        return False
    with write_transaction():
        advisory_lock(project_id, shared=True)  # nobody is erased between reading the notices and telling of them
        wanted = wanted_events(project_id)
        notices = AnswerNotice.objects.filter(project=project_id).order_by("pk")[:MAX_ANSWERS_IN_MESSAGE]
        batch = list(notices.select_related("label__annotator", "label__chosen", "label__presentation"))
        enqueue_answers(project_id, batch, wanted, now)
        if Webhook.Event.SET_COMPLETE in wanted:
            enqueue_complete_sets(project_id, batch, now)
        AnswerNotice.objects.filter(pk__in=[notice.pk for notice in batch]).delete()
    return True


def wanted_events(project_id: UUID) -> set[str]:
    """Return which events of answers some active webhook is told; a second worker waits here for the first."""
    webhooks = Webhook.objects.filter(project=project_id, active=True).order_by("pk")
    if connection.features.has_select_for_update:
        webhooks = webhooks.select_for_update()
    return {event for webhook in webhooks for event in webhook.events} & ANSWER_EVENTS


def enqueue_answers(project_id: UUID, batch: list[AnswerNotice], wanted: set[str], now: datetime) -> None:
    shown = items_shown(notice.label for notice in batch)
    for event, undone in ((Webhook.Event.ANSWER_GIVEN, False), (Webhook.Event.ANSWER_UNDONE, True)):
        answers = [answer_row(notice.label, shown) for notice in batch if notice.undone == undone]
        if answers and event in wanted:
            enqueue_event(project_id=project_id, event=event, data={"answers": answers}, now=now)


def answer_row(label: Label, shown: dict[int, list[str]]) -> dict[str, Any]:
    return {
        "label": label.pk,
        "annotator": str(label.annotator.key),
        "purpose": label.presentation.purpose,
        "items": shown.get(label.presentation_id, []),
        "outcome": label.outcome,
        "chosen": label.chosen.key if label.chosen else None,
        "ranks": label.ranks,
        "at": label.created_at.isoformat(),
        "counts": label.voided_at is None,
    }


def items_shown(labels: Iterable[Label]) -> dict[int, list[str]]:
    """Return the keys of the items of each presentation, in the order shown."""
    presented = PresentedItem.objects.filter(presentation__in=[label.presentation_id for label in labels])
    shown: dict[int, list[str]] = {}
    for presentation, key in presented.order_by("position").values_list("presentation", "item__key"):
        shown.setdefault(presentation, []).append(key)
    return shown


def enqueue_complete_sets(project_id: UUID, batch: list[AnswerNotice], now: datetime) -> None:
    """Tells of the sets that these answers completed: with them there are enough, without them there were not.

    One that an undo opened again is told again.
    """
    given = [notice.label for notice in batch if not notice.undone and notice.label.voided_at is None]
    ordinary = [label for label in given if label.presentation.purpose == Purpose.ORDINARY]
    new = Counter(label.presentation.item_set_id for label in ordinary)
    counts = n_counting(new, [notice.pk for notice in batch])
    overlap = Project.objects.values_list("overlap", flat=True).filter(pk=project_id).first()
    if overlap is None:  # the project has just been deleted
        return
    complete = [pk for pk, n_new in new.items() if counts.get(pk, 0) >= overlap > counts.get(pk, 0) - n_new]
    if complete:
        presentations = {label.presentation.item_set_id: label.presentation_id for label in ordinary}
        shown = items_shown(ordinary)
        sets = [sorted(shown[presentations[pk]]) for pk in complete]
        enqueue_event(
            project_id=project_id, event=Webhook.Event.SET_COMPLETE, data={"overlap": overlap, "sets": sets}, now=now
        )


def n_counting(sets: Iterable[int], batch: list[int]) -> dict[int, int]:
    """Return how many labels count for each of these sets; one that a later batch tells is left to that."""
    later = AnswerNotice.objects.filter(label=OuterRef("pk"), undone=False).exclude(pk__in=batch)
    labels = Label.objects.filter(
        ~Exists(later), presentation__item_set__in=sets, presentation__purpose=Purpose.ORDINARY, voided_at=None
    )
    by_set = labels.order_by().values("presentation__item_set").annotate(n=Count("pk"))
    return dict(by_set.values_list("presentation__item_set", "n"))
