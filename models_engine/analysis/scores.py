"""Scores from 0 to 100 (the probability of being preferred to an average item), and utilities in logits."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from models_engine.arrays import read_number
from models_engine.covariance.forms import Covariance
from models_engine.estimators.competitor_posterior import CompetitorPosterior
from models_engine.linalg import chunk_slices
from models_engine.posterior import BasePosterior, GaussianPosterior, SamplePosterior
from models_engine.predictive import Likelihood

__all__ = ["Scores", "common_unit", "compute_scores", "score_competitors"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MAX_PAIRS = 20_000
MAX_PAIRS_OF_DRAWS, MAX_DRAWS = 200, 2_000
MAX_STEPS = 100
LEVEL = 0.9


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of items, (n_items,), 0 to 100; an average item has 50.

    score: the chance, in per cent.   low, high: ends of its central interval of probability `level`.
    """

    score: Floats
    low: Floats
    high: Floats
    level: float = LEVEL


def compute_scores(posterior: BasePosterior, level: float = LEVEL) -> Scores:
    """Compute the probability, in per cent, that an annotator prefers an item to an average one.

    The annotator is a new one drawn from the crowd, so that tastes and reversed answers count, as in
    Posterior.pairwise_probabilities. Preferred: given that it is no tie, averaged over the two sides. An average item:
    one whose utility is, to everybody, the mean of the posterior's items; restrict the posterior to one connected part
    first. As this is the chance of something that can be observed, it means the same under every estimator.

    score averages that chance over the posterior. low, high: the chance at the ends of the central interval of the
    item's utility, exact as the chance rises with utility; tastes are averaged over within it, not part of the doubt.
    Where the score lies outside, as it may near 0 and 100 where little is known, the nearer end is moved to it.
    """
    level = read_number(level, "level", above=0.0, below=1.0)
    if isinstance(posterior, GaussianPosterior):
        return _scores_of_gaussian(posterior, level)
    if isinstance(posterior, SamplePosterior):
        return _scores_of_draws(posterior.draws, common_unit(posterior), level)
    raise TypeError(f"{type(posterior).__name__} is neither a GaussianPosterior nor a SamplePosterior.")


def score_competitors(posterior: CompetitorPosterior, level: float = LEVEL) -> Scores:
    """Compute the probability, in per cent, that a new answer about a new context prefers a competitor's item to that
    of an average competitor; 50 for an average one.

    Both items have effects of their own, of variance effects.item_variance each, in logits squared. score averages over
    the posterior; low, high: the chance at the ends of the central interval of the competitor's utility.
    """
    mean, deviation = posterior.utilities(), posterior.standard_deviations()
    chance, own = posterior.likelihood.preference, 2 * posterior.effects.item_variance
    reach = ndtri((1 + level) / 2) * deviation
    low, high = chance(mean - reach, own), chance(mean + reach, own)
    return _with_ends(100 * chance(mean, deviation**2 + own), 100 * low, 100 * high, level)


def _with_ends(score: Floats, low: Floats, high: Floats, level: float) -> Scores:
    return Scores(score, np.minimum(low, score), np.maximum(high, score), level)


def _scores_of_gaussian(posterior: GaussianPosterior, level: float) -> Scores:
    mean, deviation = posterior.utilities(), posterior.standard_deviations()
    tastes = np.zeros(len(mean)) if posterior.taste is None else posterior.taste.variances()
    reach = ndtri((1 + level) / 2) * deviation
    chance = posterior.likelihood.preference
    return _with_ends(
        100 * chance(mean, deviation**2 + tastes),
        100 * chance(mean - reach, tastes),
        100 * chance(mean + reach, tastes),
        level,
    )


def _scores_of_draws(draws: Floats, unit: float, level: float) -> Scores:
    found = np.empty((3, draws.shape[1]))
    tails = [(1 - level) / 2, (1 + level) / 2]
    for part in chunk_slices(draws.shape[1], len(draws)):
        chance = 100 * expit(unit * draws[:, part])
        found[0, part], found[1:, part] = chance.mean(axis=0), np.quantile(chance, tails, axis=0)
    return _with_ends(found[0], found[1], found[2], level)


def common_unit(posterior: BasePosterior) -> float:
    """Return the factor from utilities, and their standard deviations, to logits of an average annotator's answer.

    It is the u at which 1/(1+exp(-u d)) comes closest (least Kullback-Leibler divergence) to the chance that a new
    annotator, drawn from the crowd, prefers the item that is ahead by d, over the pairs of the posterior's items: what
    a Bradley-Terry fit of endless answers to such pairs would find. 1 for a logit link alone; about 1.6 for a probit
    link where items are close and 1.7 where they are apart; less with tastes and wrong answers.

    For a Gaussian posterior d is the difference of the means. For draws u matches the chances averaged over the
    draws. Under two items, or where all are equal: the ratio of the slopes at d = 0, and for draws 1.
    """
    if _answers_in_logits(posterior):
        return 1.0
    left, right = _some_pairs(posterior.n_items)
    if isinstance(posterior, GaussianPosterior):
        margin = posterior.mean[left] - posterior.mean[right]
        tastes = _difference_variance(posterior.taste, left, right)
        if not margin.any():
            return _slope_ratio(posterior.likelihood, float(tastes.mean()) if len(tastes) else 0.0)
        return _matched(margin[None, :], posterior.likelihood.preference(margin, tastes))
    if not isinstance(posterior, SamplePosterior):
        raise TypeError(f"{type(posterior).__name__} is neither a GaussianPosterior nor a SamplePosterior.")
    step = max(1, len(left) // MAX_PAIRS_OF_DRAWS)
    left, right = left[::step], right[::step]
    draws = posterior.draws[:: max(1, len(posterior.draws) // MAX_DRAWS)]
    margins = draws[:, left] - draws[:, right]
    return _matched(margins, posterior.for_annotator(None).preference(left, right)) if margins.any() else 1.0


def _answers_in_logits(posterior: BasePosterior) -> bool:
    """Return whether an answer's chance is 1/(1+exp(-d)) and nothing else, so that utilities are in logits already."""
    likelihood = posterior.likelihood
    if type(posterior) not in (GaussianPosterior, SamplePosterior):  # of other models, whose chances are their own
        return False
    plain = likelihood.link == "logit" and not likelihood.side and not likelihood.lapse and likelihood.tie is None
    plain = plain and likelihood.cuts is None
    return plain and getattr(posterior, "taste", None) is None


def _some_pairs(n_items: int) -> tuple[Ints, Ints]:
    """Return all pairs of items up to MAX_PAIRS; above that as many at random, from a fixed seed."""
    if n_items * (n_items - 1) // 2 <= MAX_PAIRS:
        return np.triu_indices(n_items, 1)
    rng = np.random.default_rng(0)
    left = rng.integers(n_items, size=MAX_PAIRS)
    return left, (left + rng.integers(1, n_items, size=MAX_PAIRS)) % n_items


def _difference_variance(taste: Covariance | None, left: Ints, right: Ints) -> Floats:
    return np.zeros(len(left)) if taste is None else taste.difference_variance(left, right)


def _slope_ratio(likelihood: Likelihood, variance: float) -> float:
    step = 1e-4
    return float((likelihood.preference(step, variance) - 0.5) / (expit(step) - 0.5))


def _matched(margins: Floats, chance: Floats) -> float:
    """Solve sum over pairs of E[d (1/(1+exp(-u d)) - chance)] = 0 for u by bisection; margins (n_draws, n_pairs)."""

    def excess(u: float) -> float:
        return float((margins.mean(axis=0) * (expit(u * margins).mean(axis=0) - chance)).sum())

    low, high = 0.0, 1.0
    while excess(high) < 0 and high < 1e9:
        high *= 2
    for _ in range(MAX_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
        if high - low <= 1e-10 * high:
            break
    return (low + high) / 2
