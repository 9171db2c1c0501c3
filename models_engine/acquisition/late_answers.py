"""Answers that came in after a fit, added to what is known of the items that the fit has no answers about."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfcx

from models_engine.acquisition.gains import LOGIT_IN_PROBITS
from models_engine.arrays import read_deviations, read_floats, read_values
from models_engine.errors import InvalidData
from models_engine.validation import check_items, check_mask

__all__ = ["AnsweredMarginals", "add_answers"]

Floats = NDArray[np.float64]
FAR_OFF = -1e4  # standard deviations of a prediction, below which push (push + x) loses its digits


@dataclass(frozen=True, eq=False)
class AnsweredMarginals:
    """Independent Gaussians for the utilities, in logits: mean and sd, both (n_items,)."""

    mean: Floats
    sd: Floats


def add_answers(
    mean: ArrayLike,
    sd: ArrayLike,
    winners: ArrayLike,
    losers: ArrayLike,
    *,
    changes: ArrayLike,
    weights: ArrayLike | None = None,
) -> AnsweredMarginals:
    """Add answers one by one, in their order, each by the moments of what it makes of the two marginals.

    mean, sd (n_items,): before them, in logits of an average annotator's answer.   winners, losers (n_answers,): items.
    changes (n_items,): which items' marginals change; the answers count the uncertainty of the others.
    weights (n_answers,): how much of an answer each counts for, 1 by default: its share of the change of the precision
    and of the precision times the mean.

    P(one preferred to another) = Phi(difference / 1.702), as candidate_sets counts gains. The moments are exact for one
    answer; that they stand for the whole after each is assumed density filtering (Opper 1998), as in TrueSkill
    (Herbrich, Minka & Graepel 2007). Raises InvalidData.
    """
    means = read_values(read_floats(mean, "mean"), "mean").copy()
    variances = read_deviations(read_floats(sd, "sd"), "sd", above_zero=True) ** 2
    changed = check_mask(changes, len(means), "changes")
    won, lost = check_items(winners, len(means)), check_items(losers, len(means))
    share = np.ones(len(won)) if weights is None else read_values(read_floats(weights, "weights"), "weights")
    if means.ndim != 1 or variances.shape != means.shape or not won.shape == lost.shape == share.shape:
        raise InvalidData("mean and sd are per item, winners, losers and weights per answer; give shapes (n,).")
    for winner, loser, weight in zip(won.tolist(), lost.tolist(), share.tolist(), strict=True):
        total = LOGIT_IN_PROBITS + variances[winner] + variances[loser]
        x = (means[winner] - means[loser]) / np.sqrt(total)
        push = float(np.sqrt(2 / np.pi) / erfcx(-x / np.sqrt(2)))  # the normal density over its distribution function
        shrink = (push * (push + x) if x > FAR_OFF else 1 - x**-2) / total
        for item, way in ((winner, 1.0), (loser, -1.0)):
            if changed[item]:
                means[item], variances[item] = _moved(
                    means[item], variances[item], way * push / np.sqrt(total), shrink, weight
                )
    return AnsweredMarginals(means, np.sqrt(variances))


def _moved(mean: float, variance: float, slope: float, shrink: float, weight: float) -> tuple[float, float]:
    """Return mean and variance after a share `weight` of an answer; slope, shrink: first and negative second derivative
    of its log probability by the mean."""
    precision = weight * shrink / (1 - variance * shrink)
    shift = weight * (slope + mean * shrink) / (1 - variance * shrink)
    new = 1 / (1 / variance + precision)
    return new * (mean / variance + shift), new
