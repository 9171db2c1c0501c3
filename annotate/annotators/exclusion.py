"""Excludes annotators, voiding their labels, and readmits them, restoring labels that still have a place."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from django.utils.translation import gettext as _

from annotate.audit import record_event
from annotate.core.errors import UserError
from annotate.core.transactions import write_transaction
from annotate.jobs.fit_requests import data_version, request_fit
from annotate.labelling.voiding import count_taken, void_answers
from annotate.locks import lock_project
from annotate.models import (
    Annotator,
    EventVerb,
    Label,
    Presentation,
    Project,
    Purpose,
    User,
)

CHUNK = 500  # databases limit the parameters of one query


class ExcludedAlready(UserError):
    def __init__(self, pseudonym: str) -> None:
        super().__init__(_("%(name)s is excluded already.") % {"name": pseudonym})


class NotExcluded(UserError):
    def __init__(self, pseudonym: str) -> None:
        super().__init__(_("%(name)s is not excluded.") % {"name": pseudonym})


class ErasedAlready(UserError):
    def __init__(self, pseudonym: str) -> None:
        super().__init__(_("%(name)s has been erased, so nothing was changed.") % {"name": pseudonym})


@dataclass(frozen=True)
class Readmission:
    """How many labels count again, and how many stay voided because their place is taken."""

    restored: int
    kept_voided: int


def exclude_annotator(*, annotator: Annotator, actor: User, reason: str, now: datetime) -> int:
    """Voids every unvoided label, returns the open presentation's set to the pool; the number of labels voided.

    Raises ExcludedAlready.
    """
    with write_transaction():
        project, annotator = lock_annotator_row(annotator)
        if annotator.excluded_at:
            raise ExcludedAlready(annotator.pseudonym)
        return void_all(project, annotator, actor, reason, now)


def void_all(project: Project, annotator: Annotator, actor: User, reason: str, now: datetime) -> int:
    """Return how many labels of the annotator it voided, under the project's lock."""
    voided = void_answers(annotator, Label.VoidReason.EXCLUDED, actor, now)
    Annotator.objects.filter(pk=annotator.pk).update(excluded_at=now)
    request_fit(project)
    details = {"labels": voided, "reason": reason, "version": data_version(project)}
    record_event(project, actor, EventVerb.ANNOTATOR_EXCLUDED, now, annotator=annotator, **details)
    return voided


def readmit_annotator(*, annotator: Annotator, actor: User, now: datetime) -> Readmission:
    """Lets the annotator answer again and restores what exclusion voided, as far as overlap and cap allow.

    Of several labels on one set only the newest may count. Raises NotExcluded.
    """
    with write_transaction():
        project, annotator = lock_annotator_row(annotator)
        if not annotator.excluded_at:
            raise NotExcluded(annotator.pseudonym)
        return readmit_step(project, annotator, actor, now)


def readmit_step(project: Project, annotator: Annotator, actor: User, now: datetime) -> Readmission:
    """Return what readmit_annotator says of one who is excluded, under the project's lock."""
    voided = annotator.labels.filter(void_reason=Label.VoidReason.EXCLUDED)
    n_voided = voided.count()
    restorable = labels_with_room(project, annotator)
    for chunk in chunks(restorable):
        voided.filter(presentation__in=chunk).update(voided_at=None, voided_by=None, void_reason="")
        Presentation.objects.filter(pk__in=chunk).update(state=Presentation.State.ANSWERED)
    # Nothing of an excluded annotator is counted, so all that is counted now was restored.
    count_taken(annotator.presentations.all(), +1)
    result = Readmission(len(restorable), n_voided - len(restorable))
    Annotator.objects.filter(pk=annotator.pk).update(excluded_at=None)
    request_fit(project)
    details = {"restored": result.restored, "kept_voided": result.kept_voided, "version": data_version(project)}
    record_event(project, actor, EventVerb.ANNOTATOR_READMITTED, now, annotator=annotator, **details)
    return result


def lock_annotator_row(annotator: Annotator) -> tuple[Project, Annotator]:
    project = lock_project(annotator.project_id)
    found = Annotator.objects.filter(pk=annotator.pk).first()
    if found is None:
        raise ErasedAlready(annotator.pseudonym)
    return project, found


def labels_with_room(project: Project, annotator: Annotator) -> list[int]:
    """Return the presentations whose excluded label may count again, the newest labels first."""
    answered = (
        annotator.presentations.filter(label__isnull=False)
        .order_by("-label__created_at", "-label__pk")
        .values_list("pk", "item_set_id", "item_set__n_taken", "repeat", "label__void_reason", "purpose")
    )
    seen: set[tuple[int, int]] = set()
    added, chosen = Counter[int](), list[int]()
    n_counting = 0
    for presentation, item_set, n_taken, repeat, reason, purpose in answered:
        if purpose != Purpose.PRACTICE and project.cap is not None and n_counting >= project.cap:
            continue
        is_newest = (item_set, repeat) not in seen
        seen.add((item_set, repeat))
        has_room = purpose != Purpose.ORDINARY or n_taken + added[item_set] < project.overlap
        if is_newest and reason == Label.VoidReason.EXCLUDED and has_room:
            added[item_set] += purpose == Purpose.ORDINARY
            n_counting += purpose != Purpose.PRACTICE
            chosen.append(presentation)
    return chosen


def chunks(ids: Iterable[int]) -> Iterator[list[int]]:
    rest = iter(ids)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk
