"""Fits the leaderboard of competitors and turns it into the JSON that pages, API and exports read."""

import base64
import logging
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from django.utils.translation import gettext_noop
from numpy.typing import NDArray

from annotate.core.stored_messages import store_error, store_message
from annotate.criteria import Criterion
from annotate.fitting.arrays import to_bytes
from annotate.fitting.estimates import LEVEL, NEXT_STATES
from annotate.fitting.leaderboard.reading import BoardData, read_board_data
from annotate.fitting.reading import Labels
from annotate.jobs.limits import LimitCrossed
from annotate.jobs.queues import Progress
from annotate.models import Project
from models_engine.analysis.classes import rank_classes
from models_engine.analysis.scores import score_competitors
from models_engine.analysis.tiers import assign_tiers, classify_pairs
from models_engine.constants import Z90
from models_engine.data import Comparisons
from models_engine.errors import Cancelled, EngineError, NotConverged
from models_engine.estimators.competitor_posterior import CompetitorPosterior
from models_engine.estimators.competitor_table import Evidence, count_evidence
from models_engine.estimators.competitors import Competitors
from models_engine.models import Estimate, Fit, Leaderboard
from models_engine.posterior import BasePosterior

logger = logging.getLogger("annotate.worker")
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MAX_COMPETITORS = 200  # whose pairs are stored
MAX_SECONDS = 120
TOO_MANY = gettext_noop(
    "The items name %(n)d competitors; the limit is %(limit)d. Give the versions of one competitor the same name."
)
TOO_SLOW = gettext_noop(
    "The leaderboard took longer than %(limit)d seconds, so it was given up. The ranking is complete."
)
FAILED = gettext_noop("The leaderboard could not be computed from these answers. The ranking is complete.")
NOT_COMPARED = gettext_noop(
    "No two competitors have been compared yet. Items are compared within a context: give items of different "
    "competitors the same context."
)


class TooSlow(EngineError):
    """The leaderboard took more than MAX_SECONDS."""


def compute_leaderboard(
    criterion: Criterion, labels: Labels, former: Fit | None, progress: Progress
) -> dict[str, Any] | None:
    """Return the leaderboard as JSON, None where under two competitors are named; the former fit's where nothing that
    it depends on has changed. Where it can't be computed, it says why: the ranking never waits for it."""
    project = criterion.project
    if not project.has_competitors:
        return None
    found = read_board_data(criterion, labels)
    if found is None:
        return None
    digest = found.digest(project.top_k, project.tie_margin)
    before = Leaderboard.objects.filter(fit=former).first() if former else None
    if before and before.board.get("digest") == digest:
        return dict(before.board)
    return {"digest": digest, **fitted_or_problem(project, found, progress)}


def fitted_or_problem(project: Project, found: BoardData, progress: Progress) -> dict[str, Any]:
    return problem_instead(project, found, lambda: board_json(project, found, with_deadline(progress)))


def problem_instead(project: Project, found: BoardData, fitted: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what is fitted, or {"problem"}: why it can't be."""
    if len(found.names) < 2:
        return {"problem": store_message(NOT_COMPARED)}
    if len(found.names) > MAX_COMPETITORS:
        return {"problem": store_message(TOO_MANY, n=len(found.names), limit=MAX_COMPETITORS)}
    try:
        return fitted()
    except TooSlow:
        return {"problem": store_message(TOO_SLOW, limit=MAX_SECONDS)}
    except (Cancelled, LimitCrossed):
        raise
    except EngineError as error:
        return {"problem": store_error(error)}
    except (ArithmeticError, np.linalg.LinAlgError):
        logger.exception("The leaderboard of project %s failed.", project.pk)
        return {"problem": store_message(FAILED)}


def with_deadline(progress: Progress) -> Progress:
    """Return `progress` that raises TooSlow after MAX_SECONDS."""
    end = time.monotonic() + MAX_SECONDS

    def report(step: int, total: int, objective: float) -> bool:
        if time.monotonic() > end:
            raise TooSlow(f"more than {MAX_SECONDS} seconds.")
        return progress(step, total, objective)

    return report


def board_json(project: Project, found: BoardData, progress: Progress) -> dict[str, Any]:
    posterior = fit_board(found, None, progress)
    evidence = evidence_of(found.data, found)
    rows, order = ranked_rows(project, posterior, evidence, found.names)
    effects = posterior.effects
    return {
        "problem": "",
        "level": LEVEL,
        "k": project.top_k,
        "converged": posterior.diagnostics.converged,
        "has_contexts": found.has_contexts,
        "n_labels": int(found.data.n_labels),
        "n_left_out": found.n_left_out,
        "n_annotators": int((np.unique(found.data.annotators) < found.n_people).sum()),
        "n_careless": n_careless(found, posterior),
        "n_contexts": n_contexts(found),
        "n_parts": int(evidence.part.max()) + 1,
        "item_spread": list(map(float, effects.item_spread)),
        "taste_spread": [float(effects.taste[0]), float(effects.taste[1])],
        "rows": rows,
        "uncompared": found.uncompared,
        **pair_tables(posterior, evidence, order),
        "tags": [tag_json(project, found, posterior, tag) for tag in range(len(found.tags))],
        "style": style_json(project, found, evidence, progress),
        **(stored_posterior(posterior, order) if project.criteria else {}),
    }


def stored_posterior(posterior: CompetitorPosterior, order: Ints) -> dict[str, str]:
    """Return {"posterior"}: what the weighted total of criteria is drawn from, in the order of the rows."""
    arrays = posterior.over_contexts().restrict(order).to_arrays()
    return {"posterior": base64.b64encode(to_bytes(arrays)).decode("ascii")}


def fit_board(found: BoardData, features: Floats | None, progress: Progress) -> CompetitorPosterior:
    data = found.data if features is None else replace(found.data, item_features=features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # the board says it
        return Competitors().fit(data, found.table, progress=progress)


def evidence_of(data: Comparisons, found: BoardData) -> Evidence:
    """Return what the data say of each competitor; its annotators are people alone."""
    evidence, by_people = count_evidence(data, found.table), data.annotators < found.n_people
    if by_people.all():
        return evidence
    return replace(evidence, n_annotators=count_evidence(data.subset(by_people), found.table).n_annotators)


def n_careless(found: BoardData, posterior: CompetitorPosterior) -> int:
    """Return how many people more likely answer at random than not."""
    seen = np.unique(found.data.annotators)
    return int((posterior.effects.attentive[seen[seen < found.n_people]] < 0.5).sum())


def n_contexts(found: BoardData) -> int:
    compared = found.data.n_comparisons() > 0
    return len(np.unique(found.table.contexts_of(found.data)[compared]))


def ranked_rows(
    project: Project, posterior: CompetitorPosterior, evidence: Evidence, names: list[str], members: Ints | None = None
) -> tuple[list[dict[str, Any]], Ints]:
    """Return (rows, competitors in their order): best first within each connected part, the largest part first.

    members: the only competitors that get a place; all by default.
    """
    rows: list[dict[str, Any]] = []
    order: list[int] = []
    for part in range(int(evidence.part.max()) + 1):
        own = np.flatnonzero(evidence.part == part)
        own = own if members is None else np.intersect1d(own, members)
        if len(own):
            found = rows_of_part(project, posterior.restrict(own))
            places = [int(own[one["at"]]) for one in found]
            rows += [
                {"name": names[at], "part": part, **{k: v for k, v in one.items() if k != "at"}, **counts(evidence, at)}
                for one, at in zip(found, places, strict=True)
            ]
            order += places
    return rows, np.array(order, dtype=np.int64)


def counts(evidence: Evidence, at: int) -> dict[str, int]:
    columns = ("n_contexts", "n_items", "n_labels", "n_annotators")
    return {name: int(getattr(evidence, name)[at]) for name in columns}


def rows_of_part(project: Project, own: CompetitorPosterior) -> list[dict[str, Any]]:
    """Return the figures of a part's competitors, best first; "at": the number within the part."""
    base: BasePosterior = own
    mean, deviation = own.utilities(), own.standard_deviations()
    if not (np.isfinite(mean) & np.isfinite(deviation)).all():
        raise ArithmeticError("the leaderboard has a utility that is not finite.")
    ranks = own.rank_summary(LEVEL, project.top_k, rng=np.random.default_rng(0))
    order = np.argsort(ranks.rank)
    tier, classes, score = assign_tiers(base, order), rank_classes(base, ranks), score_competitors(own, LEVEL)
    states = classify_pairs(base, order[:-1], order[1:], margin=project.tie_margin)
    next_states = [NEXT_STATES[state].value for state in states.tolist()] + [Estimate.NextState.LAST.value]
    shows_top = project.top_k < len(order)
    return [
        {
            "at": at,
            "rank": int(ranks.rank[at]),
            "rank_low": int(ranks.low[at]),
            "rank_high": int(ranks.high[at]),
            "score": float(score.score[at]),
            "score_low": float(score.low[at]),
            "score_high": float(score.high[at]),
            "utility": float(mean[at]),
            "sd": float(deviation[at]),
            "low": float(mean[at] - Z90 * deviation[at]),
            "high": float(mean[at] + Z90 * deviation[at]),
            "p_top_k": float(ranks.p_top_k[at]) if shows_top else None,
            "tier": int(tier[place]),
            "rank_class": int(classes.number[at]),
            "highest_class": int(classes.highest[at]),
            "next_state": next_states[place],
        }
        for place, at in enumerate(order.tolist())
    ]


def pair_tables(posterior: CompetitorPosterior, evidence: Evidence, order: Ints) -> dict[str, Any]:
    """Return tables of all pairs in the order of the rows: wins and ties as seen; chances, None between parts."""
    every = np.arange(posterior.n_items)
    known = evidence.part[:, None] == evidence.part[None, :]

    def chances(table: Floats) -> list[list[float | None]]:
        shown = np.where(known, np.round(table, 4), np.nan)[np.ix_(order, order)]
        return [[None if np.isnan(one) else one for one in line] for line in shown.tolist()]

    def numbers(table: Floats) -> list[list[int]]:
        return [list(map(int, line)) for line in table[np.ix_(order, order)].tolist()]

    left, right = every[:, None], every[None, :]
    return {
        "wins": numbers(evidence.wins),
        "ties": numbers(evidence.ties),
        "better": chances(posterior.superiority(left, right)),
        "better_on_new": chances(posterior.better_on_new_context(left, right)),
        "expected": chances(posterior.expected_wins()),
    }


def tag_json(project: Project, found: BoardData, posterior: CompetitorPosterior, tag: int) -> dict[str, Any]:
    """Return a category's board: its contexts' answers with what the others lend it; no rows under two competitors."""
    table = found.table
    own = np.zeros(found.data.n_items, dtype=bool) if table.tag is None else table.tag == tag
    first = found.data.items[found.data.starts[:-1]]
    data = found.data.subset(own[first])
    compared = np.flatnonzero(data.n_comparisons() > 0)
    members = np.unique(table.competitor[compared])
    result: dict[str, Any] = {"name": found.tags[tag], "n_labels": int(data.n_labels), "rows": []}
    if len(members) < 2:
        return result
    evidence = evidence_of(data, found)
    rows, order = ranked_rows(project, posterior.for_tag(tag), evidence, found.names, members)
    effects = posterior.effects
    for row, at in zip(rows, order.tolist(), strict=True):
        row |= {"effect": float(effects.tag_effects[tag, at]), "effect_sd": float(effects.tag_effect_sds[tag, at])}
    return result | {"rows": rows}


def style_json(project: Project, found: BoardData, evidence: Evidence, progress: Progress) -> dict[str, Any] | None:
    """Return the board with the chosen features held equal, and what one standard deviation of each adds in logits."""
    if not found.feature_names:
        return None
    posterior = fit_board(found, found.features, progress)
    return {
        "features": worths_of_features(found, posterior),
        "converged": posterior.diagnostics.converged,
        "rows": ranked_rows(project, posterior, evidence, found.names)[0],
    }


def worths_of_features(found: BoardData, posterior: CompetitorPosterior) -> list[dict[str, Any]]:
    """Return what one standard deviation of each feature adds, in logits, with its interval."""
    spread = found.features[found.data.n_comparisons() > 0].std(axis=0)
    worth, deviation = posterior.effects.features * spread, posterior.effects.feature_sds * spread
    return [
        {"name": name, "worth": w, "low": w - Z90 * sd, "high": w + Z90 * sd, "spread": s}
        for name, w, sd, s in zip(found.feature_names, worth.tolist(), deviation.tolist(), spread.tolist(), strict=True)
    ]
