"""Brings moments that lie too far in the future back to now: the clock was set back after they were written.

Else nothing would be fitted until the clock has caught up.
"""

import logging
from datetime import datetime, timedelta

from annotate.fitting import scheduling
from annotate.jobs import idle
from annotate.models import (
    CohortComparison,
    Evaluation,
    FitState,
    ImportJob,
    LabelForecast,
    MachineReport,
    MeasuredSaving,
    PredictionGain,
    ProvisionalRanking,
    RunRecord,
    TasteMap,
    WebhookDelivery,
    WorkerProcess,
)
from annotate.models.leased_jobs import lease_duration
from annotate.webhooks.delivery import RETRY_PAUSES

logger = logging.getLogger("annotate.worker")
TOLERANCE = timedelta(seconds=5)  # clocks of several machines differ by less
LEASED = (
    *(FitState, LabelForecast, Evaluation, TasteMap, MeasuredSaving, PredictionGain, ProvisionalRanking),
    *(ImportJob, RunRecord, CohortComparison, MachineReport),
)


def clip_future_rows(now: datetime) -> int:
    """Clips what lies too far in the future and logs how many moments did; returns their number."""
    n = clip_leases(now) + clip_pauses(now) + clip_past_moments(now)
    if n:
        logger.warning("The clock went back: %d moments lay too far in the future and are counted from now on.", n)
    return n


def clip_leases(now: datetime) -> int:
    latest = now + lease_duration()
    return sum(
        model._default_manager.filter(lease_until__gt=latest + TOLERANCE).update(lease_until=latest) for model in LEASED
    )


def clip_pauses(now: datetime) -> int:
    """End pauses that are longer than any that is ever set."""
    fits = now + scheduling.MAX_RETRY_PAUSE + TOLERANCE
    idle_jobs = now + idle.MAX_RETRY_PAUSE + TOLERANCE
    n = FitState.objects.filter(not_before__gt=fits).update(not_before=now)
    n += clip_failing_criteria(now, fits)
    for model in (LabelForecast, Evaluation, TasteMap, MeasuredSaving, PredictionGain, ProvisionalRanking):
        n += model._default_manager.filter(not_before__gt=idle_jobs).update(not_before=now)
    late = WebhookDelivery.objects.filter(not_before__gt=now + RETRY_PAUSES[-1] + TOLERANCE)
    return n + late.filter(state=WebhookDelivery.State.WAITING).update(not_before=now)


def clip_failing_criteria(now: datetime, latest: datetime) -> int:
    n = 0
    for state in FitState.objects.filter(retry_at__gt=latest):
        failing = {number: one | {"not_before": now.isoformat()} for number, one in state.failing.items()}
        n += FitState.objects.filter(pk=state.pk, retry_at=state.retry_at).update(failing=failing, retry_at=now)
    return n


def clip_past_moments(now: datetime) -> int:
    """Set what has happened already to now at the latest."""
    n = FitState.objects.filter(last_fit_at__gt=now + TOLERANCE).update(last_fit_at=now)
    n += Evaluation.objects.filter(due_since__gt=now + TOLERANCE).update(due_since=now)
    n += LabelForecast.objects.filter(as_of__gt=now + TOLERANCE).update(as_of=now, next_at=now)
    return n + WorkerProcess.objects.filter(seen_at__gt=now + TOLERANCE).update(seen_at=now)
