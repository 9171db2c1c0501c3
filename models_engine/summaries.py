"""Summaries of a posterior: ranks, annotators, components, diagnostics."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from models_engine.linalg import chunk_slices

__all__ = ["AnnotatorSummary", "Components", "Diagnostics", "RankSummary", "rank_draws", "summarise_ranks"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Diagnostics:
    """Diagnostics of a fit. `objective` is the trace of what it maximised (log posterior, bound or log evidence).

    message: how the fit ended, in English; from a fit itself (not a stored one) a models_engine.messages.Message.
    """

    converged: bool
    n_iterations: int
    objective: tuple[float, ...]
    seconds: float
    message: str


@dataclass(frozen=True, eq=False)
class RankSummary:
    """Summary of ranks; rank 1 is the best item. All arrays (n_items,).

    rank: rank of the posterior mean.   expected: mean of the sampled ranks.
    low, high: smallest and largest rank inside the central interval of probability `level`.
    p_top_k: P(the item is among the best k).
    """

    rank: Ints
    low: Ints
    high: Ints
    expected: Floats
    p_top_k: Floats
    level: float
    k: int


@dataclass(frozen=True, eq=False)
class AnnotatorSummary:
    """Figures per annotator, (n_annotators,) arrays, None where the estimator does not infer them.

    reliability: P(an answer follows the utilities rather than being reversed), 0 to 1.
    taste_distance: root mean square difference between own and consensus utilities, in utility units.
    side_bias: utility added to the item shown on the left.
    reliability_low, reliability_high: ends of its central 90% interval, where they are known beside mean and sd.
    """

    reliability: Floats | None = None
    reliability_sd: Floats | None = None
    taste_distance: Floats | None = None
    taste_distance_sd: Floats | None = None
    side_bias: Floats | None = None
    side_bias_sd: Floats | None = None
    reliability_low: Floats | None = None
    reliability_high: Floats | None = None

    def to_arrays(self) -> dict[str, NDArray]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, eq=False)
class Components:
    """Latent components of taste, by falling share of the taste variance.

    item_loadings (n_items, n_components), annotator_scores (n_annotators, n_components):
    annotator j's own utilities are the consensus plus item_loadings @ annotator_scores[j].
    share (n_components,): of the taste variance, summed over items.
    are_groups: the components are groups of annotators, the scores P(annotator belongs to the group), and share is
    the group's share of the crowd.
    """

    item_loadings: Floats
    annotator_scores: Floats
    share: Floats
    are_groups: bool = False


def rank_draws(draws: NDArray) -> NDArray[np.int32]:
    """Rank each row of draws (n_draws, n_items), 1 = largest."""
    order = np.argsort(-draws, axis=1)
    ranks: NDArray[np.int32] = np.empty(order.shape, dtype=np.int32)
    np.put_along_axis(ranks, order, np.arange(1, draws.shape[1] + 1, dtype=np.int32)[None, :], axis=1)
    return ranks


def summarise_ranks(mean: Floats, ranks: NDArray, level: float, k: int) -> RankSummary:
    """Summarise sampled ranks (n_draws, n_items); low and high are the closest ranks with the central `level`."""
    tail = (1 - level) / 2
    last = len(ranks) - 1
    low, high = np.empty(ranks.shape[1], np.int64), np.empty(ranks.shape[1], np.int64)
    for part in chunk_slices(ranks.shape[1], len(ranks)):
        columns = np.sort(ranks[:, part], axis=0)
        low[part] = columns[int(np.floor(tail * last))]
        high[part] = columns[int(np.ceil((1 - tail) * last))]
    rank = np.empty(len(mean), dtype=np.int64)
    rank[np.argsort(-mean, kind="stable")] = np.arange(1, len(mean) + 1)
    return RankSummary(
        rank=rank,
        low=low,
        high=high,
        expected=ranks.mean(axis=0, dtype=np.float64),
        p_top_k=(ranks <= k).mean(axis=0),
        level=level,
        k=k,
    )
