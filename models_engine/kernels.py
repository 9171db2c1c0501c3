"""Kernels over items: prior correlations from item features, or none."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

__all__ = ["Form", "ItemKernel", "matern32", "median_distance", "standardise"]

Floats = NDArray[np.float64]
Form = Literal["matern32", "matern32-product", "rbf"]
JITTER = 1e-6
MAX_ROWS = 1_000  # over which a median distance is computed


def matern32(distance: Floats) -> Floats:
    """Return the Matern-3/2 correlation at distance / length scale (Rasmussen & Williams 2006, eq. 4.17)."""
    scaled = np.sqrt(3) * distance
    return (1 + scaled) * np.exp(-scaled)


def median_distance(features: Floats) -> float:
    """Return the median distance between different rows, of at most 1,000 evenly spread rows; 1 if there are none."""
    few = features[:: 1 + (len(features) - 1) // MAX_ROWS]
    distances = cdist(few, few)
    apart = distances[distances > 0]
    return float(np.median(apart)) if apart.size else 1.0


def standardise(features: Floats, reference: Floats) -> Floats:
    """Standardise columns by the mean and sd of `reference`; constant columns are dropped."""
    deviation = reference.std(axis=0)
    kept = deviation > 1e-12 * np.maximum(1.0, np.abs(reference).max(axis=0, initial=0.0))
    return (features[:, kept] - reference.mean(axis=0)[kept]) / deviation[kept]


@dataclass(frozen=True, eq=False)
class ItemKernel:
    """K = share * correlation(features) + (1 - share) * I, plus a jitter of 1e-6; unit variances.

    features (n_items, d) or None (then K = I). length: length scale as a multiple of the median heuristic's. share: how
    much of the variance the features explain, 0 to 1. form: "matern32" and "rbf" are isotropic in the distance between
    standardised features, whose median is the heuristic; "matern32-product" multiplies a Matern-3/2 of every feature,
    of length sqrt(d) times that feature's median distance. Without the sqrt(d), as in crowd_gppl's code, hardly any
    two items would be correlated; with their (28), d, nearly all would be.
    """

    features: Floats | None
    n_items: int
    share: float = 0.0
    length: float = 1.0
    form: Form = "matern32"

    @property
    def is_identity(self) -> bool:
        return self.features is None or self.share == 0.0

    @cached_property
    def known(self) -> Floats:
        """Return standardised features (n_items, d')."""
        return np.zeros((self.n_items, 0)) if self.features is None else standardise(self.features, self.features)

    @cached_property
    def _lengths(self) -> list[float]:
        if self.form != "matern32-product":
            return [self.length * median_distance(self.known)]
        width = self.known.shape[1]
        return [self.length * np.sqrt(width) * median_distance(self.known[:, [c]]) for c in range(width)]

    def correlation(self, one: Floats, other: Floats) -> Floats:
        """Return the correlation by the features, (n_one, n_other), between rows of standardised features."""
        if self.form == "matern32-product":
            product = np.ones((len(one), len(other)))
            for column, length in enumerate(self._lengths):
                product *= matern32(np.abs(one[:, [column]] - other[:, column]) / length)
            return product
        distance = cdist(one, other) / self._lengths[0]
        return matern32(distance) if self.form == "matern32" else np.exp(-(distance**2) / 2)

    def matrix(self) -> Floats:
        """Return the matrix (n_items, n_items), positive definite also with duplicate rows."""
        if self.features is None or self.share == 0.0:
            return np.eye(self.n_items)
        kernel = self.share * self.correlation(self.known, self.known)
        kernel[np.diag_indices(self.n_items)] += 1 - self.share + JITTER
        return kernel / (1 + JITTER)

    def cross(self, features: Floats) -> tuple[Floats, Floats]:
        """Return the covariance of new items with the known ones (n_new, n_items) and among themselves (n_new,
        n_new).
        """
        if self.features is None:
            return np.zeros((len(features), self.n_items)), np.eye(len(features))
        new = standardise(features, self.features)
        among = self.share * self.correlation(new, new)
        among[np.diag_indices(len(new))] += 1 - self.share + JITTER
        return self.share * self.correlation(new, self.known) / (1 + JITTER), among / (1 + JITTER)
