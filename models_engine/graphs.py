"""The comparison graph: distinct pairs of items, sums over them, and the sparse precision matrices they make."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from models_engine.linalg import laplacian, sums

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
        """The graph of these rows, and the pair (index into low and high) of each row."""
        keys, pair = np.unique(np.minimum(left, right) * n_items + np.maximum(left, right), return_inverse=True)
        return cls(keys // n_items, keys % n_items, n_items), pair

    @property
    def n_pairs(self) -> int:
        return len(self.low)

    def differences(self, f: Floats) -> Floats:
        """(n_pairs,) f_low - f_high, i.e. D f."""
        return f[self.low] - f[self.high]

    def divergence(self, values: Floats) -> Floats:
        """(n_items,) D' values: what flows into low and out of high."""
        n = self.n_items
        return sums(self.low, values, n) - sums(self.high, values, n)

    def dense(self, weights: Floats, ridge: Floats) -> Floats:
        """(n_items, n_items) `D' diag(weights) D + diag(ridge)`."""
        matrix = laplacian(self.low, self.high, weights, self.n_items).toarray()
        matrix[np.diag_indices(self.n_items)] += ridge
        return matrix

    def precision(self, weights: Floats, ridge: Floats) -> "GraphPrecision":
        """The same as `dense`, sparse."""
        return GraphPrecision(self, weights, ridge)


@dataclass(frozen=True, eq=False)
class GraphPrecision:
    """Q = D' diag(weights) D + diag(ridge): weights (n_pairs,) of 0 or more, ridge (n_items,) positive in total."""

    graph: PairGraph
    weights: Floats
    ridge: Floats

    @cached_property
    def diagonal(self) -> Floats:
        n = self.graph.n_items
        low, high = self.graph.low, self.graph.high
        return sums(low, self.weights, n) + sums(high, self.weights, n) + self.ridge

    @cached_property
    def upper(self) -> scipy.sparse.csr_array:
        """Weights above the diagonal: Q = diag(diagonal) - upper - upper'."""
        n = self.graph.n_items
        starts = np.searchsorted(self.graph.low, np.arange(n + 1))
        return scipy.sparse.csr_array((self.weights, self.graph.high, starts), shape=(n, n))

    @cached_property
    def weight_matrix(self) -> scipy.sparse.csr_array:
        """Weights on both sides of the diagonal."""
        return (self.upper + self.upper.T).tocsr()

    def times(self, x: Floats) -> Floats:
        """Q x for x (n_items,) or (n_items, m)."""
        return (self.diagonal * x.T).T - self.weight_matrix @ x

    def solve(self, b: Floats, *, tolerance: float = 1e-9, limit: int = 20_000) -> Floats:
        """Q^-1 b, b (n_items, m), by conjugate gradients with the diagonal as preconditioner, all columns at once.

        Ends when every column's residual, relative to b in the norm of diag(Q)^-1, is below tolerance. The ridge
        bounds the condition number, so that the limit is met only where rounding forbids more.
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
        """(n_items, n) draws from N(0, Q): D' sqrt(weights) e1 + sqrt(ridge) e2 (Papandreou & Yuille 2010)."""
        result = np.sqrt(self.ridge)[:, None] * rng.standard_normal((self.graph.n_items, n))
        root = np.sqrt(self.weights)
        for column in range(n):
            result[:, column] += self.graph.divergence(root * rng.standard_normal(self.graph.n_pairs))
        return result
