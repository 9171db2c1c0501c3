"""Cut points of graded answers, one step at a time between sweeps."""

import numpy as np
from numpy.typing import NDArray

from models_engine.inference.graded.cut_points import CutScores, cuts_from_gaps, log_cut_prior
from models_engine.inference.probit_ep.learned_cuts import MAX_STEP, log_gaps_of

__all__ = ["improved_cuts", "log_gap_covariance"]

Floats = NDArray[np.float64]


def _in_log_gaps(cuts: Floats, scores: CutScores) -> tuple[Floats, NDArray[np.bool_], CutScores]:
    gaps = log_gaps_of(cuts)
    free = np.isfinite(gaps)
    whole = (scores + log_cut_prior(gaps, "probit")[1]).in_log_gaps(gaps)
    return gaps, free, CutScores(whole.score[free], whole.curvature[np.ix_(free, free)])


def improved_cuts(cuts: Floats, scores: CutScores) -> Floats:
    """Return cut points after one step up log evidence and prior by the answers' own scores."""
    gaps, free, found = _in_log_gaps(cuts, scores)
    if not free.any():
        return cuts
    gaps[free] += np.clip(np.linalg.lstsq(found.curvature, found.score, rcond=1e-9)[0], -MAX_STEP, MAX_STEP)
    return cuts_from_gaps(gaps)


def log_gap_covariance(cuts: Floats, scores: CutScores) -> Floats:
    """Return the covariance of the free log gaps, all else given."""
    return np.asarray(np.linalg.pinv(_in_log_gaps(cuts, scores)[2].curvature), dtype=np.float64)
