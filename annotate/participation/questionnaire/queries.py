"""Which fields are asked of an annotator now, what was said to them, and their columns of the export."""

from collections.abc import Collection, Sequence
from datetime import datetime

from annotate.core.errors import UserError
from annotate.labelling.eligibility import check_can_answer, n_counted_labels
from annotate.labelling.requirements import ConsentRequired, QuestionnaireRequired, check_requirements
from annotate.models import Annotator, Project, ProjectTranslation, QuestionAnswer, QuestionField
from annotate.participation.completion.actions import can_finish


def open_questions(annotator: Annotator, now: datetime) -> bool | None:
    """Return false: the fields before the first task; True: those after the last; None: none."""
    project = annotator.project
    try:
        check_requirements(project, annotator)
    except ConsentRequired:
        return None
    except QuestionnaireRequired:
        return None if is_refused(annotator, now) else False
    if annotator.ended or annotator.excluded_at or annotator.screened_out_at:
        return None
    if project.fields_after <= annotator.fields_after:
        return None
    n_done = n_counted_labels(annotator)
    return True if n_done and can_finish(annotator, n_done, now) else None


def is_refused(annotator: Annotator, now: datetime) -> bool:
    try:
        check_can_answer(annotator.project, annotator, now)
    except UserError:
        return True
    return False


def active_questions(project: Project) -> list[QuestionField]:
    """Return those in use at present, in their order: asked before, asked at the end, and imported ones."""
    return list(project.fields.filter(retired_at=None).order_by("position"))


def asked_questions(project: Project) -> list[QuestionField]:
    """Return those that people are asked at present, before and at the end, in their order."""
    return [one for one in active_questions(project) if one.kind != QuestionField.Kind.IMPORTED]


def translate_questions(project: Project, fields: Sequence[QuestionField], language: str) -> None:
    """Give fields, for pages alone, the words of this language: `shown_label`, `shown_choices`; in one query.

    What is said is stored in the own language's words, so that answers are the same in every language.
    """
    found = ProjectTranslation.objects.filter(project=project.pk, language=language).first() if language else None
    texts = {one["number"]: one for one in found.questions} if found else {}
    for field in fields:
        one = texts.get(field.number, {})
        given = [*one.get("choices", []), *[""] * len(field.choices)]
        field.shown_label = one.get("label") or field.label  # type: ignore[attr-defined]
        field.shown_choices = [  # type: ignore[attr-defined]
            text or own for own, text in zip(field.choices, given, strict=False)
        ]


def answered_questions(project: Project) -> list[QuestionField]:
    """Return those asked at present and those retired, whose answers are kept, by their number."""
    return list(project.fields.order_by("number"))


def answers_of(annotators: Collection[int], fields: Collection[QuestionField]) -> dict[tuple[int, int], str]:
    """Return (annotator, field), both by primary key: what was said. Asks nothing where there is no field."""
    if not fields:
        return {}
    rows = QuestionAnswer.objects.filter(annotator__in=annotators, field__in=fields)
    return {(annotator, field): value for annotator, field, value in rows.values_list("annotator", "field", "value")}
