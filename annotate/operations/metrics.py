"""The site's figures for those who run it: as Prometheus reads them and as the operators' page shows them."""

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.db.models import Count, Model, Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from annotate.models import (
    CohortComparison,
    Evaluation,
    Event,
    EventVerb,
    FitState,
    ImportJob,
    Label,
    LabelForecast,
    MeasuredSaving,
    PredictionGain,
    Project,
    RequestCount,
    RunRecord,
    TasteMap,
    WebhookDelivery,
)
from annotate.operations.health import check_health
from annotate.operations.request_counts import BEYOND, SPANS
from models_engine.models import Fit

# The labels of a large site take a moment to count; Prometheus asks every few seconds.
KEEP_COUNT_SECONDS = 60
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Sample:
    value: float
    labels: dict[str, str] = field(default_factory=dict)
    suffix: str = ""


@dataclass(frozen=True)
class Figure:
    """One family of numbers; `kind` as Prometheus names it."""

    name: str
    kind: str
    text: str | Promise
    samples: list[Sample]


def collect(now: datetime) -> list[Figure]:
    """Return every figure. Their number of queries does not depend on the size of the site."""
    return [*requests(), *answers(), *fits(now), *jobs(now), *failures(now), *disk()]


def requests() -> Iterator[Figure]:
    counts = list(RequestCount.objects.order_by("kind", "status", "at_most_ms"))
    by_status: dict[tuple[str, int], int] = defaultdict(int)
    spans: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    took: dict[str, int] = defaultdict(int)
    for one in counts:
        by_status[one.kind, one.status] += one.n
        spans[one.kind][one.at_most_ms] += one.n
        took[one.kind] += one.milliseconds
    yield Figure(
        "crowdrank_responses_total",
        "counter",
        _("Requests answered, by kind and class of the HTTP status"),
        [Sample(n, {"kind": kind, "status": f"{status}xx"}) for (kind, status), n in sorted(by_status.items())],
    )
    samples = []
    for kind, found in spans.items():
        so_far = 0
        for at_most in SPANS:
            so_far += found[at_most]
            samples.append(Sample(so_far, {"kind": kind, "le": f"{at_most / 1000:g}"}, "_bucket"))
        so_far += found[BEYOND]
        samples.append(Sample(so_far, {"kind": kind, "le": "+Inf"}, "_bucket"))
        samples.append(Sample(took[kind] / 1000, {"kind": kind}, "_sum"))
        samples.append(Sample(so_far, {"kind": kind}, "_count"))
    yield Figure("crowdrank_request_seconds", "histogram", _("Seconds until an answer began, by kind"), samples)


def answers() -> Iterator[Figure]:
    found = cache.get_or_set("metrics-answers", count_answers, KEEP_COUNT_SECONDS) or {}
    yield Figure(
        "crowdrank_answers",
        "gauge",
        _("Answers stored; those that count, and those taken back or set aside"),
        [Sample(found["valid"], {"state": "valid"}), Sample(found["voided"], {"state": "voided"})],
    )
    states = Project.objects.order_by("state").values_list("state").annotate(n=Count("pk"))
    yield Figure(
        "crowdrank_projects", "gauge", _("Projects, by state"), [Sample(n, {"state": state}) for state, n in states]
    )


def count_answers() -> dict[str, int]:
    return Label.objects.aggregate(valid=Count("pk", filter=Q(voided_at=None)), voided=Count("voided_at"))


def fits(now: datetime) -> Iterator[Figure]:
    health = check_health(now)
    yield Figure("crowdrank_workers", "gauge", _("Workers heard of lately"), [Sample(health["engines"]["running"])])
    waiting = health["projects"]
    yield Figure("crowdrank_fits_waiting", "gauge", _("Projects that wait for a fit"), [Sample(waiting["waiting"])])
    yield Figure(
        "crowdrank_fits_wait_seconds",
        "gauge",
        _("Seconds for which the longest waiting answer has waited for a fit"),
        [Sample(waiting["longest_wait_seconds"] or 0)],
    )
    states = Fit.objects.filter(started_at__gte=now - DAY).order_by("status").values_list("status")
    yield Figure(
        "crowdrank_fits_of_a_day",
        "gauge",
        _("Fits begun in the last 24 hours, by state"),
        [Sample(n, {"state": status}) for status, n in states.annotate(n=Count("pk"))],
    )


# Of each table of jobs: its name here, what is waiting and what is given up.
QUEUES: list[tuple[str, type[Model], Q, Q]] = [
    ("import", ImportJob, Q(state__in=["uploaded", "running"]), Q(state="failed")),
    ("run record", RunRecord, Q(status__in=["asked", "running"]), Q(status="failed")),
    ("comparison of groups", CohortComparison, Q(status__in=["asked", "running"]), Q(status="failed")),
    ("webhook", WebhookDelivery, Q(state="waiting"), Q(state="failed")),
    ("tastes", TasteMap, Q(made_at=None), Q(given_up__isnull=False)),
    ("forecast", LabelForecast, Q(as_of=None), Q(crossings__gt=0)),
    ("measured saving", MeasuredSaving, Q(made_at=None), Q(given_up__isnull=False)),
    ("predictions", PredictionGain, Q(made_at=None), Q(given_up__isnull=False)),
    ("evaluation", Evaluation, Q(due_since__isnull=False), Q(given_up__isnull=False)),
]


def jobs(now: datetime) -> Iterator[Figure]:
    leased = Count("pk", filter=Q(lease_until__gt=now) & ~Q(owner=""))
    counted: dict[str, dict[str, Any]] = {"fit": FitState.objects.aggregate(leases=leased)}
    for name, model, waits, gave_up in QUEUES:
        asked = {"waiting": Count("pk", filter=waits), "failed": Count("pk", filter=gave_up)}
        if model is not WebhookDelivery:  # whose lease is the time of the next try
            asked["leases"] = leased
        counted[name] = model._default_manager.aggregate(**asked)
    for key, text in (
        ("waiting", _("Jobs waiting or under way, by kind")),
        ("failed", _("Jobs that failed for good, by kind")),
        ("leases", _("Jobs that a worker holds right now, by kind")),
    ):
        samples = [Sample(found[key], {"kind": name}) for name, found in counted.items() if key in found]
        yield Figure(f"crowdrank_jobs_{key}" if key != "leases" else "crowdrank_leases", "gauge", text, samples)


def failures(now: datetime) -> Iterator[Figure]:
    stopped = Event.objects.filter(verb=EventVerb.JOB_STOPPED, at__gte=now - DAY)
    kinds = {
        "fit failed": FitState.objects.exclude(error=""),
        "fit given up": FitState.objects.filter(given_up__isnull=False),
        "job stopped at a limit in 24 hours": stopped,
    }
    yield Figure(
        "crowdrank_failures",
        "gauge",
        _("What has gone wrong and is not mended, by kind"),
        [Sample(rows.count(), {"kind": kind}) for kind, rows in kinds.items()],
    )


def disk() -> Iterator[Figure]:
    """Yield the free space of the folders that this process writes to."""
    places = {"media": Path(settings.MEDIA_ROOT)}
    if connection.vendor == "sqlite":
        places["database"] = Path(str(connection.settings_dict["NAME"])).parent
    samples = [Sample(shutil.disk_usage(path).free, {"folder": name}) for name, path in places.items() if path.is_dir()]
    yield Figure("crowdrank_disk_free_bytes", "gauge", _("Free bytes on the disk, by folder"), samples)


def render_text(figures: list[Figure]) -> str:
    """Return the figures in Prometheus' text format, version 0.0.4."""
    lines = []
    with override("en"):
        for figure in figures:
            lines.append(f"# HELP {figure.name} {figure.text}")
            lines.append(f"# TYPE {figure.name} {figure.kind}")
            for sample in figure.samples:
                labels = ",".join(f'{name}="{escape(value)}"' for name, value in sample.labels.items())
                braces = f"{{{labels}}}" if labels else ""
                lines.append(f"{figure.name}{sample.suffix}{braces} {sample.value:.15g}")
    return "\n".join(lines) + "\n"


def escape(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def latency_table() -> list[dict[str, Any]]:
    """Return for each kind of request its number, errors, and the spans within which half and 95% were answered."""
    found: dict[str, list[RequestCount]] = defaultdict(list)
    for one in RequestCount.objects.order_by("kind"):
        found[one.kind].append(one)
    return [summarise(kind, counts) for kind, counts in found.items()]


def summarise(kind: str, counts: list[RequestCount]) -> dict[str, Any]:
    n = sum(one.n for one in counts)
    at_most: Callable[[float], int | None] = lambda share: span_of(counts, share * n)  # noqa: E731
    return {
        "kind": kind,
        "n": n,
        "errors": sum(one.n for one in counts if one.status == 5),
        "median": at_most(0.5),
        "p95": at_most(0.95),
    }


def span_of(counts: list[RequestCount], wanted: float) -> int | None:
    """Return the upper end, in milliseconds, of the span in which the request of this place lies; None beyond all."""
    so_far = 0
    for span in SPANS:
        so_far += sum(one.n for one in counts if one.at_most_ms == span)
        if so_far >= wanted:
            return span
    return None
