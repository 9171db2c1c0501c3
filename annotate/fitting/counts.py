"""Ranks a project by its counts: reads them in one query, fits CountFactorization and builds the result."""

import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotate.core.stored_messages import store_engine_message
from annotate.criteria import Criterion
from annotate.fitting.answers import Ints
from annotate.fitting.arrays import pack
from annotate.fitting.estimates import LEVEL, estimate_rows
from annotate.fitting.reading import RankedItems, number_by_first_use
from annotate.fitting.reliability import measure_separation
from annotate.fitting.result import FitResult, Stopwatch, finite_values, shorten_trace, unit_of, versions
from annotate.fitting.settling import measure_settling
from annotate.jobs.queues import Progress
from annotate.models import Count, Item, Project
from models_engine.errors import NotConverged
from models_engine.estimators.count_factorization import CountFactorization
from models_engine.estimators.count_posterior import CountPosterior
from models_engine.inference.counts.cells import CountCells
from models_engine.models import AnnotatorEstimate, Fit

ESTIMATOR = "CountFactorization"


@dataclass(frozen=True, eq=False)
class ReadCounts(RankedItems):
    """A project's counts, those of annotators who are excluded left out.

    item_ids (n_items,): every item that is not retired or was counted, ascending.   annotator_ids: by their first row.
    """

    data: CountCells


def read_counts(project: Project) -> ReadCounts | None:
    """Return the counts in one query, the items in another; None for a project without items.

    Raises InvalidData where the rows of one annotator and item add up to more than the engine takes.
    """
    rows = Count.objects.filter(project=project, annotator__excluded_at=None).order_by("pk")
    kinds = np.dtype([("item", np.int64), ("annotator", np.int64), ("count", np.int64), ("exposure", np.float64)])
    table = np.fromiter(rows.values_list("item_id", "annotator_id", "count", "exposure").iterator(20_000), dtype=kinds)
    items = Item.objects.filter(project=project).order_by("pk").values_list("pk", "retired_at")
    counted = set(np.unique(table["item"]).tolist())
    kept = [(pk, retired is None) for pk, retired in items if retired is None or pk in counted]
    if not kept:
        return None
    item_ids: Ints = np.array([pk for pk, _ranked in kept], dtype=np.int64)
    ranked: NDArray[np.bool_] = np.array([one for _pk, one in kept], dtype=bool)
    annotator_ids, annotators = number_by_first_use(table["annotator"])
    data = CountCells.from_rows(
        np.searchsorted(item_ids, table["item"]),
        annotators,
        table["count"],
        table["exposure"],
        n_items=len(item_ids),
        n_annotators=len(annotator_ids),
    )
    return ReadCounts(item_ids, ranked, annotator_ids, data)


def compute_count_result(
    fit: Fit, criterion: Criterion, former: Fit | None, progress: Progress, watch: Stopwatch
) -> FitResult:
    """Read the counts, fit them and build the result; writes nothing.

    Arguments and errors as of result.compute_result. There is no goal and nothing that is said of answers.
    """
    project = criterion.project
    counts = read_counts(project)
    watch.lap("reading")
    if counts is None:
        return FitResult.without_items(project)
    estimator = CountFactorization()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # the diagnostics say it
        posterior = estimator.fit(counts.data, progress=progress)
    watch.lap("fitting")
    found = result_of(fit, project, counts, posterior, asdict(estimator))
    watch.lap("estimates")
    figures = {"estimator": ESTIMATOR, "n_labels": found["n_labels"], "n_items": found["n_items"]}
    figures["n_parts"] = sum(1 for _part in counts.ranked_parts())
    settling = measure_settling(criterion, fit, found["arrays"], former, figures)
    watch.lap("settling")
    return FitResult(**found | {"diagnostics": found["diagnostics"] | {"settling": settling}})


def result_of(
    fit: Fit, project: Project, counts: ReadCounts, posterior: CountPosterior, settings: dict[str, Any]
) -> dict[str, Any]:
    """Return the fields of a FitResult."""
    diagnostics = posterior.diagnostics
    rows = tuple(row for part in estimate_rows(fit, project, counts, posterior) for row in part)
    n_counts = np.bincount(counts.data.annotators, minlength=len(counts.annotator_ids)).tolist()
    site = {"level": LEVEL, "top_k": project.top_k, "tie_margin": project.tie_margin}
    return {
        "estimator": ESTIMATOR,
        "settings": settings | site,
        "converged": diagnostics.converged,
        "message": store_engine_message(diagnostics.message),
        "n_labels": counts.data.n_cells,
        "n_items": counts.data.n_items,
        "n_annotators": len(counts.annotator_ids),
        "n_parts": len(np.unique(counts.parts()[counts.ranked])),
        "data_hash": counts.data.data_hash(),
        "unit": unit_of(posterior, counts),
        "arrays": pack(posterior, counts),
        "diagnostics": {
            "n_iterations": diagnostics.n_iterations,
            "seconds": diagnostics.seconds,
            "objective": shorten_trace(diagnostics.objective),
            "reliability": measure_separation(posterior, counts),
            "hyperparameters": finite_values(posterior.hyperparameters()),
            "versions": versions(),
        },
        "estimates": rows,
        "annotator_estimates": tuple(
            AnnotatorEstimate(fit=fit, annotator_id=annotator, n_labels=n)
            for annotator, n in zip(counts.annotator_ids.tolist(), n_counts, strict=True)
        ),
    }
