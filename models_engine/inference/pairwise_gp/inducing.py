"""Inducing points by k-means++, and a Gaussian process over items written through them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from models_engine.kernels import JITTER, ItemKernel
from models_engine.linalg import cholesky, inverse_from_cholesky

__all__ = ["ItemPrior", "build_item_prior", "inducing_points"]

Floats = NDArray[np.float64]
LLOYD_STEPS = 20


def inducing_points(rows: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Choose (m, d) centres of the rows (n, d), m <= count: k-means++ (Arthur & Vassilvitskii 2007) and Lloyd's steps.

    Rows that repeat count once in the choice of m, so that no two centres coincide.
    """
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    weight = counts.astype(np.float64)
    if len(distinct) <= count:
        return distinct
    chosen = [int(rng.choice(len(distinct), p=weight / weight.sum()))]
    nearest = cdist(distinct, distinct[chosen], "sqeuclidean")[:, 0]
    while len(chosen) < count:
        mass = weight * nearest
        chosen.append(int(rng.choice(len(distinct), p=mass / mass.sum())))
        nearest = np.minimum(nearest, cdist(distinct, distinct[chosen[-1:]], "sqeuclidean")[:, 0])
    centres = distinct[chosen]
    for _ in range(LLOYD_STEPS):
        owner = cdist(distinct, centres, "sqeuclidean").argmin(axis=1)
        held = np.bincount(owner, weight, minlength=count)
        total = np.stack([np.bincount(owner, weight * column, minlength=count) for column in distinct.T], axis=1)
        moved = np.where(held[:, None] > 0, total / np.maximum(held, 1)[:, None], centres)
        if np.allclose(moved, centres):
            break
        centres = moved
    return centres


@dataclass(frozen=True, eq=False)
class ItemPrior:
    """f = A u + e, u ~ N(0, kernel / s), e ~ N(0, diag(rest) / s), independent: FITC (Snelson & Ghahramani 2006).

    kernel (m, m), precision its inverse, log_determinant its log determinant.   reach A (n_items, m), or None where
    the items themselves are the points (m = n_items, A = I, rest = 0).   rest (n_items,).
    points (m, d): standardised features of the inducing points, None where reach is.
    """

    kernel: Floats
    precision: Floats
    log_determinant: float
    rest: Floats
    reach: Floats | None = None
    points: Floats | None = None

    @property
    def n_points(self) -> int:
        return len(self.kernel)


def build_item_prior(kernel: ItemKernel, n_points: int, rng: np.random.Generator) -> ItemPrior:
    """Build the prior over all items: exact up to n_points items, through that number of inducing points above."""
    if kernel.n_items <= n_points:
        return _of(kernel.matrix(), np.zeros(kernel.n_items))
    points = inducing_points(kernel.known, n_points, rng)
    among = kernel.share * kernel.correlation(points, points)
    among[np.diag_indices(len(points))] += JITTER
    among /= 1 + JITTER
    inner = _of(among, np.zeros(len(points)))
    reach = kernel.share * kernel.correlation(kernel.known, points) / (1 + JITTER) @ inner.precision
    explained = np.einsum("nm,nm->n", reach @ among, reach)
    return ItemPrior(
        among, inner.precision, inner.log_determinant, np.maximum(1.0 - explained, 0.0), reach=reach, points=points
    )


def _of(kernel: Floats, rest: Floats) -> ItemPrior:
    lower = cholesky(kernel)
    log_determinant = 2 * float(np.log(np.diagonal(lower)).sum())
    return ItemPrior(kernel, inverse_from_cholesky(lower), log_determinant, rest)
