"""What annotators are asked about themselves: the owner's changes to it, and storing what they said."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from django.db.models import Max, Q
from django.utils.translation import gettext as _

from annotate.audit import record_event
from annotate.core.errors import AnnotatorErased, UserError
from annotate.core.transactions import write_transaction
from annotate.jobs.fit_requests import request_fit
from annotate.locks import lock_project
from annotate.models import Annotator, EventVerb, Project, QuestionAnswer, QuestionField, User
from annotate.participation.rules import has_ending, participation_rules


@dataclass(frozen=True)
class QuestionValues:
    """What a field asks: with a difference in any of these it is another field."""

    at_end: bool
    kind: str
    label: str
    choices: list[str]
    least: int | None
    most: int | None


@dataclass(frozen=True)
class RequestedQuestion:
    """A field as the owner wants it; `pk` is None of a new one."""

    pk: int | None
    asked: QuestionValues
    required: bool


class QuestionsChanged(UserError):
    code = "fields-changed"

    def __init__(self) -> None:
        super().__init__(
            _("Somebody else changed the fields in the meantime, so nothing was saved. Please start again.")
        )


def change_questions(
    *, project: Project, actor: User, wanted: Sequence[RequestedQuestion], removed: Collection[int], now: datetime
) -> bool:
    """Make the fields these, in this order, and remove others; whether anything was different.

    Answers stay: a field that somebody answered is retired instead of deleted. Raises FieldsChanged.
    """
    with write_transaction():
        project = lock_project(project.pk)
        known = {field.pk: field for field in project.fields.filter(retired_at=None)}
        before = describe_question(project)
        named = [one.pk for one in wanted if one.pk is not None]
        if len(set(named)) < len(named) or not known.keys() >= {*named, *removed}:
            raise QuestionsChanged
        changed = [
            change_question(project, known.get(one.pk or 0), one, place, now) for place, one in enumerate(wanted)
        ]
        for pk in removed:
            remove_question(known[pk], now)
        if not any(changed) and not removed:
            return False
        note_newest_questions(project)
        project.has_ending = has_ending(project, participation_rules(project))
        project.save(update_fields=["has_ending"])
        request_fit(project)
        record_event(project, actor, EventVerb.FIELDS_CHANGED, now, fields=[before, describe_question(project)])
    return True


def describe_question(project: Project) -> str:
    """Return what is asked, a line a field, as the history keeps it."""
    fields = project.fields.filter(retired_at=None).order_by("at_end", "position", "pk")
    return "\n".join(
        " | ".join(
            [field.label, field.kind]
            + (["after" if field.at_end else "before"] if field.kind != QuestionField.Kind.IMPORTED else [])
            + ["required"] * field.required
            + ([", ".join(field.choices)] if field.choices else [])
            + ([f"{field.least} to {field.most}"] if field.kind == QuestionField.Kind.NUMBER else [])
        )
        for field in fields
    )


def change_question(
    project: Project, known: QuestionField | None, one: RequestedQuestion, place: int, now: datetime
) -> bool:
    if known and QuestionValues(**{name: getattr(known, name) for name in asdict(one.asked)}) == one.asked:
        if (known.required, known.position) == (one.required, place):
            return False
        QuestionField.objects.filter(pk=known.pk).update(required=one.required, position=place)
        return True
    if known:
        remove_question(known, now)
    number = (project.fields.aggregate(n=Max("number"))["n"] or 0) + 1
    QuestionField.objects.create(
        project=project, number=number, required=one.required, position=place, **asdict(one.asked)
    )
    return True


def remove_question(field: QuestionField, now: datetime) -> None:
    if field.answers.exists():
        QuestionField.objects.filter(pk=field.pk).update(retired_at=now)
    else:
        field.delete()


def note_newest_questions(project: Project) -> None:
    """Store the primary key of the newest field of each use, 0 if there is none: primary keys only grow."""
    imported = Q(kind=QuestionField.Kind.IMPORTED)
    uses = {
        "fields_before": ~imported & Q(at_end=False),
        "fields_after": ~imported & Q(at_end=True),
        "fields_imported": imported,
    }
    newest = {name: Max("pk", filter=use, default=0) for name, use in uses.items()}
    for name, pk in project.fields.filter(retired_at=None).aggregate(**newest).items():
        setattr(project, name, pk)
    project.save(update_fields=list(uses))


def save_question_answers(*, annotator: Annotator, at_end: bool, values: Mapping[int, str], now: datetime) -> None:
    """Store what was said to the fields shown, by primary key; "" takes an earlier answer back.

    A field that was retired meanwhile takes no answer; one that was added meanwhile is still to be asked.
    """
    with write_transaction():
        project = lock_project(annotator.project_id)
        if not Annotator.objects.filter(pk=annotator.pk).exists():
            raise AnnotatorErased
        for pk in project.fields.filter(pk__in=values, retired_at=None, at_end=at_end).values_list("pk", flat=True):
            given = QuestionAnswer.objects.filter(annotator=annotator, field=pk)
            if not values[pk]:
                given.delete()
            elif not given.update(value=values[pk], at=now):
                QuestionAnswer.objects.create(annotator=annotator, field_id=pk, value=values[pk], at=now)
        name = "fields_after" if at_end else "fields_before"
        setattr(annotator, name, max(values))
        annotator.save(update_fields=[name])
        request_fit(project)
