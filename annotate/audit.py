"""Records events: who did what to a project, when, with the values before and after; never a secret."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from annotate.models import Annotator, Event, EventVerb, Project, User
from annotate.plan_values import PLANNED, record_deviations


def record_event(
    project: Project,
    actor: User | None,
    verb: EventVerb,
    now: datetime,
    *,
    annotator: Annotator | None = None,
    **details: object,
) -> None:
    """Store one event. Details are JSON values; a changed one is written as [before, after].

    What is changed is stored by then: deviations from a frozen plan are listed with it.
    """
    Event.objects.create(project=project, actor=actor, annotator=annotator, verb=verb, details=details, at=now)
    if verb in PLANNED:
        record_deviations(project, actor, now)


def changes_as_json(changes: dict[str, list[Any]]) -> dict[str, Any]:
    """Convert changes {field: [before, after]} to JSON values: moments and amounts become text."""
    return {field: [_as_json(value) for value in both] for field, both in changes.items()}


def _as_json(value: Any) -> Any:
    if isinstance(value, date):  # a moment is one, too
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


def record_export(*, project: Project, actor: User, table: str, file_format: str, now: datetime) -> None:
    """Record who exported what: the one event of somebody who only reads."""
    record_event(project, actor, EventVerb.EXPORT_TAKEN, now, table=table, file_format=file_format)
