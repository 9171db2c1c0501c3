"""Expected loss and settled items against draws and counting; two items by the closed form."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr

from models_engine.acquisition import Aim, expected_loss, settled
from models_engine.errors import InvalidAim, InvalidData


def drawn(seed=0, n=12):
    rng = np.random.default_rng(seed)
    mean, root = rng.normal(size=n), 0.3 * rng.normal(size=(n, n))
    covariance = root @ root.T / n + 0.02 * np.eye(n)
    return mean, covariance, rng


def test_loss_of_two_items_is_the_chance_that_the_second_is_the_best():
    covariance = np.array([[0.3, 0.1], [0.1, 0.2]])
    wanted = ndtr(-0.4 / np.sqrt(0.3 + 0.2 - 2 * 0.1))
    error = 4 * 0.5 / np.sqrt(2_000)
    assert_allclose(expected_loss([0.4, 0.0], covariance, Aim("best", 1)), wanted, atol=error)
    independent = ndtr(-0.4 / np.sqrt(0.3 + 0.2))
    assert_allclose(expected_loss([0.4, 0.0], np.sqrt([0.3, 0.2]), Aim("best", 1)), independent, atol=error)
    beyond = ndtr(-(0.4 + 0.25) / np.sqrt(0.5))
    assert_allclose(expected_loss([0.4, 0.0], np.sqrt([0.3, 0.2]), Aim("best", 1), margin=0.25), beyond, atol=error)


def test_loss_of_the_best_k_is_how_many_of_them_are_not_the_best_in_draws():
    mean, covariance, rng = drawn()
    draws = rng.multivariate_normal(mean, covariance, size=20_000)
    parts = np.arange(12) % 2
    wrong = 0.0
    for part in (0, 1):
        items = np.flatnonzero(parts == part)
        chosen = set(items[np.argsort(-mean[items])[:3]].tolist())
        wrong += np.mean([len(chosen - set(items[np.argsort(-row[items])[:3]].tolist())) for row in draws])
    assert_allclose(expected_loss(mean, covariance, Aim("best", 3), parts=parts), wrong, atol=0.06)


@pytest.mark.parametrize("margin", [0.0, 0.2])
def test_loss_of_classes_is_how_many_items_are_in_another_class_in_draws(margin):
    mean, covariance, rng = drawn(1)
    cuts, draws = np.array([-0.6, 0.3, 0.9]), rng.multivariate_normal(mean, covariance, size=100_000)
    low, high = (np.concatenate([[-np.inf], cuts, [np.inf]])[np.searchsorted(cuts, mean) + side] for side in (0, 1))
    wrong = ((draws < low - margin / 2) | (draws > high + margin / 2)).sum(axis=1).mean()
    aim = Aim("classes", boundaries=tuple(cuts))
    assert_allclose(expected_loss(mean, covariance, aim, margin=margin), wrong, atol=0.03)
    assert_allclose(expected_loss(mean, np.sqrt(np.diagonal(covariance)), aim, margin=margin), wrong, atol=0.03)


def test_loss_of_the_whole_ranking_is_the_mean_width_of_90_per_cent_intervals():
    assert_allclose(expected_loss([0, 1, 2], [0.1, 0.2, 0.6], Aim("whole")), 2 * 1.6448536 * 0.3)


def test_settled_items_of_a_cut_are_on_a_sure_side_or_tied_with_it():
    mean, sd = [2.0, 1.0, 0.55, 0.45, -1.0], [0.3, 0.4, 0.02, 0.02, 0.3]
    assert settled(mean, sd, Aim("best", 3)).tolist() == [True, False, True, True, True]
    assert settled(mean, [0.3, 0.4, 0.05, 0.05, 0.3], Aim("best", 3)).tolist() == [True, False, False, False, True]
    tied = settled(mean, [0.3, 0.4, 0.05, 0.05, 0.3], Aim("best", 3), margin=0.4)
    assert tied.tolist() == [True, False, True, True, True]
    of_classes = settled([0.0, 1.0, 3.0], [0.3, 0.3, 0.3], Aim("classes", boundaries=(0.9, 2.0)))
    assert of_classes.tolist() == [True, False, True]


@pytest.mark.parametrize("margin", [0.0, 0.5])
def test_settled_items_of_the_whole_ranking_by_counting_pairs(margin):
    rng = np.random.default_rng(3)
    mean, sd, part = 2 * rng.normal(size=30), rng.uniform(0.02, 0.4, 30), rng.integers(2, size=30)
    part[0] = 2  # alone
    wanted = []
    for i in range(30):
        others = [j for j in range(30) if j != i and part[j] == part[i]]
        gaps = [(abs(mean[i] - mean[j]), np.hypot(sd[i], sd[j])) for j in others]
        known = [ndtr(g / s) >= 0.95 or ndtr((margin - g) / s) - ndtr((-margin - g) / s) >= 0.95 for g, s in gaps]
        wanted.append(bool(others) and all(known))
    assert 0 < sum(wanted) < 30
    assert_array_equal(settled(mean, sd, Aim("whole"), margin=margin, parts=part), wanted)


def test_bad_input_is_named():
    with pytest.raises(InvalidData, match="give \\(n_items,\\) or"):
        expected_loss([0, 1], np.ones((2, 3)), Aim("whole"))
    with pytest.raises(InvalidAim, match="k is 2"):
        settled([0, 1], [1, 1], Aim("best", 2))
