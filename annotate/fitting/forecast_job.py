"""Computes the forecast of open projects in the worker: after fits, every 15 minutes at most, and hourly in silence."""

from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from annotate.core.transactions import write_transaction
from annotate.criteria import list_criteria
from annotate.fitting.forecast import figures
from annotate.fitting.forecast_rows import probability_by
from annotate.fitting.returns import notify_gone, return_figures
from annotate.jobs.idle import find_or_create
from annotate.jobs.queues import Progress
from annotate.locks import advisory_lock
from annotate.models import FitState, LabelForecast, Project, Webhook
from annotate.models.leased_jobs import LeaseLost
from annotate.webhooks.actions import enqueue_event

# A project of an hour changes by the minute.
PAUSE, SHORT_PAUSE = timedelta(minutes=15), timedelta(minutes=1)
SHORT_HISTORY = 3.0  # hours
SILENT_PAUSE = timedelta(hours=1)
MAX_SILENCE = timedelta(days=7)  # after the last fit, beyond which nothing is forecast anew
RETRY_PAUSE, MAX_RETRY_PAUSE = timedelta(minutes=10), timedelta(days=1)
MAX_YIELDS = 5
RISK, SAFE = 0.5, 0.7  # P(the goal is met by the deadline): at risk below the one, no longer at risk above the other


def due_states(now: datetime, overdue: timedelta = timedelta(0)) -> QuerySet[FitState]:
    """Return the open projects whose forecast is to be computed, for so long at least; the longest waiting first."""
    silent = Q(project__forecast__as_of__lte=now - SILENT_PAUSE - overdue, last_fit_at__gte=now - MAX_SILENCE)
    behind = Q(project__forecast__as_of__lt=F("last_fit_at"), project__forecast__next_at__lte=now - overdue)
    none = Q(project__forecast=None) | Q(project__forecast__as_of=None)
    states = FitState.objects.filter(last_fit_at__isnull=False, project__archived_at=None)
    takes_answers = Q(project__closes_at=None) | Q(project__closes_at__gt=now)
    states = states.filter(takes_answers, project__state=Project.State.OPEN)
    return states.filter(none | silent | behind).order_by(F("project__forecast__as_of").asc(nulls_first=True), "pk")


class ForecastJobs:
    """The queue of forecasts; one row per project."""

    def claim_next(self, *, owner: str, now: datetime) -> LabelForecast | None:
        return self.claim_among(due_states(now), owner=owner, now=now)

    def claim_overdue(self, *, owner: str, now: datetime) -> LabelForecast | None:
        """Claims what has waited for as long again: a site that is never idle has forecasts, too."""
        return self.claim_among(due_states(now, PAUSE), owner=owner, now=now)

    def claim_among(self, states: QuerySet[FitState], *, owner: str, now: datetime) -> LabelForecast | None:
        claimable = LabelForecast.is_free(now) & (Q(not_before=None) | Q(not_before__lte=now))
        held = LabelForecast.objects.exclude(claimable).values("project")
        for project_id in states.exclude(project__in=held).values_list("pk", flat=True)[:5]:
            row = find_or_create(LabelForecast, project_id=project_id)
            if row is not None and row.claim(claimable, owner=owner, now=now):
                return row
        return None

    def work(self, row: LabelForecast, *, progress: Progress) -> None:
        work(row, progress)

    def may_yield(self, row: LabelForecast) -> bool:
        return row.gave_way < MAX_YIELDS

    def release(self, row: LabelForecast) -> None:
        row.release(gave_way=F("gave_way") + 1)

    def record_failure(self, row: LabelForecast, *, message: str, now: datetime) -> None:
        row.retry(at=now + RETRY_PAUSE, message=message)

    def record_crossing(self, row: LabelForecast, *, message: str, now: datetime, killed: bool) -> bool:
        """Wait longer each time, 10 minutes to a day; the first belongs in the log."""
        pause = min(RETRY_PAUSE * 2 ** min(row.crossings, 10), MAX_RETRY_PAUSE)
        row.retry(at=now + pause, message=message, crossings=min(row.crossings + 1, 100))
        return row.crossings == 0

    def n_rows(self, row: LabelForecast) -> int:
        return 0


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


QUEUE = ForecastJobs()
