"""Which project is fitted when and by whom: claims, leases and retries, all of it conditional UPDATEs of one row each.

Refits are not queued. A change of labels raises EngineState.wanted; an engine claims the row, fits, and pays by writing
what it has seen into `fitted`. Ten thousand labels are one refit, and a claim whose engine was killed lapses.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import F, Q, QuerySet

from annotate.models import EngineProcess, EngineState
from annotate.stored_words import stored
from models_engine.models import Fit

# After a fit its project rests this long, so that a burst of labels becomes one refit; a long fit rests half its time
# besides, so that the refits of a large project leave the database and the processor to those who answer.
REST = timedelta(milliseconds=250)
LONGEST_REST = timedelta(seconds=10)
LONGEST_PAUSE = timedelta(minutes=5)
# An engine process not heard of for this long is forgotten.
FORGOTTEN_AFTER = timedelta(days=1)


class LostClaim(Exception):
    """The project is no longer this engine's: its lease ran out and another took over, or the project is gone."""


@dataclass(frozen=True)
class Claim:
    """One engine's right to fit one project. `version`: what EngineState.wanted was before the labels are read."""

    project_id: UUID
    owner: str
    version: int
    attempt: int


def lease() -> timedelta:
    return timedelta(seconds=settings.ENGINE_LEASE_SECONDS)


def owed() -> QuerySet[EngineState]:
    """Projects whose labels have changed since their published fit, or of which a criterion failed, but for those in
    the archive."""
    behind = Q(wanted__gt=F("fitted")) | Q(retry_at__isnull=False)
    return EngineState.objects.filter(behind, project__archived_at=None)


def claimable(now: datetime, rest: timedelta) -> Q:
    """What a row itself must say to be claimed.

    Nothing here may lead to another table: an UPDATE would then look the row up in a subquery, which PostgreSQL does
    not repeat after waiting for a lock, and two engines would win one claim.
    """
    free = Q(owner="") | Q(lease_until=None) | Q(lease_until__lt=now)
    rested = Q(last_fit_at=None) | Q(last_fit_at__lte=now - rest)
    patient = Q(not_before=None) | Q(not_before__lte=now)
    behind = Q(wanted__gt=F("fitted")) | Q(retry_at__lte=now)
    return behind & free & rested & patient


def due(now: datetime, rest: timedelta = REST) -> QuerySet[EngineState]:
    """What may be claimed now, longest unfitted first: ordered otherwise, busy projects would starve the others."""
    return owed().filter(claimable(now, rest)).order_by(F("last_fit_at").asc(nulls_first=True), "pk")


def claim_next(*, owner: str, now: datetime, rest: timedelta = REST) -> Claim | None:
    """The longest waiting project, now this owner's; None if nothing is due or others were first each time."""
    for state in due(now, rest)[:5]:
        attempt = state.attempts + 1
        changes: dict[str, Any] = {"attempts": attempt, "step": 0, "steps": 0}
        if state.owner:
            changes |= {"error": died(state.owner), "error_at": now}
        if attempt > 1:  # should this attempt be killed as well, the next one waits
            changes["not_before"] = now + pause(attempt)
        mine = EngineState.objects.filter(claimable(now, rest), pk=state.pk, attempts=state.attempts)
        if mine.update(owner=owner, lease_until=now + lease(), **changes):
            Fit.objects.filter(project_id=state.pk, status=Fit.Status.RUNNING).update(
                status=Fit.Status.FAILED, message=died(state.owner), finished_at=now
            )
            version = EngineState.objects.values_list("wanted", flat=True).get(pk=state.pk)
            return Claim(state.pk, owner, version, attempt)
    return None


def died(owner: str) -> str:
    return stored("ended", name=owner.partition("#")[0] or "?")


def pause(attempts: int) -> timedelta:
    """How long after this many attempts without success the next one waits: 2 s, 4 s, 8 s, ... 5 minutes."""
    return min(timedelta(seconds=2**attempts), LONGEST_PAUSE) if attempts < 20 else LONGEST_PAUSE


def rest_after(seconds: float) -> timedelta:
    return min(timedelta(seconds=seconds / 2), LONGEST_REST)


def held(claim: Claim) -> QuerySet[EngineState]:
    return EngineState.objects.filter(pk=claim.project_id, owner=claim.owner)


def renew(claim: Claim, *, now: datetime, step: int | None = None, steps: int | None = None) -> bool:
    """Extends the lease, notes how far the fit is; False where the claim is lost."""
    progress = {} if step is None else {"step": step, "steps": steps or 0}
    return bool(held(claim).update(lease_until=now + lease(), **progress))


def settle(claim: Claim, *, number: int, seconds: float, now: datetime) -> None:
    """Pays what was owed; to be called inside the transaction that publishes fit `number`, which took `seconds`.

    Raises LostClaim.
    """
    pay(claim, seconds=seconds, now=now, published_fit=number, **NO_FAILURES)


def settle_but(claim: Claim, *, failing: dict[str, Any], seconds: float, now: datetime) -> None:
    """Pays what was owed to all criteria but the failing ones (EngineState.failing), which are tried again by
    themselves when their time comes. Raises LostClaim.
    """
    retry_at = min((datetime.fromisoformat(one["not_before"]) for one in failing.values()), default=None)
    pay(claim, seconds=seconds, now=now, failing=failing, retry_at=retry_at)


def pay(claim: Claim, *, seconds: float, now: datetime, **values: Any) -> None:
    free = FREE | {"not_before": now + rest_after(seconds)}
    changes = {"fitted": claim.version, "last_fit_at": now, "attempts": 0, "error": "", "error_at": None}
    if not held(claim).update(**changes, **values, **free):
        raise LostClaim(str(claim.project_id))


def failed_again(former: dict[str, Any] | None, *, estimator: str, message: str, now: datetime) -> dict[str, Any]:
    """What EngineState.failing keeps of a criterion whose fit has just failed, `former` being what it kept before."""
    attempts = (former or {}).get("attempts", 0) + 1
    return {
        "attempts": attempts,
        "error": message,
        "error_at": now.isoformat(),
        "not_before": (now + pause(attempts)).isoformat(),
        "estimator": estimator,
    }


def note_published(claim: Claim, *, number: int, now: datetime) -> None:
    """Says that fit `number` is out while those of the project's other criteria are still owed.

    To be called inside the transaction that publishes it. Raises LostClaim.
    """
    if not held(claim).update(published_fit=number, lease_until=now + lease()):
        raise LostClaim(str(claim.project_id))


NO_FAILURES: dict[str, Any] = {"failing": {}, "retry_at": None}
FREE: dict[str, Any] = {"owner": "", "lease_until": None, "not_before": None, "step": 0, "steps": 0}


def record_failure(claim: Claim, *, message: str, now: datetime) -> bool:
    """Gives the project back after a failed fit, to be tried again after a pause; False where the claim is lost."""
    changes = FREE | {"not_before": now + pause(claim.attempt), "error": message, "error_at": now}
    return bool(held(claim).update(**changes))


def give_back(claim: Claim) -> bool:
    """Lets another engine have the project at once: this one is asked to stop. It was no failure."""
    return bool(held(claim).update(**FREE | {"attempts": max(0, claim.attempt - 1)}))


def release_former(name: str) -> int:
    """Frees what an earlier process of this name had claimed; its supervisor knows that it is dead."""
    return EngineState.objects.filter(owner__startswith=f"{name}#").update(lease_until=None)


def heard_of(name: str, *, started_at: datetime, now: datetime, project_id: UUID | None = None) -> None:
    """Notes that the engine process is alive and what it is fitting; forgets those long silent."""
    values = {"started_at": started_at, "seen_at": now, "project_id": project_id}
    EngineProcess.objects.update_or_create(name=name, defaults=values)
    EngineProcess.objects.filter(seen_at__lt=now - FORGOTTEN_AFTER).delete()


def forget(name: str) -> None:
    EngineProcess.objects.filter(name=name).delete()


def alive(now: datetime) -> QuerySet[EngineProcess]:
    """Engine processes heard of within their lease."""
    return EngineProcess.objects.filter(seen_at__gte=now - lease())
