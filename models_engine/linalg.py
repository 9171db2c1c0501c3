"""Small linear algebra shared by the estimators: graph Laplacians, centring, positive-definite solves."""

from contextlib import suppress

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from models_engine.errors import TooLarge
from models_engine.messages import Message, gettext_noop

__all__ = [
    "MAX_FEW_MATRICES",
    "MAX_MATRIX_ITEMS",
    "MAX_SMALL_WIDTH",
    "MIRROR_WIDTH",
    "SMALL_NUMBERS",
    "centre",
    "centre_covariance",
    "centre_parts",
    "check_dense",
    "cholesky",
    "chunk_slices",
    "dense_laplacian",
    "inverse_and_log_determinant",
    "inverse_from_cholesky",
    "laplacian",
    "leading_eigenvectors",
    "normalise_rows",
    "sum_by_group",
]


MAX_MATRIX_ITEMS = 5_000  # of more no matrix over all items is made
MIRROR_WIDTH = 256  # rows of a block: it and its mirror image stay in the cache
MAX_FEW_MATRICES = 12  # of one stack, up to which inverting one after the other by LAPACK is quickest
MAX_SMALL_WIDTH = 10  # of matrices up to which eliminating many at once is quicker than the blockwise inverse
SMALL_NUMBERS = 125_000  # numbers of the small matrices that are inverted at once: they stay in the cache


def laplacian(
    left: NDArray[np.integer], right: NDArray[np.integer], weights: NDArray[np.float64], n_items: int
) -> scipy.sparse.csr_array:
    """Build the weighted graph Laplacian `D' diag(weights) D`, D being pairs x items with +1 at left and -1 at right.

    left, right, weights: shape (n_pairs,); repeated pairs add up. Returns a sparse (n_items, n_items) array.
    """
    rows = np.concatenate([left, right, left, right])
    columns = np.concatenate([left, right, right, left])
    values = np.concatenate([weights, weights, -weights, -weights])
    return scipy.sparse.coo_array((values, (rows, columns)), shape=(n_items, n_items)).tocsr()


def dense_laplacian(
    left: NDArray[np.integer], right: NDArray[np.integer], weights: NDArray[np.float64], n_items: int
) -> NDArray[np.float64]:
    """Build `laplacian` as a plain array, without what a sparse one costs, which is most of it for few items."""
    found = np.zeros(n_items * n_items)
    np.subtract.at(found, left * n_items + right, weights)
    np.subtract.at(found, right * n_items + left, weights)
    found[:: n_items + 1] += np.bincount(left, weights, n_items) + np.bincount(right, weights, n_items)
    return found.reshape(n_items, n_items)


def centre(values: ArrayLike) -> NDArray[np.float64]:
    """Subtract the mean over the last axis: utilities are defined only up to a constant."""
    values = np.asarray(values, dtype=np.float64)
    return np.asarray(values - values.mean(axis=-1, keepdims=True)) if values.shape[-1] else values


def centre_covariance(covariance: ArrayLike) -> NDArray[np.float64]:
    """Return the covariance of `x - mean(x)` given that of x: `J C J`, J = I - 11'/n. Exactly symmetric."""
    covariance = np.asarray(covariance, dtype=np.float64)
    means = covariance.mean(axis=0)
    centred = covariance - means[None, :] - means[:, None] + means.mean()
    return (centred + centred.T) / 2


def centre_parts(values: NDArray[np.float64], parts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Subtract from values (n,) the mean of their part; parts (n,) are numbers 0, 1 and so on."""
    count = np.maximum(np.bincount(parts), 1)
    return np.asarray(values - (np.bincount(parts, values) / count)[parts])


def cholesky(matrix: ArrayLike) -> NDArray[np.float64]:
    """Return the lower Cholesky factor, adding the smallest sufficient jitter (relative 1e-12 to 1e-6) if singular.

    Raises numpy.linalg.LinAlgError where even 1e-6 of the mean diagonal does not make it positive definite.
    """
    matrix = np.asarray(matrix, dtype=np.float64)
    scale = float(np.abs(np.diagonal(matrix)).mean()) if matrix.size else 1.0
    for jitter in (0.0, 1e-12, 1e-10, 1e-8):
        try:
            return np.array(np.linalg.cholesky(matrix + jitter * scale * np.eye(len(matrix)) if jitter else matrix))
        except np.linalg.LinAlgError:
            continue
    return np.array(np.linalg.cholesky(matrix + 1e-6 * scale * np.eye(len(matrix))))


def leading_eigenvectors(matrix: NDArray[np.float64], count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the `count` largest eigenvalues (count,), descending, and orthonormal eigenvectors (n, count).

    By divide and conquer over all of them: LAPACK's choice for a part (syevr) leaves some out, or fails, where many
    eigenvalues are equal, as those of items that nothing connects are.
    """
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray(values[::-1][:count]), np.asarray(vectors[:, ::-1][:, :count])


def inverse_from_cholesky(lower: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return `(L L')^-1` from its lower factor, exactly symmetric."""
    if not lower.size:
        return np.zeros(lower.shape)
    # the transpose of an array by rows is one by columns, as LAPACK takes them, without copying it
    half = scipy.linalg.lapack.dpotri(np.asarray(lower, dtype=np.float64).T, lower=0)[0].T
    return _mirror_lower(half)


def _mirror_lower(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the square matrix itself, with its lower triangle mirrored into the upper one, block by block."""
    for start in range(0, len(matrix), MIRROR_WIDTH):
        own, below = slice(start, start + MIRROR_WIDTH), slice(start + MIRROR_WIDTH, None)
        lower = np.tril(matrix[own, own], -1)
        matrix[own, own] = lower + lower.T + np.diag(np.diagonal(matrix[own, own]))
        matrix[own, below] = matrix[below, own].T
    return matrix


def inverse_and_log_determinant(stack: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Invert symmetric positive definite matrices (u, d, d); also return their log determinants (u,).

    Few of them each by LAPACK. Many blockwise by halves (Banachiewicz), so that nearly all work is matrix products: two
    to three times quicker than LAPACK; small ones by elimination of many at once, quickest with the matrices last in
    memory, as which the result then comes as well.
    """
    n_matrices, d = stack.shape[:2]
    if n_matrices <= MAX_FEW_MATRICES:
        with suppress(np.linalg.LinAlgError):  # one is not positive definite: what follows says so by nan
            return _inverted_each(stack)
    if d <= MAX_SMALL_WIDTH:
        return _eliminated(stack)
    half = d // 2
    corner = np.ascontiguousarray(stack[:, half:, :half])
    first, log_first = inverse_and_log_determinant(np.ascontiguousarray(stack[:, :half, :half]))
    slope = corner @ first
    across = np.ascontiguousarray(slope.transpose(0, 2, 1))
    last, log_last = inverse_and_log_determinant(stack[:, half:, half:] - corner @ across)
    lower = last @ slope
    result = np.empty_like(stack)
    np.add(first, across @ lower, out=result[:, :half, :half])
    np.negative(lower, out=result[:, half:, :half])
    result[:, :half, half:] = result[:, half:, :half].transpose(0, 2, 1)
    result[:, half:, half:] = last
    return result, log_first + log_last


def _inverted_each(stack: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Do the same with one matrix after the other. Raises numpy.linalg.LinAlgError if one is not positive definite."""
    lower, result = np.linalg.cholesky(stack), np.empty_like(stack)
    for one, factor in zip(result, lower, strict=True):
        one[...] = scipy.linalg.lapack.dpotri(factor.T, lower=0)[0].T  # its lower triangle
    np.copyto(result, result.transpose(0, 2, 1), where=~np.tri(stack.shape[-1], dtype=bool))
    return result, 2 * np.log(np.einsum("udd->ud", lower)).sum(axis=1)


def _eliminated(stack: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Do the same with one loop over rows and columns for many matrices, which stand last in memory meanwhile."""
    n_matrices, d = stack.shape[:2]
    result, log_determinant = np.empty_like(stack), np.empty(n_matrices)
    for some in chunk_slices(n_matrices, d * d, budget=SMALL_NUMBERS):
        own = result[some].transpose(1, 2, 0)
        last = own if own.strides[-1] == own.itemsize else np.empty(own.shape)
        last[...] = stack[some].transpose(1, 2, 0)
        log_determinant[some] = np.log(_invert(last)).sum(axis=0)
        if last is not own:
            own[...] = last
    return result, log_determinant


def _invert(stack: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace symmetric positive definite matrices (d, d, u) by their inverses; return the pivots, (d, u).

    Each is L D L', L below the diagonal; its inverse G = D^-1 L^-1 + (I - L') G follows from the last column to the
    first without L^-1 (Takahashi, Fagan & Chin 1973).
    """
    d, pivots = len(stack), np.empty(stack.shape[1:])
    for k in range(d):
        if k:
            stack[k:, k] -= np.einsum("imu,mu->iu", stack[k:, :k], pivots[:k] * stack[k, :k])
        pivots[k] = stack[k, k]
        stack[k + 1 :, k] /= pivots[k]
    reciprocal = 1 / pivots
    for k in reversed(range(d)):
        below = stack[k + 1 :, k]
        found = np.einsum("iju,ju->iu", stack[k + 1 :, k + 1 :], below)
        stack[k, k] = reciprocal[k] + np.einsum("iu,iu->u", below, found)
        np.negative(found, out=below)
        stack[k, k + 1 :] = below
    return pivots


def sum_by_group(groups: NDArray[np.integer], values: ArrayLike, n_groups: int) -> NDArray[np.float64]:
    """Sum the values in each group, (n_groups,); 0 for an empty one."""
    return np.bincount(groups, np.asarray(values, dtype=np.float64), minlength=n_groups).astype(np.float64, copy=False)


def normalise_rows(log_mass: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return exp(log_mass) (n, n_nodes) divided by each row's sum, and the logs of these sums, (n,).

    log_mass: finite. As softmax and logsumexp, in one pass and without what those check.
    """
    top = log_mass.max(axis=1, keepdims=True)
    mass = np.exp(log_mass - top)
    total = mass.sum(axis=1, keepdims=True)
    mass /= total
    return mass, (np.log(total) + top)[:, 0]


def chunk_slices(total: int, width: int, *, budget: int = 4_000_000) -> list[slice]:
    """Return slices over range(total) such that a chunk times `width` numbers stays within `budget` numbers."""
    step = max(1, budget // max(1, width))
    return [slice(start, min(start + step, total)) for start in range(0, total, step)]


def check_dense(n_items: int) -> None:
    """Raise TooLarge if an (n_items, n_items) matrix would be too large."""
    if n_items > MAX_MATRIX_ITEMS:
        gib = 8 * n_items**2 / 2**30
        text = gettext_noop(
            "a covariance of %(n)d items takes %(gib)s GiB; the limit is %(limit)d items. Use "
            "difference_variance(left, right) for the pairs you need, or sample(n, rng=rng) for joint draws."
        )
        raise TooLarge(Message.of(text, n=n_items, gib=f"{gib:.1f}", limit=MAX_MATRIX_ITEMS))
