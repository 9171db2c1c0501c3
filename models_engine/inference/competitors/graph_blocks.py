"""Precision of the items of contexts too large for a matrix: solved by conjugate gradients, variances by draws."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models_engine.covariance.determinant import log_determinant
from models_engine.graphs import GraphPrecision, PairGraph
from models_engine.inference.competitors.blocks import Slots
from models_engine.linalg import chunk_slices, sum_by_group

__all__ = ["GraphBlocks", "GraphInverse"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
N_DRAWS, N_SIGNS = 32, 16
TOLERANCE, DRAWS_TOLERANCE = 1e-8, 1e-4


@dataclass(frozen=True, eq=False)
class GraphInverse:
    """B = Q^-1 of a graph's precision Q; pulls (n_slots, N_DRAWS): W x of draws x of N(0, B), Q = diag - W."""

    precision: GraphPrecision
    draws: Floats
    pulls: Floats

    @classmethod
    def of(cls, precision: GraphPrecision) -> "GraphInverse":
        """Draw, always from the same noise, so that B moves smoothly with the weights."""
        noise = precision.perturbations(N_DRAWS, np.random.default_rng(0))
        draws = precision.solve(noise, tolerance=DRAWS_TOLERANCE)
        return cls(precision, draws, precision.weight_matrix @ draws)

    @cached_property
    def pair_variances(self) -> Floats:
        """Return Var(x_low - x_high), (n_pairs,), each pair conditioned on all other items.

        Given these, x_low and x_high have precision [[d_low, -w], [-w, d_high]] and pulls without each other's.
        """
        graph, w, d = self.precision.graph, self.precision.weights, self.precision.diagonal
        first, second = d[graph.low], d[graph.high]
        determinant = first * second - w**2
        by_low, by_high = (second - w) / determinant, (w - first) / determinant
        square = np.zeros(graph.n_pairs)
        for x, pull in zip(self.draws.T, self.pulls.T, strict=True):
            moved = by_low * (pull[graph.low] - w * x[graph.high]) + by_high * (pull[graph.high] - w * x[graph.low])
            square += moved**2
        return np.asarray((first + second - 2 * w) / determinant + square / N_DRAWS)

    @cached_property
    def trace(self) -> float:
        d = self.precision.diagonal
        return float((1 / d + (self.pulls**2).mean(axis=1) / d**2).sum())

    @cached_property
    def square(self) -> float:
        """Return the sum of the squares of B's entries, E |B z|^2 for signs z (Hutchinson 1990)."""
        signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(len(self.draws), N_SIGNS))
        return float((self.precision.solve(signs, tolerance=DRAWS_TOLERANCE) ** 2).sum() / N_SIGNS)


@dataclass(frozen=True, eq=False)
class GraphBlocks(Slots):
    """All contexts as one graph of items; see Blocks, whose methods these are, for cells that are a GraphInverse.

    pair (n_rows,): which of the graph's distinct pairs a row is.
    """

    graph: PairGraph
    pair: Ints

    @classmethod
    def of(cls, left: Ints, right: Ints, context: Ints) -> "GraphBlocks":
        """Build from pairs of items and the context (n_items,) of each; both items of a pair have the same context."""
        seen = np.unique(np.concatenate([left, right]))
        own = np.searchsorted(seen, left), np.searchsorted(seen, right)
        graph, pair = PairGraph.of(*own, len(seen))
        return cls(seen, context[seen], *own, graph, pair.ravel())

    def inverse(self, weights: Floats, ridge: float) -> tuple[GraphInverse, float]:
        """Return (B, log determinant of B^-1), the latter as log_determinant estimates it."""
        total = sum_by_group(self.pair, weights, self.graph.n_pairs)
        precision = GraphPrecision(self.graph, total, np.full(self.n_slots, ridge))
        return GraphInverse.of(precision), log_determinant(precision)

    def times(self, cells: GraphInverse, columns: Floats) -> Floats:
        found = np.empty_like(columns)
        for part in chunk_slices(columns.shape[1], len(columns), budget=20_000_000):
            found[:, part] = cells.precision.solve(columns[:, part], tolerance=TOLERANCE)
        return found

    def trace(self, cells: GraphInverse) -> float:
        return cells.trace

    def square(self, cells: GraphInverse) -> float:
        return cells.square

    def pair_variance(self, cells: GraphInverse) -> Floats:
        return cells.pair_variances[self.pair]
