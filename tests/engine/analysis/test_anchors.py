"""The line through anchors against a search by likelihood, and its intervals against simulated second rounds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import chi2

from models_engine.analysis.anchors import link_to_anchors, link_to_spread
from models_engine.constants import Z90
from models_engine.errors import InvalidAnchors
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.simulate import simulate_crowd


def test_the_line_is_where_its_weighted_squares_are_least():
    rng = np.random.default_rng(0)
    mean, value = np.array([-1.5, -0.2, 0.8, 2.0]), np.array([31.0, 46.0, 55.0, 78.0])
    root, noise = 0.2 * rng.normal(size=(4, 4)), np.array([2.0, 1.0, 3.0, 1.5])
    found = link_to_anchors(mean, root @ root.T, value, noise)
    weights = np.linalg.inv(np.diag(noise**2) + found.slope**2 * root @ root.T)

    def squares(line):
        left = value - line[0] - line[1] * mean
        return left @ weights @ left

    best = minimize(squares, [40.0, 10.0], tol=1e-12)
    assert_allclose([found.intercept, found.slope], best.x, rtol=1e-4)
    steps = np.array([[1, 0], [0, 1], [1, 1]])
    along = [squares(best.x + step) + squares(best.x - step) - 2 * squares(best.x) for step in steps]
    curvature = np.array([[along[0], (along[2] - along[0] - along[1]) / 2], [0, along[1]]])
    curvature[1, 0] = curvature[0, 1]
    assert_allclose(found.covariance, 2 * np.linalg.inv(curvature), rtol=1e-4)
    assert found.misfit == pytest.approx(best.fun)
    assert found.degrees == 2


def test_a_slope_that_swings_to_and_fro_settles():
    mean, sd = np.array([-0.6, -0.8, 0.9, 1.3]), np.array([0.4, 0.9, 0.3, 0.8])
    values, noise = np.array([70.0, 36.0, 62.0, 70.0]), np.array([0.0, 1.0, 2.0, 4.0])

    def slope_by_weights_at(slope):
        weight = 1 / np.sqrt(noise**2 + slope**2 * sd**2)
        return np.linalg.lstsq(weight[:, None] * np.stack([np.ones(4), mean], axis=1), weight * values)[0][1]

    swings = [3.6605]
    for _ in range(200):
        swings.append(slope_by_weights_at(swings[-1]))
    assert_allclose(sorted(swings[-2:]), [0.534, 3.66], atol=0.01)  # one after the other for ever
    link = link_to_anchors(mean, sd, values, noise)
    assert_allclose(slope_by_weights_at(link.slope), link.slope, rtol=1e-6)


@pytest.mark.slow
def test_values_carried_over_hold_the_truth():
    """A second round with anchors of known value: 90% intervals of the others, their bias, and the misfit's spread."""
    inside, bias, misfit = [], [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        people = simulate_crowd(rng, 40, 10, utility_sd=1.5)
        fit = BradleyTerry(inference="variational").fit(people.pairs(400, rng))
        anchors, noise = np.argsort(fit.utilities())[[3, 11, 20, 28, 36]], np.full(5, 3.0)
        truth = 50 + 10 * people.utilities
        known = truth[anchors] + noise * rng.standard_normal(5)
        link = link_to_anchors(fit.utilities()[anchors], fit.covariance()[np.ix_(anchors, anchors)], known, noise)
        value, deviation = link.values(fit.utilities(), fit.standard_deviations())
        others = np.setdiff1d(np.arange(40), anchors)
        inside.append(np.mean(np.abs(value - truth)[others] <= Z90 * deviation[others]))
        bias.append(link.slope / 10)
        misfit.append(link.misfit)
    assert 0.85 <= np.mean(inside) <= 0.95
    assert np.mean(bias) == pytest.approx(1, abs=0.05)
    assert np.mean(misfit) == pytest.approx(3, abs=3 * np.sqrt(6 / 60))  # chi squared, 3 degrees of freedom


def test_fixed_anchors_and_a_fixed_slope():
    exact = link_to_anchors([0.0, 2.0], [0.0, 0.0], [40.0, 60.0])
    assert (exact.intercept, exact.slope) == (pytest.approx(40), pytest.approx(10))
    assert_allclose(exact.values([1.0], [0.3]), [[50.0], [3.0]], rtol=1e-3)
    assert exact.utility(55) == pytest.approx(1.5)
    one = link_to_anchors([0.5], [0.2], [1.5], slope=1.0)
    assert (one.intercept, one.slope) == (pytest.approx(1.0), 1.0)
    assert_allclose(one.values([0.0], [0.3])[1], np.hypot(0.2, 0.3))


def test_an_anchor_that_has_moved_stands_out():
    mean = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    value = 10 * mean + np.array([0, 0, 15.0, 0, 0])
    link = link_to_anchors(mean, np.full(5, 0.2), value, np.full(5, 1.0))
    assert np.argmax(np.abs(link.residuals)) == 2
    assert link.residuals[2] > 3
    assert chi2.sf(link.misfit, link.degrees) < 1e-3


@pytest.mark.parametrize(
    ("mean", "values", "message"),
    [
        ([1.0], [3.0], "1 anchors are too few to fix a scale"),
        ([1.0, 1.0], [3.0, 4.0], "all 2 anchors have the utility 1"),
        ([1.0, 2.0], [4.0, 3.0], "values fall by 1 "),
        ([1.0, 2.0], [4.0, np.nan], "anchor 2: the value is nan"),
        ([1.0, 2.0], [4.0], "2 utilities and 1 values"),
    ],
)
def test_anchors_that_cannot_carry_a_scale_are_named(mean, values, message):
    with pytest.raises(InvalidAnchors, match=message):
        link_to_anchors(mean, np.full(len(mean), 0.1), values)


def test_scaled_scores_without_anchors():
    mean = np.array([-1.0, 0.0, 4.0])
    values, deviations = link_to_spread(mean, mean=100, deviation=15).values(mean, [0.1, 0.1, 0.1])
    assert values.mean() == pytest.approx(100)
    assert values.std(ddof=1) == pytest.approx(15)
    assert_allclose(deviations, 15 / mean.std(ddof=1) * 0.1)
    with pytest.raises(InvalidAnchors):
        link_to_spread([1.0, 1.0])
