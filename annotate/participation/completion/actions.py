"""How a part ends: finished, screened out or no place left, each with its code; and using a code up."""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.crypto import constant_time_compare

from annotate.audit import record_event
from annotate.core.errors import ProjectNotOpen
from annotate.core.transactions import write_transaction
from annotate.labelling.assignment import release_open_presentation
from annotate.labelling.eligibility import check_open, n_counted_labels
from annotate.labelling.refusals import refusal_of_next_task
from annotate.labelling.requirements import NotFinished, QuestionnaireRequired
from annotate.labelling.stop_pages import is_end
from annotate.locks import lock_annotator, lock_project
from annotate.models import Annotator, Completion, EventVerb, ParticipationRules, Presentation, Project, User, Webhook
from annotate.participation.completion import codes
from annotate.participation.rules import participation_rules
from annotate.webhooks.actions import enqueue_event

Kind = Completion.Kind


@dataclass(frozen=True)
class CodeCheck:
    """What became of a code: `completion` is None if it is not one of the project's; `used_before` since when."""

    completion: Completion | None
    used_before: datetime | None = None


def finish(*, annotator: Annotator, now: datetime) -> Completion:
    """End the annotator's part; sent again it is the same end. Raises NotFinished, and FieldsFirst before the code.

    Who had nothing to answer at all found no place; who answered before the project closed has finished.
    """
    with write_transaction():
        annotator = lock_annotator(annotator, exclusive=True)  # two sets may be given back
        known = Completion.objects.filter(annotator=annotator).first()
        if known:
            return known
        return complete_annotator(annotator, kind_of_end(annotator, now), now)


def kind_of_end(annotator: Annotator, now: datetime) -> Completion.Kind:
    """Return how the part of somebody who has not ended it ends now. Raises NotFinished and QuestionnaireRequired."""
    if annotator.screened_out_at and not annotator.excluded_at:  # by practice or by a rule
        return Kind.SCREENED_OUT
    n_done = n_counted_labels(annotator)
    if annotator.excluded_at or not can_finish(annotator, n_done, now):
        raise NotFinished
    if n_done and annotator.project.fields_after > annotator.fields_after:
        raise QuestionnaireRequired
    return Kind.COMPLETE if n_done else Kind.QUOTA_FULL


def earned_code(annotator: Annotator, now: datetime) -> str:
    """Return the code that finishing would give now, so that whoever leaves without it has it; "" where none is due.

    Nothing is stored: it stays the same code when the part is ended.
    """
    try:
        kind = kind_of_end(annotator, now)
    except (NotFinished, QuestionnaireRequired):
        return ""
    return str(annotator_code(annotator, kind)["code"])


def can_finish(annotator: Annotator, n_done: int, now: datetime) -> bool:
    """Return whether nothing is left to answer, now or for this person."""
    try:
        check_open(annotator.project, now)
    except ProjectNotOpen as refusal:
        return is_end(refusal) and n_done > 0
    if annotator.presentations.filter(state=Presentation.State.OPEN).exists():
        return False
    return is_end(refusal_of_next_task(annotator, n_done, now))


def complete_annotator(annotator: Annotator, kind: Kind, now: datetime) -> Completion:
    """Return the open task and make the code, in the step of an annotator who has not ended."""
    release_open_presentation(annotator)
    Annotator.objects.filter(pk=annotator.pk).update(ended=kind)
    annotator.ended = kind
    data = {"annotator": str(annotator.key), "pseudonym": annotator.pseudonym, "end": kind}
    enqueue_event(project_id=annotator.project_id, event=Webhook.Event.FINISHED, data=data, now=now)
    return Completion.objects.create(
        project=annotator.project, annotator=annotator, kind=kind, at=now, **annotator_code(annotator, kind)
    )


def reject_when_full(*, project: Project, participant: str, now: datetime) -> Completion:
    """Return the end of a platform's participant who found no place; the same again whenever they come."""
    with write_transaction():
        return Completion.objects.get_or_create(
            project=project,
            annotator=None,
            platform_id=participant,
            defaults={"kind": Kind.QUOTA_FULL, "at": now, **new_code(project, Kind.QUOTA_FULL, participant)},
        )[0]


def annotator_code(annotator: Annotator, kind: Kind) -> dict[str, str | bool]:
    return new_code(annotator.project, kind, str(annotator.key))


def new_code(project: Project, kind: Kind, who: str) -> dict[str, str | bool]:
    entry = participation_rules(project)
    if entry.codes == ParticipationRules.Codes.INDIVIDUAL:
        return {"code": codes.signed_code(project.pk, kind, who), "individual": True}
    return {
        "code": codes.shared_code(entry, kind) if entry.codes == ParticipationRules.Codes.STUDY else "",
        "individual": False,
    }


def unfinished_owner(project: Project, code: str) -> Annotator | None:
    """Return who was shown this individual code and left without ending their part, while it is still due."""
    if participation_rules(project).codes != ParticipationRules.Codes.INDIVIDUAL:
        return None
    now = timezone.now()
    people = Annotator.objects.filter(project=project, ended="", excluded_at=None).select_related("project")
    for person in people.iterator(500):
        made = (codes.signed_code(project.pk, kind, str(person.key)) for kind in Kind.values)
        if any(constant_time_compare(code, one) for one in made):
            return person if earned_code(person, now) == code else None
    return None


def check_code(*, project: Project, code: str) -> CodeCheck:
    """Return what an individual code says, without using it up."""
    given = Completion.objects.select_related("annotator").filter(project=project, individual=True)
    known = codes.normalize_code(code)
    completion = given.filter(code=known).first()
    if completion is None and (owner := unfinished_owner(project, known)):
        kind = kind_of_end(owner, timezone.now())
        return CodeCheck(Completion(project=project, annotator=owner, kind=kind, code=known, individual=True))
    if completion is None or not codes.is_genuine(completion):
        return CodeCheck(None)
    return CodeCheck(completion, completion.used_at)


def use_code(*, project: Project, actor: User, code: str, now: datetime) -> CodeCheck:
    """Mark an individual code as used; used before, nothing changes."""
    owner = unfinished_owner(project, codes.normalize_code(code))
    if owner is not None:
        finish(annotator=owner, now=now)
    with write_transaction():
        lock_project(project.pk)
        checked = check_code(project=project, code=code)
        if checked.completion is None or checked.used_before:
            return checked
        Completion.objects.filter(pk=checked.completion.pk).update(used_at=now, used_by=actor)
        record_event(
            project,
            actor,
            EventVerb.CODE_USED,
            now,
            annotator=checked.completion.annotator,
            code=checked.completion.code,
        )
    return checked
