"""Grade boundaries on the utility scale: the chance of each grade for each item, and which boundaries are settled.

Needs numpy only, so that a web process may call it with a published fit's stored means and standard deviations.
"""

from dataclasses import dataclass
from math import erfc, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.arrays import read_deviations, read_floats, read_number, read_values
from models_engine.errors import InvalidData
from models_engine.validation import check_boundaries, check_rows

__all__ = ["BoundaryState", "boundary_states", "expected_shares", "grade_probabilities"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CERTAINTY = 0.95
ROUNDING = 1e-9  # by which a probability may be above 1
_upper_tail = np.frompyfunc(lambda z: 0.5 * erfc(z / sqrt(2)), 1, 1)


@dataclass(frozen=True)
class BoundaryState:
    """Classification of the items at one boundary, with its expected error.

    n_above, n_below: items whose mean is at or above it, and below.   n_doubtful: of all, those whose side is known
    with less than `certainty`.   error: the share of items expected to be on the other side.
    is_settled: error is at most 1 - certainty.
    """

    boundary: float
    n_above: int
    n_below: int
    n_doubtful: int
    error: float
    is_settled: bool


def grade_probabilities(means: ArrayLike, deviations: ArrayLike, boundaries: ArrayLike) -> Floats:
    """Return (n_items, n_boundaries + 1) P(grade), the lowest grade first; rows sum to 1.

    means, deviations: (n_items,) of Gaussian posteriors of the utilities.   boundaries: in the same unit, rising; a
    value at a boundary has the higher grade. Raises InvalidBoundaries where they are out of order, InvalidData where a
    deviation is negative or a mean no finite number.
    """
    cuts = check_boundaries(boundaries)
    above = _above(*_read_items(means, deviations), cuts)
    ends = np.ones((len(above), 1)), np.zeros((len(above), 1))
    return np.maximum(-np.diff(np.hstack([ends[0], above, ends[1]]), axis=1), 0.0)


def expected_shares(probabilities: ArrayLike) -> Floats:
    """Return (n_grades,) share of the items expected in each grade; `probabilities` as grade_probabilities
    gives them, (n_items, n_grades) from 0 to 1. Raises InvalidData, also for no items.
    """
    array = read_floats(probabilities, "probabilities")
    if array.ndim != 2 or not len(array):
        raise InvalidData(f"probabilities has shape {array.shape}; give a row per item, shape (n_items, n_grades).")
    for row, column in np.argwhere(~((array >= 0) & (array <= 1 + ROUNDING)))[:1].tolist():
        value = float(array[row, column])
        raise InvalidData(f"row {row}: the probability is {value}; give 0 to 1.", row=row, value=value)
    return np.asarray(array.mean(axis=0))


def boundary_states(
    means: ArrayLike, deviations: ArrayLike, boundaries: ArrayLike, *, certainty: float = CERTAINTY
) -> list[BoundaryState]:
    """Return the state of each boundary; arguments and errors as for grade_probabilities.

    An item placed by its mean is on the other side with probability min(P, 1 - P), P = P(above). Their mean over the
    items is one minus the expected classification accuracy at that cut (Rudner 2005; Lee 2010). The side of an item
    exactly at a boundary stays uncertain; a boundary is settled once such items are few.
    """
    cuts, certainty = check_boundaries(boundaries), read_number(certainty, "certainty", least=0.0, most=1.0)
    mean, deviation = _read_items(means, deviations)
    above = _above(mean, deviation, cuts)
    wrong = np.minimum(above, 1 - above)
    higher = mean[:, None] >= cuts
    return [
        BoundaryState(
            float(cut),
            int(higher[:, place].sum()),
            int((~higher[:, place]).sum()),
            int((wrong[:, place] > 1 - certainty).sum()),
            float(wrong[:, place].mean()) if len(wrong) else 0.0,
            bool(not len(wrong) or wrong[:, place].mean() <= 1 - certainty),
        )
        for place, cut in enumerate(cuts)
    ]


def _read_items(means: ArrayLike, deviations: ArrayLike) -> tuple[Floats, Floats]:
    mean, deviation = read_values(means, "means"), read_deviations(deviations, "deviations")
    check_rows({"means": mean, "deviations": deviation}, "item")
    return mean, deviation


def _above(mean: Floats, deviation: Floats, cuts: Floats) -> Floats:
    """Return (n_items, n_boundaries) P(utility >= boundary)."""
    gap, wide = cuts - mean[:, None], np.broadcast_to(deviation[:, None], (len(mean), len(cuts)))
    certain = np.where(gap <= 0, -np.inf, np.inf)
    z = np.divide(gap, wide, out=certain, where=wide > 0)
    return np.asarray(_upper_tail(z), dtype=np.float64)
