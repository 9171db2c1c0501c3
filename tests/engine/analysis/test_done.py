"""When "done" is said: two fits far enough apart, by hand; what is expected to be wrong, against its parts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr

from models_engine.acquisition import Aim, expected_loss
from models_engine.analysis.done import FACTORS, LEVELS, expected_wrong, is_done, threshold
from models_engine.errors import InvalidSetting


@pytest.mark.parametrize(
    ("history", "done"),
    [
        ([], False),
        ([(100, 0.1)], False),
        ([(100, 0.1), (140, 0.1)], False),
        ([(100, 0.1), (150, 0.1)], True),
        ([(100, 0.1), (140, 0.1), (180, 0.1)], True),
        ([(100, 0.1), (140, 0.3), (180, 0.1)], False),
        ([(50, 0.1), (100, 0.3), (150, 0.1), (200, 0.2)], True),
        ([(100, 0.1), (150, 0.21)], False),
        ([(100, 0.1), (150, float("nan"))], False),
    ],
)
def test_done_needs_two_fits_fifty_labels_apart(history, done):
    assert is_done(history, 0.2) is done


def test_what_is_expected_to_be_wrong_is_in_the_measure_of_the_goal():
    rng = np.random.default_rng(0)
    mean, root = rng.normal(size=10), 0.1 * rng.normal(size=(10, 10))
    covariance = root @ root.T + 0.05 * np.eye(10)
    best, classes = Aim("best", 4), Aim("classes", boundaries=(0.0,))
    assert_allclose(expected_wrong("best", mean, covariance, best), expected_loss(mean, covariance, best) / 4)
    assert_allclose(expected_wrong("classes", mean, covariance, classes), expected_loss(mean, covariance, classes) / 10)
    with_ties = expected_wrong("top", mean, covariance, best, margin=0.3)
    assert with_ties < expected_wrong("top", mean, covariance, best) <= 1
    sd, own = np.sqrt(np.diagonal(covariance)), mean - mean.mean()
    assert_allclose(expected_wrong("width", mean, covariance, Aim("whole")), 2 * 1.6448536 * sd.mean())
    doubt = (sd**2).sum() / ((own**2).sum() + (sd**2).sum())
    for given in (covariance, sd):
        assert_allclose(expected_wrong("reliability", mean, given, Aim("whole")), doubt)


def test_further_measures_agree_with_what_they_are_by_hand():
    mean, sd = np.array([2.0, 0.0, -1.0, -3.0]), np.array([0.5, 1.0, 0.4, 0.7])
    whole, cuts = Aim("whole"), np.array([-2.0, 0.5])
    wrong = ndtr(-np.abs(mean[:, None] - cuts) / sd[:, None]).mean(axis=0).max()
    assert_allclose(expected_wrong("boundary", mean, sd, Aim("classes", boundaries=tuple(cuts))), wrong)
    assert_allclose(expected_wrong("widest", mean, sd, whole), 2 * 1.6448536 * 1.0)
    two, apart = np.array([0.0, 1.0]), np.array([0.6, 0.8])
    # Two items change places with P(the lower is above), and both are then one place off.
    assert_allclose(expected_wrong("places", two, apart, whole), ndtr(-1.0), atol=0.03)
    assert_allclose(expected_wrong("top", two, apart, Aim("best", 1)), ndtr(-1.0), atol=0.02)
    alike = np.array([[0.36, 0.30], [0.30, 0.36]])
    assert_allclose(expected_wrong("top", two, alike, Aim("best", 1)), ndtr(-1 / np.sqrt(0.12)), atol=0.005)


def test_thresholds_are_stricter_for_the_lower_error():
    for what, (first, second) in FACTORS.items():
        assert 0 < second <= first <= 1
        assert_allclose(threshold(what, 0.2, level=LEVELS[1]), 0.2 * second)
        assert threshold(what, 0.2, plain=True) <= 0.2 * first, "who learns nothing of people must be surer"
    with pytest.raises(InvalidSetting, match="levels are"):
        threshold("best", 0.2, level=0.2)
    with pytest.raises(InvalidSetting, match="no threshold for 'order'"):
        threshold("order", 0.2)
