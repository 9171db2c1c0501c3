"""Covariance of a well-connected core of items: exact if it fits in memory, else by Rao-Blackwellised draws."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray

from models_engine.graphs import GraphPrecision, PairGraph
from models_engine.linalg import chunk_slices, inverse_from_cholesky

__all__ = ["Core", "DenseCore", "DrawnCore", "build_core"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_DENSE_CORE = 2_000
DRAWS_PER_BATCH = 32
MAX_DRAWS = 512
MAX_RELATIVE_ERROR = 0.015  # standard error of a variance, relative to it, at the worst item


class Core(Protocol):
    """Covariance Q^-1 of n core items. error: largest relative standard error of a variance."""

    @property
    def error(self) -> float: ...
    def variances(self) -> Floats:
        """Return the diagonal, (n,)."""

    def block(self, items: Ints) -> Floats:
        """Return the covariance of a few items."""

    def covariances(self, left: Ints, right: Ints) -> Floats:
        """Return Cov(x_left, x_right), elementwise."""

    def quadratic(self, y: Floats) -> Floats:
        """Return y' Q^-1 y for each column of y (n_core, m), (m,)."""

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw from N(0, Q^-1), (n_core, n)."""


def build_core(schur: scipy.sparse.csr_array) -> Core:
    """Build the core whose precision is `schur`."""
    if schur.shape[0] <= MAX_DENSE_CORE:
        return DenseCore.of(schur.toarray())
    return DrawnCore.of(_as_precision(schur))


def _as_precision(matrix: scipy.sparse.csr_array) -> GraphPrecision:
    upper = scipy.sparse.triu(matrix, 1).tocoo()
    order = np.lexsort((upper.col, upper.row))
    low, high = upper.row[order].astype(np.int64), upper.col[order].astype(np.int64)
    ridge = np.maximum(np.asarray(matrix.sum(axis=1)).ravel(), 0.0)
    return GraphPrecision(PairGraph(low, high, matrix.shape[0]), np.maximum(-upper.data[order], 0.0), ridge)


@dataclass(frozen=True, eq=False)
class DenseCore:
    """The exact inverse, (n, n)."""

    matrix: Floats
    lower: Floats
    error: float = 0.0

    @classmethod
    def of(cls, precision: Floats) -> "DenseCore":
        lower = np.asarray(np.linalg.cholesky(precision), dtype=np.float64)
        return cls(inverse_from_cholesky(lower), lower)

    def variances(self) -> Floats:
        return np.diagonal(self.matrix).copy()

    def block(self, items: Ints) -> Floats:
        return self.matrix[np.ix_(items, items)]

    def covariances(self, left: Ints, right: Ints) -> Floats:
        return self.matrix[left, right]

    def quadratic(self, y: Floats) -> Floats:
        return (scipy.linalg.solve_triangular(self.lower, y, lower=True) ** 2).sum(axis=0)

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        noise = rng.standard_normal((len(self.lower), n))
        return scipy.linalg.solve_triangular(self.lower, noise, lower=True, trans="T")


@dataclass(frozen=True, eq=False)
class DrawnCore:
    """Covariance estimated by draws.

    Q = D - W, D diagonal. With G = D^-1 W, Q^-1 = G Q^-1 G' + D^-1 (D + W) D^-1 exactly; only G Q^-1 G' is estimated
    (Siden et al. 2018, "Efficient covariance approximations for large sparse precision matrices", sections 2-3).

    Where a few slow directions (weakly connected clusters) contribute much of it, these are exact: for any y = V'D x,
    x = B y + e with e independent of y, B and Cov(y) = K K' from one solve, so only Var(e) is estimated by draws.
    slow = G B K (n, r); rest = G e (n, n_draws).
    """

    precision: GraphPrecision
    slow: Floats
    rest: Floats
    error: float

    @classmethod
    def of(cls, precision: GraphPrecision) -> "DrawnCore":
        rng = np.random.default_rng(0)
        n = precision.graph.n_items
        first = precision.solve(precision.perturbations(DRAWS_PER_BATCH, rng), tolerance=1e-4)
        core = cls._with(precision, np.zeros((n, 0)), _conditional_means(precision, first))
        if core.error <= MAX_RELATIVE_ERROR:
            return core
        exact, slow, basis = _slow_directions(precision, first)
        rest = np.zeros((n, 0))
        while rest.shape[1] < MAX_DRAWS and (not rest.shape[1] or core.error > MAX_RELATIVE_ERROR):
            draws = precision.solve(precision.perturbations(DRAWS_PER_BATCH, rng), tolerance=1e-4)
            draws -= exact @ np.linalg.solve(basis.T @ exact, basis.T @ draws)
            rest = np.hstack([rest, _conditional_means(precision, draws)])
            core = cls._with(precision, slow, rest)
        return core

    @classmethod
    def _with(cls, precision: GraphPrecision, slow: Floats, rest: Floats) -> "DrawnCore":
        by_draws = (rest**2).mean(axis=1)
        total = (slow**2).sum(axis=1) + by_draws + 1 / precision.diagonal
        return cls(precision, slow, rest, float((by_draws / total).max() * np.sqrt(2 / rest.shape[1])))

    def variances(self) -> Floats:
        return (self.slow**2).sum(axis=1) + (self.rest**2).mean(axis=1) + 1 / self.precision.diagonal

    def block(self, items: Ints) -> Floats:
        slow, rest, inverse = self.slow[items], self.rest[items], 1 / self.precision.diagonal[items]
        direct = self.precision.weight_matrix[items][:, items].toarray() * inverse[:, None] * inverse
        return slow @ slow.T + rest @ rest.T / rest.shape[1] + direct + np.diag(inverse)

    def covariances(self, left: Ints, right: Ints) -> Floats:
        inverse = 1 / self.precision.diagonal
        direct = np.asarray(self.precision.weight_matrix[left, right]).ravel()
        result = direct * inverse[left] * inverse[right] + np.where(left == right, inverse[left], 0.0)
        for part in chunk_slices(len(left), self.slow.shape[1] + self.rest.shape[1]):
            a, b = left[part], right[part]
            result[part] += np.einsum("ij,ij->i", self.slow[a], self.slow[b])
            result[part] += np.einsum("ij,ij->i", self.rest[a], self.rest[b]) / self.rest.shape[1]
        return result

    def quadratic(self, y: Floats) -> Floats:
        """Return the quadratic form without D^-1 W D^-1, which the variance of the eliminated items in y dominates."""
        own = (y**2 / self.precision.diagonal[:, None]).sum(axis=0)
        return own + ((self.slow.T @ y) ** 2).sum(axis=0) + ((self.rest.T @ y) ** 2).mean(axis=0)

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw with the variances above.

        D^-1 W D^-1, the direct covariance of compared items (at most 1/24 of their variances each), is left out.
        """
        mix = rng.standard_normal((self.rest.shape[1], n)) / np.sqrt(self.rest.shape[1])
        own = rng.standard_normal((len(self.rest), n)) / np.sqrt(self.precision.diagonal)[:, None]
        return self.slow @ rng.standard_normal((self.slow.shape[1], n)) + self.rest @ mix + own


def _conditional_means(precision: GraphPrecision, x: Floats) -> Floats:
    """Return G x, the conditional mean of each item given all others."""
    return (precision.weight_matrix @ x) / precision.diagonal[:, None]


def _slow_directions(precision: GraphPrecision, draws: Floats) -> tuple[Floats, Floats, Floats]:
    """Return (Q^-1 D V, G B K, D V) for an orthonormal V of the draws' leading directions.

    Draws are Q^-1 noise, so that the directions of the smallest eigenvalues of Q dominate them.
    """
    root = np.sqrt(precision.diagonal)[:, None]
    directions, _, _ = np.linalg.svd(root * draws, full_matrices=False)
    basis = root * directions[:, : DRAWS_PER_BATCH // 2]
    exact = precision.solve(basis, tolerance=1e-7)  # Cov(x, y), y = basis' x
    half = np.linalg.cholesky(basis.T @ exact)  # Cov(y) = half half'
    slow = _conditional_means(precision, scipy.linalg.solve_triangular(half, exact.T, lower=True).T)
    return exact, slow, basis
