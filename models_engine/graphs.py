"""The comparison graph: distinct pairs of items, sums over them, and their sparse precision matrices."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, connected_components

from models_engine.linalg import sum_by_group

__all__ = ["GraphPrecision", "PairGraph"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairGraph:
    """Distinct pairs low < high, sorted by low then high, both (n_pairs,), over n_items items."""

    low: Ints
    high: Ints
    n_items: int

    @classmethod
    def of(cls, left: Ints, right: Ints, n_items: int) -> tuple["PairGraph", Ints]:
        """Build the graph of these rows; also return the pair (index into low and high) of each row."""
        keys, pair = np.unique(np.minimum(left, right) * n_items + np.maximum(left, right), return_inverse=True)
        return cls(keys // n_items, keys % n_items, n_items), pair

    @property
    def n_pairs(self) -> int:
        return len(self.low)

    def differences(self, f: Floats) -> Floats:
        """Return D f, f_low - f_high, (n_pairs,)."""
        return f[self.low] - f[self.high]

    def divergence(self, values: Floats) -> Floats:
        """Return D' values, (n_items,): added at low, subtracted at high."""
        n = self.n_items
        return sum_by_group(self.low, values, n) - sum_by_group(self.high, values, n)

    def dense(self, weights: Floats, ridge: Floats) -> Floats:
        """Return `D' diag(weights) D + diag(ridge)`, (n_items, n_items)."""
        matrix = np.zeros((self.n_items, self.n_items))
        matrix[self.low, self.high] = matrix[self.high, self.low] = -weights
        np.fill_diagonal(matrix, GraphPrecision(self, weights, ridge).diagonal)
        return matrix

    def neighbourhood(self, size: int) -> Ints:
        """Return the numbers of at most `size` items that are next to each other, rising: breadth first from the first
        item of the largest connected part, then from that of the next.
        """
        ones = np.ones(self.n_pairs, dtype=np.int8)
        matrix = scipy.sparse.csr_array((ones, (self.low, self.high)), shape=(self.n_items, self.n_items))
        n_parts, part = connected_components(matrix, directed=False)
        first = np.unique(part, return_index=True)[1]
        chosen = np.zeros(0, dtype=np.int64)
        for number in np.argsort(-np.bincount(part, minlength=n_parts), kind="stable"):
            reached = breadth_first_order(matrix, first[number], directed=False, return_predecessors=False)
            chosen = np.concatenate([chosen, reached[: size - len(chosen)]])
            if len(chosen) == size:
                break
        return np.sort(chosen)

    def precision(self, weights: Floats, ridge: Floats) -> "GraphPrecision":
        """Return the same matrix as `dense` in sparse form."""
        return GraphPrecision(self, weights, ridge)


@dataclass(frozen=True, eq=False)
class GraphPrecision:
    """Precision Q = D' diag(weights) D + diag(ridge): weights (n_pairs,), ridge (n_items,) nonnegative, not all 0."""

    graph: PairGraph
    weights: Floats
    ridge: Floats

    @cached_property
    def diagonal(self) -> Floats:
        n = self.graph.n_items
        low, high = self.graph.low, self.graph.high
        return sum_by_group(low, self.weights, n) + sum_by_group(high, self.weights, n) + self.ridge

    @cached_property
    def upper(self) -> scipy.sparse.csr_array:
        """Return the weights above the diagonal: Q = diag(diagonal) - upper - upper'."""
        n = self.graph.n_items
        starts = np.searchsorted(self.graph.low, np.arange(n + 1))
        return scipy.sparse.csr_array((self.weights, self.graph.high, starts), shape=(n, n))

    @cached_property
    def weight_matrix(self) -> scipy.sparse.csr_array:
        """Return the weights on both sides of the diagonal."""
        return (self.upper + self.upper.T).tocsr()

    def times(self, x: Floats) -> Floats:
        """Return Q x for x (n_items,) or (n_items, m)."""
        return (self.diagonal * x.T).T - self.weight_matrix @ x

    def solve(self, b: Floats, *, tolerance: float = 1e-9, limit: int = 20_000) -> Floats:
        """Solve Q x = b, b (n_items, m), by conjugate gradients with the diagonal as preconditioner, all columns at
        once.

        Ends when every column's residual, relative to b in the norm of diag(Q)^-1, is below tolerance. The ridge
        bounds the condition number, so that the limit is reached only where rounding prevents more accuracy.
        """
        inverse = 1 / self.diagonal[:, None]
        x, residual = np.zeros_like(b), b.copy()
        scaled = inverse * residual
        direction = scaled.copy()
        power = np.einsum("ij,ij->j", residual, scaled)
        goal = tolerance**2 * power
        for _ in range(limit):
            if (power <= goal).all():
                break
            image = self.times(direction)
            curvature = np.einsum("ij,ij->j", direction, image)
            step = np.divide(power, curvature, out=np.zeros_like(power), where=curvature > 0)
            x += step * direction
            residual -= step * image
            scaled = inverse * residual
            new_power = np.einsum("ij,ij->j", residual, scaled)
            direction = scaled + np.divide(new_power, power, out=np.zeros_like(power), where=power > 0) * direction
            power = new_power
        return x

    def perturbations(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw from N(0, Q), (n_items, n): D' sqrt(weights) e1 + sqrt(ridge) e2 (Papandreou & Yuille 2010)."""
        result = np.sqrt(self.ridge)[:, None] * rng.standard_normal((self.graph.n_items, n))
        root = np.sqrt(self.weights)
        for column in range(n):
            result[:, column] += self.graph.divergence(root * rng.standard_normal(self.graph.n_pairs))
        return result
