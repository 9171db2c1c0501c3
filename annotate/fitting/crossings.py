"""Records jobs that crossed a limit or were killed: the project waits longer each time, and others do not wait."""

from datetime import datetime
from typing import Any

from annotate.audit import record_event
from annotate.fitting import scheduling
from annotate.fitting.scheduling import MAX_CROSSINGS, Claim
from annotate.jobs.queues import JobQueue
from annotate.models import EventVerb, FitState, Project
from models_engine.models import Fit


def record_crossed_fit(claim: Claim, *, message: str, now: datetime) -> None:
    """Mark the running fit as failed; the project, or of several criteria that one, is fitted again after a pause."""
    fit = Fit.objects.filter(project_id=claim.project_id, data_version=claim.version).order_by("-number").first()
    if fit is not None and fit.status == Fit.Status.RUNNING:
        Fit.objects.filter(pk=fit.pk).update(status=Fit.Status.FAILED, message=message, finished_at=now)
    project = Project.objects.filter(pk=claim.project_id).first()
    if project is None:
        return
    if project.criteria and fit is not None:
        attempts = set_criterion_aside(project, fit.criterion, claim, message=message, now=now)
    else:
        attempts = claim.attempt
        given_up = claim.version if attempts >= MAX_CROSSINGS else None
        scheduling.record_failure(claim, message=message, now=now, given_up=given_up)
    if attempts in (1, MAX_CROSSINGS):
        record_stop(project, message=message, now=now)


def set_criterion_aside(project: Project, criterion: int, claim: Claim, *, message: str, now: datetime) -> int:
    """Releases the project so that its other criteria are fitted; returns how often this one has failed in a row."""
    state = FitState.objects.filter(pk=project.pk).first()
    if state is None:  # deleted just now
        return 0
    failing: dict[str, Any] = state.failing
    number = str(criterion)
    failing[number] = scheduling.next_failure(
        failing.get(number), estimator=project.estimator, message=message, now=now, crossed=claim.version
    )
    claim.state.release(failing=failing, attempts=max(0, claim.attempt - 1))
    return int(failing[number]["attempts"])


def record_crossed_job(queue: JobQueue, row: Any, *, message: str, now: datetime, killed: bool) -> None:
    """End the row's job and, where the queue says so, write it into the project's log."""
    noteworthy = queue.record_crossing(row, message=message, now=now, killed=killed)
    project = Project.objects.filter(pk=row.project_id).first()
    if noteworthy and project is not None:
        record_stop(project, message=message, now=now)


def record_stop(project: Project, *, message: str, now: datetime) -> None:
    record_event(project, None, EventVerb.JOB_STOPPED, now, message=message)
