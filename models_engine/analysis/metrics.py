"""Scores of predictions and intervals: accuracy, cross entropy, rank correlations, AUC, coverage, calibration."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, xlogy

from models_engine.linalg import centre, chunk_slices
from models_engine.posterior import Posterior
from models_engine.rank_correlations import kendall_tau, spearman_rho

__all__ = [
    "accuracy",
    "auc_unequal_grades",
    "calibration_slope",
    "coverage",
    "cross_entropy",
    "kendall_tau_mean",
    "kendall_tau_pooled",
    "mean_width",
    "spearman",
]

Floats = NDArray[np.float64]


def accuracy(probability: ArrayLike, outcome: ArrayLike) -> float:
    """Return the share of untied pairs whose winner had P > 1/2; P = 1/2 counts half. nan if every pair is tied.

    probability, outcome: (n_pairs,), P(left preferred) and 1 / 0 / 0.5.
    """
    p, y = np.asarray(probability, float), np.asarray(outcome, float)
    towards = np.where(y > 0.5, p, 1 - p)[y != 0.5]
    return float(np.mean((towards > 0.5) + 0.5 * (towards == 0.5))) if towards.size else float("nan")


def cross_entropy(probability: ArrayLike, outcome: ArrayLike) -> float:
    """Return the mean of -log P(answer) in nats, a tie being half of each; chance is ln 2 = 0.693. inf if P was 0."""
    p, y = np.asarray(probability, float), np.asarray(outcome, float)
    with np.errstate(divide="ignore"):
        return float(-np.mean(xlogy(y, p) + xlogy(1 - y, 1 - p)))


def kendall_tau_mean(predicted: ArrayLike, gold: ArrayLike) -> float:
    """Return the mean over annotators of Kendall's tau-b between rows (n_annotators, n_items); larger is
    better in both.
    """
    rows = zip(np.atleast_2d(predicted), np.atleast_2d(gold), strict=True)
    return float(np.nanmean([kendall_tau(a, b) for a, b in rows]))


def kendall_tau_pooled(predicted: ArrayLike, gold: ArrayLike) -> float:
    """Return one tau-b over all annotators' cells together, as the original crowdGPPL code reports it."""
    return kendall_tau(predicted, gold)


def spearman(predicted: ArrayLike, gold: ArrayLike) -> float:
    """Return Spearman's rank correlation, ties averaged."""
    return spearman_rho(predicted, gold)


def auc_unequal_grades(score: ArrayLike, grade: ArrayLike) -> float:
    """Return P(the item of higher grade has the higher score) over all pairs of unequal grade; equal scores count half.

    score, grade: (n_items,). nan where all grades are equal.
    """
    s, g = np.asarray(score, float), np.asarray(grade, float)
    agreed = total = 0.0
    for part in chunk_slices(len(s), len(s)):
        higher = g[part, None] > g[None, :]
        agreed += float(((1 + np.sign(s[part, None] - s[None, :])) / 2 * higher).sum())
        total += float(higher.sum())
    return agreed / total if total else float("nan")


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
