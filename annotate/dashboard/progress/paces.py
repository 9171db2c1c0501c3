"""Measures how fast annotators answer: labels, active time and labels per active hour."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from django.db.models import Count, Max, Q, Sum
from django.db.models.functions import Coalesce

from annotate.core.caching import cached_if_slow
from annotate.models import Annotator, Label, Project

MAX_PACES = 15
RECENT_LABELS = timedelta(days=1)
MS_PER_HOUR = 3_600_000


@dataclass(frozen=True)
class Pace:
    """per_hour: labels in an hour of active time, of those whose time is known; None where none is."""

    key: UUID
    pseudonym: str
    n: int
    n_lately: int
    minutes: float
    per_hour: float | None
    last: datetime


def paces(project: Project, now: datetime) -> list[Pace]:
    """Read the paces from two queries, or none where the answer is cached."""
    return cached_if_slow(f"paces-{project.pk}", partial(measure_paces, project, now))


def measure_paces(project: Project, now: datetime) -> list[Pace]:
    labels = Label.objects.filter(project=project, voided_at=None).order_by()
    time = Coalesce("active_ms", "response_ms")
    rows = list(
        labels.values("annotator")
        .annotate(
            n=Count("pk"),
            lately=Count("pk", filter=Q(created_at__gt=now - RECENT_LABELS)),
            timed=Count(time),
            ms=Sum(time),
            last=Max("created_at"),
        )
        .order_by("-n", "annotator")[:MAX_PACES]
    )
    people = Annotator.objects.in_bulk([row["annotator"] for row in rows])
    return [
        Pace(
            key=people[row["annotator"]].key,
            pseudonym=people[row["annotator"]].pseudonym,
            n=row["n"],
            n_lately=row["lately"],
            minutes=(row["ms"] or 0) / 60_000,
            per_hour=row["timed"] * MS_PER_HOUR / row["ms"] if row["ms"] else None,
            last=row["last"],
        )
        for row in rows
    ]
