"""Forecasts a project's labels and when its goals are met: what the worker computes and the Progress page reads."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotate.core.time_units import DAY, HOUR, MINUTE, MONTH, TEN_MINUTES, floor_time, next_time, unit_of
from annotate.criteria import Criterion, list_criteria
from annotate.fitting.needed import current_goal, informative_labels, n_labels_since, remaining_labels
from annotate.fitting.published import published_fit
from annotate.labelling.plan.capacity import capacity
from annotate.labelling.plan.queries import NO_LIMIT
from annotate.models import IMPORTED_APP_VERSION, Label, Project
from models_engine.errors import InsufficientData
from models_engine.forecast import Forecast, Forecaster, draw_needed

LEVELS = (0.05, 0.5, 0.95)
HISTORY = timedelta(days=28)
MAX_LABELS = 400_000
WITHIN = (1, 6, 24, 168)  # hours for which the labels likely to come are kept
N_STEPS = 56  # moments at which the probability of having met a goal is kept
AHEAD = {MINUTE: 30, TEN_MINUTES: 36, HOUR: 24, DAY: 7, MONTH: 0}  # columns ahead, by unit
SECONDS = 3600
SEED = 0


def figures(project: Project, now: datetime, progress: Callable[[int, int, float], bool]) -> dict[str, Any]:
    """Forecast as JSON, {} without an answer that counts. Raises Cancelled.

    basis: "sessions" or "labels".   history, horizon: hours.   within: [low, middle, high] labels by hours ahead.
    unit, columns: [start, low, middle, high] of the chart's columns ahead.   goals: by criterion with a goal that is
    not met, see goal_figures.   left: answers that the project still takes, null where they have no end.
    """
    times, annotators = read_times(project, now)
    try:
        forecast = Forecaster().forecast(times, annotators, 0.0, seed=SEED, progress=progress)
    except InsufficientData:
        return {}
    forecast = stop_at_closing(forecast, project, now)
    left = answers_left(project)
    most = np.inf if left is None else float(left)
    hours = [hours for hours in WITHIN if hours <= forecast.horizon]
    ends = Label.objects.filter(project=project).order_by("created_at").values_list("created_at", flat=True)
    unit = unit_of(ends.first(), ends.last()).length
    found = {one.number: goal_figures(one, forecast, most) for one in list_criteria(project)}
    return {
        "basis": forecast.basis,
        "history": round(forecast.history_hours, 3),
        "horizon": forecast.horizon,
        "left": left,
        "within": {str(one): quantiles(forecast.within(one, most)[:, 0]) for one in hours},
        "unit": unit,
        "columns": columns_ahead(forecast, now, unit, most),
        "goals": {str(number): one for number, one in found.items() if one is not None},
    }


def read_times(project: Project, now: datetime) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return hours before now (negative) and annotators of the labels that count, without imported ones."""
    labels = informative_labels(Criterion(project)).exclude(app_version=IMPORTED_APP_VERSION)
    recent = labels.filter(created_at__gt=now - HISTORY, created_at__lte=now).order_by("-created_at")
    rows = list(recent.values_list("created_at", "annotator_id")[:MAX_LABELS])
    hours = np.array([(at - now).total_seconds() / SECONDS for at, _who in rows], dtype=np.float64)
    _names, annotators = np.unique(np.array([who for _at, who in rows], dtype=np.int64), return_inverse=True)
    return hours, annotators.astype(np.int64)


def answers_left(project: Project) -> int | None:
    """Return how many answers the sets still take; None where there is no end of them."""
    return capacity(project).n_left if project.overlap < NO_LIMIT else None


def stop_at_closing(forecast: Forecast, project: Project, now: datetime) -> Forecast:
    """Return the forecast without labels after the moment from which answers are refused."""
    if project.closes_at is None:
        return forecast
    bins = max(0, int((project.closes_at - now).total_seconds() / SECONDS / forecast.bin_hours))
    labels = forecast.labels.copy()
    labels[:, bins:] = 0
    return replace(forecast, labels=labels)


def columns_ahead(forecast: Forecast, now: datetime, unit: int, most: float) -> list[list[Any]]:
    """Return [start, low, middle, high] of the columns ahead; the first is what is left of the one that runs."""
    start, columns, before = floor_time(now.astimezone(UTC), unit), [], 0.0
    for _column in range(AHEAD[unit]):
        end = next_time(start, unit)
        after = min((end - now).total_seconds() / SECONDS, forecast.horizon)
        if after <= before:
            break
        draws = forecast.within([before, after], most)
        columns.append([start.isoformat(), *quantiles(draws[:, 1] - draws[:, 0])])
        start, before = end, after
    return columns


def goal_figures(criterion: Criterion, forecast: Forecast, most: float) -> dict[str, Any] | None:
    """Return when the goal is met; None without one, where it is met, or where nobody knows the labels needed.

    hours: [low, middle, high], null beyond the horizon.   by: [hours, P(met by then)].
    """
    project, fit = criterion.project, published_fit(criterion)
    kept = current_goal(criterion, fit) if project.goal else None
    if kept is None or fit is None or kept["met"]:
        return None
    needed = remaining_labels(kept["needed"], n_labels_since(criterion, fit))
    if needed is None:
        return None
    drawn = draw_needed(needed.low, needed.middle, needed.high, len(forecast.labels), SEED)
    # A plan is answered when its last task is; other goals may need more answers than the project takes.
    until = forecast.hours_to(np.minimum(drawn, most) if project.goal == "plan" else drawn, most)
    ordered = np.sort(until)
    middles = [float(ordered[round(level * (len(ordered) - 1))]) for level in LEVELS]
    steps = np.linspace(0, forecast.horizon, N_STEPS + 1)
    return {
        "kind": project.goal,
        "value": project.goal_value,
        "hours": [round(one, 3) if np.isfinite(one) else None for one in middles],
        "by": [[round(float(step), 3), round(float((until <= step).mean()), 4)] for step in steps],
    }


def quantiles(draws: NDArray[np.float64]) -> list[int]:
    low, middle, high = np.quantile(draws, LEVELS)
    return [int(np.floor(low)), round(float(middle)), int(np.ceil(high))]
