"""Leaderboards by cohort: one fit in which each cohort of annotators has its own effect of each competitor."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.data import Comparisons
from models_engine.errors import InvalidData
from models_engine.estimators.competitor_posterior import CompetitorPosterior
from models_engine.estimators.competitor_table import CompetitorTable
from models_engine.estimators.competitors import Competitors
from models_engine.progress import Progress
from models_engine.validation import check_count

__all__ = ["fit_cohorts"]

Ints = NDArray[np.int64]


def fit_cohorts(
    estimator: Competitors,
    data: Comparisons,
    table: CompetitorTable,
    cohort: ArrayLike,
    *,
    n_cohorts: int | None = None,
    progress: Progress | None = None,
) -> CompetitorPosterior:
    """Fit f_item = g_competitor + h_{competitor, cohort of who answers} + x_item'beta + e_item.

    cohort (n_annotators,): -1 for none. `for_tag(c)` of the result is the board of cohort c, drawn towards the whole
    by as much as cohorts are alike: the spread of h is learned by the evidence. Tags of the table are left out.

    The fit takes e_item for another in each cohort; afterwards its covariance is corrected for that it is the same one
    (`inference.competitors.shared`), so that the luck of an item is not averaged away over cohorts.

    Raises InvalidData, InsufficientData, TooLarge, Cancelled; warns NotConverged.
    """
    cohorts = np.asarray(cohort, dtype=np.int64)
    if cohorts.shape != (data.n_annotators,):
        raise InvalidData(
            f"cohort has the shape {cohorts.shape}; give one number for each of {data.n_annotators} annotators."
        )
    n = check_count(cohorts[cohorts >= 0], n_cohorts, "cohort")
    contexts = table.contexts_of(data)
    copy = cohorts[data.annotators] % (n + 1)  # the last is of those without a cohort
    width, n_contexts = data.n_items, int(contexts.max(initial=0)) + 1
    items = data.items + width * np.repeat(copy, data.sizes)
    features = None if data.item_features is None else np.tile(data.item_features, (n + 1, 1))
    split = replace(data, items=items, n_items=width * (n + 1), item_features=features)
    own = np.repeat(np.arange(n + 1), width)
    split_table = CompetitorTable.of(
        np.tile(table.competitor, n + 1),
        n_competitors=table.n_competitors,
        context=np.tile(contexts, n + 1) + n_contexts * own,
        tag=np.where(own == n, -1, own),
        n_tags=n,
    )
    return estimator.fit(split, split_table, progress, same_item=np.tile(np.arange(width), n + 1))
