"""Writing counts as rows of their own, into a project that has no answers."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from annotate.audit import record_event
from annotate.imports.evidence import check_evidence
from annotate.locks import lock_project
from annotate.models import Count, EventVerb, ImportJob, Project, User, Webhook
from annotate.webhooks.actions import enqueue_event

CountRow = tuple[int, int, int, float]  # primary keys of annotator and item, count, exposure


def write_counts(project: Project, actor: User | None, rows: Sequence[CountRow], now: datetime) -> None:
    """Write counts in the caller's transaction; from the first on the project is ranked by them, and closed.

    Raises what check_evidence raises.
    """
    project = lock_project(project.pk)
    check_evidence(project, ImportJob.Kind.COUNTS)
    if not project.ranks_counts:
        rank_by_counts(project, actor, now)
    Count.objects.bulk_create(
        (
            Count(project=project, annotator_id=who, item_id=item, count=count, exposure=exposure, imported_at=now)
            for who, item, count, exposure in rows
        ),
        batch_size=500,
    )


def rank_by_counts(project: Project, actor: User | None, now: datetime) -> None:
    """Close the project, which takes no answers from now on: how long data are kept counts from here."""
    state = {"state": Project.State.CLOSED}
    Project.objects.filter(pk=project.pk).update(evidence=Project.Evidence.COUNTS, **state)
    if project.state != Project.State.CLOSED:
        record_event(project, actor, EventVerb.PROJECT_CLOSED, now, state=[project.state, Project.State.CLOSED])
        enqueue_event(project_id=project.pk, event=Webhook.Event.STATE_CHANGED, data=state, now=now)


def count_rows(
    rows: Sequence[tuple[str, str, int, float]], people: Mapping[str, int], items: Mapping[str, int]
) -> list[CountRow]:
    """Return rows by primary keys. Raises KeyError for an item that is gone."""
    return [(people[name], items[key], count, exposure) for name, key, count, exposure in rows]
