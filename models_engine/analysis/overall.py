"""Weighted total of several criteria: one posterior over the same items, from the posterior of each criterion."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.analysis.scores import common_unit
from models_engine.arrays import raising, read_count, read_values
from models_engine.errors import InvalidData, InvalidSetting
from models_engine.linalg import chunk_slices
from models_engine.messages import Message, gettext_noop
from models_engine.posterior import BasePosterior, SamplePosterior
from models_engine.summaries import Diagnostics

__all__ = ["WeightedTotal", "weighted_total"]

Floats = NDArray[np.float64]
N_DRAWS = 4_000


@dataclass(frozen=True, eq=False)
class WeightedTotal:
    """Total of each item over criteria, in logits of an average annotator's answer.

    posterior: joint draws of the total, centred; its mean is exact.
    weights (n_criteria,): of each criterion, summing to 1.   units (n_criteria,): logits per unit of utility.
    contributions (n_criteria, n_items): what each criterion adds to an item's mean total, in logits.
    shares (n_criteria,): of the variance of the mean totals over items, summing to 1; None where all totals are equal.
    A share is negative where a criterion works against the total.
    """

    posterior: SamplePosterior
    weights: Floats
    units: Floats
    contributions: Floats
    shares: Floats | None


def weighted_total(
    posteriors: Sequence[BasePosterior],
    weights: ArrayLike,
    *,
    rng: np.random.Generator | None = None,
    n_draws: int = N_DRAWS,
) -> WeightedTotal:
    """Compute t_i = sum over criteria c of w_c u_c f_ci, and its posterior by joint draws.

    posteriors: of each criterion, over the same items in the same order.   weights (n_criteria,): 0 or more, finite,
    one of them above 0; they are divided by their sum.   f_ci: the centred utility of item i by criterion c.   u_c:
    common_unit, so that every f_ci u_c is in logits of the answer of an annotator drawn from the crowd.

    Utilities are not standardised: a criterion by which items differ more moves the total more, in the proportion in
    which people's answers differ more by it. Given the answers the criteria are taken as independent, so that
    var(t_i) = sum of (w_c u_c sd_ci)^2: too little where one person's errors by one criterion go with theirs by
    another. u_c is taken as known.

    Raises InvalidData for posteriors over different numbers of items, InvalidSetting for weights that are none.
    """
    shares = _normalised(weights, len(posteriors))
    with raising(InvalidSetting):
        n_draws = read_count(n_draws, "n_draws")
    if n_draws < 2:
        raise InvalidSetting(f"n_draws is {n_draws}; give 2 or more.", value=n_draws)
    n_items = posteriors[0].n_items
    if any(posterior.n_items != n_items for posterior in posteriors):
        raise InvalidData("the criteria have different numbers of items; restrict each posterior to the same items.")
    units = np.array([common_unit(posterior) for posterior in posteriors])
    factors = shares * units
    contributions = factors[:, None] * np.stack([posterior.utilities() for posterior in posteriors])
    draws = _total_draws(posteriors, factors, n_draws, np.random.default_rng(0) if rng is None else rng)
    draws += contributions.sum(axis=0) - draws.mean(axis=0)
    converged = all(posterior.diagnostics.converged for posterior in posteriors)
    diagnostics = Diagnostics(converged, n_draws, (), 0.0, Message.of(gettext_noop("joint draws of the criteria")))
    return WeightedTotal(
        SamplePosterior.of(draws, diagnostics), shares, units, contributions, _variance_shares(contributions)
    )


def _normalised(weights: ArrayLike, n_criteria: int) -> Floats:
    with raising(InvalidSetting):
        given = read_values(weights, "weights")
    if given.shape != (n_criteria,) or not n_criteria:
        raise InvalidSetting(f"{given.shape} weights were given for {n_criteria} criteria; give each one weight.")
    if not np.isfinite(given).all() or (given < 0).any() or not given.any():
        raise InvalidSetting(f"weights are {given.tolist()}; give finite ones of 0 or more, one of them above 0.")
    return np.asarray(given / given.sum())


def _total_draws(
    posteriors: Sequence[BasePosterior], factors: Floats, n_draws: int, rng: np.random.Generator
) -> Floats:
    """Return (n_draws, n_items); criteria of weight 0 are not drawn."""
    total = np.zeros((n_draws, posteriors[0].n_items))
    for posterior, factor in zip(posteriors, factors.tolist(), strict=True):
        for part in chunk_slices(n_draws, posterior.n_items) if factor else ():
            total[part] += factor * posterior.sample(part.stop - part.start, rng=rng)
    return total


def _variance_shares(contributions: Floats) -> Floats | None:
    """Return cov(contribution, total) / var(total) over items of each criterion."""
    total = contributions.sum(axis=0)
    centred = contributions - contributions.mean(axis=1, keepdims=True)
    variance = float(((total - total.mean()) ** 2).sum())
    return None if variance <= 0 else np.asarray(centred @ (total - total.mean()) / variance)
