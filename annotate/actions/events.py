"""The audit trail: who did what to a project, when, with the values before and after; never a secret."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from annotate.models import Annotator, Event, Project, User


def note(
    project: Project,
    actor: User | None,
    verb: str,
    now: datetime,
    *,
    annotator: Annotator | None = None,
    **details: object,
) -> None:
    """Details are JSON values; a changed one is written as [before, after]."""
    Event.objects.create(project=project, actor=actor, annotator=annotator, verb=verb, details=details, at=now)


def told(changes: dict[str, list[Any]]) -> dict[str, Any]:
    """Changes {field: [before, after]} as the history keeps them: moments and amounts as text."""
    return {field: [as_json(value) for value in both] for field, both in changes.items()}


def as_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


def note_export(*, project: Project, actor: User, table: str, file_format: str, now: datetime) -> None:
    """What was taken away, by whom: the one thing that is written when somebody only reads."""
    note(project, actor, "export taken", now, table=table, file_format=file_format)
