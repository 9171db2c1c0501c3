"""Forecasts which annotators come back: computed by the worker with the forecast of answers, read by pages."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotate.models import IMPORTED_APP_VERSION, Annotator, Label, Project, Webhook
from annotate.webhooks.actions import enqueue_event
from models_engine.analysis.returning import forecast_returns

HISTORY = timedelta(days=90)
MAX_LABELS = 400_000
MIN_VISITS = 20  # of all together, below which nothing is said
MIN_BUSY = 30  # answers of an annotator whose leaving webhooks are told of
SECONDS = 3600


def return_figures(project: Project, now: datetime, progress: Callable[[int, int, float], bool]) -> dict[str, Any]:
    """Forecast as JSON, {} with fewer than MIN_VISITS visits. Raises Cancelled.

    people: by primary key, [P(back within a day), visits, hours silent, 1 if dropped out else 0]. expected: how
    many come within the next day. limit: hours of silence by which 95% of gaps are over. told: the busy ones of whom
    webhooks know that they have dropped out.
    """
    times, annotators = read_visits(project, now)
    found = forecast_returns(times, annotators, 0.0, progress=progress)
    visits = found.visits
    if visits.n_visits.sum() < MIN_VISITS:
        return {}
    gone = found.dropped_out
    rows = zip(visits.annotators, found.within_a_day, visits.n_visits, visits.silence, gone, strict=True)
    busy = set(visits.annotators[gone & (labels_of(annotators, visits.annotators) >= MIN_BUSY)].tolist())
    return {
        "people": {
            str(pk): [round(float(day), 4), int(n), round(float(hours), 1), int(out)] for pk, day, n, hours, out in rows
        },
        "expected": round(found.expected_within_a_day, 2),
        "limit": round(found.limit, 1),
        "told": sorted(busy),
    }


def read_visits(project: Project, now: datetime) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return hours before now (negative) and annotators of the answers of people who may come back."""
    labels = Label.objects.filter(project=project, voided_at=None, created_at__gt=now - HISTORY, created_at__lte=now)
    labels = labels.exclude(app_version=IMPORTED_APP_VERSION).exclude(annotator__source=Annotator.Source.MACHINE)
    labels = labels.filter(annotator__excluded_at=None, annotator__screened_out_at=None)
    rows = list(labels.order_by("-created_at").values_list("created_at", "annotator_id")[:MAX_LABELS])
    hours = np.array([(at - now).total_seconds() / SECONDS for at, _who in rows], dtype=np.float64)
    return hours, np.array([who for _at, who in rows], dtype=np.int64)


def labels_of(annotators: NDArray[np.int64], keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many labels each of the keys has."""
    return np.bincount(np.searchsorted(keys, annotators), minlength=len(keys))


def notify_gone(project: Project, former: dict[str, Any], found: dict[str, Any], now: datetime) -> int:
    """Tell webhooks of busy annotators who have dropped out since; after coming back, again. Returns how many.

    Without former figures nobody is: who left long ago is no news.
    """
    if not former or not found:
        return 0
    new = sorted(set(found["told"]) - set(former["told"]))
    for person in Annotator.objects.filter(project=project, pk__in=new).order_by("pk"):
        _day, n_visits, silent, _out = found["people"][str(person.pk)]
        data = {
            "annotator": str(person.key),
            "pseudonym": person.pseudonym,
            "n_visits": n_visits,
            "silent_hours": silent,
        }
        enqueue_event(project_id=project.pk, event=Webhook.Event.ANNOTATOR_GONE, data=data, now=now)
    return len(new)
