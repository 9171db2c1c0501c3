"""How a part ends: finished, screened out or no place left, each with its code; and using a code up."""

from dataclasses import dataclass
from datetime import datetime

from annotate import codes
from annotate.actions.entry import entry_of
from annotate.actions.events import note
from annotate.actions.labels import release_open
from annotate.entering import FieldsFirst, NotFinished
from annotate.errors import NotOpen
from annotate.guarding import check_open, n_counting
from annotate.locking import alone, step_of
from annotate.models import Annotator, Completion, Entry, Presentation, Project, User
from annotate.queries.labelling import nothing_left
from annotate.queries.stops import is_end
from annotate.writing import writing

Kind = Completion.Kind


@dataclass(frozen=True)
class Checked:
    """What became of a code: `completion` is None if it is not one of the project's; `used_before` since when."""

    completion: Completion | None
    used_before: datetime | None = None


def finish(*, annotator: Annotator, now: datetime) -> Completion:
    """Ends the annotator's part; sent again it is the same end. Raises NotFinished, and FieldsFirst before the code.

    Who had nothing to answer at all found no place; who answered before the project closed has finished.
    """
    with writing():
        annotator = step_of(annotator)
        known = Completion.objects.filter(annotator=annotator).first()
        if known:
            return known
        if annotator.screened_out_at and not annotator.excluded_at:  # by practice
            return end(annotator, Kind.SCREENED_OUT, now)
        n_done = n_counting(annotator)
        if annotator.excluded_at or not may_finish(annotator, n_done, now):
            raise NotFinished
        if n_done and annotator.project.fields_after > annotator.fields_after:
            raise FieldsFirst
        return end(annotator, Kind.COMPLETE if n_done else Kind.QUOTA_FULL, now)


def may_finish(annotator: Annotator, n_done: int, now: datetime) -> bool:
    """Whether nothing is left to answer, now or for this person."""
    try:
        check_open(annotator.project, now)
    except NotOpen as refusal:
        return is_end(refusal) and n_done > 0
    if annotator.presentations.filter(state=Presentation.State.OPEN).exists():
        return False
    return is_end(nothing_left(annotator, n_done, now))


def end(annotator: Annotator, kind: Kind, now: datetime) -> Completion:
    """In the step of an annotator who has not ended: the open task goes back, the code is made."""
    release_open(annotator)
    Annotator.objects.filter(pk=annotator.pk).update(ended=kind)
    annotator.ended = kind
    return Completion.objects.create(
        project=annotator.project, annotator=annotator, kind=kind, at=now, **code_of(annotator, kind)
    )


def turn_away(*, project: Project, participant: str, now: datetime) -> Completion:
    """The end of a platform's participant who found no place; the same again whenever they come."""
    with writing():
        return Completion.objects.get_or_create(
            project=project,
            annotator=None,
            platform_id=participant,
            defaults={"kind": Kind.QUOTA_FULL, "at": now, **new_code(project, Kind.QUOTA_FULL, participant)},
        )[0]


def code_of(annotator: Annotator, kind: Kind) -> dict[str, str | bool]:
    return new_code(annotator.project, kind, str(annotator.key))


def new_code(project: Project, kind: Kind, who: str) -> dict[str, str | bool]:
    entry = entry_of(project)
    if entry.codes == Entry.Codes.INDIVIDUAL:
        return {"code": codes.signed_code(project.pk, kind, who), "individual": True}
    return {"code": codes.code_for_all(entry, kind) if entry.codes == Entry.Codes.STUDY else "", "individual": False}


def check_code(*, project: Project, code: str) -> Checked:
    """What an individual code says, without using it up."""
    given = Completion.objects.select_related("annotator").filter(project=project, individual=True)
    completion = given.filter(code=codes.tidy(code)).first()
    if completion is None or not codes.is_genuine(completion):
        return Checked(None)
    return Checked(completion, completion.used_at)


def use_code(*, project: Project, actor: User, code: str, now: datetime) -> Checked:
    """Marks an individual code as used; used before, nothing changes."""
    with writing():
        alone(project.pk)
        checked = check_code(project=project, code=code)
        if checked.completion is None or checked.used_before:
            return checked
        Completion.objects.filter(pk=checked.completion.pk).update(used_at=now, used_by=actor)
        note(project, actor, "code used", now, annotator=checked.completion.annotator, code=checked.completion.code)
    return checked
