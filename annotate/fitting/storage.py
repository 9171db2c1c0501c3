"""Writes a fit's result, publishes it, and deletes what it supersedes."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from django.utils import timezone

from annotate.core.transactions import write_transaction, yielding_write_transaction
from annotate.fitting import scheduling
from annotate.fitting.arrays import keep_utilities
from annotate.fitting.deletion import CHUNK, TABLES, delete_rows
from annotate.fitting.goal import enqueue_goal_met
from annotate.fitting.result import FitResult, Stopwatch
from annotate.fitting.scheduling import Claim
from annotate.jobs.queues import Progress
from annotate.locks import advisory_lock
from annotate.models import OVERALL, DerivedRanking, ProvisionalRanking, Webhook
from annotate.models.leased_jobs import LeaseLost
from annotate.webhooks.actions import FIT_EVENT_DELAY, enqueue_event
from models_engine.errors import Cancelled
from models_engine.models import AnnotatorEstimate, Estimate, Fit, Leaderboard

Clock = Callable[[], datetime]
Row = TypeVar("Row", Estimate, AnnotatorEstimate, Leaderboard)
MAX_FITS_KEPT = 50
SLOW_SECONDS = 0.5  # of a fit, from which newer answers are added in a quick step before the next (provisional_job)


def write_result(
    fit: Fit, result: FitResult, progress: Progress, watch: Stopwatch, clock: Callable[[], datetime]
) -> None:
    """Write the result: its rows, then the columns of `fit`, which must be there still.

    Nobody sees them before `publish`. Raises Cancelled where `progress` says so, and LeaseLost where the fit is gone: a
    fit whose labels were erased meanwhile never comes back.
    """
    write_rows(Estimate, result.estimates, progress)
    write_rows(AnnotatorEstimate, result.annotator_estimates, progress)
    if result.leaderboard is not None:
        write_rows(Leaderboard, [Leaderboard(fit=fit, board=result.leaderboard)], progress)
    watch.lap("writing")
    columns = result.columns() | {
        "diagnostics": result.diagnostics | {"stages": watch.laps},
        "seconds": watch.total,
        "finished_at": clock(),
        "status": Fit.Status.DONE,
    }
    for name, value in columns.items():
        setattr(fit, name, value)
    if not Fit.objects.filter(pk=fit.pk).update(**columns):
        raise LeaseLost(str(fit.project_id))


def write_rows(model: type[Row], rows: Sequence[Row], progress: Progress) -> None:
    for start in range(0, len(rows), CHUNK):
        chunk = rows[start : start + CHUNK]
        if progress(0, 0, float("nan")) is False:
            raise Cancelled("the worker was asked to stop, or lost the project to another.")
        with yielding_write_transaction():
            if not Fit.objects.select_for_update(no_key=True).filter(pk=chunk[0].fit_id).values("pk"):
                raise LeaseLost(str(chunk[0].fit_id))
            model._default_manager.bulk_create(chunk)


def publish(
    fit: Fit,
    claim: Claim,
    former: Fit | None,
    settles: bool = True,
    derived: Sequence[DerivedRanking] = (),
    last_label: int | None = None,
) -> None:
    """Publish the fit instead of the one before, at once, with what is derived from it; the last of the
    project's fits completes the claim.

    last_label: as FitResult has it. Raises LeaseLost, with nothing changed.
    """
    now = fit.finished_at or timezone.now()
    with write_transaction():
        advisory_lock(fit.project_id, shared=True)  # no webhook is removed between reading it and its message
        if settles:
            scheduling.complete(claim, number=fit.number, seconds=fit.seconds or 0.0, now=now)
        else:
            scheduling.record_published(claim, number=fit.number, now=now)
        Fit.objects.filter(project_id=fit.project_id, criterion=fit.criterion, published=True).update(published=False)
        Fit.objects.filter(pk=fit.pk).update(published=True)
        replace_derived(fit, derived)
        replace_provisional(fit, last_label)
        enqueue_fit_published(fit)
        enqueue_goal_met(fit, former)
    fit.published = True


def replace_derived(fit: Fit, derived: Sequence[DerivedRanking]) -> None:
    """Replace the project's rankings derived from fits by this criterion, and those of the total."""
    DerivedRanking.objects.filter(project=fit.project_id, criterion__in=[OVERALL, fit.criterion]).delete()
    DerivedRanking.objects.bulk_create(derived)


def replace_provisional(fit: Fit, last_label: int | None) -> None:
    """End the provisional ranking before this fit; where fits take long, another may be made of newer labels."""
    own = ProvisionalRanking.objects.filter(project=fit.project_id, criterion=fit.criterion)
    own.delete()
    if last_label is not None and (fit.seconds or 0.0) >= SLOW_SECONDS:
        ProvisionalRanking.objects.create(
            project_id=fit.project_id,
            criterion=fit.criterion,
            fit_number=fit.number,
            last_label=last_label,
            version=fit.data_version,
        )


def enqueue_fit_published(fit: Fit) -> None:
    data = {
        "fit": fit.number,
        "criterion": fit.criterion,
        "estimator": fit.estimator,
        "n_labels": fit.n_labels,
        "n_items": fit.n_items,
        "converged": fit.converged,
    }
    enqueue_event(
        project_id=fit.project_id,
        event=Webhook.Event.FIT_PUBLISHED,
        data=data,
        now=timezone.now(),
        delay=FIT_EVENT_DELAY,
    )


def delete_superseded(fit: Fit, former: Fit | None) -> None:
    """Delete what the new fit supersedes: estimates older than the former fit's, its arrays, and old fits.

    The former fit's estimates stay until the next, for pages that were being rendered when this one was published.
    """
    kept = [fit.pk, former.pk] if former else [fit.pk]
    for model in TABLES:
        of_criterion = model._default_manager.filter(fit__project_id=fit.project_id, fit__criterion=fit.criterion)
        old = of_criterion.exclude(fit__in=kept)
        for pk in old.order_by().values_list("fit", flat=True).distinct():
            delete_rows(pk)
    if former and former.arrays:
        Fit.objects.filter(pk=former.pk).update(arrays=keep_utilities(bytes(former.arrays)))
    thin_out_fits(fit)


def thin_out_fits(fit: Fit) -> None:
    """Delete, of the fits before the last 50, all but the last of each hour."""
    own = Fit.objects.filter(project_id=fit.project_id, criterion=fit.criterion, published=False).order_by("-number")
    seen, superfluous = set(), []
    for pk, started_at in own.values_list("pk", "started_at")[MAX_FITS_KEPT - 1 :]:
        hour = started_at.replace(minute=0, second=0, microsecond=0)
        if hour in seen:
            superfluous.append(pk)
        seen.add(hour)
    for start in range(0, len(superfluous), CHUNK):
        Fit.objects.filter(pk__in=superfluous[start : start + CHUNK]).delete()
