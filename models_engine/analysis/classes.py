"""Classes of a ranking: each contains the items that may be as good as its first item."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_engine.arrays import read_number
from models_engine.errors import InvalidData
from models_engine.posterior import Posterior
from models_engine.summaries import RankSummary

__all__ = ["RankClasses", "rank_classes"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RankClasses:
    """Both (n_items,), 1 = best.

    number: the class of each item; classes are runs of places.   highest: the first class whose first item the item
    reaches: less than `number` for an item that is placed lower but too little known to be excluded.
    """

    number: Ints
    highest: Ints


def rank_classes(posterior: Posterior, ranks: RankSummary, *, superiority: float = 0.95) -> RankClasses:
    """Assign classes to one ranking: `ranks` is the rank summary of `posterior`, restricted to one connected part.

    An item reaches the first item of a class where its rank interval goes up to that item's place (low <= the place),
    or where the first item's superiority over it is less than `superiority`: the interval alone leaves out how unsure
    the place of the first item itself is. The best item begins class 1. In the order of places a class holds every
    item that reaches its first item, up to the first that does not: that one begins the next class. Nothing is
    chained: neighbours who cannot be told apart carry a class no further than its first item's reach.

    So each class begins with an item that is below the first item of the class above with probability `superiority`
    or more. Others of neighbouring classes may be out of order: `python -m models_engine.benchmarks classes` says how
    often.   superiority: between 0 and 1. Raises InvalidData, also for ranks of another number of items.
    """
    superiority = read_number(superiority, "superiority", above=0, below=1)
    if not isinstance(ranks, RankSummary) or len(ranks.rank) != posterior.n_items:
        raise InvalidData(f"ranks are not those of the posterior's {posterior.n_items} items; give its rank_summary.")
    order = np.argsort(ranks.rank)
    places = _Places(
        posterior, order, ranks.low[order], posterior.utilities()[order], posterior.standard_deviations()[order]
    )
    n = len(order)
    number, highest = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    first, found = 0, 0
    while first < n:
        found += 1
        number[first:] = found
        reaches = places.reaching(first, superiority)
        highest[first:][reaches & (highest[first:] == 0)] = found
        first = n if reaches.all() else first + int(np.argmin(reaches))
    by_item = np.empty((2, n), dtype=np.int64)
    by_item[:, order] = number, highest
    return RankClasses(by_item[0], by_item[1])


@dataclass(frozen=True, eq=False)
class _Places:
    """Items, lower ends of rank intervals, utilities and their deviations in order of place, all (n_items,)."""

    posterior: Posterior
    items: Ints
    low: Ints
    mean: Floats
    deviation: Floats

    def reaching(self, first: int, superiority: float) -> Bools:
        """Return (n_items - first,) whether each item from place `first` on (counted from 0) reaches the one there.

        The deviation of a difference is at most the sum of the two, so by Cantelli's inequality a gap of sqrt(p/(1-p))
        times that is a superiority of p: only nearer items are asked for.
        """
        sums = self.deviation[first] + self.deviation[first:]
        near = self.mean[first] - self.mean[first:] < np.sqrt(superiority / (1 - superiority)) * sums
        reaches = self.low[first:] <= first + 1
        asked = np.flatnonzero(near & ~reaches)
        if len(asked):
            above = np.full(len(asked), self.items[first])
            reaches[asked] = self.posterior.superiority(above, self.items[first:][asked]) < superiority
        reaches[0] = True
        return np.asarray(reaches)
