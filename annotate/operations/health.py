"""Reports the state of the site to monitoring: database, workers, pending fits."""

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import DateTimeField, OuterRef, Subquery, Value
from django.db.models.functions import Coalesce

from annotate.fitting import scheduling
from annotate.models import Label
from models_engine.models import Fit

BEFORE_ALL = datetime(1, 1, 1, tzinfo=UTC)


def check_health(now: datetime) -> dict[str, Any]:
    """Returns plain values from two queries; none names a project or host. Raises DatabaseError without a database.

    `status` is "ok", or "degraded" where no worker has been heard of within its lease.
    """
    seen = list(scheduling.live_workers(now).values_list("seen_at", flat=True))
    waiting = list(scheduling.outdated_projects().annotate(since=since()).values_list("error", "since"))
    return {
        "status": "ok" if seen else "degraded",
        "database": connection.vendor,
        "engines": {"running": len(seen), "seen_seconds_ago": seconds_ago(max(seen, default=None), now)},
        "projects": {
            "waiting": len(waiting),
            "failing": sum(bool(error) for error, _ in waiting),
            "longest_wait_seconds": seconds_ago(min((at for _, at in waiting if at), default=None), now),
        },
        "version": settings.VERSION,
    }


def since() -> Subquery:
    """Returns when the first label came that the published fit has not seen; null where only an undo is pending."""
    published = Fit.objects.filter(project_id=OuterRef(OuterRef("project_id")), published=True)
    earliest = published.order_by("started_at").values("started_at")[:1]  # of several criteria's
    read_at = Coalesce(Subquery(earliest), Value(BEFORE_ALL, output_field=DateTimeField()))
    labels = Label.objects.filter(project=OuterRef("project_id"), created_at__gte=read_at)
    return Subquery(labels.order_by("created_at").values("created_at")[:1])


def seconds_ago(then: datetime | None, now: datetime) -> float | None:
    return None if then is None else round(max(0.0, (now - then).total_seconds()), 1)
