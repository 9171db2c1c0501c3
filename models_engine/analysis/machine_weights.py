"""How much a machine's answers weigh in a fit beside people's.

A machine errs alike each time it sees an item, so that more of its answers do not make its errors smaller. A fit that
took them for those of one more person would have intervals that are too narrow.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import chdtri

from models_engine.analysis.judged_sets import number_sets
from models_engine.data import Comparisons
from models_engine.estimators.bradley_terry import QUICK

__all__ = ["machine_weights"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MIN_SHARED = 5  # items that people and a machine compared, below which nothing is known of the machine
TAIL = 0.1  # the spread of a machine's errors is taken for so large that a larger one has this chance


def machine_weights(data: Comparisons, n_people: int) -> tuple[Floats, Floats]:
    """Return ((n_labels,) weights for a fit, (n_machines,) the share at which each machine's comparisons count).

    data: annotators from n_people on are machines. Labels of people keep weight 1.

    With u the utilities of people alone and m those of one machine alone, both by BradleyTerry (from grades too, where
    there are any: they make s^2 smaller, and the share with it) and centred over the
    items that both compared, in each connected part by itself, m_i - u_i = delta_i + errors, delta_i ~ N(0, tau^2).
    tau^2 is the upper bound of a one-sided interval: where sum (m_i - u_i)^2 / (tau^2 + var m_i + var u_i) falls to the
    TAIL quantile of chi^2 with one degree of freedom for each item but one of each part. What a machine says of an item
    has the variance s^2 + tau^2 in place of s^2, the mean of var m_i, so its labels count s^2 / (s^2 + tau^2) each;
    where it was asked about a set in several orders they share that. 0 with fewer than MIN_SHARED items in one part, or
    as many degrees of freedom in several.
    """
    weights = np.ones(data.n_labels)
    shares = np.zeros(max(data.n_annotators - n_people, 0))
    by_people = data.annotators < n_people
    of_people = _utilities(data.subset(by_people)) if by_people.any() else None
    for machine in range(len(shares)):
        own = np.flatnonzero(data.annotators == n_people + machine)
        if not len(own):
            continue
        if of_people is not None:
            shares[machine] = _share(of_people, _utilities(data.subset(own)))
        which, _sets = number_sets(data.subset(own))
        weights[own] = shares[machine] / np.bincount(which)[which]
    return weights, shares


@dataclass(frozen=True, eq=False)
class _Utilities:
    """mean, variance (n_items,).   part (n_items,): number of the connected part, -1 of an item not compared."""

    mean: Floats
    variance: Floats
    part: Ints


def _utilities(data: Comparisons) -> _Utilities:
    grades: dict[str, Any] = {} if data.grades is None else {"grades": data.grades, "n_grades": data.n_grades}
    if (data.sizes == 2).all():
        pairs = data.items[::2], data.items[1::2], _outcomes(data)
        plain = Comparisons.from_pairs(*pairs, n_items=data.n_items, **grades)
    else:
        ends = data.starts[1:-1]
        ranks, sets = np.split(data.ranks, ends), np.split(data.items, ends)
        plain = Comparisons.from_ranks(ranks, sets, n_items=data.n_items, tied=data.tied, **grades)
    posterior = QUICK.fit(plain)
    part = np.where(plain.n_comparisons() > 0, plain.connected_parts(), -1)
    return _Utilities(posterior.utilities(), posterior.standard_deviations() ** 2, part)


def _outcomes(data: Comparisons) -> Floats:
    first, second = data.ranks.reshape(-1, 2).T
    return np.where(first == second, 0.5, (first < second).astype(float))


def _share(people: _Utilities, machine: _Utilities) -> float:
    both = (people.part >= 0) & (machine.part >= 0)
    _, group, sizes = np.unique(
        np.stack([people.part[both], machine.part[both]]), axis=1, return_inverse=True, return_counts=True
    )
    group = group.ravel()
    freedom = int((sizes - 1).sum())
    if freedom < MIN_SHARED - 1:
        return 0.0
    gap = machine.mean[both] - people.mean[both]
    gap -= (np.bincount(group, gap) / sizes)[group]
    variance = machine.variance[both] + people.variance[both]
    limit = float(chdtri(freedom, 1 - TAIL))

    def excess(spread: float) -> float:
        return float((gap**2 / (variance + spread)).sum()) - limit

    highest = float((gap**2).sum()) / limit
    spread = brentq(excess, 0.0, highest + 1e-9) if excess(0.0) > 0 else 0.0
    own = float(machine.variance[both].mean())
    return own / (own + spread)
