"""Evaluates a project's goal by a fit, and counts comparisons between blocks of items, for the Progress page."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotate.fitting.estimates import LEVEL
from annotate.fitting.grades import grade_estimates, settled
from annotate.fitting.pausing import met_since
from annotate.fitting.reading import Labels
from annotate.labelling.plan.queries import plan_progress
from annotate.models import Project, Webhook
from annotate.models.goals import Goal
from annotate.webhooks.actions import enqueue_event
from models_engine.analysis.reliability import compute_separation
from models_engine.analysis.scores import common_unit
from models_engine.analysis.stopping import (
    PRIOR_SD,
    Forecast,
    forecast_labels_for_boundaries,
    forecast_labels_for_count,
    forecast_labels_for_places,
    forecast_labels_for_reliability,
    forecast_labels_for_top,
    forecast_labels_for_width,
    has_enough_history,
    mean_place_error,
)
from models_engine.models import Estimate, Fit
from models_engine.posterior import BasePosterior

MAX_BLOCKS = 20
MAX_SINGLE_BLOCKS = 24  # items up to which each is a block of its own
MAX_HISTORY = 20
MAX_TRIED = 12  # sizes of the top tried where that of the goal is out of reach
HALVINGS = 7  # of the way from the present state to a goal out of reach
# Goals of one ranking of all items, which parts that nothing connects do not have.
OF_ONE_RANKING = (Goal.TOP, Goal.RELIABILITY, Goal.PLACES, Goal.BOUNDARIES)


def evaluate_goal(
    project: Project,
    fit: Fit,
    labels: Labels,
    posterior: BasePosterior,
    rows: Sequence[Estimate],
    n_parts: int,
    unit: float,
) -> dict[str, Any] | None:
    """Returns whether the goal is met by the fit's rows, and the labels still needed; None without a goal.

    unit: what turns utilities into logits of an average person's answer: widths in them mean the same whichever the
    estimator.
    needed: [low, middle, high], null where nothing can be forecast; why: in a word, why not; reach, where it is "far":
    the nearest value of this goal that is within reach, None if there is none.
    """
    value = project.goal_value
    if not project.goal or value is None:
        return None
    kept: dict[str, Any] = {"kind": project.goal, "value": value, "needed": None, "why": ""}
    kept["met"], kept["state"] = goal_status(project, rows, n_parts, value, posterior, labels, unit)
    if kept["met"]:
        former = Fit.objects.filter(project_id=project.pk, criterion=fit.criterion, published=True).first()
        return kept | {"since": met_since(kept, former, labels.of_people.n_labels)}
    of_people = project.goal == Goal.COMPARISONS  # what machines answered is none of the comparisons that are asked
    compared = (labels.of_people if of_people else labels.data).n_comparisons()
    if project.goal in OF_ONE_RANKING and n_parts > 1:
        return kept | {"why": "parts"}
    judged = project.goal in (*OF_ONE_RANKING, Goal.WIDTH)
    if judged and not has_enough_history(label_history(fit, labels.of_people.n_labels), compared[labels.ranked]):
        return kept | {"why": "early"}

    def forecast_to(value: float) -> Forecast:
        return forecast_labels(project, value, labels, posterior, compared, rows, unit)

    forecast = forecast_to(value)
    if not forecast.is_known:
        return kept | {"why": "far", "reach": find_reachable(project, value, kept["state"], posterior, forecast_to)}
    return kept | {"needed": [round_up(forecast.low), round_up(forecast.middle), round_up(forecast.high)]}


def goal_status(
    project: Project,
    rows: Sequence[Estimate],
    n_parts: int,
    value: float,
    posterior: BasePosterior,
    labels: Labels,
    unit: float,
) -> tuple[bool, float | None]:
    """Returns whether the goal is met, and where it stands in its own measure; from the rows as they are shown."""
    if project.goal == Goal.PLAN:
        plan = plan_progress(project)
        return plan.is_done, plan.n_answers
    if project.goal == Goal.COMPARISONS:
        by_people = dict(zip(labels.item_ids.tolist(), labels.of_people.n_comparisons().tolist(), strict=True))
        fewest = min((by_people[row.item_id] for row in rows), default=None)
        return fewest is not None and fewest >= value, fewest
    if project.goal == Goal.WIDTH:
        if not rows:
            return False, None
        widest = unit * max(row.high - row.low for row in rows)
        return widest <= value, widest
    if project.goal in OF_ONE_RANKING and project.goal != Goal.TOP:
        met, state = one_ranking_status(project, rows, value, posterior, labels)
        return met and n_parts == 1, state
    edge = {row.rank: row.tier for row in rows if row.part == 0 and row.rank in (value, value + 1)}
    return n_parts == 1 and bool(rows) and (len(edge) < 2 or len(set(edge.values())) == 2), None


def one_ranking_status(
    project: Project, rows: Sequence[Estimate], value: float, posterior: BasePosterior, labels: Labels
) -> tuple[bool, float | None]:
    """Returns whether the goal is met in the largest part, and where it stands."""
    largest = next(labels.ranked_parts(), None)
    if largest is None or len(largest[1]) < 2:
        return False, None
    if project.goal == Goal.BOUNDARIES:
        return settled(grade_estimates(project, rows))
    if project.goal == Goal.RELIABILITY:
        own = [row for row in rows if row.part == 0]
        reached = compute_separation([row.utility for row in own], [row.sd for row in own])
        return reached >= value, reached if np.isfinite(reached) else None
    off = mean_place_error(posterior.restrict(largest[1]), rng=np.random.default_rng(0))
    return off <= value, off


def label_history(fit: Fit, n_labels: int) -> list[int]:
    """Returns the labels of the fits so far, oldest first; `fit`, with `n_labels`, comes last."""
    former = Fit.objects.filter(project_id=fit.project_id, criterion=fit.criterion, status=Fit.Status.DONE)
    counts = list(former.exclude(pk=fit.pk).order_by("-number").values_list("n_labels", flat=True)[:MAX_HISTORY])
    return [*counts[::-1], n_labels]


def forecast_labels(
    project: Project,
    value: float,
    labels: Labels,
    posterior: BasePosterior,
    compared: NDArray,
    rows: Sequence[Estimate],
    unit: float,
) -> Forecast:
    """Returns the labels needed until the project's kind of goal reaches the value."""
    ranked, n_labels = labels.ranked, labels.data.n_labels
    per_label = max(compared.sum() / n_labels, 1.0) if n_labels else float(project.k)
    prior_sd = float(getattr(posterior, "prior_sd", None) or PRIOR_SD)
    if project.goal == Goal.PLAN:
        left = float(plan_progress(project).n_left)
        return Forecast(left, left, left)
    if project.goal == Goal.COMPARISONS:
        return forecast_labels_for_count(compared[ranked], int(value), per_label=per_label)
    if project.goal == Goal.WIDTH:
        deviations = unit * posterior.standard_deviations()[ranked]
        return forecast_labels_for_width(
            deviations, compared[ranked], value, per_label=per_label, prior_sd=unit * prior_sd, level=LEVEL
        )
    rng = np.random.default_rng(0)
    own = posterior.restrict(np.flatnonzero(ranked))
    if project.goal == Goal.RELIABILITY:
        means, deviations = own.utilities(), own.standard_deviations()
        return forecast_labels_for_reliability(
            means, deviations, compared[ranked], value, per_label=per_label, prior_sd=prior_sd
        )
    if project.goal == Goal.PLACES:
        return forecast_labels_for_places(own, value, n_labels=n_labels, rng=rng, prior_sd=prior_sd)
    if project.goal == Goal.BOUNDARIES:
        graded = grade_estimates(project, rows)
        cuts = graded.cuts / common_unit(own) if graded else np.zeros(0)
        return forecast_labels_for_boundaries(own, cuts, n_labels=n_labels, rng=rng, prior_sd=prior_sd)
    return forecast_labels_for_top(own, int(value), n_labels=n_labels, rng=rng, prior_sd=prior_sd)


def find_reachable(
    project: Project,
    value: float,
    state: float | None,
    posterior: BasePosterior,
    forecast_to: Callable[[float], Forecast],
) -> float | None:
    """Returns the value nearest to the goal's that has a forecast: of the top its size; None where none is found."""
    if project.goal == Goal.TOP:
        others = [one for one in range(1, posterior.n_items) if one != value]
        nearest = sorted(others, key=lambda one: (abs(one - value), one))[:MAX_TRIED]
        return next((float(one) for one in nearest if forecast_to(one).is_known), None)
    if state is None or project.goal not in (Goal.WIDTH, Goal.RELIABILITY, Goal.PLACES):
        return None
    near, far = state, value  # within reach, out of reach
    for _halving in range(HALVINGS):
        middle = (near + far) / 2
        near, far = (middle, far) if forecast_to(middle).is_known else (near, middle)
    return near if abs(near - state) > abs(value - state) / 2**HALVINGS else None


def round_up(value: float) -> int | None:
    return int(np.ceil(value)) if np.isfinite(value) else None


def count_block_pairs(labels: Labels, posterior: BasePosterior) -> dict[str, Any] | None:
    """Return how often items of one block of the ranking were compared with those of another; blocks follow the
    consensus.

    sizes: items of each block, best first.   pairs: for each block, the comparisons with the blocks up to itself.
    """
    items = np.flatnonzero(labels.ranked)
    if len(items) < 2:
        return None
    order = items[np.argsort(-posterior.utilities()[items], kind="stable")]
    n_blocks = len(items) if len(items) <= MAX_SINGLE_BLOCKS else MAX_BLOCKS
    blocks = np.array_split(order, n_blocks)
    block = np.full(labels.data.n_items, -1)
    for number, members in enumerate(blocks):
        block[members] = number
    pairs = labels.data.pairs()
    left, right = block[pairs.left], block[pairs.right]
    both = (left >= 0) & (right >= 0)
    low, high = np.minimum(left, right)[both], np.maximum(left, right)[both]
    counts = np.bincount(high * n_blocks + low, minlength=n_blocks**2).reshape(n_blocks, n_blocks)
    return {
        "sizes": [len(members) for members in blocks],
        "pairs": [counts[row, : row + 1].tolist() for row in range(n_blocks)],
    }


def enqueue_goal_met(fit: Fit, former: Fit | None) -> None:
    """Enqueues the webhook event where this fit is the first to meet the goal as it stands."""
    goal = fit.diagnostics.get("goal") or {}
    before = (former.diagnostics.get("goal") or {}) if former else {}
    same = all(before.get(name) == goal.get(name) for name in ("kind", "value", "met"))
    if not goal.get("met") or same:
        return
    data = {"fit": fit.number, "goal": goal["kind"], "value": goal["value"], "n_labels": fit.n_labels}
    enqueue_event(
        project_id=fit.project_id, event=Webhook.Event.GOAL_MET, data=data, now=fit.finished_at or fit.started_at
    )
