"""The average of a fit over the scale of its prior, against densities whose moments are known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import gumbel_l, norm, truncnorm

from models_engine.inference.davidson.scale_mixture import mix_over_scales

SPREAD = np.array([[0.3, 0.1], [0.1, 0.2]])


def fit_for(density, move, lacks=lambda position: 0.0):
    """x moves by `move` a unit of log scale, with covariance SPREAD everywhere."""

    def fit(position):
        slope = (density.logpdf(position + 1e-5) - density.logpdf(position - 1e-5)) / 2e-5
        return slope, lacks(position), position * move, lambda: SPREAD

    return fit


@pytest.mark.parametrize("deviation", [0.06, 0.3, 1.0])
def test_a_normal_density_of_the_log_scale_has_its_moments(deviation):
    move = np.array([1.0, -2.0])
    mean, covariance, along = mix_over_scales(0.7, fit_for(norm(0.7, deviation), move))
    assert_allclose(along, deviation * move, rtol=0.02)
    assert_allclose(mean, 0.7 * move, atol=1e-3 * deviation)
    assert_allclose(covariance, SPREAD + deviation**2 * np.outer(move, move), rtol=0.02)


@pytest.mark.parametrize("deviation", [0.1, 0.3, 1.0])
def test_what_the_density_lacks_moves_it(deviation):
    """exp(0.8 u) times a normal density of u is that density moved by 0.8 variances."""
    move = np.array([1.0, -2.0])
    fit = fit_for(norm(0.7, deviation), move, lambda position: 5 + 0.8 * position)
    mean, covariance, along = mix_over_scales(0.7, fit)
    assert_allclose(mean, (0.7 + 0.8 * deviation**2) * move, atol=5e-3 * deviation)
    assert_allclose(along, deviation * move, rtol=0.02)
    assert_allclose(covariance, SPREAD + deviation**2 * np.outer(move, move), rtol=0.02)


def test_a_skewed_density_has_its_moments_nearly():
    density = gumbel_l(0.2, 0.5)
    mean, covariance, along = mix_over_scales(0.2, fit_for(density, np.array([1.0, 0.0])))
    assert_allclose(along, [density.std(), 0], rtol=0.05)
    assert_allclose(mean[0], density.mean(), atol=0.03)
    assert_allclose(covariance[0, 0] - SPREAD[0, 0], density.var(), rtol=0.1)


def test_a_scale_that_is_nearly_known_takes_two_fits():
    taken = []

    def counted(deviation):
        fit = fit_for(norm(0.0, deviation), np.array([1.0, -2.0]))
        return lambda position: taken.append(position) or fit(position)

    mean, covariance, along = mix_over_scales(0.0, counted(0.19))
    assert_allclose(along, 0.19 * np.array([1, -2]), rtol=1e-4)
    assert len(taken) == 2
    assert_allclose(mean, 0, atol=1e-9)
    assert_allclose(covariance, SPREAD + 0.19**2 * np.outer([1, -2], [1, -2]), rtol=1e-4)
    mix_over_scales(0.0, counted(0.21))
    assert len(taken) == 2 + 2 + 6, "three nodes each way, and none where the density no longer matters"


@pytest.mark.parametrize("missing", [0, 1, 2, 4])
def test_a_scale_that_is_not_found_ends_it(missing):
    taken, fit = [], fit_for(norm(0.0, 0.5), np.array([1.0, -2.0]))
    found = mix_over_scales(0.0, lambda at: taken.append(at) or (fit(at) if len(taken) != missing + 1 else None))
    assert found is None
    assert len(taken) == max(missing + 1, 2), "the first two are taken together"


def test_a_density_that_is_greater_elsewhere_has_no_average():
    """The lower mode of two, by e^2.25."""

    def fit(position):
        return -(position + 1) * position * (position - 2), 0.0, np.zeros(1), lambda: np.eye(1)

    assert mix_over_scales(-1.0, fit) is None
    assert mix_over_scales(2.0, fit) is not None


@pytest.mark.parametrize("deviation", [0.45, 1.0])
@pytest.mark.parametrize("above", [-1.0, -0.3, 0.0, 0.05, 0.4, 1.7, 2.5])
def test_a_density_that_ends_has_the_moments_of_what_is_left(deviation, above):
    """above: where the normal density has its top, in standard deviations from its end; below 0 the mode is there."""
    fit, end = fit_for(norm(above * deviation, deviation), np.array([1.0, -2.0])), truncnorm(-above, np.inf, above, 1)
    mean, covariance, along = mix_over_scales(max(above, 0.0) * deviation, fit, lowest=0.0)
    assert_allclose(mean[0] / deviation, end.mean(), atol=0.05)
    assert_allclose(mean[1], -2 * mean[0])
    assert_allclose(along[0] / deviation, end.std(), rtol=0.09)
    assert_allclose(covariance[0, 0] - SPREAD[0, 0], along[0] ** 2, rtol=1e-6)


def test_a_density_that_falls_at_once_leaves_its_end():
    found = mix_over_scales(0.0, fit_for(norm(-6.0, 1.0), np.array([1.0, -2.0])), lowest=0.0)
    assert_allclose(found.mean, 0)
    assert_allclose(found.covariance, SPREAD)
    assert_allclose(found.along, 0)
