"""Computes the weighted total of the leaderboards of a project's criteria, as JSON beside that of the items.

{"leaderboard": {"why", "missing", "weights", "k", "converged", "has_contexts", "left_out", "rows"}}. why: empty where
there are rows, else missing (a criterion that counts has no leaderboard, by its number), few or failed. left_out: names
without a place in the largest part of each. A row: name, rank, rank_low, rank_high, score, score_low, score_high,
utility (the total, in logits), sd, p_first, p_top_k, n_contexts, n_labels (each of the criterion that has the fewest),
scores ([criterion, score] of those that count).
"""

import base64
import logging
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotate.criteria import Criterion, list_criteria
from annotate.fitting.arrays import from_bytes
from annotate.fitting.derived import rank_items
from annotate.fitting.stored_columns import NOT_STORED
from annotate.fitting.weights import weights_of
from annotate.models import Project
from models_engine.analysis.overall import weighted_total
from models_engine.models import Fit, Leaderboard
from models_engine.posterior import BasePosterior, GaussianPosterior

logger = logging.getLogger("annotate.worker")
MIN_COMPETITORS = 2
NO_BOARD = "no leaderboard"
FIGURES = ("rank", "rank_low", "rank_high", "score", "score_low", "score_high", "utility", "sd", "p_first")


@dataclass(frozen=True, eq=False)
class FittedBoard:
    """posterior: over the competitors in the order of the board's rows.   places: the number in that order of each
    competitor of the largest part, by name."""

    criterion: Criterion
    board: dict[str, Any]
    posterior: GaussianPosterior
    places: dict[str, int]

    def restrict(self, names: list[str]) -> BasePosterior:
        return self.posterior.restrict([self.places[name] for name in names])

    def row(self, name: str) -> dict[str, Any]:
        return dict(self.board["rows"][self.places[name]])


def compute_board_total(project: Project, fit: Fit) -> dict[str, Any]:
    """Return the details to add to those of the items' total, {} without competitors. `fit` is written but not yet
    published, and counts in place of the published fit of its criterion."""
    if not project.has_competitors:
        return {}
    try:
        return {"leaderboard": board_total(project, fit)}
    except Exception:  # the fit itself is sound, and is published without the total
        logger.exception("The weighted leaderboard of project %s failed.", project.pk)
        return {"leaderboard": {"why": "failed"}}


def board_total(project: Project, fit: Fit) -> dict[str, Any]:
    weights = weights_of(project)
    found, missing = [], {}
    for criterion in list_criteria(project):
        if weights[criterion.number - 1] > 0:
            board = load_board(criterion, fit)
            if isinstance(board, str):
                missing[str(criterion.number)] = board
            else:
                found.append(board)
    if missing:
        return {"why": "missing", "missing": missing}
    names = sorted(set.intersection(*(set(one.places) for one in found)))
    named = {name for one in found for name in [*(row["name"] for row in one.board["rows"]), *one.board["uncompared"]]}
    details = {
        "weights": weights,
        "k": project.top_k,
        "converged": all(one.board["converged"] for one in found),
        "has_contexts": any(one.board["has_contexts"] for one in found),
        "left_out": sorted(named - set(names)),
    }
    if len(names) < MIN_COMPETITORS:
        return details | {"why": "few"}
    return details | {"why": "", "rows": total_rows(project, fit, found, weights, names)}


def total_rows(
    project: Project, fit: Fit, found: list[FittedBoard], weights: list[float], names: list[str]
) -> list[dict[str, Any]]:
    """Return the rows, the best first."""
    counted = [weights[one.criterion.number - 1] for one in found]
    posteriors = [one.restrict(names) for one in found]
    total = weighted_total(posteriors, counted, rng=np.random.default_rng(fit.seed))
    n_labels = np.array([fewest(found, name, "n_labels") for name in names])
    columns = rank_items(fit, project, total.posterior, np.arange(len(names)), n_labels)
    rows = []
    for place, number in enumerate(columns["item_id"]):
        name = names[number]
        rows.append(
            {
                "name": name,
                **{figure: columns[figure][place] for figure in FIGURES},
                "p_top_k": columns["p_top"][place] if project.top_k < len(names) else None,
                "n_contexts": fewest(found, name, "n_contexts"),
                "n_labels": columns["n_comparisons"][place],
                "scores": [[one.criterion.number, one.row(name)["score"]] for one in found],
            }
        )
    return rows


def fewest(found: list[FittedBoard], name: str, count: str) -> int:
    return min(int(one.row(name)[count]) for one in found)


def load_board(criterion: Criterion, new: Fit) -> FittedBoard | str:
    """Return the leaderboard of the criterion with its posterior as it was stored; or why there is none."""
    boards = Leaderboard.objects.filter(fit__project_id=criterion.project.pk, fit__criterion=criterion.number)
    boards = boards.filter(fit=new) if criterion.number == new.criterion else boards.filter(fit__published=True)
    board = boards.values_list("board", flat=True).first()
    if board is None or board["problem"]:
        return NO_BOARD
    if "posterior" not in board:
        return NOT_STORED
    posterior = GaussianPosterior.from_arrays(from_bytes(base64.b64decode(board["posterior"])))
    places = {row["name"]: place for place, row in enumerate(board["rows"]) if row["part"] == 0}
    return FittedBoard(criterion, board, posterior, places)
