"""The engine's last fits of a project, the trace of the published one, and the estimators side by side."""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from annotate import charts
from annotate.estimators import ESTIMATORS
from annotate.models import Evaluation, Project
from models_engine.models import Fit

MOST_FITS = 30
TRACE_WIDTH, TRACE_HEIGHT = 480.0, 120.0


@dataclass(frozen=True)
class Trace:
    """The objective of a fit by iteration."""

    path: str
    first: str
    last: str
    n: int


@dataclass(frozen=True)
class Fits:
    published: Fit | None
    latest: list[Fit]
    trace: Trace | None
    evaluation: "Evaluated | None"


@dataclass(frozen=True)
class Evaluated:
    """The estimators on labels hidden from them, as annotate.evaluating keeps them; best first, failures last."""

    rows: list[dict[str, Any]]
    best: str
    n_labels: int
    n_drawn: int | None  # of them, where not all were used
    fit_number: int | None
    made_at: datetime | None


def fits_page(project: Project) -> Fits:
    fits = Fit.objects.filter(project_id=project.pk, criterion=project.criterion)
    latest = list(fits.defer("arrays").order_by("-number")[:MOST_FITS])
    published = next((fit for fit in latest if fit.published), None)
    return Fits(
        published=published,
        latest=latest,
        trace=trace_of(published) if published else None,
        evaluation=evaluated(project),
    )


def evaluated(project: Project) -> Evaluated | None:
    found = Evaluation.objects.filter(project=project, criterion=project.criterion).exclude(made_at=None).first()
    known = [one for one in found.figures if one["loss"] is not None] if found else []
    if found is None or not known:
        return None
    known.sort(key=lambda one: one["loss"])
    failed = [one for one in found.figures if one["loss"] is None]
    rows = [one | {"is_offered": one["name"] in ESTIMATORS} for one in known + failed]
    return Evaluated(rows, known[0]["name"], found.n_labels, found.n_drawn, found.fit_number, found.made_at)


def trace_of(fit: Fit) -> Trace | None:
    objective = fit.diagnostics.get("objective") or []
    values = [float(value) for value in objective if value is not None]
    finite = [value for value in values if math.isfinite(value)]
    path = charts.line(values, width=TRACE_WIDTH, height=TRACE_HEIGHT)
    if not path:
        return None
    return Trace(path=path, first=charts.figure(finite[0], 1), last=charts.figure(finite[-1], 1), n=len(values))
