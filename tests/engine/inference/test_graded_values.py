"""Log densities of graded answers by themselves are those computed beside their derivatives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.inference.graded.cut_points import log_cut_density, log_cut_prior
from models_engine.inference.probit_ep.interval_sites import interval_moments, log_interval_chance


@pytest.mark.parametrize("first", [-np.inf, -0.7])
def test_the_prior_of_cut_points(first):
    log_gaps = np.array([first, 0.2, -1.5])
    assert log_cut_density(log_gaps) == pytest.approx(log_cut_prior(log_gaps, "probit")[0], rel=1e-14)


def test_the_chance_of_a_graded_answer():
    rng = np.random.default_rng(0)
    margin, low, lapse = rng.normal(scale=3, size=40), rng.normal(size=40), rng.random(40)
    high = np.where(rng.random(40) < 0.3, np.inf, low + rng.exponential(size=40))
    lapse[:2] = 0.0, 1.0
    beside = interval_moments(margin, np.zeros(40), low, high, np.ones(40), lapse).log_normaliser
    assert_allclose(log_interval_chance(margin, low, high, lapse), beside, rtol=1e-14)
