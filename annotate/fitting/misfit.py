"""Finds items and annotators whose answers deviate from a fit by more than chance: infit, kept with the fit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotate.fitting.answers import Ints
from annotate.fitting.reading import Labels
from models_engine.analysis.misfit import MeanSquares, Misfit, compute_misfit
from models_engine.data import Comparisons
from models_engine.posterior import BasePosterior

Z_LIMIT = 2.5  # standardised infit above which answers are flagged; chance alone flags one in 160
MIN_PAIRS = 5  # below which nothing is flagged
MAX_FLAGGED = 50
# Larger sets are compared with 200 repeats drawn from the fit: with more pairs than this they take seconds.
MAX_SIMULATED_PAIRS = 30_000


def measure_misfit(posterior: BasePosterior, labels: Labels) -> Misfit | None:
    """Return the misfit of items and annotators; None without labels, and for too many of larger sets."""
    if not labels.data.n_labels or count_simulated_pairs(labels.data) > MAX_SIMULATED_PAIRS:
        return None
    return compute_misfit(posterior, labels.data)


def count_simulated_pairs(data: Comparisons) -> int:
    """Count the pairs of all sets if any is larger than two; pairs alone need no simulation."""
    sizes = data.sizes
    return int((sizes * (sizes - 1) // 2).sum()) if (sizes > 2).any() else 0


def flagged_json(misfit: Misfit | None, labels: Labels) -> dict[str, Any] | None:
    """Return what pages show: {"items": ..., "annotators": ...}, each with n, n_flagged and the worst, as JSON."""
    if misfit is None:
        return None
    are_people = np.arange(len(labels.annotator_ids)) < labels.n_people
    return {
        "items": _flagged(misfit.items, labels.item_ids, labels.ranked),
        "annotators": _flagged(misfit.annotators, labels.annotator_ids, are_people),
    }


def _flagged(found: MeanSquares, keys: Ints, kept: NDArray[np.bool_]) -> dict[str, Any]:
    judged = kept & (found.n >= MIN_PAIRS) & np.isfinite(found.infit_z)
    high = np.flatnonzero(judged & (found.infit_z > Z_LIMIT))
    worst = high[np.argsort(-found.infit_z[high], kind="stable")][:MAX_FLAGGED]
    rows = [[int(keys[i]), float(found.infit[i]), float(found.infit_z[i]), int(found.n[i])] for i in worst]
    return {"n": int(judged.sum()), "n_flagged": len(high), "worst": rows}


def misfit_arrays(misfit: Misfit | None) -> dict[str, NDArray[np.float32]]:
    """Return infit and its standardised value of every item and annotator, to be kept with the published fit."""
    if misfit is None:
        return {}
    sides = {"items": misfit.items, "annotators": misfit.annotators}
    return {
        f"{name}_{side}": getattr(found, name).astype(np.float32)
        for side, found in sides.items()
        for name in ("infit", "infit_z")
    }
