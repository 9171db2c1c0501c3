"""How likely it is that an annotator answers by the utilities at all, instead of at random."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from models_engine.implied_pairs import PairTable
from models_engine.inference.davidson.moments import average_answers
from models_engine.inference.graded.cut_points import thresholds
from models_engine.inference.graded.moments import average_between
from models_engine.linalg import sum_by_group

__all__ = ["attentive_shares"]

Floats = NDArray[np.float64]
PRIOR = (1.0, 9.0)  # of the beta distribution of the share of careless annotators
N_ROUNDS = 50


def attentive_shares(pairs: PairTable, margin: Floats, variance: Floats, cuts: Floats | None = None) -> Floats:
    """Return P(attentive), (n_annotators,): a latent class model (Dawid & Skene 1979) with two classes.

    Where they prefer an item, attentive annotators answer by the logistic of the margin, careless ones at random; how
    often somebody says tie or a grade tells nothing of it, but which item is better by that grade does. The share of
    the careless has a beta prior and is taken at its expectation in turn with the classes (mean-field). Who has not
    answered gets the prior's.
    margin, variance (n_pairs,): of the margin expected, side included; items' effects and tastes are part of it.
    cuts (n_grades,): cut points where grades count.
    """
    right = np.maximum(_right(pairs, margin, variance, cuts), 1e-300)
    weight = pairs.weight * (pairs.outcome != 0.5)
    evidence = sum_by_group(pairs.annotator, weight * np.log(2 * right), pairs.n_annotators)
    answered = np.unique(pairs.annotator)
    a, b = PRIOR
    careless = a / (a + b)
    for _ in range(N_ROUNDS):
        shares = expit(evidence + np.log1p(-careless) - np.log(careless))
        former, careless = careless, (a + (1 - shares[answered]).sum()) / (a + b + len(answered))
        if abs(careless - former) < 1e-6:
            break
    return np.asarray(shares)


def _right(pairs: PairTable, margin: Floats, variance: Floats, cuts: Floats | None) -> Floats:
    """Return P(the item that was preferred is), given that one is and by which grade, (n_pairs,)."""
    if cuts is None:
        found = average_answers(margin, variance, -np.inf)
        return np.where(pairs.outcome == 1, found.right[0], found.wrong[0])
    ends = thresholds(cuts, np.zeros(len(pairs), np.int64) if pairs.grade is None else pairs.grade, pairs.can_tie)
    towards = np.where(pairs.outcome == 1, margin, -margin)
    chance, turned = (average_between(way * towards, variance, *ends).between[0] for way in (1.0, -1.0))
    return chance / np.maximum(chance + turned, 1e-300)
