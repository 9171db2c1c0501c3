"""Decides which project is fitted when and by which worker: claims, leases and retries.

Refits are not queued. A change of labels raises FitState.wanted; a worker claims the row, fits, and writes the version
that it has seen into `fitted`. Ten thousand labels are one refit, and the claim of a worker that was killed lapses.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError
from django.db.models import F, Q, QuerySet

from annotate.core.statements import Given, Statement
from annotate.jobs.leases import worker_died
from annotate.models import FitState, Project, WorkerProcess
from annotate.models.leased_jobs import LeaseLost, lease_duration
from models_engine.errors import EngineError
from models_engine.models import Fit

# After a fit its project pauses this long, so that a burst of labels becomes one refit; after a long fit for half its
# time, so that the refits of a large project leave the database and the processor to those who answer.
MIN_PAUSE = timedelta(milliseconds=250)
MAX_PAUSE = timedelta(seconds=10)
MAX_RETRY_PAUSE = timedelta(minutes=5)
# After so many attempts in a row a project whose fit crosses a limit is left alone until its data change.
MAX_CROSSINGS = 5
# A worker not heard of for this long is removed from the list.
MAX_SILENCE = timedelta(days=1)
NO_FAILURES: dict[str, Any] = {"failing": {}, "retry_at": None, "given_up": None}


@dataclass(frozen=True)
class Claim:
    """One worker's right to fit one project. `version`: what FitState.wanted was before the labels are read."""

    project_id: UUID
    owner: str
    version: int
    attempt: int

    @property
    def state(self) -> FitState:
        return FitState(project_id=self.project_id, owner=self.owner)


class NothingDue(EngineError):
    """Nothing was to be done: every criterion without an up-to-date fit failed and waits to be retried."""

    def __init__(self, project: Project) -> None:
        super().__init__(f"every criterion of {project.pk} without an up-to-date fit failed and waits to be retried.")


def outdated_projects() -> QuerySet[FitState]:
    """Return projects whose labels have changed since their published fit, or of which a criterion failed.

    Archived projects are left out.
    """
    behind = Q(wanted__gt=F("fitted")) | Q(retry_at__isnull=False)
    return FitState.objects.filter(behind, project__archived_at=None)


def is_claimable(now: datetime, pause: timedelta) -> Q:
    """Return the condition under which a row may be claimed; of the row alone, as LeasedJob says why."""
    paused_enough = Q(last_fit_at=None) | Q(last_fit_at__lte=now - pause)
    may_start = Q(not_before=None) | Q(not_before__lte=now)
    behind = Q(wanted__gt=F("fitted")) | Q(retry_at__lte=now)
    given_up = Q(given_up__isnull=False) & Q(given_up__gte=F("wanted"))
    return ~given_up & behind & FitState.is_free(now) & paused_enough & may_start


def claimable_projects(now: datetime, pause: timedelta = MIN_PAUSE) -> QuerySet[FitState]:
    """Return what may be claimed now, longest unfitted first: else busy projects would starve the others."""
    return outdated_projects().filter(is_claimable(now, pause)).order_by(F("last_fit_at").asc(nulls_first=True), "pk")


def claim_next(
    *,
    owner: str,
    now: datetime,
    pause: timedelta = MIN_PAUSE,
    exclude: Collection[UUID] = (),
    take_over: bool = True,
) -> Claim | None:
    """Claims the longest waiting project; None if nothing is due or other workers were first each time.

    exclude: projects to leave alone.   take_over: whether leases that have run out count, or free projects alone.
    """
    waiting = claimable_projects(now, pause).exclude(pk__in=exclude)
    for state in (waiting if take_over else waiting.filter(owner=""))[:5]:
        attempt, former = state.attempts + 1, state.owner
        changes: dict[str, Any] = {"attempts": attempt, "step": 0, "steps": 0}
        if former:
            changes |= {"error": worker_died(former), "error_at": now}
        if attempt > 1:  # should this attempt be killed as well, the next one waits
            changes["not_before"] = now + retry_pause(attempt)
        if state.claim(is_claimable(now, pause) & Q(attempts=state.attempts), owner=owner, now=now, **changes):
            Fit.objects.filter(project_id=state.pk, status=Fit.Status.RUNNING).update(
                status=Fit.Status.FAILED, message=worker_died(former), finished_at=now
            )
            version = FitState.objects.filter(pk=state.pk).values_list("wanted", flat=True).first()
            if version is not None:  # else the project has just been deleted
                return Claim(state.pk, owner, version, attempt)
    return None


def retry_pause(attempts: int) -> timedelta:
    """Return how long to wait after this many attempts without success: 2 s, 4 s, 8 s, ... 5 minutes."""
    return min(timedelta(seconds=2**attempts), MAX_RETRY_PAUSE) if attempts < 20 else MAX_RETRY_PAUSE


def pause_after_fit(seconds: float) -> timedelta:
    return min(timedelta(seconds=seconds / 2), MAX_PAUSE)


def renew(claim: Claim, *, now: datetime, step: int | None = None, steps: int | None = None) -> bool:
    """Extend the lease and record how far the fit is; False where the claim is lost."""
    progress = {} if step is None else {"step": step, "steps": steps or 0}
    return claim.state.renew(now=now, **progress)


def complete(claim: Claim, *, number: int, seconds: float, now: datetime) -> None:
    """Mark the claim as done. Call inside the transaction that publishes fit `number`, which took `seconds`.

    Raises LeaseLost.
    """
    _complete(claim, seconds=seconds, now=now, published_fit=number, **NO_FAILURES)


def complete_except(claim: Claim, *, failing: dict[str, Any], seconds: float, now: datetime) -> None:
    """Mark the claim as done for all criteria but the failing ones (FitState.failing), which are retried later.

    Raises LeaseLost.
    """
    retried = [one for one in failing.values() if one.get("given_up") is None]
    retry_at = min((datetime.fromisoformat(one["not_before"]) for one in retried), default=None)
    _complete(claim, seconds=seconds, now=now, failing=failing, retry_at=retry_at)


def _complete(claim: Claim, *, seconds: float, now: datetime, **values: Any) -> None:
    claim.state.complete(
        fitted=claim.version,
        last_fit_at=now,
        attempts=0,
        error="",
        error_at=None,
        not_before=now + pause_after_fit(seconds),
        **values,
    )


def next_failure(
    former: dict[str, Any] | None, *, estimator: str, message: str, now: datetime, crossed: int | None = None
) -> dict[str, Any]:
    """Return what FitState.failing keeps of a criterion whose fit has just failed; `former`: what it kept before.

    crossed: the version of the data where the fit crossed a limit, which ends after MAX_CROSSINGS attempts.
    """
    attempts = (former or {}).get("attempts", 0) + 1
    return {
        "attempts": attempts,
        "error": message,
        "error_at": now.isoformat(),
        "not_before": (now + retry_pause(attempts)).isoformat(),
        "estimator": estimator,
        "given_up": crossed if attempts >= MAX_CROSSINGS else None,
    }


def record_published(claim: Claim, *, number: int, now: datetime) -> None:
    """Record that fit `number` is published while the project's other criteria are still to be fitted.

    Call inside the transaction that publishes it. Raises LeaseLost.
    """
    if not claim.state.renew(now=now, published_fit=number):
        raise LeaseLost(str(claim.project_id))


def record_failure(claim: Claim, *, message: str, now: datetime, given_up: int | None = None) -> bool:
    """Releases the project after a failed fit, to be retried after a pause; False where the claim is lost.

    given_up: the version of the data that is not retried at all.
    """
    pause = retry_pause(claim.attempt)
    return claim.state.retry(at=now + pause, error=message, error_at=now, given_up=given_up)


def release(claim: Claim) -> bool:
    """Lets another worker claim the project at once, because this one was asked to stop; no failure is counted."""
    return claim.state.release(attempts=max(0, claim.attempt - 1))


def release_former_claims(name: str) -> int:
    """Frees what an earlier process of this name had claimed; its supervisor knows that it is dead."""
    return FitState.objects.filter(owner__startswith=f"{name}#").update(lease_until=None)


def record_heartbeat(name: str, *, started_at: datetime, now: datetime, project_id: UUID | None = None) -> None:
    """Record that the worker is alive and what it is fitting; remove workers that have long been silent."""
    values = {"started_at": started_at, "seen_at": now, "project_id": project_id}
    try:
        WorkerProcess.objects.update_or_create(name=name, defaults=values)
    except IntegrityError:  # the project has just been deleted
        WorkerProcess.objects.update_or_create(name=name, defaults=values | {"project_id": None})
    WorkerProcess.objects.filter(seen_at__lt=now - MAX_SILENCE).delete()


def remove_worker(name: str) -> None:
    WorkerProcess.objects.filter(name=name).delete()


def n_fitted_elsewhere(project: Project, now: datetime) -> int:
    """Return how many other projects are being fitted."""
    return FitState.objects.exclude(pk=project.pk).exclude(owner="").filter(lease_until__gt=now).count()


def live_workers(now: datetime) -> QuerySet[WorkerProcess]:
    """Return the workers seen within their lease."""
    return WorkerProcess.objects.filter(seen_at__gte=now - lease_duration())


workers_since = Statement(
    lambda: WorkerProcess.objects.filter(seen_at__gte=Given("seen_at", WorkerProcess)).values_list("pk", flat=True)[:1]
)


def has_live_worker(now: datetime) -> bool:
    return bool(workers_since(seen_at=now - lease_duration()))
