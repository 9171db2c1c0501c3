"""Fits the leaderboards of cohorts of annotators, drawn towards the whole board, as JSON.

{"problem", "converged", "has_contexts", "has_categories", "k", "style", "cohorts": [{"key", "n_annotators", "n_labels",
"rows", "equal"}]}; a cohort with too few answers has no rows. A row is one of the leaderboard with "effect", how much
better the competitor is there than elsewhere in logits, and "effect_sd". Where the project holds style equal, "style"
is {"features", "converged"} as in the leaderboard, from another fit in which a feature adds as much in every cohort,
and "equal" its rows; else None and [].
"""

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotate.criteria import Criterion
from annotate.fitting.leaderboard.computing import (
    evidence_of,
    problem_instead,
    ranked_rows,
    with_deadline,
    worths_of_features,
)
from annotate.fitting.leaderboard.reading import BoardData, read_board_data
from annotate.fitting.reading import Labels
from annotate.jobs.queues import Progress
from annotate.models import Project
from models_engine.data import Comparisons
from models_engine.errors import NotConverged
from models_engine.estimators.cohort_boards import fit_cohorts
from models_engine.estimators.competitor_posterior import CompetitorPosterior
from models_engine.estimators.competitors import Competitors

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Cohort:
    """key: as groupings name it; "" for everybody else.   members: primary keys of its annotators."""

    key: str
    members: Collection[int]


def cohort_boards(
    criterion: Criterion,
    labels: Labels,
    cohorts: Sequence[Cohort],
    progress: Progress,
    *,
    least_people: int,
    least_labels: int,
) -> dict[str, Any]:
    """Return the boards, {} where under two competitors are named. labels: those of people alone.

    Who is in several of the cohorts is in none. A cohort of fewer people or labels than the least gets no board, and
    what it says counts for the others as that of people without a cohort does.
    """
    found = read_board_data(criterion, labels) if criterion.project.has_competitors else None
    if found is None:
        return {}

    def computed() -> dict[str, Any]:
        number, sizes = number_annotators(found, labels.annotator_ids, cohorts, least_people, least_labels)
        return boards_json(criterion.project, found, cohorts, number, sizes, progress)

    return problem_instead(criterion.project, found, computed)


def number_annotators(
    found: BoardData, annotator_ids: Ints, cohorts: Sequence[Cohort], least_people: int, least_labels: int
) -> tuple[Ints, list[tuple[int, int]]]:
    """Return ((n_annotators,) the cohort of each, -1 for none; people and labels of each cohort)."""
    inside = np.array([np.isin(annotator_ids, list(one.members)) for one in cohorts]).reshape(len(cohorts), -1)
    inside &= inside.sum(axis=0) == 1
    number, sizes = np.full(len(annotator_ids), -1), []
    for at, own in enumerate(inside):
        labels = own[found.data.annotators]
        n_people, n_labels = len(np.unique(found.data.annotators[labels])), int(labels.sum())
        sizes.append((n_people, n_labels))
        if n_people >= least_people and n_labels >= least_labels:
            number[own] = at
    return number, sizes


def boards_json(
    project: Project,
    found: BoardData,
    cohorts: Sequence[Cohort],
    number: Ints,
    sizes: Sequence[tuple[int, int]],
    progress: Progress,
) -> dict[str, Any]:
    common: dict[str, Any] = {"problem": "", "has_contexts": found.has_contexts, "k": project.top_k}
    common["has_categories"] = bool(found.tags)
    posterior = equal = None
    if (number >= 0).any():
        until = with_deadline(progress)
        posterior = fitted(found.data, found, number, len(cohorts), until)
        if found.feature_names:
            styled = replace(found.data, item_features=found.features)
            equal = fitted(styled, found, number, len(cohorts), until)
    style = equal and {
        "features": worths_of_features(found, equal),
        "converged": equal.diagnostics.converged,
    }
    boards = [
        {
            "key": one.key,
            "n_annotators": n_people,
            "n_labels": n_labels,
            "rows": rows_of(project, found, posterior, number, at),
            "equal": rows_of(project, found, equal, number, at),
        }
        for at, (one, (n_people, n_labels)) in enumerate(zip(cohorts, sizes, strict=True))
    ]
    converged = posterior is None or posterior.diagnostics.converged
    return {**common, "converged": converged, "style": style, "cohorts": boards}


def fitted(
    data: Comparisons, found: BoardData, number: Ints, n_cohorts: int, progress: Progress
) -> CompetitorPosterior:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # the boards say it
        return fit_cohorts(Competitors(), data, found.table, number, n_cohorts=n_cohorts, progress=progress)


def rows_of(
    project: Project, found: BoardData, posterior: CompetitorPosterior | None, number: Ints, at: int
) -> list[dict[str, Any]]:
    data = found.data.subset(np.flatnonzero(number[found.data.annotators] == at))
    members = np.unique(found.table.competitor[data.n_comparisons() > 0])
    if posterior is None or len(members) < 2:
        return []
    rows, order = ranked_rows(project, posterior.for_tag(at), evidence_of(data, found), found.names, members)
    effects = posterior.effects
    return [
        row | {"effect": float(effects.tag_effects[at, own]), "effect_sd": float(effects.tag_effect_sds[at, own])}
        for row, own in zip(rows, order.tolist(), strict=True)
    ]
