"""Forms of a covariance of centred utilities: dense, low rank plus diagonal, a sum."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models_engine.covariance.graph import GraphCovariance
from models_engine.linalg import centre, centre_covariance, check_dense, chunk_slices

__all__ = [
    "Covariance",
    "DenseCovariance",
    "GraphCovariance",
    "LowRankCovariance",
    "SumCovariance",
    "check_dense",
    "pack",
    "unpack",
]

Floats = NDArray[np.float64]


class Covariance(Protocol):
    """Covariance of utilities over n items, centred: the covariance of `f - mean(f)`."""

    @property
    def n_items(self) -> int: ...
    def variances(self) -> Floats:
        """Return the diagonal, (n_items,)."""

    def dense(self) -> Floats:
        """Return the matrix (n_items, n_items). Raises TooLarge above MAX_MATRIX_ITEMS items."""

    def difference_variance(self, left: NDArray, right: NDArray) -> Floats:
        """Return the variance of f_left - f_right, elementwise."""

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw with mean zero, (n, n_items)."""

    def restrict(self, items: NDArray) -> "Covariance":
        """Restrict to some of the items, centred among themselves."""

    def to_arrays(self) -> dict[str, NDArray]: ...


@dataclass(frozen=True, eq=False)
class DenseCovariance:
    """Full matrix (n_items, n_items); `of` centres it."""

    matrix: Floats

    @classmethod
    def of(cls, matrix: NDArray) -> "DenseCovariance":
        """Build from the covariance of uncentred utilities."""
        return cls(centre_covariance(matrix))

    @property
    def n_items(self) -> int:
        return len(self.matrix)

    def variances(self) -> Floats:
        return np.maximum(np.diagonal(self.matrix), 0.0)

    def dense(self) -> Floats:
        check_dense(self.n_items)
        return self.matrix.copy()

    def difference_variance(self, left: NDArray, right: NDArray) -> Floats:
        diagonal = self.variances()
        return np.maximum(diagonal[left] + diagonal[right] - 2 * self.matrix[left, right], 0.0)

    @cached_property
    def _root(self) -> Floats:
        """Return a factor whose draws have this covariance once centred.

        A constant is added to the matrix so that it has a Cholesky factor; centring removes it from the draws.
        """
        try:
            return np.linalg.cholesky(self.matrix + np.trace(self.matrix) / self.n_items**2)
        except np.linalg.LinAlgError:  # another direction is certain as well
            values, vectors = np.linalg.eigh(self.matrix)
            return vectors * np.sqrt(np.maximum(values, 0.0))

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        return centre(rng.standard_normal((n, self.n_items)) @ self._root.T)

    def restrict(self, items: NDArray) -> "DenseCovariance":
        return DenseCovariance.of(self.matrix[np.ix_(items, items)])

    def to_arrays(self) -> dict[str, NDArray]:
        return {"matrix": self.matrix}


@dataclass(frozen=True, eq=False)
class LowRankCovariance:
    """Covariance of `f - mean(f)` for f ~ N(0, factor @ factor.T + diag(diagonal)).

    factor (n_items, rank), diagonal (n_items,) of 0 or more. Only `dense` builds an n_items x n_items matrix.
    """

    factor: Floats
    diagonal: Floats

    @property
    def n_items(self) -> int:
        return len(self.diagonal)

    def variances(self) -> Floats:
        factor, n = centre(self.factor.T).T, self.n_items
        return (factor**2).sum(axis=1) + self.diagonal * (1 - 2 / n) + self.diagonal.sum() / n**2

    def dense(self) -> Floats:
        check_dense(self.n_items)
        return centre_covariance(self.factor @ self.factor.T + np.diag(self.diagonal))

    def difference_variance(self, left: NDArray, right: NDArray) -> Floats:
        left, right = np.broadcast_arrays(left, right)
        flat_left, flat_right = left.ravel(), right.ravel()
        result = np.where(flat_left == flat_right, 0.0, self.diagonal[flat_left] + self.diagonal[flat_right])
        for part in chunk_slices(len(flat_left), self.factor.shape[1]):
            result[part] += ((self.factor[flat_left[part]] - self.factor[flat_right[part]]) ** 2).sum(axis=1)
        return result.reshape(left.shape)

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        shared = rng.standard_normal((n, self.factor.shape[1])) @ self.factor.T
        return centre(shared + rng.standard_normal((n, self.n_items)) * np.sqrt(self.diagonal))

    def restrict(self, items: NDArray) -> "LowRankCovariance":
        return LowRankCovariance(self.factor[items], self.diagonal[items])

    def to_arrays(self) -> dict[str, NDArray]:
        return {"factor": self.factor, "diagonal": self.diagonal}


@dataclass(frozen=True, eq=False)
class SumCovariance:
    """Covariance of the sum of two independent parts, for example consensus and taste."""

    first: Covariance
    second: Covariance

    @property
    def n_items(self) -> int:
        return self.first.n_items

    def variances(self) -> Floats:
        return self.first.variances() + self.second.variances()

    def dense(self) -> Floats:
        return self.first.dense() + self.second.dense()

    def difference_variance(self, left: NDArray, right: NDArray) -> Floats:
        return self.first.difference_variance(left, right) + self.second.difference_variance(left, right)

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        return self.first.sample(n, rng) + self.second.sample(n, rng)

    def restrict(self, items: NDArray) -> "SumCovariance":
        return SumCovariance(self.first.restrict(items), self.second.restrict(items))

    def to_arrays(self) -> dict[str, NDArray]:
        return pack("first", self.first) | pack("second", self.second)


def pack(name: str, covariance: Covariance) -> dict[str, NDArray]:
    """Return the arrays of a covariance under `name/`, with its kind, for npz."""
    arrays = {f"{name}/kind": np.array(type(covariance).__name__)}
    return arrays | {f"{name}/{key}": value for key, value in covariance.to_arrays().items()}


def unpack(name: str, arrays: Mapping[str, NDArray]) -> Covariance | None:
    """Undo `pack`; None where nothing is stored under that name."""
    if f"{name}/kind" not in arrays:
        return None
    prefix = f"{name}/"
    inner = {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)}
    kind = str(inner.pop("kind"))
    if kind == "SumCovariance":
        first, second = unpack("first", inner), unpack("second", inner)
        if first is None or second is None:
            raise ValueError(f"the stored {name} is incomplete; store the posterior again with to_arrays().")
        return SumCovariance(first, second)
    made = _KINDS[kind]
    return made.from_arrays(**inner) if made is GraphCovariance else made(**inner)


_KINDS: dict[str, type] = {kind.__name__: kind for kind in (DenseCovariance, GraphCovariance, LowRankCovariance)}
