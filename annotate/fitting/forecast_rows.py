"""Reads what a stored forecast says; without numpy, for pages and the worker alike."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.utils import timezone

from annotate.models import LabelForecast, Project


def is_over(project: Project) -> bool:
    """Return whether no answers come any more: it is not open, or the moment of its closing has passed."""
    return project.state != Project.State.OPEN or (
        project.closes_at is not None and project.closes_at <= timezone.now()
    )


def stored_forecast(project: Project) -> LabelForecast | None:
    """Return the project's forecast where there is one with figures and the project still takes answers, or will."""
    if is_over(project):
        return None
    row = LabelForecast.objects.filter(project=project).only("project", "as_of", "figures", "returns").first()
    return row if row and row.figures and row.as_of else None


@dataclass(frozen=True)
class Return:
    """How likely an annotator is to begin another visit within 24 hours. has_left: they have been silent for longer
    than 95% of gaps last, and are more likely gone than not."""

    within_a_day: float
    n_visits: int
    silent_hours: float
    has_left: bool


def stored_returns(project: Project) -> dict[int, Return]:
    """Return who of an open project's annotators is how likely to come back, by primary key; {} if not known yet."""
    if is_over(project):
        return {}
    row = LabelForecast.objects.filter(project=project).only("project", "returns").first()
    people = row.returns.get("people", {}) if row else {}
    return {int(pk): Return(day, n, silent, bool(out)) for pk, (day, n, silent, out) in people.items()}


def end_of_day(day: date) -> datetime:
    """Return the moment at which the day has ended, UTC."""
    return datetime.combine(day + timedelta(days=1), time(), UTC)


def probability_by(goal: dict[str, Any], as_of: datetime, deadline: date) -> float | None:
    """Return P(the goal is met by the end of that day), None beyond the horizon; `goal`: goal_figures of a forecast."""
    hours = (end_of_day(deadline) - as_of).total_seconds() / 3600
    steps: list[list[float]] = goal["by"]
    if hours > steps[-1][0]:
        return 1.0 if steps[-1][1] >= 0.9995 else None
    if hours <= 0:
        return steps[0][1]
    after = next(i for i, (at, _p) in enumerate(steps) if at >= hours)
    (low, p_low), (high, p_high) = steps[after - 1], steps[after]
    return round(p_low + (p_high - p_low) * (hours - low) / (high - low), 4)
