"""log P(label) of labels of every kind under a posterior: pairs by quadrature, larger sets by averaging over draws."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import cumulative_simpson
from scipy.special import log_ndtr, logsumexp, ndtr

from models_engine.data import Comparisons
from models_engine.implied_pairs import LabelGroup
from models_engine.linalg import chunk_slices
from models_engine.predictive import Likelihood

__all__ = ["log_label_probabilities", "log_order_probabilities"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
N_DRAWS = 256


class PredictsLabels(Protocol):
    """The part of a posterior that log_label_probabilities uses: the utilities of the annotator who answers."""

    @property
    def likelihood(self) -> Likelihood: ...
    def log_pairs(self, left: NDArray, right: NDArray, outcome: NDArray, sided: NDArray) -> Floats: ...
    def sample(self, n: int, *, rng: np.random.Generator) -> Floats: ...


def log_label_probabilities(posterior: PredictsLabels, data: Comparisons) -> Floats:
    """Return log P(label), (n_labels,), for labels of the annotator whose utilities `posterior` describes.

    Sets of three or more: Plackett-Luce for the logit link, Thurstone (noise variance 1/2 per item) for the probit
    link, averaged over 256 draws from a fixed seed; a lapse is an order by the negated utilities. Repeatable.
    """
    result = np.empty(data.n_labels)
    for group in data.groups():
        if group.size == 2:
            outcome = (1 + np.sign(group.ranks[:, 1] - group.ranks[:, 0])) / 2
            sided = data.positions[data.starts[group.label]] >= 0
            result[group.label] = posterior.log_pairs(group.items[:, 0], group.items[:, 1], outcome, sided)
        else:
            draws = posterior.sample(N_DRAWS, rng=np.random.default_rng(0))
            result[group.label] = _log_sets(draws, group, posterior.likelihood)
    return result


def _log_sets(draws: Floats, group: LabelGroup, likelihood: Likelihood) -> Floats:
    items, ranks = group.best_first()
    result = np.empty(len(items))
    for part in chunk_slices(len(items), len(draws) * group.size * 64):
        given_draw = log_order_probabilities(draws[:, items[part]], ranks[part], likelihood.link)
        if likelihood.lapse:
            wrong_way = log_order_probabilities(-draws[:, items[part]], ranks[part], likelihood.link)
            given_draw = np.logaddexp(np.log1p(-likelihood.lapse) + given_draw, np.log(likelihood.lapse) + wrong_way)
        result[part] = logsumexp(given_draw, axis=0) - np.log(len(draws))
    return result


def log_order_probabilities(utilities: Floats, ranks: Ints, link: str) -> Floats:
    """Return log P(order) of m sets, (n_draws, m); utilities (n_draws, m, k) and ranks (m, k) sorted best first.

    Equal ranks are summed over. Rows of `ranks` may have different patterns.
    """
    result = np.empty(utilities.shape[:2])
    patterns, which = np.unique(ranks, axis=0, return_inverse=True)
    by_link = _log_plackett_luce if link == "logit" else _log_thurstone
    for index, pattern in enumerate(patterns):
        rows = np.flatnonzero(which.ravel() == index)
        n_first = int(np.argmax(np.append(np.diff(pattern) == 0, True)))  # items alone in their rank, from the top
        last = n_first < len(pattern) - 1 and pattern[-1] > pattern[-2]
        result[:, rows] = by_link(utilities[:, rows], n_first, bool(last))
    return result


def _log_plackett_luce(f: Floats, n_first: int, last: bool) -> Floats:
    stages = range(min(n_first, f.shape[-1] - 1))
    total = sum((f[..., s] - logsumexp(f[..., s:], axis=-1) for s in stages), np.zeros(f.shape[:2]))
    return total + (_log_last(f[..., n_first:]) if last else 0.0)


def _log_last(f: Floats) -> Floats:
    """Return log P(the last of these items arrives last), arrival times exponential with rates exp(f) (n_draws, m, k).

    Integral over u = log(rate_last * time): exp(u - e^u) prod_i (1 - exp(-rate_i time)), by the trapezoidal rule.
    """
    u = np.linspace(-30.0, 5.0, 141)
    scaled = np.exp(f[..., :-1, None] - f[..., -1:, None] + u)
    log_integrand = u - np.exp(u) + np.log(-np.expm1(-np.maximum(scaled, 1e-300))).sum(axis=-2)
    return logsumexp(log_integrand, axis=-1) + np.log(u[1] - u[0])


def _log_thurstone(f: Floats, n_first: int, last: bool) -> Floats:
    """Return the log probability for perceived utilities N(f, 1/2), integrated over the best's on a grid."""
    span = np.linspace(0.0, 1.0, 241)
    low, high = f.min(axis=-1, keepdims=True) - 5.0, f.max(axis=-1, keepdims=True) + 5.0
    grid = low + (high - low) * span
    step = (high - low) / (len(span) - 1)
    z = (grid[..., None, :] - f[..., :, None]) * np.sqrt(2)
    density = np.exp(-(z**2) / 2) / np.sqrt(np.pi)
    n_alone = min(n_first, f.shape[-1] - 1)
    below = (
        _middle_and_last(z[..., n_alone:, :], density, step) if last else np.exp(log_ndtr(z[..., n_alone:, :]).sum(-2))
    )
    for item in range(n_alone - 1, -1, -1):
        below = cumulative_simpson(density[..., item, :] * below, dx=1.0, axis=-1, initial=0) * step
    return np.log(np.maximum(below[..., -1], 1e-300))


def _middle_and_last(z: Floats, density: Floats, step: Floats) -> Floats:
    """Return P(every middle item lies between the last item and s) at each grid point s, summed over the last item."""
    cdf = ndtr(z)
    result = np.zeros(cdf.shape[:2] + cdf.shape[-1:])
    for point in range(0, cdf.shape[-1], 4):
        between = np.maximum(cdf[..., :-1, :] - cdf[..., :-1, point, None], 0.0).prod(axis=-2)
        result += between * density[..., -1, point, None]
    return result * 4 * step
