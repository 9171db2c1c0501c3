"""Bouchard's and Jaakkola's bounds on Plackett-Luce choices, quadratic in the utilities."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit

from models_engine.data import Comparisons
from models_engine.implied_pairs import Stages
from models_engine.linalg import dense_laplacian, sum_by_group

__all__ = ["ChoiceBounds", "jaakkola_lambda"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
INNER_STEPS = 3


def jaakkola_lambda(xi: Floats) -> Floats:
    """Return tanh(xi / 2) / (4 xi), 1/8 at 0: the curvature of Jaakkola's bound (Guo et al., Lemma 1)."""
    size = np.maximum(np.abs(xi), 1e-6)  # below it the function is 1/8 to 1e-13
    return np.tanh(size / 2) / (4 * size)


@dataclass(eq=False)
class _Sets:
    """Distinct sets of one size: items (m, k), summed weights (m,), and their bounds' xi (m, k) and alpha (m,)."""

    items: Ints
    weight: Floats
    xi: Floats
    alpha: Floats


class ChoiceBounds:
    """Bounds sum of w log P(choice | f) >= constant() + linear()'f - f' precision() f / 2, for every f (n_items,).

    Lemma 1 of Guo et al., Variational Inference from Ranked Samples with Features. `tighten` sets the free parameters
    (zeta of pairs; xi and alpha of larger sets) to their best for f ~ N(mean, covariance). They depend on the set but
    not on who won, so equal sets are summed first.

    levels (n_items, p): 1 for the items of each connected part that has larger sets. alpha can follow a utility that is
    added to all items of a part, so that the bounds at their best do not depend on it.
    """

    def __init__(self, data: Comparisons) -> None:
        self.n_items = data.n_items
        self.wins = np.zeros(data.n_items)
        self.low, self.high, self.total = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        self.sets: list[_Sets] = []
        for stages in data.stages():
            self.wins += np.bincount(stages.winner, stages.weight, minlength=data.n_items)
            items, weight = _distinct(stages)
            if stages.size == 2:
                self.low, self.high, self.total = items[:, 0], items[:, 1], weight
            else:
                self.sets.append(_Sets(items, weight, np.full(items.shape, 2.0), np.full(len(items), np.log(2.0))))
        self.zeta = np.ones(len(self.total))
        parts = data.connected_parts()
        in_sets = np.unique(np.concatenate([parts[sets.items[:, 0]] for sets in self.sets] or [parts[:0]]))
        self.levels = (parts[:, None] == in_sets).astype(np.float64)

    def tighten(self, mean: Floats, covariance: Floats) -> None:
        """Apply (19) for pairs, (22) and (23) in turn for larger sets; no step decreases the bound."""
        variance = np.diagonal(covariance)
        spread = variance[self.low] + variance[self.high] - 2 * covariance[self.low, self.high]
        self.zeta = np.sqrt(np.maximum(spread, 0.0) + (mean[self.low] - mean[self.high]) ** 2)
        for sets in self.sets:
            m, v, size = mean[sets.items], np.maximum(variance[sets.items], 0.0), sets.items.shape[1]
            for _ in range(INNER_STEPS):
                bend = jaakkola_lambda(sets.xi)
                sets.alpha = ((size - 2) / 4 + (bend * m).sum(axis=1)) / bend.sum(axis=1)
                sets.xi = np.sqrt(v + (m - sets.alpha[:, None]) ** 2)

    def precision(self) -> Floats:
        """Return A of (17), (n_items, n_items)."""
        matrix = dense_laplacian(self.low, self.high, 2 * self.total * jaakkola_lambda(self.zeta), self.n_items)
        for sets in self.sets:
            matrix[np.diag_indices(self.n_items)] += self._sum_to_items(sets, 2 * jaakkola_lambda(sets.xi))
        return matrix

    def linear(self) -> Floats:
        """Return b of (18), (n_items,)."""
        half = np.concatenate([self.total, self.total]) / 2
        result = self.wins - np.bincount(np.concatenate([self.low, self.high]), half, minlength=self.n_items)
        for sets in self.sets:
            result += self._sum_to_items(sets, 2 * jaakkola_lambda(sets.xi) * sets.alpha[:, None] - 0.5)
        return result

    def constant(self) -> float:
        """Return the sum of w M of (25)."""
        value = float(self.total @ _height(self.zeta))
        for sets in self.sets:
            each = (_height(sets.xi) - jaakkola_lambda(sets.xi) * sets.alpha[:, None] ** 2).sum(axis=1)
            value += float(sets.weight @ (each + (sets.items.shape[1] - 2) * sets.alpha / 2))
        return value

    def _sum_to_items(self, sets: _Sets, values: Floats) -> Floats:
        """Sum values (m, k) of the sets' places, times the sets' weights, by item (n_items,)."""
        weighted = (sets.weight[:, None] * values).ravel()
        return sum_by_group(sets.items.ravel(), weighted, self.n_items)


def _distinct(stages: Stages) -> tuple[Ints, Floats]:
    """Return the distinct sets of positive weight (m, k), regardless of the winner, and their summed weights (m,)."""
    kept = stages.weight > 0
    sets, which = np.unique(np.sort(stages.items[kept], axis=1), axis=0, return_inverse=True)
    return sets, np.bincount(which.ravel(), stages.weight[kept], minlength=len(sets)).astype(np.float64)


def _height(xi: Floats) -> Floats:
    return log_expit(xi) - xi / 2 + jaakkola_lambda(xi) * xi**2
