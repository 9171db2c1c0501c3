"""The bridge to the engine: a project's fit by each criterion, from label rows to published Fit and Estimate rows."""

import logging
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict
from datetime import datetime
from itertools import chain, islice
from typing import Any, TypeVar, cast

import numpy as np
from django.db import DatabaseError
from django.db.models import Max, Min, Model
from django.utils import timezone

from annotate import reconciler
from annotate.actions.webhooks import FITS_REST, tell
from annotate.criteria import each
from annotate.fitting_arrays import only_figures, pack, warm_start
from annotate.fitting_checks import checks
from annotate.fitting_choice import choose_for
from annotate.fitting_goal import coverage_of, goal_of, tell_goal
from annotate.fitting_rows import LEVEL, Labels, annotator_estimates, estimates, read_labels
from annotate.fitting_tastes import components_of
from annotate.flagging import tell_flags
from annotate.models import EngineState, Project, Webhook
from annotate.reconciler import Claim, LostClaim
from annotate.stored_words import in_words, stored
from annotate.writing import room_for_others, writing
from models_engine.errors import Cancelled, EngineError, NotConverged
from models_engine.estimators.base import Entry
from models_engine.estimators.choosing import AUTOMATIC
from models_engine.estimators.table import ESTIMATORS
from models_engine.models import AnnotatorEstimate, Estimate, Fit
from models_engine.posterior import BasePosterior

Progress = Callable[[int, int, float], bool]
Clock = Callable[[], datetime]
Row = TypeVar("Row", Estimate, AnnotatorEstimate)
TABLES: tuple[type[Model], ...] = (Estimate, AnnotatorEstimate)
logger = logging.getLogger("annotate.engine")
SEED = 0
# Rows written or deleted in one transaction: SQLite's one write lock is held for a few milliseconds each time.
CHUNK = 200
KEPT_FITS = 50
LONGEST_TRACE = 200


class UnknownEstimator(EngineError):
    def __init__(self, name: str) -> None:
        super().__init__(stored("no estimator", name=name, names=", ".join(ESTIMATORS)))


class CriterionFailed(EngineError):
    """One of several fits failed; what the others gave is published."""

    def __init__(self, project: Project, error: Exception) -> None:
        super().__init__(f"“{project.criterion_name}”: {in_words(words_of(error))}")


class Resting(EngineError):
    """Nothing was to be done: what is owed is owed to criteria that failed and are tried again later."""

    def __init__(self, project: Project) -> None:
        super().__init__(f"every criterion of {project.pk} that is owed a fit has failed and waits to be tried again.")


def words_of(error: Exception) -> str:
    return str(error) if isinstance(error, EngineError) else f"{type(error).__name__}: {error}"


def run(claim: Claim, *, progress: Progress, clock: Clock = timezone.now) -> Fit:
    """Fits the claimed project by each of its criteria and publishes every fit as it is done; gives back the last one.

    A criterion whose fit fails keeps neither the others from theirs nor the claim from being settled: it is tried again
    by itself, after pauses of its own, and they are not repeated then. CriterionFailed says so once all are done.

    `progress(step, total, objective)` hears of each step of the estimator, and of (0, 0, nan) between the stages after
    it; when it returns False, the fit is given up. Raises Cancelled then, LostClaim where another engine took over, and
    whatever the estimator raises; the fit published before then stays.
    """
    project = Project.objects.filter(pk=claim.project_id).first()
    if project is None:
        raise LostClaim(str(claim.project_id))
    if not project.criteria:
        return run_one(project, claim, progress, clock)
    return run_each(project, claim, progress, clock)


def run_each(project: Project, claim: Claim, progress: Progress, clock: Clock) -> Fit:
    """As run, for several criteria; one that failed is left alone until its time comes, however often others are."""
    watch, before = Stopwatch(), EngineState.objects.values_list("failing", flat=True).get(pk=project.pk)
    failing = {number: one for number, one in before.items() if int(number) <= len(project.criteria)}
    owed = [one for one in owing(project, claim) if not rests(one, failing, clock())]
    failures: list[CriterionFailed] = []
    fit = None
    for one in owed:
        number = str(one.criterion)
        try:
            others = failing.keys() - {number}
            fit = run_one(one, claim, progress, clock, settles=one is owed[-1] and not others)
        except (Cancelled, LostClaim, DatabaseError):
            raise
        except Exception as error:
            logger.exception("The fit by criterion %d of project %s failed.", one.criterion, project.pk)
            failures.append(CriterionFailed(one, error))
            failing[number] = reconciler.failed_again(
                failing.get(number), estimator=project.estimator, message=words_of(error), now=clock()
            )
        else:
            failing.pop(number, None)
    if failing or not owed:
        reconciler.settle_but(claim, failing=failing, seconds=watch.total, now=clock())
    if failures:
        raise failures[0]
    if fit is None:  # nothing was owed but to criteria that rest
        raise Resting(project)
    return fit


def rests(project: Project, failing: dict[str, Any], now: datetime) -> bool:
    """Whether the criterion has failed by this estimator and is not to be tried again yet."""
    one = failing.get(str(project.criterion))
    if one is None:
        return False
    return bool(one["estimator"] == project.estimator and datetime.fromisoformat(one["not_before"]) > now)


def owing(project: Project, claim: Claim) -> list[Project]:
    """The project by each criterion whose published fit has not seen this version of the labels."""
    seen = Fit.objects.filter(project_id=project.pk, published=True, data_version=claim.version)
    fitted = set(seen.values_list("criterion", flat=True))
    return [one for one in each(project) if one.criterion not in fitted]


def run_one(project: Project, claim: Claim, progress: Progress, clock: Clock, settles: bool = True) -> Fit:
    """The published fit by the criterion that the project is looked at by; the last one settles the claim."""
    former = Fit.objects.filter(project_id=project.pk, criterion=project.criterion, published=True).first()
    fit = begin(project, claim, clock())
    try:
        _fit_and_publish(fit, project, claim, former, progress, clock, settles)
    except (Cancelled, LostClaim):
        discard(fit)
        raise
    except Exception as error:
        Fit.objects.filter(pk=fit.pk).update(status=Fit.Status.FAILED, message=words_of(error), finished_at=clock())
        raise
    tidy(fit, former)
    tell_flags(project=project, since=former.started_at if former else None, now=clock())
    return fit


def begin(project: Project, claim: Claim, now: datetime) -> Fit:
    """The row of a new fit, its number one more than the project's last."""
    with writing():
        last = Fit.objects.filter(project_id=project.pk).aggregate(n=Max("number"))["n"] or 0
        return Fit.objects.create(
            project_id=project.pk,
            criterion=project.criterion,
            number=last + 1,
            estimator=project.estimator,
            seed=SEED,
            data_version=claim.version,
            started_at=now,
        )


def _fit_and_publish(
    fit: Fit, project: Project, claim: Claim, former: Fit | None, progress: Progress, clock: Clock, settles: bool
) -> None:
    watch = Stopwatch()
    automatic = project.estimator == AUTOMATIC
    if not automatic and project.estimator not in ESTIMATORS:
        raise UnknownEstimator(project.estimator)
    labels = read_labels(project)
    watch.lap("reading")
    if labels is None:
        fit.message = stored("no items")
    else:
        choice = choose_for(labels, former, fit.seed, progress) if automatic else None
        if choice is not None:
            fit.estimator = choice["estimator"]
            watch.lap("choosing")
        posterior = fit_posterior(fit, ESTIMATORS[fit.estimator], labels, former, progress)
        watch.lap("fitting")
        describe(fit, labels, posterior)
        fit.diagnostics |= {} if choice is None else {"choice": choice}
        write_rows(Estimate, chain.from_iterable(estimates(fit, project, labels, posterior)), progress)
        write_rows(AnnotatorEstimate, annotator_estimates(fit, labels, posterior), progress)
        fit.diagnostics |= {
            "goal": goal_of(project, fit, labels, posterior),
            "compared": coverage_of(labels, posterior),
        }
        watch.lap("estimates")
    fit.settings |= {"level": LEVEL, "top_k": project.top_k, "tie_margin": project.tie_margin}
    fit.diagnostics |= {"stages": watch.laps}
    fit.seconds, fit.finished_at = watch.total, clock()
    publish(fit, claim, former, settles)


def fit_posterior(fit: Fit, entry: Entry, labels: Labels, former: Fit | None, progress: Progress) -> BasePosterior:
    start = warm_start(former, entry, labels) if former and former.estimator == fit.estimator else None
    estimator = entry.estimator()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # the diagnostics say it, and the dashboard shows it
        posterior = estimator.fit(labels.data, start=start, rng=np.random.default_rng(fit.seed), progress=progress)
    fit.warm = start is not None
    fit.settings = asdict(cast(Any, estimator))  # every estimator is a frozen dataclass
    return posterior


def describe(fit: Fit, labels: Labels, posterior: BasePosterior) -> None:
    """What the fit was made of and how it went, into its row."""
    data, verdict = labels.data, posterior.diagnostics
    trace = np.asarray(verdict.objective, dtype=np.float64)
    if len(trace) > LONGEST_TRACE:
        trace = trace[np.linspace(0, len(trace) - 1, LONGEST_TRACE).round().astype(int)]
    fit.diagnostics = {
        "n_iterations": verdict.n_iterations,
        "seconds": verdict.seconds,
        "objective": [float(value) if np.isfinite(value) else None for value in trace],
    }
    fit.converged, fit.message = verdict.converged, verdict.message
    fit.n_labels, fit.n_items, fit.n_annotators = data.n_labels, data.n_items, data.n_annotators
    fit.n_parts = len(np.unique(labels.parts()[labels.ranked]))
    fit.data_hash = data.data_hash()
    fit.components = components_of(posterior)
    fit.diagnostics |= {"checks": checks(labels)}
    fit.arrays = pack(posterior, labels)


def go_on(progress: Progress) -> None:
    if progress(0, 0, float("nan")) is False:
        raise Cancelled("the engine was asked to stop, or lost the project to another.")


def write_rows(model: type[Row], rows: Iterable[Row], progress: Progress) -> None:
    source = iter(rows)
    while chunk := list(islice(source, CHUNK)):
        go_on(progress)
        with room_for_others():
            if not Fit.objects.select_for_update(no_key=True).filter(pk=chunk[0].fit_id).values("pk"):
                raise LostClaim(str(chunk[0].fit_id))
            model._default_manager.bulk_create(chunk)


def publish(fit: Fit, claim: Claim, former: Fit | None, settles: bool = True) -> None:
    """Shows the fit instead of the one before, all at once; the last of the project's fits settles the claim.

    Raises LostClaim, with nothing changed.
    """
    fit.status, fit.published = Fit.Status.DONE, False
    store(fit)
    now = fit.finished_at or timezone.now()
    with writing():
        if settles:
            reconciler.settle(claim, number=fit.number, seconds=fit.seconds or 0.0, now=now)
        else:
            reconciler.note_published(claim, number=fit.number, now=now)
        Fit.objects.filter(project_id=fit.project_id, criterion=fit.criterion, published=True).update(published=False)
        Fit.objects.filter(pk=fit.pk).update(published=True)
        tell_webhooks(fit)
        tell_goal(fit, former)
    fit.published = True


def store(fit: Fit) -> None:
    """Writes the row, which must be there still: a fit whose labels were erased meanwhile never comes back."""
    columns = [field.attname for field in Fit._meta.concrete_fields if not field.primary_key]
    if not Fit.objects.filter(pk=fit.pk).update(**{name: getattr(fit, name) for name in columns}):
        raise LostClaim(str(fit.project_id))


def tell_webhooks(fit: Fit) -> None:
    data = {
        "fit": fit.number,
        "criterion": fit.criterion,
        "estimator": fit.estimator,
        "n_labels": fit.n_labels,
        "n_items": fit.n_items,
        "converged": fit.converged,
    }
    tell(
        project_id=fit.project_id,
        event=Webhook.Event.FIT_PUBLISHED,
        data=data,
        now=timezone.now(),
        rest=FITS_REST,
    )


def discard(fit: Fit) -> None:
    """Forgets a fit that was given up."""
    delete_rows(fit.pk)
    Fit.objects.filter(pk=fit.pk).delete()


def tidy(fit: Fit, former: Fit | None) -> None:
    """Deletes what the new fit made superfluous: estimates older than the former fit's, arrays and fits past keeping.

    The former fit's estimates stay until the next, for pages that were being put together when this one came out.
    """
    kept = [fit.pk, former.pk] if former else [fit.pk]
    for model in TABLES:
        of_criterion = model._default_manager.filter(fit__project_id=fit.project_id, fit__criterion=fit.criterion)
        old = of_criterion.exclude(fit__in=kept)
        for pk in old.order_by().values_list("fit", flat=True).distinct():
            delete_rows(pk)
    if former and former.arrays:
        Fit.objects.filter(pk=former.pk).update(arrays=only_figures(bytes(former.arrays)))
    thin(fit)


def delete_rows(fit_id: int) -> None:
    for model in TABLES:
        rows = model._default_manager.filter(fit=fit_id)
        ends = rows.aggregate(first=Min("pk"), last=Max("pk"))
        for start in range(ends["first"] or 0, (ends["last"] or -1) + 1, CHUNK):
            with room_for_others():
                rows.filter(pk__gte=start, pk__lt=start + CHUNK).delete()


def thin(fit: Fit) -> None:
    """Of the fits before the last 50, keeps the last of each hour."""
    own = Fit.objects.filter(project_id=fit.project_id, criterion=fit.criterion, published=False).order_by("-number")
    seen, superfluous = set(), []
    for pk, started_at in own.values_list("pk", "started_at")[KEPT_FITS - 1 :]:
        hour = started_at.replace(minute=0, second=0, microsecond=0)
        if hour in seen:
            superfluous.append(pk)
        seen.add(hour)
    for start in range(0, len(superfluous), CHUNK):
        Fit.objects.filter(pk__in=superfluous[start : start + CHUNK]).delete()


class Stopwatch:
    """Seconds since it was made, by stage."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._started = self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name], self._last = round(now - self._last, 4), now

    @property
    def total(self) -> float:
        return time.perf_counter() - self._started
