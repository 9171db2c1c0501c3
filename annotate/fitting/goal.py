"""Evaluates a project's goal by a fit, and counts comparisons between blocks of items, for the Progress page."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from annotate.fitting.goal_forecast import Known, find_reachable, round_up
from annotate.fitting.goal_measures import (
    OF_ONE_RANKING,
    is_plain,
    limit_of,
    looks_within,
    measure_goal,
    measured_error,
    n_confirming,
)
from annotate.fitting.reading import Labels
from annotate.models import Project, Webhook
from annotate.models.goals import COUNTED, Goal
from annotate.webhooks.actions import enqueue_event
from models_engine.analysis.done import is_done
from models_engine.analysis.stopping import has_enough_history
from models_engine.models import Estimate, Fit
from models_engine.posterior import BasePosterior

MAX_BLOCKS = 20
MAX_SINGLE_BLOCKS = 24  # items up to which each is a block of its own
MAX_HISTORY = 20


def evaluate_goal(
    project: Project,
    fit: Fit,
    labels: Labels,
    estimator: str,
    posterior: BasePosterior,
    rows: Sequence[Estimate],
    n_parts: int,
    unit: float,
) -> dict[str, Any] | None:
    """Return whether "you can stop" may be said, and the labels still needed; None without a goal.

    unit: what turns utilities into logits of an average person's answer: widths in them mean the same whichever the
    estimator.
    wrong, limit: what is expected to be wrong and at most may be, both None of a goal that is counted.   looks: the
    first and last of the fits in a row within it.   error: how often it was said too early in simulations, None where
    that is not known.   needed: [low, middle, high], null where nothing can be forecast;
    of a goal that waits to be confirmed, what that takes.   why: in a word, why not; reach, where it is "far": the
    nearest value of this goal that is within reach, None if there is none.
    """
    value = project.goal_value
    if not project.goal or value is None:
        return None
    limit = limit_of(project.goal, value, plain=is_plain(posterior))
    found = measure_goal(project, value, rows, n_parts, posterior, labels, unit)
    kept: dict[str, Any] = {"kind": project.goal, "value": value, "limit": limit, "met": found.is_met}
    kept |= {"state": found.state, "wrong": found.wrong, "looks": [], "needed": None, "why": found.why}
    error = measured_error(project, estimator, labels)
    kept["error"] = asdict(error) if error else None
    if found.is_met or found.why:
        return kept
    if project.goal in OF_ONE_RANKING and n_parts > 1:
        return kept | {"why": "parts"}
    if found.wrong is not None and limit is not None:
        former = Fit.objects.filter(project_id=project.pk, criterion=fit.criterion, published=True).first()
        looks = looks_within(kept, found.wrong, labels.of_people.n_labels, former)
        if looks:
            met = is_done(looks, limit)
            return kept | {"looks": looks, "met": met, "needed": None if met else [n_confirming(looks)] * 3}
    of_people = project.goal == Goal.COMPARISONS  # what machines answered is none of the comparisons that are asked
    compared = (labels.of_people if of_people else labels.data).n_comparisons()
    judged = project.goal not in COUNTED
    if judged and not has_enough_history(label_history(fit, labels.of_people.n_labels), compared[labels.ranked]):
        return kept | {"why": "early"}
    known = Known(project, labels, posterior, compared, rows, unit)
    forecast = known.forecast(value)
    if not forecast.is_known:
        return kept | {"why": "far", "reach": find_reachable(known, value, found.wrong)}
    return kept | {"needed": [round_up(forecast.low), round_up(forecast.middle), round_up(forecast.high)]}


def label_history(fit: Fit, n_labels: int) -> list[int]:
    """Return the labels of the fits so far, oldest first; `fit`, with `n_labels`, comes last."""
    former = Fit.objects.filter(project_id=fit.project_id, criterion=fit.criterion, status=Fit.Status.DONE)
    counts = list(former.exclude(pk=fit.pk).order_by("-number").values_list("n_labels", flat=True)[:MAX_HISTORY])
    return [*counts[::-1], n_labels]


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
