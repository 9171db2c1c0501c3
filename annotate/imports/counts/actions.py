"""Writing counts as rows of their own, into a project that has no answers."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from annotate.imports.evidence import check_evidence
from annotate.locks import lock_project
from annotate.models import Count, ImportJob, Project

CountRow = tuple[int, int, int, float]  # primary keys of annotator and item, count, exposure


def write_counts(project: Project, rows: Sequence[CountRow], now: datetime) -> None:
    """Write counts in the caller's transaction; from the first on the project is ranked by them.

    Raises what check_evidence raises.
    """
    project = lock_project(project.pk)
    check_evidence(project, ImportJob.Kind.COUNTS)
    if not project.ranks_counts:
        Project.objects.filter(pk=project.pk).update(evidence=Project.Evidence.COUNTS)
    Count.objects.bulk_create(
        (
            Count(project=project, annotator_id=who, item_id=item, count=count, exposure=exposure, imported_at=now)
            for who, item, count, exposure in rows
        ),
        batch_size=500,
    )


def count_rows(
    rows: Sequence[tuple[str, str, int, float]], people: Mapping[str, int], items: Mapping[str, int]
) -> list[CountRow]:
    """Return rows by primary keys. Raises KeyError for an item that is gone."""
    return [(people[name], items[key], count, exposure) for name, key, count, exposure in rows]
