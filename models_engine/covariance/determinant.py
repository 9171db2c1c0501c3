"""The log determinant of a graph's precision without a matrix over all items."""

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from models_engine.graphs import GraphPrecision

__all__ = ["log_determinant"]

Floats = NDArray[np.float64]
N_PROBES, N_STEPS = 24, 60
MAX_PARTS = 200  # connected parts whose slow direction is taken out of the draws, the largest
LEAST = 1e-12
LOOK_EVERY, SETTLED = 5, 1e-4


def log_determinant(precision: GraphPrecision) -> float:
    """Estimate log det Q, Q = D - W with D diagonal, by log det D + tr log(I - N), N = D^-1/2 W D^-1/2.

    The first terms of tr log(I - N) = -sum over k of tr(N^k) / k are exact: tr N = 0, and tr N^2, N^3, N^4 from the
    entries of N and N^2. The rest is Hutchinson's estimate by N_PROBES draws of signs, each by N_STEPS of Lanczos'
    method (Ubaru, Chen & Saad 2017), without noise from each part's slowest direction D^1/2 1, whose own share is
    added. The same draws are used each time, so that errors cancel where two precisions of one graph are compared.
    """
    root = np.sqrt(precision.diagonal)
    scale = scipy.sparse.diags_array(1 / root)
    n_matrix = scipy.sparse.csr_array(scale @ precision.weight_matrix @ scale)
    squared = n_matrix @ n_matrix
    second, third = float(n_matrix.multiply(n_matrix).sum()), float(squared.multiply(n_matrix).sum())
    exact = -second / 2 - third / 3 - float(squared.multiply(squared).sum()) / 4
    slow = _slow_directions(n_matrix, root)
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], size=(len(root), N_PROBES))
    signs -= slow @ (slow.T @ signs)
    rest = _quadratics(n_matrix, np.asarray(slow)).sum() + _quadratics(n_matrix, signs).mean()
    return float(2 * np.log(root).sum() + exact + rest)


def _slow_directions(n_matrix: scipy.sparse.csr_array, root: Floats) -> Floats:
    """Return orthonormal columns, D^1/2 1 on each of the largest parts of two items or more."""
    _, part = connected_components(n_matrix, directed=False)
    sizes = np.bincount(part)
    largest = np.argsort(-sizes, kind="stable")[:MAX_PARTS]
    columns = [np.where(part == one, root, 0.0) for one in largest.tolist() if sizes[one] > 1]
    return np.stack([one / np.linalg.norm(one) for one in columns], axis=1) if columns else np.zeros((len(root), 0))


def _remainder(eigenvalues: NDArray[np.floating]) -> Floats:
    """Return log(1 - y) + y + y^2/2 + y^3/3 + y^4/4."""
    y = np.minimum(eigenvalues, 1 - LEAST).astype(np.float64)
    return np.log1p(-y) + y + y**2 / 2 + y**3 / 3 + y**4 / 4


def _quadratics(n_matrix: scipy.sparse.csr_array, starts: Floats) -> Floats:
    """Return z' r(N) z, r the remainder, of each column z of starts (n, m)."""
    return np.array([_quadratic(n_matrix, starts[:, place]) for place in range(starts.shape[1])])


def _quadratic(n_matrix: scipy.sparse.csr_array, start: Floats) -> float:
    """Use Lanczos' method with full orthogonalisation, until LOOK_EVERY further steps change less than SETTLED."""
    norm = float(np.linalg.norm(start))
    if norm == 0:
        return 0.0
    n_steps, found = min(N_STEPS, len(start)), np.inf
    basis, diagonal, beside = np.zeros((n_steps, len(start))), np.zeros(n_steps), np.zeros(n_steps)
    basis[0] = start / norm
    for step in range(n_steps):
        image, known = n_matrix @ basis[step], basis[: step + 1]
        diagonal[step] = float(image @ basis[step])
        image -= known.T @ (known @ image)
        image -= known.T @ (known @ image)
        length = float(np.linalg.norm(image))
        is_last = length < 1e-10 or step + 1 == n_steps
        if is_last or (step + 1) % LOOK_EVERY == 0:
            before, found = found, norm**2 * _by_quadrature(diagonal[: step + 1], beside[:step])
            if is_last or abs(found - before) < SETTLED:
                break
        beside[step], basis[step + 1] = length, image / length
    return found


def _by_quadrature(diagonal: Floats, beside: Floats) -> float:
    """Return e1' r(T) e1 of a tridiagonal matrix T."""
    values, vectors = scipy.linalg.eigh_tridiagonal(diagonal, beside)
    return float(vectors[0] ** 2 @ _remainder(values))
