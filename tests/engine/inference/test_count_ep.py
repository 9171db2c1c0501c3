"""EP for counts against the exact posterior on a grid, and its gradients against finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal, poisson

from models_engine.inference.count_ep import run_count_ep
from models_engine.rates import kernel, kernel_slopes

COUNTS, EXPOSURE = np.array([0.0, 4.0]), np.array([1.5, 1.0])
COVARIANCE, CONSTANT = np.array([[1.2, 0.7], [0.7, 0.9]]), 1.0


def moments_of(weight: np.ndarray, axis: np.ndarray) -> tuple[float, float]:
    mean = weight @ axis / weight.sum()
    return mean, weight @ (axis - mean) ** 2 / weight.sum()


def exact(covariance: np.ndarray, n: int = 401) -> tuple[float, np.ndarray, np.ndarray]:
    """Return log evidence, means and variances of g of two bins by a grid of n points each way."""
    axis = np.linspace(-8, 12, n)
    weight = multivariate_normal(np.zeros(2), covariance).pdf(np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1))
    first, second = (poisson.pmf(COUNTS[j], EXPOSURE[j] * np.maximum(CONSTANT + axis, 0)) for j in (0, 1))
    weight *= first[:, None] * second * (axis[1] - axis[0]) ** 2
    mean, variance = np.transpose([moments_of(weight.sum(axis=1 - bin), axis) for bin in (0, 1)])
    return np.log(weight.sum()), mean, variance


def test_two_bins_against_a_grid():
    log_evidence, mean, variance = exact(COVARIANCE)
    ep = run_count_ep(COUNTS, EXPOSURE, COVARIANCE, CONSTANT, tolerance=1e-10)
    assert ep.converged
    assert_allclose(ep.log_evidence, log_evidence, atol=0.01)
    assert_allclose(ep.mean, mean, atol=0.02)
    assert_allclose(ep.variance, variance, rtol=0.03)


def test_independent_bins_are_exact():
    covariance = np.diag([1.2, 0.9])
    log_evidence, mean, variance = exact(covariance, 1201)
    ep = run_count_ep(COUNTS, EXPOSURE, covariance, CONSTANT, tolerance=1e-12)
    assert_allclose(ep.log_evidence, log_evidence, atol=1e-4)  # the grid's error at the kink
    assert_allclose(ep.mean, mean, atol=1e-4)
    assert_allclose(ep.variance, variance, atol=1e-4)


def test_posterior_is_that_of_its_sites():
    ep = run_count_ep(COUNTS, EXPOSURE, COVARIANCE, CONSTANT, tolerance=1e-10)
    covariance = np.linalg.inv(np.linalg.inv(COVARIANCE) + np.diag(ep.sites.tau))
    assert_allclose(ep.mean, covariance @ ep.sites.nu, atol=1e-10)
    assert_allclose(COVARIANCE - COVARIANCE @ ep.precision @ COVARIANCE, covariance, atol=1e-10)
    assert_allclose(COVARIANCE @ ep.weights, ep.mean, atol=1e-10)


def test_a_closed_bin_changes_nothing():
    ep = run_count_ep(COUNTS, EXPOSURE, COVARIANCE, CONSTANT, tolerance=1e-10)
    wider = np.block([[COVARIANCE, np.full((2, 1), 0.4)], [np.full((1, 2), 0.4), np.ones((1, 1))]])
    three = run_count_ep(np.append(COUNTS, 0), np.append(EXPOSURE, 0), wider, CONSTANT, tolerance=1e-10)
    assert_allclose(three.mean[:2], ep.mean, atol=1e-8)
    assert_allclose(three.log_evidence, ep.log_evidence, atol=1e-8)


@pytest.mark.parametrize("seed", [0, 1])
def test_gradients_by_finite_differences(seed):
    rng = np.random.default_rng(seed)
    n, bin_hours, step = 24, 1.0, 1e-4
    counts = rng.poisson(np.maximum(rng.normal(1, 1.5, n), 0) * 6).astype(float)
    exposure = np.full(n, 6.0)
    theta = np.array([-0.3, np.log(5), -0.5, 0.1, -0.4, 0.8])
    lags = np.arange(n) * bin_hours
    which = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))

    def solve(at):
        covariance = kernel(lags, at, bin_hours)[which] + np.exp(2 * at[4]) * np.eye(n)
        return run_count_ep(counts, exposure, covariance, at[5], tolerance=1e-11)

    ep, slopes = solve(theta), kernel_slopes(lags, theta, bin_hours)
    found = [ep.evidence_slope(slope[which]) for slope in slopes]
    found += [ep.evidence_slope(2 * np.exp(2 * theta[4]) * np.eye(n)), ep.constant_slope]
    for k, move in enumerate(step * np.eye(6)):
        expected = (solve(theta + move).log_evidence - solve(theta - move).log_evidence) / (2 * step)
        assert_allclose(found[k], expected, atol=2e-6)
