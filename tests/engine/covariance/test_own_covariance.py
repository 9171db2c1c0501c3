"""The covariance of one annotator's utilities, against Gaussian conditioning of the whole model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.covariance.own import OwnCovariance
from models_engine.errors import Unsupported
from models_engine.linalg import centre_covariance

N = 7


@pytest.fixture
def known():
    """Return the covariance, and that of (f, t) by linear maps of independent normal draws."""
    rng = np.random.default_rng(0)
    loadings, factor = rng.standard_normal((N, 2)), rng.standard_normal((N, 1))
    rest, own, judged = rng.uniform(0.2, 1, N), rng.uniform(0.2, 1, N), np.array([1, 4, 5])
    root = rng.standard_normal((3, 3))
    weight = root @ root.T  # of answers about f there
    d = np.diag(own[judged])
    information = np.linalg.inv(np.linalg.inv(weight) + d)
    across = loadings[judged]
    scores = np.linalg.inv(np.eye(2) + across.T @ information @ across)
    # posterior of (w, e) given t and answers: a linear map of t, plus a covariance
    design = np.zeros((3, 2 + N))
    design[:, :2], design[np.arange(3), 2 + judged] = across, 1.0
    prior = np.diag(np.append(np.ones(2), own))
    after = np.linalg.inv(np.linalg.inv(prior) + design.T @ weight @ design)
    pick = np.eye(N)[judged]
    follow = -after @ design.T @ weight @ pick
    total = np.hstack([loadings, np.eye(N)])
    by_t = np.eye(N) + total @ follow
    t = factor @ factor.T + np.diag(rest)
    f = by_t @ t @ by_t.T + total @ after @ total.T
    apart = (total @ follow) @ t @ (total @ follow).T + total @ after @ total.T
    made = OwnCovariance(loadings, factor, rest, own, scores, judged, information, np.arange(N))
    return made, f, apart


def test_variances_and_matrix(known):
    made, exact, apart = known
    assert_allclose(made.dense(), centre_covariance(exact), atol=1e-10)
    assert_allclose(made.variances(), np.diagonal(centre_covariance(exact)), atol=1e-10)
    deviations = made.difference_deviations(np.zeros(N))
    assert_allclose(deviations**2, np.diagonal(centre_covariance(apart)), atol=1e-10)
    left, right = np.meshgrid(np.arange(N), np.arange(N))
    expected = exact[left, left] + exact[right, right] - 2 * exact[left, right]
    assert_allclose(made.difference_variance(left, right), expected, atol=1e-10)


def test_a_part_of_the_items(known):
    made, exact, _ = known
    part = np.array([5, 0, 1])
    expected = centre_covariance(exact[np.ix_(part, part)])
    assert_allclose(made.restrict(part).dense(), expected, atol=1e-10)
    assert_allclose(made.restrict(part).variances(), np.diagonal(expected), atol=1e-10)


def test_draws(known):
    made, exact, _ = known
    draws = made.sample(40_000, np.random.default_rng(1))
    assert_allclose(np.cov(draws.T), centre_covariance(exact), atol=0.06)
    assert_allclose(draws.mean(axis=1), 0, atol=1e-12)


def test_it_is_not_stored_by_itself(known):
    with pytest.raises(Unsupported, match="whole fit"):
        known[0].to_arrays()
