"""Reads a project's latest fits, the trace of the published one, and the comparison of estimators."""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from annotate.core import charts, numbers
from annotate.criteria import Criterion
from annotate.fitting.estimator_choices import COUNT_GRADES, ESTIMATORS
from annotate.labelling.asked_tasks import tasks_of
from annotate.models import Evaluation, Project
from models_engine.models import Fit

MAX_FITS = 30
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
    evaluation: "EvaluationTable | None"
    leaves_grades: bool  # whether people say how much better an item is and the published fit takes the winner alone


@dataclass(frozen=True)
class EvaluationTable:
    """The estimators on hidden labels, as annotate.fitting.evaluation_job stores them; best first, failures last."""

    rows: list[dict[str, Any]]
    best: str
    n_labels: int
    n_drawn: int | None  # of them, where not all were used
    fit_number: int | None
    made_at: datetime | None


def fits_page(criterion: Criterion) -> Fits:
    fits = Fit.objects.filter(project_id=criterion.project.pk, criterion=criterion.number)
    latest = list(fits.defer("arrays").order_by("-number")[:MAX_FITS])
    published = next((fit for fit in latest if fit.published), None)
    return Fits(
        published=published,
        latest=latest,
        trace=build_trace(published) if published else None,
        evaluation=evaluation_table(criterion),
        leaves_grades=published is not None and leaves_grades(criterion.project, published),
    )


def leaves_grades(project: Project, fit: Fit) -> bool:
    """Return whether people said how much better an item is, and the fit's estimator counts who wins alone."""
    return fit.estimator not in COUNT_GRADES and any(task.type.is_graded for task in tasks_of(project))


def evaluation_table(criterion: Criterion) -> EvaluationTable | None:
    found = (
        Evaluation.objects.filter(project=criterion.project, criterion=criterion.number).exclude(made_at=None).first()
    )
    known = [one for one in found.figures if one["loss"] is not None] if found else []
    if found is None or not known:
        return None
    known.sort(key=lambda one: one["loss"])
    failed = [one for one in found.figures if one["loss"] is None]
    rows = [one | {"is_offered": one["name"] in ESTIMATORS} for one in known + failed]
    return EvaluationTable(rows, known[0]["name"], found.n_labels, found.n_drawn, found.fit_number, found.made_at)


def build_trace(fit: Fit) -> Trace | None:
    objective = fit.diagnostics.get("objective") or []
    values = [float(value) for value in objective if value is not None]
    finite = [value for value in values if math.isfinite(value)]
    path = charts.line_path(values, width=TRACE_WIDTH, height=TRACE_HEIGHT)
    if not path:
        return None
    return Trace(
        path=path, first=numbers.format_number(finite[0], 1), last=numbers.format_number(finite[-1], 1), n=len(values)
    )
