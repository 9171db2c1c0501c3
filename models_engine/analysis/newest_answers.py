"""A quick step from a fit's posterior to the one after the newest answers, without fitting again.

The fit's posterior of the consensus, N(m, V), is taken as the prior of the newest answers. An answer that prefers i to
j has the chance 1/(1 + exp(-u (f_i - f_j))), u being the unit of the posterior (analysis.scores.common_unit): that of
an average annotator. A tie counts as half an answer each way, and pairs of a larger set have their composite weights
(implied_pairs). The posterior is that of Laplace's method, found by Newton's steps over the differences of the pairs
(Rasmussen & Williams 2006, algorithm 3.1); with more than MAX_PAIRS different pairs these go in one block after
another, each the prior of the next. Scales, tastes and reliabilities stay as the fit has them: only another fit moves
them.
"""

from dataclasses import replace
from typing import TypeVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from models_engine.analysis.scores import common_unit
from models_engine.covariance.forms import DenseCovariance, LowRankCovariance
from models_engine.data import Comparisons
from models_engine.errors import InsufficientData
from models_engine.implied_pairs import DistinctPairs
from models_engine.linalg import centre
from models_engine.posterior import BasePosterior, GaussianPosterior, SamplePosterior

__all__ = ["MAX_DENSE", "MAX_PAIRS", "MIN_DRAWS", "update_posterior"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MAX_PAIRS = 256
MAX_DENSE = 1_500  # items above which only variances are updated: those of the items that the answers are about
MIN_DRAWS = 50.0  # effective draws that a posterior of draws must be left with
MAX_STEPS, TOLERANCE = 50, 1e-10
Consensus = TypeVar("Consensus", GaussianPosterior, SamplePosterior)


def update_posterior(posterior: BasePosterior, newest: Comparisons) -> GaussianPosterior | SamplePosterior:
    """Return the posterior of the consensus with the newest labels, over the same n_items items, centred.

    A Gaussian posterior of more than MAX_DENSE items is taken to have independent utilities, and so only the items that
    the labels are about move. Of a posterior of draws these are weighed by the probability of the labels and drawn
    again. Raises InsufficientData where fewer than MIN_DRAWS of them would be left, and TypeError for any other
    posterior.
    """
    consensus = posterior.restrict(np.arange(posterior.n_items))
    pairs, unit = newest.pairs().distinct(), common_unit(posterior)
    if isinstance(consensus, GaussianPosterior):
        return _update_gaussian(consensus, pairs, unit)
    if isinstance(consensus, SamplePosterior):
        return _reweigh_draws(consensus, pairs, unit)
    raise TypeError(f"{type(posterior).__name__} is neither a GaussianPosterior nor a SamplePosterior.")


def _update_gaussian(posterior: GaussianPosterior, pairs: DistinctPairs, unit: float) -> GaussianPosterior:
    mean, n = posterior.mean.copy(), posterior.n_items
    blocks = [slice(start, start + MAX_PAIRS) for start in range(0, len(pairs.low), MAX_PAIRS)]
    if n <= MAX_DENSE:
        covariance = posterior.covariance()
        for block in blocks:
            mean, covariance = _step(mean, covariance, *_rows(pairs, block), unit)
        return replace(posterior, mean=centre(mean), spread=DenseCovariance.of(covariance))
    variances = posterior.standard_deviations() ** 2
    for block in blocks:
        low, high, wins, total = _rows(pairs, block)
        items, places = np.unique(np.concatenate([low, high]), return_inverse=True)
        local = np.diag(variances[items])
        low, high = places[: len(low)], places[len(low) :]
        mean[items], local = _step(mean[items], local, low, high, wins, total, unit)
        variances[items] = np.diagonal(local)
    return replace(posterior, mean=centre(mean), spread=LowRankCovariance(np.zeros((n, 0)), variances))


def _rows(pairs: DistinctPairs, block: slice) -> tuple[Ints, Ints, Floats, Floats]:
    return pairs.low[block], pairs.high[block], pairs.score[block], pairs.total[block]


def _step(
    mean: Floats, covariance: Floats, low: Ints, high: Ints, wins: Floats, total: Floats, unit: float
) -> tuple[Floats, Floats]:
    """Return mean and covariance after one block of pairs; wins of total, (n_pairs,), prefer low."""
    across = covariance[:, low] - covariance[:, high]  # with each item, (n_items, n_pairs)
    among = across[low] - across[high]
    before = mean[low] - mean[high]
    pull, weight = _mode(before, among, wins, total, unit)
    root = np.sqrt(weight)
    factor = np.linalg.cholesky(np.eye(len(low)) + root[:, None] * among * root)
    reduction = scipy.linalg.solve_triangular(factor, root[:, None] * across.T, lower=True)
    return mean + across @ pull, covariance - reduction.T @ reduction


def _mode(before: Floats, among: Floats, wins: Floats, total: Floats, unit: float) -> tuple[Floats, Floats]:
    """Return (a, W), both (n_pairs,), at the mode z = before + among a of the differences: a is the gradient of the log
    likelihood there, W its curvature. A Newton step that does not raise the log posterior is halved."""

    def value(pull: Floats) -> float:
        z = unit * (before + among @ pull)
        return float(wins @ log_expit(z) + (total - wins) @ log_expit(-z) - pull @ (among @ pull) / 2)

    pull = np.zeros(len(before))
    best = value(pull)
    for _ in range(MAX_STEPS):
        chance = expit(unit * (before + among @ pull))
        weight = unit**2 * total * chance * (1 - chance)
        root = np.sqrt(weight)
        target = weight * (among @ pull) + unit * (wins - total * chance)
        factor = scipy.linalg.cho_factor(np.eye(len(pull)) + root[:, None] * among * root, lower=True)
        move = target - root * scipy.linalg.cho_solve(factor, root * (among @ target)) - pull
        size = 1.0
        while (found := value(pull + size * move)) < best - TOLERANCE and size > 1e-6:
            size /= 2
        pull, gain, best = pull + size * move, found - best, found
        if gain <= TOLERANCE:
            break
    chance = expit(unit * (before + among @ pull))
    return pull, unit**2 * total * chance * (1 - chance)


def _reweigh_draws(posterior: SamplePosterior, pairs: DistinctPairs, unit: float) -> SamplePosterior:
    margins = unit * (posterior.draws[:, pairs.low] - posterior.draws[:, pairs.high])
    log_weight = log_expit(margins) @ pairs.score + log_expit(-margins) @ (pairs.total - pairs.score)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    effective = 1 / float(weight @ weight)
    if effective < MIN_DRAWS:
        raise InsufficientData(f"the newest answers leave {effective:.0f} of {len(weight):,} draws; fit again.")
    places = (np.arange(len(weight)) + 0.5) / len(weight)
    kept = np.minimum(np.searchsorted(np.cumsum(weight), places), len(weight) - 1)
    return replace(posterior, draws=centre(posterior.draws[kept]))
