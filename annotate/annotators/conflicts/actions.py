"""Adds and removes conflicts of interest; an open task that holds such an item is withdrawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Q

from annotate.annotators.conflicts.table import NewNeverShown, Who
from annotate.audit import record_event
from annotate.core.transactions import write_transaction
from annotate.jobs.fit_requests import request_fit
from annotate.labelling import assignment
from annotate.labelling.assignment import release_open_presentation
from annotate.labelling.special_tasks import conflicting_items
from annotate.locks import check_items_there, lock_project
from annotate.models import (
    Annotator,
    ConflictOfInterest,
    EventVerb,
    ExpectedConflict,
    ExpectedPerson,
    Item,
    Label,
    Presentation,
    PresentedItem,
    Project,
    Purpose,
    User,
)


@dataclass(frozen=True)
class AddedConflicts:
    """How many rows were new, and how many answers about their items count still or were voided."""

    n_rows: int
    n_answers: int = 0
    n_voided: int = 0


def add_conflicts(
    *, project: Project, actor: User, rows: Sequence[NewNeverShown], now: datetime, void: bool = False
) -> AddedConflicts:
    """Add these. Answers given before about their items count on, unless they are to be voided with `void`."""
    with write_transaction():
        lock_project(project.pk)
        check_items_there(project, {row.item for row in rows if row.item})
        rows = still_there(rows)
        n_rows = add_rows(rows) + add_expected_rows(rows)
        annotators = {row.who.annotator for row in rows if row.who.annotator}
        people = list(Annotator.objects.filter(pk__in=annotators))
        for annotator in people:
            annotator.has_never_shown = True
            annotator.save(update_fields=["has_never_shown"])
            open_one = annotator.presentations.filter(state=Presentation.State.OPEN)
            if open_one.filter(items__in=conflicting_items(annotator)).exists():
                release_open_presentation(annotator)
        labels = [label for annotator in people for label in labels_about(annotator, rows)]
        n_voided = void_labels(labels, actor, now) if void else 0
        if n_rows or n_voided:
            who = len({row.who for row in rows})
            verb = EventVerb.NEVER_SHOWN_ADDED
            record_event(project, actor, verb, now, rows=n_rows, annotators=who, voided=n_voided)
        if n_voided:
            request_fit(project)
    return AddedConflicts(n_rows, len(labels) - n_voided, n_voided)


def still_there(rows: Sequence[NewNeverShown]) -> list[NewNeverShown]:
    """Return the rows of people who were neither erased nor taken off the roster since they were looked up."""
    annotators = Annotator.objects.filter(pk__in=[row.who.annotator for row in rows if row.who.annotator])
    expected = ExpectedPerson.objects.filter(pk__in=[row.who.expected for row in rows if row.who.expected])
    there = {Who(annotator=pk) for pk in annotators.values_list("pk", flat=True)}
    there |= {Who(expected=pk) for pk in expected.values_list("pk", flat=True)}
    return [row for row in rows if row.who in there]


def add_rows(rows: Sequence[NewNeverShown]) -> int:
    """Store the rows of annotators, and return how many were new."""
    wanted = {(row.who.annotator, row.item, row.tag) for row in rows if row.who.annotator}
    people = {annotator for annotator, _item, _tag in wanted}
    known = ConflictOfInterest.objects.filter(annotator__in=people).values_list("annotator", "item", "tag")
    new = wanted - set(known)
    ConflictOfInterest.objects.bulk_create(
        ConflictOfInterest(annotator_id=annotator, item_id=item, tag_id=tag) for annotator, item, tag in new
    )
    return len(new)


def add_expected_rows(rows: Sequence[NewNeverShown]) -> int:
    """Store the rows of people who have not joined yet, and return how many were new."""
    wanted = {(row.who.expected, row.item, row.tag) for row in rows if row.who.expected}
    people = {person for person, _item, _tag in wanted}
    new = wanted - set(ExpectedConflict.objects.filter(person__in=people).values_list("person", "item", "tag"))
    ExpectedConflict.objects.bulk_create(
        ExpectedConflict(person_id=person, item_id=item, tag_id=tag) for person, item, tag in new
    )
    return len(new)


def labels_about(annotator: Annotator, rows: Sequence[NewNeverShown]) -> list[Label]:
    """Return the annotator's answers, but for practice, that count and are about what these rows name."""
    own = [row for row in rows if row.who.annotator == annotator.pk]
    items = Item.objects.filter(
        Q(pk__in=[row.item for row in own if row.item]) | Q(tags__in=[row.tag for row in own if row.tag])
    )
    about = PresentedItem.objects.filter(presentation=OuterRef("presentation"), item__in=items)
    labels = annotator.labels.filter(Exists(about), voided_at=None)
    return list(labels.exclude(presentation__purpose=Purpose.PRACTICE).select_related("presentation"))


def void_labels(labels: Sequence[Label], actor: User, now: datetime) -> int:
    """Void these answers and return their sets to the pool; how many they were."""
    for label in labels:
        shown = label.presentation
        if shown.purpose == Purpose.ORDINARY:
            items = list(shown.presented.values_list("item_id", flat=True))
            assignment.count_presentation(shown.item_set_id, items, -1)
        Presentation.objects.filter(pk=shown.pk).update(state=Presentation.State.VOIDED)
    Label.objects.filter(pk__in=[label.pk for label in labels]).update(
        voided_at=now, voided_by=actor, void_reason=Label.VoidReason.CONFLICT
    )
    return len(labels)


def remove_conflict(*, entry: ConflictOfInterest, actor: User, now: datetime) -> None:
    with write_transaction():
        annotator, what = entry.annotator, str(entry.item.key if entry.item else entry.tag)
        project = lock_project(annotator.project_id)
        if not ConflictOfInterest.objects.filter(pk=entry.pk).delete()[0]:
            return
        if not annotator.never_shown.exists():
            Annotator.objects.filter(pk=annotator.pk).update(has_never_shown=False)
        record_event(project, actor, EventVerb.NEVER_SHOWN_REMOVED, now, annotator=annotator, what=what)
