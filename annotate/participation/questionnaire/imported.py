"""Numbers about annotators that come from a file: which fields of the questionnaire they are, and storing them."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db.models import Max
from django.utils.translation import gettext as _

from annotate.audit import record_event
from annotate.core.errors import UserError
from annotate.locks import lock_project
from annotate.models import (
    MAX_QUESTION_FIELDS,
    Annotator,
    EventVerb,
    Project,
    QuestionAnswer,
    QuestionField,
    User,
)
from annotate.participation.questionnaire.actions import describe_question, note_newest_questions
from annotate.participation.questionnaire.queries import active_questions

Kind = QuestionField.Kind
BATCH = 500


class NotAnImportedNumber(UserError):
    status = 400


class AnsweredMeanwhile(UserError):
    def __init__(self) -> None:
        super().__init__(
            _(
                "Annotators have answered the questions in the meantime, and their answers are never overwritten. "
                "Upload the file again so that its rows are checked again."
            )
        )


def fields_called(project: Project, names: Sequence[str]) -> dict[str, QuestionField]:
    """Return the fields in use that columns name, by their label or as exports do; other columns are new fields.

    Raises NotAnImportedNumber where a column can't be a field.
    """
    active = active_questions(project)
    known = {f"field_{one.number}": one for one in active} | {one.label: one for one in active}
    found = {name: known[name] for name in names if name in known}
    for name, field in found.items():
        if field.kind not in (Kind.NUMBER, Kind.IMPORTED):
            raise NotAnImportedNumber(
                _("The column “%(name)s” is a question of another kind: “%(kind)s”. Rename or remove the column.")
                % {"name": name, "kind": field.get_kind_display()}
            )
    if len({one.pk for one in found.values()}) < len(found):
        raise NotAnImportedNumber(_("Two columns are the same field of the questionnaire. Remove one of them."))
    if (n := len(active) + len(names) - len(found)) > MAX_QUESTION_FIELDS:
        raise NotAnImportedNumber(
            _("That would make %(n)d fields of the questionnaire; the limit is %(limit)d. Import fewer columns.")
            % {"n": n, "limit": MAX_QUESTION_FIELDS}
        )
    return found


def given_answers(project: Project, fields: Mapping[str, QuestionField]) -> dict[tuple[int, int], str]:
    """Return (annotator, field): what people themselves answered to those of the fields that are asked."""
    asked = [one for one in fields.values() if one.kind == Kind.NUMBER]
    if not asked:
        return {}
    answers = QuestionAnswer.objects.filter(field__in=asked).exclude(annotator__source=Annotator.Source.IMPORT)
    return {(who, field): value for who, field, value in answers.values_list("annotator", "field", "value")}


def save_numbers(
    project: Project,
    actor: User | None,
    names: Sequence[str],
    rows: Sequence[tuple[int, Sequence[float]]],
    now: datetime,
) -> None:
    """Give annotators, by primary key, these numbers, in the caller's transaction; fields that are not there are made.

    Who was erased meanwhile gets none. Raises NotAnImportedNumber and AnsweredMeanwhile.
    """
    project = lock_project(project.pk)
    fields = fields_called(project, names)
    if len(fields) < len(names):
        fields |= add_fields(project, actor, [name for name in names if name not in fields], now)
    there = set(Annotator.objects.filter(pk__in=[pk for pk, _values in rows]).values_list("pk", flat=True))
    given = given_answers(project, fields)
    answers = [
        QuestionAnswer(annotator_id=pk, field=fields[name], value=as_text(value), at=now)
        for pk, values in rows
        if pk in there
        for name, value in zip(names, values, strict=True)
    ]
    if any(given.get((one.annotator_id, one.field_id), one.value) != one.value for one in answers):
        raise AnsweredMeanwhile
    replace_answers([one for one in answers if (one.annotator_id, one.field_id) not in given])


def replace_answers(answers: Sequence[QuestionAnswer]) -> None:
    QuestionAnswer.objects.bulk_create(
        answers,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["annotator", "field"],
        update_fields=["value", "at"],
    )


def add_fields(project: Project, actor: User | None, names: Sequence[str], now: datetime) -> dict[str, QuestionField]:
    before = describe_question(project)
    last = project.fields.aggregate(number=Max("number", default=0), position=Max("position", default=-1))
    made = {
        name: QuestionField.objects.create(
            project=project,
            number=last["number"] + n,
            position=last["position"] + n,
            kind=Kind.IMPORTED,
            label=name,
            at_end=False,
            required=False,
        )
        for n, name in enumerate(names, 1)
    }
    note_newest_questions(project)
    record_event(project, actor, EventVerb.FIELDS_CHANGED, now, fields=[before, describe_question(project)])
    return made


def as_text(value: float) -> str:
    """Return the number as answers are stored, so that it reads back as the same; whole ones without a point."""
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
