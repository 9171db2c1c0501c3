"""Computes everything that a fit says as one immutable result, before anything of it is written."""

import time
import warnings
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self, cast

import numpy as np
from django.utils.translation import gettext_noop

from annotate.core.stored_messages import store_engine_message, store_message
from annotate.criteria import Criterion
from annotate.fitting.arrays import pack, warm_start
from annotate.fitting.automatic import choose_estimator, last_choice, quick_estimator
from annotate.fitting.best_worst_counts import count_best_worst
from annotate.fitting.cluster import fit_on_cluster
from annotate.fitting.estimates import LEVEL, annotator_estimate_rows, estimate_rows
from annotate.fitting.goal import count_block_pairs, evaluate_goal
from annotate.fitting.label_checks import check_labels
from annotate.fitting.leaderboard.computing import compute_leaderboard
from annotate.fitting.machines import counts_machines, machines_in_fit
from annotate.fitting.misfit import flagged_json, measure_misfit
from annotate.fitting.predictions import PredictedItems, predict_places
from annotate.fitting.reading import Labels, RankedItems, last_label_of, read_labels
from annotate.fitting.reliability import measure_separation
from annotate.fitting.settling import measure_settling
from annotate.fitting.tastes import components_of
from annotate.fitting.undecided import Undecided, measure_undecided, undecided_arrays, undecided_json
from annotate.jobs.queues import Progress
from annotate.models import Project
from models_engine.analysis.scores import common_unit
from models_engine.errors import EngineError, NotConverged
from models_engine.estimators.base import EstimatorEntry
from models_engine.estimators.choosing import AUTOMATIC
from models_engine.estimators.table import ESTIMATORS
from models_engine.io.environment import describe_environment
from models_engine.models import AnnotatorEstimate, Estimate, Fit
from models_engine.posterior import BasePosterior

MAX_TRACE_LENGTH = 200
NO_ITEMS = gettext_noop("There are no items yet.")
NO_ESTIMATOR = gettext_noop(
    "There is no estimator called “%(name)s”. Choose one of %(names)s in the project's settings."
)


class UnknownEstimator(EngineError):
    def __init__(self, name: str) -> None:
        super().__init__(store_message(NO_ESTIMATOR, name=name, names=", ".join(ESTIMATORS)))


class Stopwatch:
    """Measures seconds since it was made, by stage."""

    def __init__(self) -> None:
        self.started = self.last = time.perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.laps[stage], self.last = round(now - self.last, 4), now

    @property
    def total(self) -> float:
        return time.perf_counter() - self.started


def unit_of(posterior: BasePosterior, labels: RankedItems) -> float | None:
    """Return what turns utilities of the largest part into logits of an average answer, None where none is ranked."""
    largest = next(labels.ranked_parts(), None)
    return common_unit(posterior.restrict(largest[1])) if largest else None


@dataclass(frozen=True, eq=False)
class FitResult:
    """What a fit says: columns of its Fit, and its rows of Estimate and AnnotatorEstimate, not yet stored."""

    estimator: str
    settings: dict[str, Any]
    converged: bool | None = None
    message: str = ""
    warm: bool = False
    n_labels: int = 0
    n_items: int = 0
    n_annotators: int = 0
    n_parts: int = 0
    data_hash: str = ""
    unit: float | None = None
    components: dict[str, Any] | None = None
    arrays: bytes | None = None
    diagnostics: dict[str, Any] = field(default_factory=dict)
    estimates: tuple[Estimate, ...] = ()
    annotator_estimates: tuple[AnnotatorEstimate, ...] = ()
    leaderboard: dict[str, Any] | None = None
    last_label: int | None = None  # the key of the last label that may be in it; None where nothing may follow it

    ROWS = ("estimates", "annotator_estimates", "leaderboard", "last_label")

    def columns(self) -> dict[str, Any]:
        """Return the values of the Fit's columns."""
        return {name: value for name, value in vars(self).items() if name not in self.ROWS}

    @classmethod
    def without_items(cls, project: Project) -> Self:
        return cls(project.estimator, site_settings(project), message=store_message(NO_ITEMS))

    @classmethod
    def of_posterior(
        cls,
        fit: Fit,
        project: Project,
        labels: Labels,
        fitted: "FittedPosterior",
        choice: dict[str, Any] | None,
        choosing: bool = False,
        undecided: Undecided | None = None,
        predicted: PredictedItems | None = None,
    ) -> Self:
        """Build the result of `fit`, the row that its estimates refer to."""
        posterior, diagnostics = fitted.posterior, fitted.posterior.diagnostics
        figures = None if predicted is None else predicted.figures
        rows = tuple(row for part in estimate_rows(fit, project, labels, posterior, figures) for row in part)
        misfit = measure_misfit(posterior, labels)
        of_all = annotator_estimate_rows(fit, labels, posterior)
        of_people, of_machines = of_all[: labels.n_people], of_all[labels.n_people :]
        n_parts = len(np.unique(labels.parts()[labels.ranked]))
        unit = unit_of(posterior, labels)
        return cls(
            estimator=fitted.name,
            settings=fitted.settings | site_settings(project),
            converged=diagnostics.converged,
            message=store_engine_message(diagnostics.message),
            warm=fitted.warm,
            n_labels=labels.of_people.n_labels,
            n_items=labels.data.n_items,
            n_annotators=labels.n_people,
            n_parts=n_parts,
            data_hash=labels.data.data_hash(),
            unit=unit,
            components=components_of(posterior),
            arrays=pack(posterior, labels, misfit, count_best_worst(project, labels) | undecided_arrays(undecided)),
            diagnostics={
                "n_iterations": diagnostics.n_iterations,
                "seconds": diagnostics.seconds,
                "objective": shorten_trace(diagnostics.objective),
                "checks": check_labels(labels),
                "goal": evaluate_goal(
                    project, fit, labels, fitted.name, posterior, rows, n_parts, 1.0 if unit is None else unit
                ),
                "reliability": measure_separation(posterior, labels),
                "misfit": flagged_json(misfit, labels),
                "undecided": undecided_json(undecided, labels),
                "compared": count_block_pairs(labels, posterior),
                "hyperparameters": finite_values(posterior.hyperparameters()),
                "versions": versions(),
                **(
                    {"machines": machines_in_fit(of_machines, labels.machine_shares.tolist())}
                    if counts_machines(project)
                    else {}
                ),
                **({} if choice is None else {"choice": choice}),
                **({} if predicted is None else {"predicted": predicted.diagnostics()}),
                **({"choosing": True} if choosing else {}),
                **fitted.where,
            },
            estimates=rows,
            annotator_estimates=tuple(of_people),
        )


@dataclass(frozen=True, eq=False)
class FittedPosterior:
    """A posterior with the estimator that gave it; warm: whether it started from the former fit's; where: as
    `fit_on_cluster` tells it, of the fit or else of the choice of the estimator."""

    name: str
    settings: dict[str, Any]
    posterior: BasePosterior
    warm: bool
    where: dict[str, Any]


def compute_result(
    fit: Fit, criterion: Criterion, former: Fit | None, progress: Progress, watch: Stopwatch, quick: bool = False
) -> FitResult:
    """Read the labels, fit the project's estimator and build the result; write nothing.

    `fit` is the row that the result's estimates refer to.   `former`: the published fit, to start from.
    quick: of a project that chooses its estimator, by the one it chose last, without choosing.
    Raises what the estimator raises, Cancelled and UnknownEstimator.
    """
    project = criterion.project
    automatic = project.estimator == AUTOMATIC
    if not automatic and project.estimator not in ESTIMATORS:
        raise UnknownEstimator(project.estimator)
    last_label = last_label_of(project)
    labels = read_labels(criterion, up_to=last_label)
    watch.lap("reading")
    if labels is None:
        return FitResult.without_items(project)
    where: dict[str, Any] = {}
    if quick:
        name, choice = quick_estimator(former), last_choice(former)
    elif automatic:
        choice, where = choose_estimator(labels, former, fit.seed, progress)
        name = choice["estimator"]
        watch.lap("choosing")
    else:
        name, choice = project.estimator, None
    fitted = fit_posterior(name, labels, former, fit.seed, progress)
    fitted = replace(fitted, where=where | fitted.where)
    watch.lap("fitting")
    undecided = measure_undecided(criterion, labels)
    watch.lap("undecided")
    predicted = predict_places(criterion, fit, labels, fitted.posterior)
    result = FitResult.of_posterior(
        fit, project, labels, fitted, choice, choosing=quick, undecided=undecided, predicted=predicted
    )
    watch.lap("estimates")
    figures = {name: getattr(result, name) for name in ("estimator", "n_labels", "n_items")}
    figures["n_parts"] = sum(1 for _part in labels.ranked_parts())
    settling = measure_settling(criterion, fit, result.arrays, former, figures)
    watch.lap("settling")
    leaderboard = compute_leaderboard(criterion, labels, former, progress)
    if leaderboard is not None:
        watch.lap("leaderboard")
    diagnostics = result.diagnostics | {"settling": settling}
    return replace(result, leaderboard=leaderboard, diagnostics=diagnostics, last_label=last_label)


def fit_posterior(name: str, labels: Labels, former: Fit | None, seed: int, progress: Progress) -> FittedPosterior:
    entry: EstimatorEntry = ESTIMATORS[name]
    start = warm_start(former, entry, labels) if former and former.estimator == name else None
    estimator = entry.estimator()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # the diagnostics say it, and the dashboard shows it
        posterior, where = fit_on_cluster(
            lambda: estimator.fit(labels.data, start=start, rng=np.random.default_rng(seed), progress=progress)
        )
    settings = asdict(cast(Any, estimator))  # every estimator is a frozen dataclass
    return FittedPosterior(name, settings, posterior, warm=start is not None, where=where)


def versions() -> dict[str, str]:
    """Return the versions that figures depend on."""
    here = describe_environment()
    return {name: str(here[name]) for name in ("crowdrank", "python", "numpy", "scipy")}


def finite_values(values: dict[str, float]) -> dict[str, float]:
    """Return those that JSON has a number for."""
    return {name: value for name, value in values.items() if np.isfinite(value)}


def site_settings(project: Project) -> dict[str, Any]:
    counted = {"count_machines": True} if counts_machines(project) else {}
    return {"level": LEVEL, "top_k": project.top_k, "tie_margin": project.tie_margin, **counted}


def shorten_trace(objective: Any) -> list[float | None]:
    """Return at most MAX_TRACE_LENGTH values of the objective; None for what is not finite, as JSON has it."""
    trace = np.asarray(objective, dtype=np.float64)
    if len(trace) > MAX_TRACE_LENGTH:
        trace = trace[np.linspace(0, len(trace) - 1, MAX_TRACE_LENGTH).round().astype(int)]
    return [float(value) if np.isfinite(value) else None for value in trace]
