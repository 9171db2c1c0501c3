"""What CollaborativeGP does differently in a large fit, on small ones that are made to count as large."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.estimators.collaborative import learning, steps
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.inference.tastes.scales import MixtureWeights
from models_engine.simulate import simulate_crowd


@pytest.mark.slow
def test_a_large_fit_by_parts_is_that_of_whole_annotators(monkeypatch):
    rng = np.random.default_rng(0)
    data = simulate_crowd(rng, 30, 6, utility_sd=1.0, taste_sd=0.5).pairs(90, rng)
    estimator = CollaborativeGP(covariance="prior")
    whole = estimator.fit(data)
    monkeypatch.setattr(steps, "MAX_CHEAP_COST", 1.0)
    large = estimator.fit(data)
    assert large.diagnostics.converged
    assert large.annotator_summary().taste_distance_sd is None
    assert whole.annotator_summary().taste_distance_sd is not None
    assert_allclose(large.utilities(), whole.utilities(), atol=2e-3)
    assert_allclose(large.standard_deviations(), whole.standard_deviations(), atol=2e-3)
    assert_allclose(large.annotator_summary().taste_distance, whole.annotator_summary().taste_distance, atol=2e-3)


def test_a_shape_without_weight_is_left_out_of_a_large_fit(monkeypatch):
    rng = np.random.default_rng(1)
    data = simulate_crowd(rng, 20, 8, utility_sd=1.0).pairs(160, rng)
    estimator = CollaborativeGP(covariance="low-rank", n_components=2, max_steps=3)
    monkeypatch.setattr(steps, "MAX_CHEAP_COST", 1.0)
    monkeypatch.setattr(learning, "MIN_SHAPE", 2.0)
    taste = estimator.fit(data).tastes.taste
    assert np.count_nonzero(taste - np.diag(np.diagonal(taste))) == 0
    monkeypatch.setattr(learning, "MIN_SHAPE", 0.0)
    kept = estimator.fit(data).tastes.taste
    assert np.count_nonzero(kept - np.diag(np.diagonal(kept))) > 0


def test_weights_without_a_shape_add_up_to_one():
    mixture = MixtureWeights(((0.0, 0.25), (0.0, 0.6), (0.4, 0.25)), np.array([0.3, 0.1, 0.6]))
    found = mixture.without_shape()
    assert_allclose(found.weights, [0.75, 0.25, 0.0])
    assert found.mean()[0] == 0
