"""Complete rankings drawn from the angle-based model by swaps: compatible with a label, or free."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from models_engine.data import Comparisons
from models_engine.inference.angle.permutations import place_scores

__all__ = ["Completions", "draw_rankings"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_COPIES = 20


class Completions:
    """Complete rankings, one per incomplete label, changed by swaps that stay compatible with the label (paper, 4.1).

    A label of whole weight w has w rankings of its own (at most 20, sharing the weight); a fractional rest weights its
    ranking, which approximates a weighted log likelihood. A tied pair enters as half a label each way.

    weight (m,), places of the items in each ranking now (m, t).
    """

    def __init__(self, data: Comparisons, rng: np.random.Generator) -> None:
        self.t, width = data.n_items, int(data.sizes.max(initial=1))
        none = np.empty((0, width), dtype=np.int64)
        # One array for sets of all sizes, so that a swap is proposed for all of them at once.
        parts = [(none, none, np.empty(0), np.empty((0, self.t), dtype=np.int64))]
        for group in data.groups():
            items, ranks = group.best_first()
            weight = group.weights
            if group.size == 2:
                tied = np.flatnonzero(ranks[:, 0] == ranks[:, 1])
                items = np.concatenate([items, items[tied][:, ::-1]])
                weight = np.concatenate([np.where(ranks[:, 0] == ranks[:, 1], weight / 2, weight), weight[tied] / 2])
                ranks = np.broadcast_to([0, 1], items.shape)
            copies = np.clip(np.ceil(weight), 0, MAX_COPIES).astype(np.int64)
            rows = np.repeat(np.arange(len(items)), copies)
            share, n_better = weight[rows] / copies[rows], (ranks[:, None, :] < ranks[:, :, None]).sum(axis=2)
            places = _compatible(items[rows], self.t, rng)
            parts.append((_widened(items[rows], width), _widened(n_better[rows], width), share, places))
        self._items, self._n_better, self.weight, self.places = map(np.concatenate, zip(*parts, strict=True))

    @property
    def total(self) -> float:
        return float(self.weight.sum())

    def resultant(self) -> Floats:
        """Return the sum of w y, (t,)."""
        return np.asarray(self.weight @ place_scores(self.t)[self.places])

    def move(self, eta: Floats, n_swaps: int, rng: np.random.Generator) -> None:
        """Make n_swaps proposals for every ranking under eta (t,)."""
        n, scores, rows = len(self.places), place_scores(self.t), np.arange(len(self.places))
        for _ in range(n_swaps if n else 0):
            first, second = _two_items(n, self.t, rng)
            at_first, at_second = self.places[rows, first], self.places[rows, second]
            gain = (eta[first] - eta[second]) * (scores[at_second] - scores[at_first])
            wanted = np.flatnonzero(np.log(rng.random(n)) < gain)
            places, here = self.places[wanted], rows[: len(wanted)]
            places[here, first[wanted]], places[here, second[wanted]] = at_second[wanted], at_first[wanted]
            kept = _agrees(places[here[:, None], self._items[wanted]], self._n_better[wanted])
            self.places[wanted[kept]] = places[kept]


def _widened(columns: Ints, width: int) -> Ints:
    """Repeat the last column, the worst item's, which asks nothing more of a ranking."""
    return np.concatenate([columns, np.repeat(columns[:, -1:], width - columns.shape[1], axis=1)], axis=1)


def _two_items(n: int, t: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    first = rng.integers(t, size=n)
    return first, (first + rng.integers(1, t, size=n)) % t


def _compatible(items: Ints, t: int, rng: np.random.Generator) -> Ints:
    """Draw random places (m, t) in which the items given best first keep their order."""
    places = np.argsort(rng.random((len(items), t)), axis=1)
    taken = np.sort(np.take_along_axis(places, items, axis=1), axis=1)
    np.put_along_axis(places, items, taken, axis=1)
    return places


def _agrees(places: Ints, n_better: Ints) -> NDArray[np.bool_]:
    """Return whether every item of lower rank is placed before every one of higher rank, (m,); columns best first."""
    furthest = np.maximum.accumulate(places, axis=1)
    reached = np.where(n_better > 0, np.take_along_axis(furthest, np.maximum(n_better - 1, 0), axis=1), -1)
    return np.asarray((places > reached).all(axis=1))


def draw_rankings(eta: Floats, rng: np.random.Generator, *, sweeps: int = 30) -> Ints:
    """Draw one ranking for each eta (n, t): places (n, t), from a noisy order on, each item in `sweeps` times 2 pairs.

    In each round items are paired at random, alike for all rankings, and every pair takes its two places in the order
    that these have by the model given all other items' places (Gibbs sampling: pairs without a common item are
    independent of each other). With all pairs at once this takes a third (ten items) to a seventh (a hundred) of the
    time of one swap after the other.
    """
    n, t = eta.shape
    scores, half = place_scores(t), t // 2
    places = np.argsort(np.argsort(eta + rng.gumbel(size=eta.shape) * np.sqrt(t), axis=1), axis=1).T.copy()
    weights = eta.T.copy()
    for _ in range(2 * sweeps if t > 1 else 0):
        order = rng.permutation(t)
        first, second = order[:half], order[half : 2 * half]
        at_first, at_second = places[first], places[second]
        gain = (weights[first] - weights[second]) * (scores[at_second] - scores[at_first])
        swapped = rng.random((half, n)) < expit(gain)
        places[first] = np.where(swapped, at_second, at_first)
        places[second] = np.where(swapped, at_first, at_second)
    return np.ascontiguousarray(places.T)
