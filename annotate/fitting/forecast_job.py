"""Computes the forecast of an open project in the worker; forecast_queue.py says when."""

from datetime import date, datetime, timedelta
from typing import Any

from django.utils import timezone

from annotate.core.transactions import write_transaction
from annotate.criteria import list_criteria
from annotate.fitting.forecast import figures
from annotate.fitting.forecast_queue import PAUSE
from annotate.fitting.forecast_rows import probability_by
from annotate.fitting.returns import notify_gone, return_figures
from annotate.jobs.queues import Progress
from annotate.locks import advisory_lock
from annotate.models import LabelForecast, Project, Webhook
from annotate.models.leased_jobs import LeaseLost
from annotate.webhooks.actions import enqueue_event

SHORT_PAUSE = timedelta(minutes=1)  # a project of an hour changes by the minute
SHORT_HISTORY = 3.0  # hours
RISK, SAFE = 0.5, 0.7  # P(the goal is met by the deadline): at risk below the one, no longer at risk above the other


def work(row: LabelForecast, progress: Progress) -> None:
    """Compute and store the forecast; tell webhooks what is news. Raises Cancelled, LeaseLost."""
    project, now = Project.objects.filter(pk=row.project_id).first(), timezone.now()
    if project is None:
        raise LeaseLost(str(row.project_id))
    found = figures(project, now, progress)
    returns = return_figures(project, now, progress)
    pause = SHORT_PAUSE if found and found["history"] <= SHORT_HISTORY else PAUSE
    at_risk = deadline_at_risk(project, row, found, now)
    with write_transaction():
        advisory_lock(project.pk, shared=True)  # nobody is erased between reading who is gone and telling of them
        values: dict[str, Any] = {"figures": found, "as_of": now, "next_at": now + pause, "at_risk": at_risk}
        values["returns"] = returns
        former = row.returns
        row.complete(**values, gave_way=0, not_before=None, message="", crossings=0)
        notify_gone(project, former, returns, now)
        if at_risk is not None and at_risk != row.at_risk:
            enqueue_event(
                project_id=project.pk,
                event=Webhook.Event.DEADLINE_AT_RISK,
                data=risk_data(project, found, now),
                now=now,
            )


def deadline_at_risk(project: Project, row: LabelForecast, found: dict[str, Any], now: datetime) -> date | None:
    """Return the deadline if it is at risk, or was and is not safe again; else None."""
    p = least_probability(project, found, now)
    if p is None:
        return None
    limit = SAFE if row.at_risk == project.goal_deadline else RISK
    return project.goal_deadline if p < limit else None


def least_probability(project: Project, found: dict[str, Any], now: datetime) -> float | None:
    """Return P(met by the deadline) of the criterion of which it is least; None where nothing is known of it."""
    if project.goal_deadline is None or not found:
        return None
    goals = (found["goals"].get(str(one.number)) for one in list_criteria(project))
    known = [probability_by(one, now, project.goal_deadline) for one in goals if one]
    return min((p for p in known if p is not None), default=None)


def risk_data(project: Project, found: dict[str, Any], now: datetime) -> dict[str, Any]:
    p = least_probability(project, found, now)
    return {"deadline": str(project.goal_deadline), "probability": p, "goal": project.goal}
