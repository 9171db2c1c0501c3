"""How good a fit is, with the truth known: the order, the best k, classes, intervals."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_engine.analysis.collecting.quick_fit import QuickFit
from models_engine.constants import Z90
from models_engine.rank_correlations import kendall_tau

__all__ = ["Quality", "measure_fit"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Quality:
    """tau: Kendall's tau-b with the truth.   recall: share of the estimated best k that are truly among them, ties
    counting as such.   classes: share of the items in their true class.   width: mean width of 90% intervals.
    coverage: share of them that hold the truth.
    """

    tau: float
    recall: float
    classes: float
    width: float
    coverage: float


def measure_fit(fit: QuickFit, truth: Floats, k: int, cuts: Floats) -> Quality:
    """Measure a fit. truth (n_items,): centred utilities; cuts: the boundaries between classes."""
    chosen = np.argsort(-fit.mean, kind="stable")[:k]
    last = np.sort(truth)[-k]
    inside = np.abs(fit.mean - truth) <= Z90 * fit.sd
    return Quality(
        kendall_tau(fit.mean, truth),
        float((truth[chosen] >= last - 1e-9).mean()),
        float((np.searchsorted(cuts, fit.mean) == np.searchsorted(cuts, truth)).mean()),
        float(2 * Z90 * fit.sd.mean()),
        float(inside.mean()),
    )
