"""log P(label) of labels of every kind under a posterior: pairs by quadrature, larger sets by averaging over draws."""

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from math import factorial, prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import cumulative_simpson
from scipy.special import logsumexp, ndtr

from models_engine.data import Comparisons
from models_engine.errors import InvalidData
from models_engine.implied_pairs import LabelGroup
from models_engine.linalg import chunk_slices
from models_engine.predictive import Likelihood

__all__ = ["log_label_probabilities", "log_order_probabilities"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
N_DRAWS = 256
MAX_GAP = 40.0
MAX_ORDERS = 120
GRID_NUMBERS = 4_000_000  # of sets on one grid
AT_ONCE = 200_000  # of these, few enough to stay near the processor


class PredictsLabels(Protocol):
    """The part of a posterior that log_label_probabilities uses: the utilities of the annotator who answers."""

    @property
    def likelihood(self) -> Likelihood: ...
    def log_pairs(self, left: NDArray, right: NDArray, outcome: NDArray, sided: NDArray) -> Floats: ...
    def log_graded_pairs(
        self, left: NDArray, right: NDArray, outcome: NDArray, sided: NDArray, grade: NDArray
    ) -> Floats: ...
    def sample(self, n: int, *, rng: np.random.Generator) -> Floats: ...


def log_label_probabilities(posterior: PredictsLabels, data: Comparisons) -> Floats:
    """Return log P(label), (n_labels,), for labels of the annotator whose utilities `posterior` describes.

    Of a graded pair it is the grade's as well where the posterior has cut points, else the outcome's alone.

    Sets of three or more: Plackett-Luce for the logit link, Thurstone (noise variance 1/2 per item) for the probit
    link, averaged over 256 draws from a fixed seed; a lapse is an order by the negated utilities. Repeatable.
    """
    result = np.empty(data.n_labels)
    for group in data.groups():
        if group.size == 2:
            outcome = (1 + np.sign(group.ranks[:, 1] - group.ranks[:, 0])) / 2
            sided = data.positions[data.starts[group.label]] >= 0
            pairs = (group.items[:, 0], group.items[:, 1], outcome, sided)
            if data.grades is None or posterior.likelihood.cuts is None:
                result[group.label] = posterior.log_pairs(*pairs)
            else:
                grade = _known_grades(data.grades[group.label], len(posterior.likelihood.cuts))
                result[group.label] = posterior.log_graded_pairs(*pairs, grade)
        else:
            draws = posterior.sample(N_DRAWS, rng=np.random.default_rng(0))
            result[group.label] = _log_sets(draws, group, posterior.likelihood)
    return result


def _known_grades(grade: Ints, n_grades: int) -> Ints:
    for value in grade[grade > n_grades][:1].tolist():
        raise InvalidData(f"grade {value} is above the {n_grades} that were fitted; give n_grades to the fit.")
    return grade


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

    Equal ranks are summed over, so that the weak orders of a set add up to more than one. Rows of `ranks` may have
    different patterns.
    """
    result = np.empty(utilities.shape[:2])
    patterns, which = np.unique(ranks, axis=0, return_inverse=True)
    by_link = _log_plackett_luce if link == "logit" else _log_weak_thurstone
    for index, pattern in enumerate(patterns):
        rows = np.flatnonzero(which.ravel() == index)
        sizes = np.diff(np.flatnonzero(np.append(np.diff(pattern, prepend=-1) != 0, True))).tolist()
        result[:, rows] = by_link(utilities[:, rows], sizes)
    return result


def _log_plackett_luce(f: Floats, sizes: list[int]) -> Floats:
    """Return log P that the first sizes[0] items, in any order, come before all others, and so on."""
    total, start = np.zeros(f.shape[:2]), 0
    for size in sizes[:-1]:
        rest = logsumexp(f[..., start + size :], axis=-1)
        if size == 1:
            total += f[..., start] - np.logaddexp(f[..., start], rest)
        else:  # all of these arrive before the first of the rest, whose rates add up
            total += _log_last(np.concatenate([f[..., start : start + size], rest[..., None]], axis=-1))
        start += size
    return total


def _log_weak_thurstone(f: Floats, sizes: list[int]) -> Floats:
    """Return the same for Thurstone's model: tied items above others by the sum over their orders.

    One group of equal rank at the end, or above a single last item, needs no orders. Of more than MAX_ORDERS orders
    as many are drawn from a fixed seed, and count for all.
    """
    groups = [place for place, size in enumerate(sizes) if size > 1]
    n_first = groups[0] if groups else len(sizes)
    if groups in ([], [len(sizes) - 1]) or (groups == [len(sizes) - 2] and sizes[-1] == 1):
        last = bool(groups) and groups[0] == len(sizes) - 2
        return _log_thurstone(f, n_first, last)
    starts, rng = np.cumsum([0, *sizes]), np.random.default_rng(0)
    ordered = [place for place in groups if place < len(sizes) - 1]
    n_orders = prod(factorial(sizes[place]) for place in ordered)
    found = []
    for drawn in _orders([sizes[place] for place in ordered], n_orders, rng):
        columns = np.arange(f.shape[-1])
        for place, order in zip(ordered, drawn, strict=True):
            columns[starts[place] : starts[place + 1]] = starts[place] + np.array(order)
        alone = f.shape[-1] - (sizes[-1] if sizes[-1] > 1 else 0)
        found.append(_log_thurstone(f[..., columns], alone, False))
    return logsumexp(np.stack(found), axis=0) + np.log(n_orders / len(found))


def _orders(sizes: list[int], n_orders: int, rng: np.random.Generator) -> Iterator[tuple[Sequence[int], ...]]:
    """Yield an order of each group: all of them, or MAX_ORDERS drawn."""
    if n_orders <= MAX_ORDERS:
        yield from product(*(permutations(range(size)) for size in sizes))
        return
    for _ in range(MAX_ORDERS):
        yield tuple(rng.permutation(size).tolist() for size in sizes)


def _log_last(f: Floats) -> Floats:
    """Return log P(the last of these items arrives last), arrival times exponential with rates exp(f) (n_draws, m, k).

    Integral over u = log(rate_last * time): exp(u - e^u) prod_i (1 - exp(-rate_i time)), by the trapezoidal rule.
    """
    u = np.linspace(-30.0, 5.0, 141)
    log_time = f[..., :-1, None] - f[..., -1:, None] + u
    arrived = np.log(-np.expm1(-np.exp(np.clip(log_time, -30.0, 10.0))))
    log_integrand = u - np.exp(u) + np.where(log_time < -30.0, log_time, arrived).sum(axis=-2)
    return logsumexp(log_integrand, axis=-1) + np.log(u[1] - u[0])


def _log_thurstone(f: Floats, n_first: int, last: bool) -> Floats:
    """Return the log probability for perceived utilities N(f, 1/2), integrated over the best's on a grid.

    Probabilities below 1e-300 count as that. The grid is as fine as the noise needs, however far apart the utilities;
    a gap of more than 40 between neighbours counts as 40, as nobody's noise crosses either with more than 1e-300.
    """
    flat = _close_gaps(f.reshape(-1, f.shape[-1]))
    points = _n_grid_points(np.ptp(flat, axis=1))
    result, order = np.empty(len(flat)), np.argsort(points, kind="stable")
    start = 0
    while start < len(order):
        ahead = order[start : start + max(1, GRID_NUMBERS // (flat.shape[1] * int(points[order[start]])))]
        rows = ahead[points[ahead] <= 2 * points[ahead[0]]]
        n_points = int(points[rows].max())
        for part in chunk_slices(len(rows), flat.shape[1] * n_points, budget=AT_ONCE):
            result[rows[part]] = _log_thurstone_on_grid(flat[None, rows[part]], n_first, last, n_points)[0]
        start += len(rows)
    return result.reshape(f.shape[:-1])


def _close_gaps(f: Floats) -> Floats:
    """Return utilities (n, k) with gaps between neighbours of at most 40, each row from 0."""
    order = np.argsort(f, axis=1)
    ascending = np.take_along_axis(f, order, axis=1)
    closer = np.zeros_like(f)
    closer[:, 1:] = np.cumsum(np.minimum(np.diff(ascending, axis=1), MAX_GAP), axis=1)
    result = np.empty_like(f)
    np.put_along_axis(result, order, closer, axis=1)
    return result


def _n_grid_points(span: Floats) -> Ints:
    """Return 241, or as many (1 + a multiple of 4) as give a step of 1/8 over the span and 5 on either side."""
    return np.maximum(241, 1 + 4 * np.ceil((span + 10) * 2).astype(np.int64))


def _log_thurstone_on_grid(f: Floats, n_first: int, last: bool, n_points: int) -> Floats:
    span = np.linspace(0.0, 1.0, n_points)
    low, high = f.min(axis=-1, keepdims=True) - 5.0, f.max(axis=-1, keepdims=True) + 5.0
    grid = low + (high - low) * span
    step = (high - low) / (len(span) - 1)
    z = (grid[..., None, :] - f[..., :, None]) * np.sqrt(2)
    n_alone = min(n_first, f.shape[-1] - 1)
    rest = z[..., n_alone:, :]
    below = _middle_and_last(rest, step) if last else ndtr(rest).prod(axis=-2)
    for item in range(n_alone - 1, -1, -1):
        below = cumulative_simpson(_density(z[..., item, :]) * below, dx=1.0, axis=-1, initial=0) * step
    return np.log(np.maximum(below[..., -1], 1e-300))


def _density(z: Floats) -> Floats:
    """Return the density of a perceived utility z noise deviations away from its mean."""
    return np.exp(-(z**2) / 2) / np.sqrt(np.pi)


def _middle_and_last(z: Floats, step: Floats) -> Floats:
    """Return P(every middle item lies between the last item and s) at each grid point s, summed over the last item.

    The last item is summed over every fourth point within 5 of its utility, beyond which it has no density.
    """
    cdf, density, n_points = ndtr(z[..., :-1, :]), _density(z[..., -1, :]), z.shape[-1]
    result, between, gap = np.zeros((3, *density.shape))
    first = np.maximum(np.abs(z[..., -1, :]).argmin(axis=-1) - np.ceil(5 / step[..., 0]).astype(np.int64), 0)
    for offset in range(0, 2 * int(np.ceil(5 / step.min())) + 1, 4):
        point = np.minimum(first + offset, n_points - 1)[..., None]
        inside = (first + offset < n_points)[..., None]
        between[:] = inside * np.take_along_axis(density, point, axis=-1)
        at = np.take_along_axis(cdf, point[..., None, :], axis=-1)
        for item in range(cdf.shape[-2]):
            np.subtract(cdf[..., item, :], at[..., item, :], out=gap)
            between *= np.maximum(gap, 0.0, out=gap)
        result += between
    return result * 4 * step
