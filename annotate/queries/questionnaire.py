"""Which fields are asked of an annotator now, what was said to them, and their columns of the export."""

from collections.abc import Collection
from datetime import datetime

from annotate.actions.endings import may_finish
from annotate.entering import ConsentFirst, FieldsFirst, check_entered
from annotate.errors import Refusal
from annotate.guarding import check_may_answer, n_counting
from annotate.models import Annotator, Field, FieldAnswer, Project


def asked_now(annotator: Annotator, now: datetime) -> bool | None:
    """False: the fields before the first task; True: those after the last; None: none."""
    project = annotator.project
    try:
        check_entered(project, annotator)
    except ConsentFirst:
        return None
    except FieldsFirst:
        return None if is_refused(annotator, now) else False
    if annotator.ended or annotator.excluded_at or annotator.screened_out_at:
        return None
    if project.fields_after <= annotator.fields_after:
        return None
    n_done = n_counting(annotator)
    return True if n_done and may_finish(annotator, n_done, now) else None


def is_refused(annotator: Annotator, now: datetime) -> bool:
    try:
        check_may_answer(annotator.project, annotator, now)
    except Refusal:
        return True
    return False


def fields_asked(project: Project) -> list[Field]:
    """Those asked at present, before and at the end, in their order."""
    return list(project.fields.filter(retired_at=None).order_by("position"))


def fields_kept(project: Project) -> list[Field]:
    """Those asked at present and those retired, whose answers are kept, by their number."""
    return list(project.fields.order_by("number"))


def answers_of(annotators: Collection[int], fields: Collection[Field]) -> dict[tuple[int, int], str]:
    """(annotator, field), both by primary key: what was said. Asks nothing where there is no field."""
    if not fields:
        return {}
    rows = FieldAnswer.objects.filter(annotator__in=annotators, field__in=fields)
    return {(annotator, field): value for annotator, field, value in rows.values_list("annotator", "field", "value")}
