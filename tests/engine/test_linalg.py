"""Small linear algebra where matrices are awkward: repeated eigenvalues."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.linalg import centre_covariance, leading_eigenvectors


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
