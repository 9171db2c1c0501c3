"""Fits a project by each of its criteria and publishes the fits: what a worker runs for one claim."""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import DatabaseError
from django.db.models import Max
from django.utils import timezone

from annotate.core.stored_messages import store_error
from annotate.core.transactions import write_transaction
from annotate.criteria import Criterion, list_criteria
from annotate.fitting import scheduling
from annotate.fitting.answers import Ints
from annotate.fitting.automatic import needs_quick_fit
from annotate.fitting.counts import compute_count_result
from annotate.fitting.deletion import delete_fit
from annotate.fitting.full import notify_when_full
from annotate.fitting.overall import compute_overall, load_criterion
from annotate.fitting.pausing import pause_at_goal
from annotate.fitting.result import Stopwatch, compute_result
from annotate.fitting.scheduling import Claim, NothingDue
from annotate.fitting.storage import Clock, delete_superseded, publish, write_result
from annotate.fitting.suggestions import write_suggestions
from annotate.fitting.tracks import compute_tracks
from annotate.jobs.limits import LimitCrossed, named_error
from annotate.jobs.queues import Progress
from annotate.models import DerivedRanking, FitState, Project
from annotate.models.leased_jobs import LeaseLost
from annotate.quality.flags.notices import notify_new_flags
from models_engine.errors import Cancelled, EngineError
from models_engine.messages import Message, gettext_noop
from models_engine.models import Fit
from models_engine.posterior import BasePosterior

logger = logging.getLogger("annotate.worker")
SEED = 0


class CriterionFailed(EngineError):
    """One of several fits failed; what the others gave is published."""

    def __init__(self, criterion: Criterion, error: Exception) -> None:
        super().__init__(Message.of(gettext_noop("“%(name)s”: %(text)s"), name=criterion.name, text=store_error(error)))


def run(claim: Claim, *, progress: Progress, clock: Clock = timezone.now) -> Fit:
    """Fits the claimed project by each of its criteria, publishes every fit as it is done, and returns the last one.

    A criterion whose fit fails keeps neither the others from theirs nor the claim from being completed: it is retried
    by itself, after pauses of its own, and they are not repeated then. CriterionFailed is raised once all are done.

    `progress(step, total, objective)` is called at each step of the estimator, and with (0, 0, nan) between the stages
    after it; when it returns False, the fit is given up. Raises Cancelled then, LeaseLost where another worker took
    over, and whatever the estimator raises; the fit published before then stays.
    """
    project = Project.objects.filter(pk=claim.project_id).first()
    if project is None:
        raise LeaseLost(str(claim.project_id))
    if not project.criteria:
        return fit_criterion(Criterion(project), claim, progress, clock)
    return fit_criteria(project, claim, progress, clock)


def fit_criteria(project: Project, claim: Claim, progress: Progress, clock: Clock) -> Fit:
    """Run the fits of several criteria; one that failed is left out until its retry is due."""
    watch, before = Stopwatch(), FitState.objects.values_list("failing", flat=True).get(pk=project.pk)
    failing = {number: one for number, one in before.items() if int(number) <= len(project.criteria)}
    due = [one for one in outdated_criteria(project, claim) if not waits_for_retry(one, failing, clock(), claim)]
    failures: list[CriterionFailed] = []
    fit = None
    for criterion in due:
        number = str(criterion.number)
        try:
            others = failing.keys() - {number}
            fit = fit_criterion(criterion, claim, progress, clock, settles=criterion is due[-1] and not others)
        except (Cancelled, LeaseLost, LimitCrossed, DatabaseError):
            raise
        except Exception as error:
            logger.exception("The fit by criterion %d of project %s failed.", criterion.number, project.pk)
            failures.append(CriterionFailed(criterion, error))
            failing[number] = scheduling.next_failure(
                failing.get(number), estimator=project.estimator, message=store_error(error), now=clock()
            )
        else:
            failing.pop(number, None)
    if failing or not due:
        scheduling.complete_except(claim, failing=failing, seconds=watch.total, now=clock())
    if failures:
        raise failures[0]
    if fit is None:  # every criterion waits to be retried
        raise NothingDue(project)
    return fit


def waits_for_retry(criterion: Criterion, failing: dict[str, Any], now: datetime, claim: Claim) -> bool:
    """Tells whether the criterion failed by this estimator and its retry is not due yet, or given up for these data."""
    one = failing.get(str(criterion.number))
    if one is None or one["estimator"] != criterion.project.estimator:
        return False
    return one.get("given_up") == claim.version or datetime.fromisoformat(one["not_before"]) > now


def outdated_criteria(project: Project, claim: Claim) -> list[Criterion]:
    """Return each criterion whose published fit has not seen this version of the labels."""
    seen = Fit.objects.filter(project_id=project.pk, published=True, data_version=claim.version).defer("arrays")
    fitted = {fit.criterion for fit in seen if not fit.diagnostics.get("choosing")}
    return [one for one in list_criteria(project) if one.number not in fitted]


def fit_criterion(criterion: Criterion, claim: Claim, progress: Progress, clock: Clock, settles: bool = True) -> Fit:
    """Fits and publishes one criterion; the last one completes the claim. Where the estimator is to be chosen first, a
    quick fit is published before.
    """
    former = Fit.objects.filter(project_id=criterion.project.pk, criterion=criterion.number, published=True).first()
    if not criterion.project.ranks_counts and needs_quick_fit(criterion, former):
        former = try_quick_fit(criterion, claim, former, progress, clock) or former
    return fit_and_publish(criterion, claim, former, progress, clock, settles)


def try_quick_fit(
    criterion: Criterion, claim: Claim, former: Fit | None, progress: Progress, clock: Clock
) -> Fit | None:
    """Publish a fit by the estimator chosen last; None where it fails, which the choice goes on without."""
    try:
        return fit_and_publish(criterion, claim, former, progress, clock, settles=False, quick=True)
    except (Cancelled, LeaseLost, LimitCrossed, DatabaseError):
        raise
    except Exception:
        logger.exception("The quick fit of project %s failed.", criterion.project.pk)
        return None


def fit_and_publish(
    criterion: Criterion,
    claim: Claim,
    former: Fit | None,
    progress: Progress,
    clock: Clock,
    settles: bool,
    quick: bool = False,
) -> Fit:
    """Compute, write and publish one fit, in place of the former one."""
    fit = create_fit(criterion, claim, clock())
    watch = Stopwatch()
    try:
        if criterion.project.ranks_counts:
            result = compute_count_result(fit, criterion, former, progress, watch)
        else:
            result = compute_result(fit, criterion, former, progress, watch, quick)
        write_result(fit, result, progress, watch, clock)
        publish(fit, claim, former, settles, derived_rankings(criterion, fit, clock()), result.last_label)
    except (Cancelled, LeaseLost):
        delete_fit(fit)
        raise
    except Exception as error:
        named = named_error(error)
        Fit.objects.filter(pk=fit.pk).update(status=Fit.Status.FAILED, message=store_error(named), finished_at=clock())
        raise named from error
    write_suggestions(criterion, fit)
    if not pause_at_goal(fit, clock()):
        notify_when_full(criterion.project, clock())
    delete_superseded(fit, former)
    notify_new_flags(project=criterion.project, since=former.started_at if former else None, now=clock())
    return fit


def derived_rankings(criterion: Criterion, fit: Fit, now: datetime) -> list[DerivedRanking]:
    """Return the rankings that follow from the fit, not yet stored: its tracks, the weighted total and its tracks."""

    def load() -> Callable[[Ints], BasePosterior] | None:
        fitted = load_criterion(criterion, fit)
        return None if isinstance(fitted, str) else fitted.restrict

    return [*compute_tracks(criterion, fit, load, now), *compute_overall(criterion.project, fit, now)]


def create_fit(criterion: Criterion, claim: Claim, now: datetime) -> Fit:
    """Create the row of a new fit, its number one more than the last that the project ever had."""
    project = criterion.project
    with write_transaction():
        last = Fit.objects.filter(project_id=project.pk).aggregate(n=Max("number"))["n"] or 0
        erased = FitState.objects.values_list("erased_fit", flat=True).get(project=project)
        return Fit.objects.create(
            project_id=project.pk,
            criterion=criterion.number,
            number=max(last, erased) + 1,
            estimator=project.estimator,
            seed=SEED,
            data_version=claim.version,
            started_at=now,
        )
