"""Reports the state of the site to monitoring: database, workers, pending fits."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import DateTimeField, OuterRef, Subquery, Value
from django.db.models.functions import Coalesce

from annotate.fitting import scheduling
from annotate.models import Label
from models_engine.models import Fit

MIN_FREE_BYTES = 20 * 2**20
BEFORE_ALL = datetime(1, 1, 1, tzinfo=UTC)


def check_health(now: datetime) -> dict[str, Any]:
    """Return plain values from two queries; none names a project or host. Raises DatabaseError without a database.

    `status` is "ok", "degraded" where no worker has been heard of within its lease, or "down" where SQLite's disk is
    full or read-only.
    """
    seen = list(scheduling.live_workers(now).values_list("seen_at", flat=True))
    waiting = list(scheduling.outdated_projects().annotate(since=since()).values_list("error", "since"))
    disk = check_disk()
    return {
        "status": "down" if disk != "ok" else "ok" if seen else "degraded",
        "database": connection.vendor,
        "disk": disk,
        "engines": {"running": len(seen), "seen_seconds_ago": seconds_ago(max(seen, default=None), now)},
        "projects": {
            "waiting": len(waiting),
            "failing": sum(bool(error) for error, _ in waiting),
            "longest_wait_seconds": seconds_ago(min((at for _, at in waiting if at), default=None), now),
        },
        "version": settings.VERSION,
    }


def check_disk() -> str:
    """Return "full" or "read-only" where SQLite's file cannot grow or change, else "ok"; a server has its own disk."""
    path = Path(str(connection.settings_dict["NAME"]))
    if connection.vendor != "sqlite" or not path.is_file():
        return "ok"
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        return "read-only"
    return "full" if shutil.disk_usage(path.parent).free < MIN_FREE_BYTES else "ok"


def since() -> Subquery:
    """Return when the first label came that the published fit has not seen; null where only an undo is pending."""
    published = Fit.objects.filter(project_id=OuterRef(OuterRef("project_id")), published=True)
    earliest = published.order_by("started_at").values("started_at")[:1]  # of several criteria's
    read_at = Coalesce(Subquery(earliest), Value(BEFORE_ALL, output_field=DateTimeField()))
    labels = Label.objects.filter(project=OuterRef("project_id"), created_at__gte=read_at)
    return Subquery(labels.order_by("created_at").values("created_at")[:1])


def seconds_ago(then: datetime | None, now: datetime) -> float | None:
    return None if then is None else round(max(0.0, (now - then).total_seconds()), 1)
