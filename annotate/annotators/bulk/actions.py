"""Excludes answers of a span of time or a session, or everybody with a tag, in one step that can be undone."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q
from django.utils.translation import gettext as _

from annotate.annotators.bulk.queries import Choice, chosen_annotators, chosen_labels, count_chosen
from annotate.annotators.exclusion import Readmission, chunks, readmit_step, void_all
from annotate.audit import record_event
from annotate.core.errors import UserError
from annotate.core.transactions import write_transaction
from annotate.jobs.fit_requests import data_version, request_fit
from annotate.labelling.voiding import count_taken
from annotate.locks import lock_project
from annotate.models import Annotator, BulkExclusion, EventVerb, Label, Presentation, Project, Purpose, User

MAX_ANNOTATORS = 500  # excluded by one tag: each is a step of its own, while nobody answers


class NothingChosen(UserError):
    def __init__(self) -> None:
        super().__init__(_("No answer that counts matches, so nothing was changed. Check the times, session or tag."))


class TooManyAnnotators(UserError):
    def __init__(self, n: int) -> None:
        super().__init__(
            _("%(n)d people have this tag; the limit is %(limit)d at once. Give some of them another tag first.")
            % {"n": n, "limit": MAX_ANNOTATORS}
        )


class UndoneAlready(UserError):
    def __init__(self) -> None:
        super().__init__(_("This was undone already, so nothing was changed."))


@dataclass
class Restored:
    """How many labels count again, how many stay void as their place is taken, of how many annotators."""

    labels: int = 0
    kept_voided: int = 0


def exclude_many(*, project: Project, actor: User, choice: Choice, reason: str, now: datetime) -> BulkExclusion:
    """Voids the chosen labels, or excludes the chosen annotators. Raises NothingChosen, TooManyAnnotators."""
    with write_transaction():
        project = lock_project(project.pk)
        counted = count_chosen(project, choice)
        if choice.by == BulkExclusion.By.TAG:
            n_labels = exclude_tagged(project, actor, choice, reason, now)
        else:
            n_labels = void_labels(project, actor, choice, now)
        made = BulkExclusion.objects.create(
            project=project,
            by=choice.by,
            since=choice.since,
            until=choice.until,
            value=choice.value,
            n_labels=n_labels,
            n_annotators=counted.annotators,
            at=now,
        )
        request_fit(project)
        record_event(
            project,
            actor,
            EventVerb.BULK_EXCLUDED,
            now,
            exclusion=made.pk,
            labels=n_labels,
            annotators=counted.annotators,
            chosen=choice.text,
            reason=reason,
            version=data_version(project),
        )
    return made


def exclude_tagged(project: Project, actor: User, choice: Choice, reason: str, now: datetime) -> int:
    people = list(chosen_annotators(project, choice).order_by("pk"))
    if not people:
        raise NothingChosen
    if len(people) > MAX_ANNOTATORS:
        raise TooManyAnnotators(len(people))
    return sum(void_all(project, one, actor, reason, now) for one in people)


def void_labels(project: Project, actor: User, choice: Choice, now: datetime) -> int:
    labels = chosen_labels(project, choice)
    presentations = list(labels.order_by("pk").values_list("presentation", flat=True))
    if not presentations:
        raise NothingChosen
    for chunk in chunks(presentations):
        found = Presentation.objects.filter(pk__in=chunk, state=Presentation.State.ANSWERED)
        count_taken(found, -1)
        found.update(state=Presentation.State.VOIDED)
        Label.objects.filter(presentation__in=chunk).update(
            voided_at=now, voided_by=actor, void_reason=Label.VoidReason.BULK
        )
    return len(presentations)


def undo_bulk_exclusion(*, exclusion: BulkExclusion, actor: User, now: datetime) -> Restored:
    """Restores what the step excluded, as far as overlap and cap allow. Raises UndoneAlready."""
    with write_transaction():
        project = lock_project(exclusion.project_id)
        still = BulkExclusion.objects.filter(pk=exclusion.pk, undone_at=None)
        if not still.update(undone_at=now):
            raise UndoneAlready
        is_tag = exclusion.by == BulkExclusion.By.TAG
        restored = readmit_tagged(project, exclusion, actor, now) if is_tag else restore_labels(project, exclusion)
        request_fit(project)
        record_event(
            project,
            actor,
            EventVerb.BULK_EXCLUSION_UNDONE,
            now,
            exclusion=exclusion.pk,
            n=exclusion.n_labels,
            restored=restored.labels,
            kept_voided=restored.kept_voided,
            version=data_version(project),
        )
    return restored


def readmit_tagged(project: Project, exclusion: BulkExclusion, actor: User, now: datetime) -> Restored:
    """Readmits those whom this step excluded and nobody has readmitted since."""
    results: list[Readmission] = [
        readmit_step(project, one, actor, now)
        for one in project.annotators.filter(excluded_at=exclusion.at).order_by("pk")
    ]
    return Restored(sum(one.restored for one in results), sum(one.kept_voided for one in results))


def restore_labels(project: Project, exclusion: BulkExclusion) -> Restored:
    voided = Label.objects.filter(project=project, void_reason=Label.VoidReason.BULK, voided_at=exclusion.at)
    result = Restored()
    for annotator in Annotator.objects.filter(pk__in=voided.values("annotator")).order_by("pk"):
        own = voided.filter(annotator=annotator)
        n = own.count()
        if annotator.excluded_at:  # readmitting them brings these back too
            own.update(void_reason=Label.VoidReason.EXCLUDED, voided_at=annotator.excluded_at)
            result.kept_voided += n
            continue
        with_room = presentations_with_room(project, annotator, exclusion.at)
        for chunk in chunks(with_room):
            own.filter(presentation__in=chunk).update(voided_at=None, voided_by=None, void_reason="")
            found = Presentation.objects.filter(pk__in=chunk)
            found.update(state=Presentation.State.ANSWERED)
            count_taken(found, +1)
        result.labels += len(with_room)
        result.kept_voided += n - len(with_room)
    return result


def presentations_with_room(project: Project, annotator: Annotator, at: datetime) -> list[int]:
    """Return the presentations whose label, voided then, may count again, the newest first.

    Not where the annotator has been shown the set again since, or others have filled the overlap or the cap.
    """
    rows = (
        annotator.presentations.filter(label__isnull=False, label__voided_at=at)
        .order_by("-label__created_at", "-label__pk")
        .values_list("pk", "item_set_id", "item_set__n_taken", "repeat", "purpose")
    )
    taken = annotator.presentations.filter(state__in=[Presentation.State.OPEN, Presentation.State.ANSWERED])
    seen = set(taken.values_list("item_set_id", "repeat"))
    counting = Q(voided_at=None) & ~Q(presentation__purpose=Purpose.PRACTICE)
    n_counting = annotator.labels.filter(counting).count()
    return list(fitting(project, rows, seen, n_counting))


def fitting(
    project: Project, rows: Iterable[tuple[int, int, int, int, str]], seen: set[tuple[int, int]], n_counting: int
) -> Iterable[int]:
    added = Counter[int]()
    for presentation, item_set, n_taken, repeat, purpose in rows:
        capped = purpose != Purpose.PRACTICE and project.cap is not None and n_counting >= project.cap
        full = purpose == Purpose.ORDINARY and n_taken + added[item_set] >= project.overlap
        if capped or full or (item_set, repeat) in seen:
            continue
        seen.add((item_set, repeat))
        added[item_set] += purpose == Purpose.ORDINARY
        n_counting += purpose != Purpose.PRACTICE
        yield presentation
