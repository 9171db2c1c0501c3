"""What a fit says of the project's goal, and which items were compared how often: kept for the Progress page."""

from typing import Any

import numpy as np
from django.db.models import F, Max, Min
from numpy.typing import NDArray

from annotate.actions.webhooks import tell
from annotate.fitting_rows import LEVEL, Labels
from annotate.models import Project, Webhook
from annotate.models.goals import Goal
from annotate.queries.plan import plan_of
from models_engine.models import Estimate, Fit
from models_engine.posterior import BasePosterior
from models_engine.stopping import (
    PRIOR_SD,
    Forecast,
    enough_history,
    labels_for_count,
    labels_for_top,
    labels_for_width,
)

MOST_BLOCKS = 20
MOST_SINGLE = 24  # items up to which each is a block of its own
HISTORY = 20


def goal_of(project: Project, fit: Fit, labels: Labels, posterior: BasePosterior) -> dict[str, Any] | None:
    """Whether the goal is met by the fit's rows, and the labels still needed; None without a goal.

    needed: [low, middle, high], null where nothing can be forecast; why: in a word, why not.
    """
    value = project.goal_value
    if not project.goal or value is None:
        return None
    kept: dict[str, Any] = {"kind": project.goal, "value": value, "needed": None, "why": ""}
    kept["met"], kept["state"] = reached(project, fit, value)
    if kept["met"]:
        return kept
    compared = labels.data.n_comparisons()
    if project.goal == Goal.TOP and fit.n_parts > 1:
        return kept | {"why": "parts"}
    judged = project.goal in (Goal.TOP, Goal.WIDTH)
    if judged and not enough_history(history(fit), compared[labels.ranked]):
        return kept | {"why": "early"}
    forecast = forecast_of(project, labels, posterior, compared)
    if not forecast.is_known:
        return kept | {"why": "far"}
    return kept | {"needed": [whole(forecast.low), whole(forecast.middle), whole(forecast.high)]}


def reached(project: Project, fit: Fit, value: float) -> tuple[bool, float | None]:
    """Whether the goal is met, and where it stands in its own measure; from the fit's rows as they are shown."""
    rows = Estimate.objects.filter(fit=fit)
    if project.goal == Goal.PLAN:
        plan = plan_of(project)
        return plan.is_done, plan.n_answers
    if project.goal == Goal.COMPARISONS:
        fewest = rows.aggregate(fewest=Min("n_comparisons"))["fewest"]
        return fewest is not None and fewest >= value, fewest
    if project.goal == Goal.WIDTH:
        widest = rows.aggregate(widest=Max(F("high") - F("low")))["widest"]
        return widest is not None and widest <= value, widest
    edge = list(rows.filter(part=0, rank__in=[value, value + 1]).order_by("rank").values_list("tier", flat=True))
    return fit.n_parts == 1 and fit.n_items > 0 and (len(edge) < 2 or edge[0] != edge[1]), None


def history(fit: Fit) -> list[int]:
    """Labels of the fits so far, oldest first, this one last."""
    former = Fit.objects.filter(project_id=fit.project_id, criterion=fit.criterion, status=Fit.Status.DONE)
    counts = list(former.exclude(pk=fit.pk).order_by("-number").values_list("n_labels", flat=True)[:HISTORY])
    return [*counts[::-1], fit.n_labels]


def forecast_of(project: Project, labels: Labels, posterior: BasePosterior, compared: NDArray) -> Forecast:
    ranked, n_labels = labels.ranked, labels.data.n_labels
    per_label = max(compared.sum() / n_labels, 1.0) if n_labels else float(project.k)
    prior_sd = float(getattr(posterior, "prior_sd", None) or PRIOR_SD)
    if project.goal == Goal.PLAN:
        left = float(plan_of(project).n_left)
        return Forecast(left, left, left)
    if project.goal == Goal.COMPARISONS:
        return labels_for_count(compared[ranked], project.goal_comparisons or 0, per_label=per_label)
    if project.goal == Goal.WIDTH:
        deviations, width = posterior.standard_deviations()[ranked], project.goal_width or 1.0
        return labels_for_width(
            deviations, compared[ranked], width, per_label=per_label, prior_sd=prior_sd, level=LEVEL
        )
    rng = np.random.default_rng(0)
    own = posterior.restrict(np.flatnonzero(ranked))
    return labels_for_top(own, project.top_k, n_labels=n_labels, rng=rng, prior_sd=prior_sd)


def whole(value: float) -> int | None:
    return int(np.ceil(value)) if np.isfinite(value) else None


def coverage_of(labels: Labels, posterior: BasePosterior) -> dict[str, Any] | None:
    """How often items of one block of the ranking were compared with those of another; blocks follow the consensus.

    sizes: items of each block, best first.   pairs: for each block, the comparisons with the blocks up to itself.
    """
    items = np.flatnonzero(labels.ranked)
    if len(items) < 2:
        return None
    order = items[np.argsort(-posterior.utilities()[items], kind="stable")]
    n_blocks = len(items) if len(items) <= MOST_SINGLE else MOST_BLOCKS
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


def tell_goal(fit: Fit, former: Fit | None) -> None:
    """Tells webhooks when this fit is the first to meet the goal as it stands."""
    goal = fit.diagnostics.get("goal") or {}
    before = (former.diagnostics.get("goal") or {}) if former else {}
    same = all(before.get(name) == goal.get(name) for name in ("kind", "value", "met"))
    if not goal.get("met") or same:
        return
    data = {"fit": fit.number, "goal": goal["kind"], "value": goal["value"], "n_labels": fit.n_labels}
    tell(project_id=fit.project_id, event=Webhook.Event.GOAL_MET, data=data, now=fit.finished_at or fit.started_at)
