"""Claims the forecasts of open projects: after fits, every 15 minutes at most, and hourly in silence."""

from datetime import datetime, timedelta

from django.db.models import F, Q, QuerySet

from annotate.jobs.idle import find_or_create
from annotate.jobs.queues import Progress, load_work
from annotate.models import FitState, LabelForecast, Project

PAUSE = timedelta(minutes=15)
SILENT_PAUSE = timedelta(hours=1)
MAX_SILENCE = timedelta(days=7)  # after the last fit, beyond which nothing is forecast anew
RETRY_PAUSE, MAX_RETRY_PAUSE = timedelta(minutes=10), timedelta(days=1)
MAX_YIELDS = 5


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

    run = "annotate.fitting.forecast_job.work"

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
        load_work(self.run)(row, progress)

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


QUEUE = ForecastJobs()
