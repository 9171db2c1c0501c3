"""Ranks some items of a posterior among themselves: the weighted total of criteria, and tracks."""

from typing import Any

import numpy as np

from annotate.fitting.answers import Ints
from annotate.fitting.estimates import LEVEL, EstimateColumns, estimates_of_part
from annotate.models import Project
from models_engine.models import Fit
from models_engine.posterior import BasePosterior

# Columns of DerivedRanking, as those of Estimate; with them p_first, the probability of being the best.
COLUMNS = (
    *("item_id", "rank", "rank_low", "rank_high", "utility", "sd", "low", "high"),
    *("score", "score_low", "score_high", "p_top", "rank_class", "highest_class", "next_state", "n_comparisons"),
)


def rank_items(fit: Fit, project: Project, posterior: BasePosterior, item_ids: Ints, compared: Ints) -> dict[str, Any]:
    """Return equally long lists by name, best first: places, intervals, P(first), P(top k), scores, classes.

    posterior: over these items and no others.   item_ids, compared: (n_items,) primary keys, numbers of comparisons.
    """
    everything = np.arange(posterior.n_items)
    rows = estimates_of_part(EstimateColumns(fit, item_ids, compared, None, None), project, posterior, 0, everything)
    first = posterior.rank_summary(LEVEL, 1, rng=np.random.default_rng(fit.seed)).p_top_k
    by_item = dict(zip(item_ids.tolist(), first.tolist(), strict=True))
    columns: dict[str, Any] = {name: [getattr(row, name) for row in rows] for name in COLUMNS}
    return columns | {
        "next_state": [str(row.next_state) for row in rows],
        "p_first": [by_item[r.item_id] for r in rows],
    }
