"""When "done" is said: two fits far enough apart, by hand; what is expected to be wrong, against its parts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

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
    sd, own = np.sqrt(np.diagonal(covariance)), mean - mean.mean()
    assert_allclose(expected_wrong("width", mean, covariance, Aim("whole")), 2 * 1.6448536 * sd.mean())
    doubt = (sd**2).sum() / ((own**2).sum() + (sd**2).sum())
    for given in (covariance, sd):
        assert_allclose(expected_wrong("reliability", mean, given, Aim("whole")), doubt)


def test_thresholds_are_stricter_for_the_lower_error():
    for what, (first, second) in FACTORS.items():
        assert 0 < second <= first <= 1
        assert_allclose(threshold(what, 0.2, level=LEVELS[1]), 0.2 * second)
    with pytest.raises(InvalidSetting, match="levels are"):
        threshold("best", 0.2, level=0.2)
    with pytest.raises(InvalidSetting, match="no threshold for 'order'"):
        threshold("order", 0.2)
