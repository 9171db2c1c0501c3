"""Bradley-Terry with annotators' lapse rates, quick enough to be fitted after every few answers of a simulation."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from models_engine.linalg import centre_covariance, cholesky, inverse_from_cholesky

__all__ = ["PRIOR_SD", "RELIABILITY", "QuickFit", "fit_quickly", "no_fit"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
RELIABILITY = (8.5, 1.5)  # Beta prior of an annotator's reliability, CrowdBTOnline's
LOGISTIC_VARIANCE = 1.702**2
STEPS, MAX_STEP = 4, 1.5
PRIOR_SD = 1.5  # of a utility, BradleyTerry's


@dataclass(frozen=True, eq=False)
class QuickFit:
    """mean (n_items,), covariance (n_items, n_items) of the centred utilities; lapse (n_annotators,); prior_sd.

    learns_care: whether fits that go on from it learn the lapse rates, or keep these.
    """

    mean: Floats
    covariance: Floats
    lapse: Floats
    prior_sd: float
    learns_care: bool = True

    @property
    def sd(self) -> Floats:
        return np.sqrt(np.diagonal(self.covariance))


def no_fit(n_items: int, n_annotators: int, prior_sd: float = PRIOR_SD) -> QuickFit:
    """Return the prior as a fit."""
    lapse = np.full(n_annotators, RELIABILITY[1] / sum(RELIABILITY))
    return QuickFit(np.zeros(n_items), prior_sd**2 * _centring(n_items), lapse, prior_sd)


def fit_quickly(winner: Ints, loser: Ints, annotator: Ints, start: QuickFit) -> QuickFit:
    """Fit pairs (n_labels,) by STEPS alternating steps from an earlier fit.

    P(winner wins) = lapse + (1 - 2 lapse) / (1 + exp(-z)), z the difference of the utilities, N(0, prior_sd^2)
    independent. Each step: one of Fisher's scoring for the mode, with the slope averaged over the margin's variance as
    MacKay (1992) does; lapse rates by their Beta posterior's mean given the expected lapses (EM), each label held
    against what the others say.
    """
    n, n_annotators = len(start.mean), len(start.lapse)
    mean, covariance, lapse, prior_sd = start.mean, start.covariance, start.lapse, start.prior_sd
    answers = np.bincount(annotator, minlength=n_annotators)
    for _ in range(STEPS):
        variance = _of_differences(covariance, winner, loser)
        shrink = 1 / np.sqrt(1 + variance / LOGISTIC_VARIANCE)
        margin = mean[winner] - mean[loser]
        own = lapse[annotator]
        followed = _followed_elsewhere(margin, variance, shrink, own)
        chance = own + (1 - 2 * own) * followed
        honest = np.bincount(annotator, weights=(1 - own) * followed / chance, minlength=n_annotators)
        if start.learns_care:
            lapse = (RELIABILITY[1] + answers - honest) / (sum(RELIABILITY) + answers)
        precision = _precision(margin, shrink, own, winner, loser, n)
        precision[np.diag_indices(n)] += prior_sd**-2
        plain = expit(margin)
        plain_chance = own + (1 - 2 * own) * plain
        push = (1 - 2 * own) * plain * (1 - plain) / plain_chance
        gradient = np.bincount(winner, push, n) - np.bincount(loser, push, n) - mean / prior_sd**2
        covariance = inverse_from_cholesky(cholesky(precision))
        step = covariance @ gradient
        mean = mean + step * min(1.0, MAX_STEP / max(float(np.abs(step).max()), 1e-12))
        mean = mean - mean.mean()
    return QuickFit(mean, centre_covariance(covariance), lapse, prior_sd, start.learns_care)


def _followed_elsewhere(margin: Floats, variance: Floats, shrink: Floats, lapse: Floats) -> Floats:
    """Return P(the winner is better) by all labels but the one itself, (n_labels,).

    A label's own share of its margin is taken out as a Gaussian site, which leaves the cavity of expectation
    propagation. Otherwise people agree with utilities that their own labels made, and with ten labels an item lapse
    rates come out at half of what they are, most so where questions were chosen, and intervals too narrow.
    """
    preferred, plain = expit(margin * shrink), expit(margin)
    slope = (1 - 2 * lapse) * preferred * (1 - preferred) * shrink
    chance = lapse + (1 - 2 * lapse) * preferred
    weight = slope**2 / (chance * (1 - chance))
    push = (1 - 2 * lapse) * plain * (1 - plain) / (lapse + (1 - 2 * lapse) * plain)
    without = variance / np.maximum(1 - variance * weight, 0.1)
    return expit((margin - without * push) / np.sqrt(1 + without / LOGISTIC_VARIANCE))


def _precision(margin: Floats, shrink: Floats, lapse: Floats, winner: Ints, loser: Ints, n: int) -> Floats:
    """Return the labels' expected information, (n, n)."""
    preferred = expit(margin * shrink)
    chance = lapse + (1 - 2 * lapse) * preferred
    slope = (1 - 2 * lapse) * preferred * (1 - preferred) * shrink
    weight = slope**2 / (chance * (1 - chance))
    between = np.bincount(winner * n + loser, weights=weight, minlength=n * n).reshape(n, n)
    between += between.T
    return np.diag(between.sum(axis=1)) - between


def _of_differences(covariance: Floats, one: Ints, other: Ints) -> Floats:
    diagonal = np.diagonal(covariance)
    return np.maximum(diagonal[one] + diagonal[other] - 2 * covariance[one, other], 0.0)


def _centring(n: int) -> Floats:
    return np.eye(n) - 1 / n
