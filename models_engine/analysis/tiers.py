"""Which items are separated: the state of a pair of items, and the tiers of a ranking."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.arrays import read_number
from models_engine.constants import Z90
from models_engine.errors import InvalidData
from models_engine.posterior import Posterior
from models_engine.validation import check_items, check_pair

__all__ = ["PairState", "assign_tiers", "classify_pairs"]

PairState = Literal["separated", "tied", "not enough data"]
SLOPE_RATIO = 0.25 * np.sqrt(2 * np.pi)  # logistic's slope at 0 over Phi's: one logit in probit units, near a draw


def assign_tiers(posterior: Posterior, order: ArrayLike, *, superiority: float = 0.95) -> NDArray[np.int64]:
    """Assign tiers (n,), 1 = best, to the items in `order`, which lists them best first.

    A tier starts where every item above is separated (superiority at least 0.95) from every item below.
    superiority: between 0 and 1. Raises InvalidData.
    """
    items, superiority = (
        check_items(order, posterior.n_items),
        read_number(superiority, "superiority", above=0, below=1),
    )
    if items.ndim != 1:
        raise InvalidData(f"order has shape {items.shape}; give the items best first, shape (n,).")
    starts = np.ones(max(0, len(items) - 1), dtype=bool)  # starts[b]: a tier may start after place b
    reach = _find_separation(posterior, items, superiority)
    for distance in range(1, len(items)):
        above = np.arange(len(items) - distance)
        spans_start = np.cumsum(np.append(0, starts))
        above = above[(spans_start[above + distance] > spans_start[above]) & (reach[above] > distance)]
        if not len(above):
            if not starts.any() or (reach <= distance).all():
                break
            continue
        apart = posterior.superiority(items[above], items[above + distance]) >= superiority
        broken = np.zeros(len(items) + 1, dtype=np.int64)
        np.add.at(broken, above[~apart], 1)
        np.add.at(broken, above[~apart] + distance, -1)
        starts &= np.cumsum(broken)[: len(starts)] == 0
    return np.concatenate([[1], 1 + np.cumsum(starts)]).astype(np.int64)[: len(items)]


def _find_separation(posterior: Posterior, items: NDArray[np.int64], superiority: float) -> NDArray[np.int64]:
    """Return for each place the distance (n,) from which all items below are separated whatever the correlations.

    The deviation of a difference is at most the sum of the two, so a gap of z (sd + sd') suffices for a Gaussian;
    for other posteriors Cantelli's inequality, P(gap <= 0) <= v/(v + gap^2), gives z = sqrt(p/(1-p)).
    """
    mean, deviation = posterior.utilities()[items], posterior.standard_deviations()[items]
    z = np.sqrt(superiority / (1 - superiority))
    highest = np.maximum.accumulate((mean + z * deviation)[::-1])[::-1]  # over the places from here on
    lowest = mean - z * deviation
    first = np.searchsorted(-highest, -lowest, side="left")  # highest falls with place
    return np.maximum(first - np.arange(len(items)), 1)


def classify_pairs(
    posterior: Posterior, left: ArrayLike, right: ArrayLike, *, superiority: float = 0.95, margin: float = 0.1
) -> NDArray[np.str_]:
    """Return the PairState of each pair, elementwise.

    separated: P(one is better) is at least `superiority`. tied: the 90% interval of the difference lies within
    +-margin logits (for a probit posterior the same shift of P near 1/2). Otherwise: not enough data.
    superiority, margin: 0 or more (above 1 nothing is separated). Raises InvalidData.
    """
    lefts, rights = check_pair(left, right, posterior.n_items)
    superiority, margin = (
        read_number(superiority, "superiority", least=0),
        read_number(margin, "margin", least=0),
    )
    better = posterior.superiority(lefts, rights)
    mean = posterior.utilities()
    difference = np.abs(mean[lefts] - mean[rights])
    half_width = Z90 * np.sqrt(posterior.difference_variance(lefts, rights))
    unit = SLOPE_RATIO if posterior.likelihood.link == "probit" else 1.0
    tied = difference + half_width <= margin * unit
    separated = np.maximum(better, 1 - better) >= superiority
    return np.where(separated, "separated", np.where(tied, "tied", "not enough data"))
