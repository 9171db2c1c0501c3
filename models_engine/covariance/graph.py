"""Covariance of utilities from the comparison graph of thousands of items, without an items x items matrix."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models_engine.covariance.cores import Core, build_core
from models_engine.covariance.elimination import Elimination, eliminate
from models_engine.graphs import GraphPrecision, PairGraph
from models_engine.linalg import centre, centre_covariance, check_dense, chunk_slices

__all__ = ["GraphCovariance"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GraphCovariance:
    """Covariance of `f - mean(f)` over `items`, f ~ N(0, Q^-1 + extra @ extra.T), Q a GraphPrecision.

    Sparsely compared items are eliminated exactly; a core of over 2,000 well-connected items is estimated by draws
    until no variance has a standard error above 1.5%. extra (n, q): the contribution of nuisances such as a side
    effect. centred (n_items,): the variances.
    """

    precision: GraphPrecision
    extra: Floats
    items: Ints
    centred: Floats

    @classmethod
    def of(cls, precision: GraphPrecision, extra: Floats | None = None) -> "GraphCovariance":
        n = precision.graph.n_items
        bare = cls(precision, np.zeros((n, 0)) if extra is None else extra, np.arange(n), np.zeros(n))
        return bare.restrict(np.arange(n))

    @property
    def n_items(self) -> int:
        return len(self.items)

    @cached_property
    def elimination(self) -> Elimination:
        return eliminate(self.precision)

    @cached_property
    def core(self) -> Core:
        return build_core(self.elimination.schur)

    @cached_property
    def marginals(self) -> Floats:
        """Return uncentred variances of every item of the graph, (n,)."""
        n = self.precision.graph.n_items
        number = np.zeros(n, dtype=np.int64)
        number[self.elimination.core] = np.arange(len(self.elimination.core))
        result = self.elimination.variances(lambda items: self.core.block(number[items]), n)
        result[self.elimination.core] = self.core.variances()
        return result + (self.extra**2).sum(axis=1)

    def variances(self) -> Floats:
        return self.centred

    def restrict(self, items: NDArray) -> "GraphCovariance":
        """Restrict: Var(f_i - mean over items) = Var f_i - 2 Cov(f_i, mean) + Var mean, the last two from one solve."""
        chosen = self.items[items]
        ones = np.zeros((self.precision.graph.n_items, 1))
        ones[chosen] = 1 / len(chosen)
        across = self.precision.solve(ones, tolerance=1e-9)[:, 0] + self.extra @ (self.extra.T @ ones[:, 0])
        centred = self.marginals[chosen] - 2 * across[chosen] + across[chosen].mean()
        copy = replace(self, items=chosen, centred=np.maximum(centred, 0.0))
        for name in ("elimination", "core", "marginals"):  # computed once for all restrictions
            if name in self.__dict__:
                copy.__dict__[name] = self.__dict__[name]
        return copy

    def dense(self) -> Floats:
        check_dense(self.n_items)
        selected = np.zeros((self.precision.graph.n_items, self.n_items))
        selected[self.items, np.arange(self.n_items)] = 1.0
        blocks = [
            self.precision.solve(selected[:, part])[self.items] for part in chunk_slices(self.n_items, len(selected))
        ]
        extra = self.extra[self.items]
        return centre_covariance(np.hstack(blocks) + extra @ extra.T)

    def difference_variance(self, left: NDArray, right: NDArray) -> Floats:
        """Return variances of differences: directly between core items, else by eliminating e_left - e_right."""
        left, right = np.broadcast_arrays(left, right)
        a, b = self.items[left.ravel()], self.items[right.ravel()]
        number = np.full(self.precision.graph.n_items, -1, dtype=np.int64)
        number[self.elimination.core] = np.arange(len(self.elimination.core))
        result = ((self.extra[a] - self.extra[b]) ** 2).sum(axis=1)
        inside = np.flatnonzero((number[a] >= 0) & (number[b] >= 0) & (a != b))
        at_a, at_b = number[a[inside]], number[b[inside]]
        own = self.core.variances()
        result[inside] += np.maximum(own[at_a] + own[at_b] - 2 * self.core.covariances(at_a, at_b), 0.0)
        outside = np.flatnonzero(((number[a] < 0) | (number[b] < 0)) & (a != b))
        for part in chunk_slices(len(outside), len(number)):
            rows = outside[part]
            contrast = np.zeros((len(number), len(rows)))
            contrast[a[rows], np.arange(len(rows))] = 1.0
            contrast[b[rows], np.arange(len(rows))] = -1.0
            eliminated = self.elimination.eliminate(contrast)
            result[rows] += eliminated + self.core.quadratic(contrast[self.elimination.core])
        return result.reshape(left.shape)

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        result = np.empty((n, self.n_items))
        for part in chunk_slices(n, self.precision.graph.n_items, budget=20_000_000):
            result[part] = self._draw(part.stop - part.start, rng)[self.items].T
        return centre(result)

    def to_arrays(self) -> dict[str, NDArray]:
        graph = self.precision.graph
        return {
            "low": graph.low.astype(np.int32),
            "high": graph.high.astype(np.int32),
            "weights": self.precision.weights,
            "ridge": self.precision.ridge,
            "extra": self.extra,
            "items": self.items,
            "centred": self.centred,
        }

    @classmethod
    def from_arrays(
        cls, low: Ints, high: Ints, weights: Floats, ridge: Floats, extra: Floats, items: Ints, centred: Floats
    ) -> "GraphCovariance":
        """Undo to_arrays; elimination and draws are only repeated if more than the variances is requested."""
        graph = PairGraph(low.astype(np.int64), high.astype(np.int64), len(ridge))
        return cls(GraphPrecision(graph, weights, ridge), extra, items, centred)

    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw uncentred utilities, (n_graph_items, n)."""
        x = np.empty((self.precision.graph.n_items, n))
        x[self.elimination.core] = self.core.sample(n, rng)
        self.elimination.fill_in(x, rng.standard_normal((len(self.elimination.items), n)))
        return x + self.extra @ rng.standard_normal((self.extra.shape[1], n))
