"""The low-rank form of a taste covariance, against plain matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.inference.tastes.covariance import LowRankForm


@pytest.mark.parametrize("diagonal", [True, False])
def test_a_product_around_a_statistic_is_that_of_the_whole_matrix(diagonal):
    """With a kernel of unequal variances, and a statistic that is not positive."""
    rng = np.random.default_rng(2)
    n, rank = 12, 3
    kernel = np.diag(rng.uniform(0.3, 2.0, n))
    if not diagonal:
        kernel += 0.2
    root = rng.standard_normal((n, rank))
    form = LowRankForm(kernel, rank)
    taste = form.nearest(root @ root.T + 0.5 * kernel)
    assert form.loadings.any()
    half = rng.standard_normal((n, n))
    statistic = half + half.T
    before = statistic.copy()
    assert_allclose(form.around(statistic, taste), taste @ statistic @ taste, rtol=1e-11, atol=1e-11)
    assert_allclose(statistic, before, rtol=0, atol=0)
