"""Scores of predictions and intervals: accuracy, cross entropy, rank correlations, AUC, coverage, calibration."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, xlogy

from models_engine.arrays import read_floats, read_values
from models_engine.errors import InvalidData
from models_engine.linalg import centre, chunk_slices
from models_engine.posterior import Posterior
from models_engine.rank_correlations import kendall_tau, spearman_rho
from models_engine.validation import check_outcomes

__all__ = [
    "accuracy",
    "auc_unequal_grades",
    "calibration_slope",
    "coverage",
    "cross_entropy",
    "kendall_tau_mean",
    "kendall_tau_pooled",
    "mean_width",
    "read_predictions",
    "spearman",
]

Floats = NDArray[np.float64]
ROUNDING = 1e-9  # by which a probability may be above 1


def accuracy(probability: ArrayLike, outcome: ArrayLike) -> float:
    """Return the share of untied pairs whose winner had P > 1/2; P = 1/2 counts half. nan if every pair is tied.

    probability, outcome: (n_pairs,), P(left preferred) and 1 / 0 / 0.5. Raises InvalidData.
    """
    p, y = read_predictions(probability, outcome)
    towards = np.where(y > 0.5, p, 1 - p)[y != 0.5]
    return float(np.mean((towards > 0.5) + 0.5 * (towards == 0.5))) if towards.size else float("nan")


def cross_entropy(probability: ArrayLike, outcome: ArrayLike) -> float:
    """Return the mean of -log P(answer) in nats, a tie being half of each; chance is ln 2 = 0.693. inf if P was 0.

    probability, outcome: as for accuracy, of one pair or more. Raises InvalidData.
    """
    p, y = read_predictions(probability, outcome)
    if not len(p):
        raise InvalidData("there are no pairs; give the probability and the outcome of one or more.")
    with np.errstate(divide="ignore"):
        return float(-np.mean(xlogy(y, p) + xlogy(1 - y, 1 - p)))


def kendall_tau_mean(predicted: ArrayLike, gold: ArrayLike) -> float:
    """Return the mean over annotators of Kendall's tau-b between rows (n_annotators, n_items); larger is
    better in both.

    Rows that are constant, of one item or hold a nan are left out; nan where no row is left. Raises InvalidData.
    """
    first, second = _read_orders(predicted, gold)
    if first.ndim not in (1, 2):
        raise InvalidData(f"predicted and gold have shape {first.shape}; give a row per annotator.")
    taus = np.array([kendall_tau(a, b) for a, b in zip(np.atleast_2d(first), np.atleast_2d(second), strict=True)])
    known = taus[~np.isnan(taus)]
    return float(known.mean()) if len(known) else float("nan")


def kendall_tau_pooled(predicted: ArrayLike, gold: ArrayLike) -> float:
    """Return one tau-b over all annotators' cells together, as the original crowdGPPL code reports it.

    predicted, gold: of one shape; they may be infinite. nan where one of them is constant or holds a nan. Raises
    InvalidData.
    """
    return kendall_tau(*_read_orders(predicted, gold))


def spearman(predicted: ArrayLike, gold: ArrayLike) -> float:
    """Return Spearman's rank correlation, ties averaged. Arguments, nan and errors as for kendall_tau_pooled."""
    return spearman_rho(*_read_orders(predicted, gold))


def auc_unequal_grades(score: ArrayLike, grade: ArrayLike) -> float:
    """Return P(the item of higher grade has the higher score) over all pairs of unequal grade; equal scores count half.

    score, grade: (n_items,); they may be infinite, not nan. nan where all grades are equal. Raises InvalidData.
    """
    s, g = _read_orders(score, grade, ("score", "grade"))
    if s.ndim != 1:
        raise InvalidData(f"score and grade have shape {s.shape}; give one of each per item, shape (n_items,).")
    for name, values in (("score", s), ("grade", g)):
        for row in np.flatnonzero(np.isnan(values))[:1].tolist():
            raise InvalidData(f"row {row}: the {name} is nan; leave the item out.", row=row, value=float("nan"))
    agreed = total = 0.0
    for part in chunk_slices(len(s), len(s)):
        higher = g[part, None] > g[None, :]
        agreed += float((higher & (s[part, None] > s)).sum()) + float((higher & (s[part, None] == s)).sum()) / 2
        total += float(higher.sum())
    return agreed / total if total else float("nan")


def read_predictions(probability: ArrayLike, outcome: ArrayLike) -> tuple[Floats, Floats]:
    """Read (n_pairs,) probabilities and outcomes, 1 / 0 / 0.5. Raises InvalidData."""
    p = read_values(probability, "probability", least=0.0, most=1 + ROUNDING)
    return np.minimum(p, 1.0), check_outcomes(outcome, len(p))


def _read_orders(
    first: ArrayLike, second: ArrayLike, names: tuple[str, str] = ("predicted", "gold")
) -> tuple[Floats, Floats]:
    """Read two arrays of one shape, whatever it is, which may hold infinite numbers and nan."""
    one, other = read_floats(first, names[0]), read_floats(second, names[1])
    if one.shape != other.shape:
        raise InvalidData(f"{names[0]} has shape {one.shape} and {names[1]} {other.shape}; give the same shape.")
    return one, other


def coverage(posterior: Posterior, truth: ArrayLike, level: float = 0.9) -> float:
    """Return the share of items whose true centred utility lies in the central interval of probability `level`."""
    reach = ndtri((1 + level) / 2) * posterior.standard_deviations()
    return float(np.mean(np.abs(centre(truth) - posterior.utilities()) <= reach))


def mean_width(posterior: Posterior, level: float = 0.9) -> float:
    """Return the mean width of the same intervals, in utility units."""
    return float(2 * ndtri((1 + level) / 2) * posterior.standard_deviations().mean())


def calibration_slope(posterior: Posterior, truth: ArrayLike) -> float:
    """Return the slope of the true centred utilities on the posterior means: 1 is right, below 1 means
    overconfident.
    """
    mean = posterior.utilities()
    return float(mean @ centre(truth) / (mean @ mean))
