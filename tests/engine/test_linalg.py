"""Small linear algebra: repeated eigenvalues, and inverses from a factor."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp, softmax

from models_engine.linalg import (
    MIRROR_WIDTH,
    centre_covariance,
    dense_laplacian,
    inverse_from_cholesky,
    laplacian,
    leading_eigenvectors,
    normalise_rows,
)


@pytest.mark.parametrize("n", [1, 2, 60, 200])
@pytest.mark.parametrize("matrix", [np.eye, np.zeros, np.ones, lambda n: centre_covariance(0.49 * np.eye(n))])
def test_leading_eigenvectors_are_all_there_where_eigenvalues_repeat(n, matrix):
    found = matrix((n, n)) if matrix in (np.zeros, np.ones) else matrix(n)
    for count in {min(n, 1), min(n, 4), min(n, 20)}:
        values, vectors = leading_eigenvectors(found, count)
        assert vectors.shape == (n, count)
        assert_allclose(values, np.sort(np.linalg.eigvalsh(found))[::-1][:count], atol=1e-10)
        assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-10)
        assert_allclose(found @ vectors, vectors * values, atol=1e-10)


@pytest.mark.parametrize("n", [0, 1, 7])
def test_rows_are_normalised_however_large_their_logs(n):
    rng = np.random.default_rng(n)
    log_mass = rng.normal(size=(n, 5)) * 10.0 ** rng.integers(-3, 4, size=(n, 5)) + 1e5 * rng.normal(size=(n, 1))
    before = log_mass.copy()
    mass, total = normalise_rows(log_mass)
    assert_allclose(mass, softmax(log_mass, axis=1), rtol=1e-12, atol=1e-300)
    assert_allclose(total, logsumexp(log_mass, axis=1), rtol=1e-14)
    assert np.array_equal(log_mass, before)


@pytest.mark.parametrize("n", [0, 1, 30, MIRROR_WIDTH + 5])
def test_the_inverse_from_a_factor_is_the_inverse_and_exactly_symmetric(n):
    root = np.random.default_rng(n).standard_normal((n, n))
    lower = np.linalg.cholesky(root @ root.T + 10 * np.eye(n))
    for factor in (lower, np.asfortranarray(lower)):
        found = inverse_from_cholesky(factor)
        assert (found == found.T).all()
        assert_allclose(lower @ lower.T @ found, np.eye(n), atol=1e-10)
    assert (lower == np.tril(lower)).all()


def test_the_laplacian_of_pairs_is_that_of_their_differences_sparse_or_not():
    """Pairs that come twice, either way round, add up; an item that is in none has zeros."""
    left, right, weights = np.array([0, 1, 0, 3]), np.array([1, 0, 3, 1]), np.array([0.5, 2.0, 1.0, 0.25])
    differences = np.eye(5)[left] - np.eye(5)[right]
    expected = differences.T @ np.diag(weights) @ differences
    assert_allclose(dense_laplacian(left, right, weights, 5), expected, atol=1e-15)
    assert_allclose(laplacian(left, right, weights, 5).toarray(), expected, atol=1e-15)
