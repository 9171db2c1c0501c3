"""Ranks the items of each tag among themselves, from the posterior: places in a track, not a filter of all places."""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import numpy as np

from annotate.criteria import Criterion
from annotate.fitting.answers import Ints
from annotate.fitting.derived import rank_items
from annotate.models import DerivedRanking, Item, Project
from models_engine.models import Estimate, Fit
from models_engine.posterior import BasePosterior

logger = logging.getLogger("annotate.worker")
MIN_ITEMS = 2
MAX_TRACKS = 40
MAX_ITEMS = 4_000  # of all tracks together, so that a fit takes little longer with them
# A track's items keep the figures of the whole ranking here, so that tracks can be compared.
OF_ALL = ("utility", "sd", "low", "high", "score", "score_low", "score_high")


def items_by_tag(project: Project) -> dict[str, set[int]]:
    """Return the items that carry each tag, by its name."""
    links = Item.tags.through.objects.filter(item__project=project, item__retired_at=None)
    found: dict[str, set[int]] = {}
    for name, item in links.values_list("tag__name", "item_id"):
        found.setdefault(name, set()).add(item)
    return found


def choose_tracks(tags: Mapping[str, set[int]], ranked: set[int]) -> dict[str, Ints]:
    """Return the ranked items of each track, ascending; the largest tracks come first.

    A tag of fewer than two ranked items, or of all, is none. What is beyond MAX_TRACKS or MAX_ITEMS is left out.
    """
    own = {name: np.array(sorted(items & ranked), dtype=np.int64) for name, items in tags.items()}
    proper = [name for name, items in own.items() if MIN_ITEMS <= len(items) < len(ranked)]
    chosen: dict[str, Ints] = {}
    for name in sorted(proper, key=lambda name: (-len(own[name]), name))[:MAX_TRACKS]:
        if sum(map(len, chosen.values())) + len(own[name]) <= MAX_ITEMS:
            chosen[name] = own[name]
    return chosen


def rank_tracks(
    fit: Fit,
    project: Project,
    criterion: int,
    whole: Mapping[int, Mapping[str, Any]],
    restrict: Callable[[Ints], BasePosterior],
    now: datetime,
) -> list[DerivedRanking]:
    """Return a ranking for each track, not yet stored.

    whole: figures of every ranked item by primary key, named as in Estimate.   restrict: returns the posterior over
    items given by ascending primary key.
    """
    found = []
    for name, items in choose_tracks(items_by_tag(project), set(whole)).items():
        compared = np.array([whole[item]["n_comparisons"] for item in items.tolist()])
        columns = rank_items(fit, project, restrict(items), items, compared)
        columns |= {figure: [whole[item][figure] for item in columns["item_id"]] for figure in OF_ALL}
        values = {"fit_number": fit.number, "made_at": now, "columns": columns, "details": {"top_k": project.top_k}}
        found.append(DerivedRanking(project=project, criterion=criterion, track=name, **values))
    return found


def estimates_by_item(fit: Fit) -> dict[int, dict[str, Any]]:
    """Return figures of the items with a place in the largest part."""
    ranked = Estimate.objects.filter(fit=fit, part=0, n_comparisons__gt=0)
    return {row["item_id"]: row for row in ranked.values("item_id", "n_comparisons", *OF_ALL)}


def compute_tracks(
    criterion: Criterion, fit: Fit, restrict: Callable[[], Callable[[Ints], BasePosterior] | None], now: datetime
) -> list[DerivedRanking]:
    """Return the tracks of a fit that is written but not yet published; none where the project has no tags.

    restrict: loads the posterior; None where it was not stored. An error leaves the tracks out: the fit is sound.
    """
    project = criterion.project
    if not project.tags.exists():
        return []
    try:
        restricted = restrict()
        if restricted is None:
            return []
        return rank_tracks(fit, project, criterion.number, estimates_by_item(fit), restricted, now)
    except Exception:
        logger.exception("The tracks of fit %d of project %s failed.", fit.number, project.pk)
        return []
