"""Draws of a dense covariance have that covariance, also where it is singular in more directions than the constant."""

import numpy as np
import pytest

from models_engine.covariance.forms import DenseCovariance


def regular(rng) -> np.ndarray:
    factor = rng.standard_normal((5, 5))
    return factor @ factor.T + np.eye(5)


def duplicates(rng) -> np.ndarray:
    """Items 3 and 4 always have the same utility."""
    return regular(rng)[np.ix_([0, 1, 2, 3, 3], [0, 1, 2, 3, 3])]


@pytest.mark.slow
@pytest.mark.parametrize("make", [regular, duplicates])
def test_draws_have_the_covariance(make):
    rng = np.random.default_rng(4)
    covariance = DenseCovariance.of(make(rng))
    draws = covariance.sample(200_000, rng)
    assert np.cov(draws, rowvar=False) == pytest.approx(covariance.dense(), abs=0.05 * covariance.variances().max())
    assert draws.sum(axis=1) == pytest.approx(0, abs=1e-9)


def test_a_single_item_never_moves():
    assert not DenseCovariance.of(np.array([[2.0]])).sample(3, np.random.default_rng(0)).any()
