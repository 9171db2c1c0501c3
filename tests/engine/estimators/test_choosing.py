"""AUTO chooses the model that made the labels, splits without leaks, and prefers the simpler one in doubt."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from models_engine.data import Comparisons
from models_engine.errors import Cancelled, InsufficientData, InvalidData
from models_engine.estimators.choosing import assign_folds, candidate_names, choose_estimator, paired_difference
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.estimators.table import ESTIMATORS
from models_engine.simulate import simulate_crowd


def candidates(*names: str):
    return {name: ESTIMATORS[name].estimator() for name in names}


@pytest.mark.slow
def test_equally_careful_annotators_get_bradley_terry():
    rng = np.random.default_rng(0)
    choice = choose_estimator(
        simulate_crowd(rng, 10, 12, utility_sd=1.0).pairs(600, rng), candidates("BradleyTerry", "CrowdBT")
    )
    assert choice.name == "BradleyTerry"
    assert choice.n_held_out == 600
    assert "BradleyTerry" in choice.reason


@pytest.mark.slow
def test_random_annotators_get_crowd_bt():
    rng = np.random.default_rng(1)
    truth = 2 * rng.standard_normal(10)
    who = rng.integers(20, size=1500)
    left = rng.integers(10, size=1500)
    right = (left + rng.integers(1, 10, size=1500)) % 10
    p = np.where(who < 10, 0.5, 1 / (1 + np.exp(truth[right] - truth[left])))
    data = Comparisons.from_pairs(left, right, (rng.random(1500) < p).astype(float), who)
    choice = choose_estimator(data, candidates("BradleyTerry", "CrowdBT"))
    assert choice.name == "CrowdBT"
    plain = choice.trials[0]
    assert plain.difference > plain.error > 0


@pytest.mark.slow
def test_differing_tastes_get_collaborative_gp():
    rng = np.random.default_rng(2)
    data = simulate_crowd(rng, 8, 15, utility_sd=0.5, taste_sd=2.0, link="probit").pairs(900, rng)
    quick = CollaborativeGP(covariance="prior", log_scale_sd=0)
    choice = choose_estimator(data, candidates("BradleyTerry") | {"CollaborativeGP": quick})
    assert choice.name == "CollaborativeGP"


def test_repeated_answers_share_a_fold_whatever_the_side():
    rng = np.random.default_rng(3)
    left, right = rng.integers(4, size=300), rng.integers(4, 8, size=300)
    swap, who = rng.random(300) < 0.5, rng.integers(6, size=300)
    data = Comparisons.from_pairs(np.where(swap, right, left), np.where(swap, left, right), np.ones(300), who)
    fold = assign_folds(data, seed=5)
    key = who * 64 + left * 8 + right
    assert all(len(np.unique(fold[key == one])) == 1 for one in np.unique(key))
    assert np.bincount(fold, minlength=5).min() > 20
    assert_array_equal(fold, assign_folds(data, seed=5))
    assert (fold != assign_folds(data, seed=6)).any()


def test_the_standard_error_is_clustered_by_annotator():
    """Ten labels of each annotator that all say the same are worth one: the error is sqrt 10 times the naive one."""
    rng = np.random.default_rng(4)
    by_annotator, who = rng.standard_normal(400), np.repeat(np.arange(400), 10)
    worse = np.repeat(by_annotator, 10)
    difference, error = paired_difference(worse, np.zeros(4000), who)
    assert difference == pytest.approx(by_annotator.mean())
    assert error == pytest.approx(by_annotator.std(ddof=1) / 20)
    _, naive = paired_difference(worse, np.zeros(4000), np.zeros(4000, dtype=np.int64))
    assert error / naive == pytest.approx(np.sqrt(10), rel=0.01)


def test_larger_sets_add_plackett_luce_to_the_candidates():
    rng = np.random.default_rng(8)
    people = simulate_crowd(rng, 6, 4)
    assert "PlackettLuce" not in candidate_names(people.pairs(20, rng))
    names = candidate_names(people.rankings(20, 4, rng))
    assert "PlackettLuce" in names
    assert set(names) <= set(ESTIMATORS)


def test_full_rankings_add_the_angle_based_models():
    rng = np.random.default_rng(8)
    people, models = simulate_crowd(rng, 6, 4), {"AngleBased", "AngleBasedMixture"}
    full = people.rankings(20, 6, rng)
    assert models <= set(candidate_names(full)) <= set(ESTIMATORS)
    for other in (people.rankings(20, 4, rng), people.choices(20, 6, rng), people.top(20, 6, 2, rng)):
        assert not models & set(candidate_names(other))
    assert not models & set(candidate_names(Comparisons.concatenate([full, people.pairs(5, rng)])))


class FailingEstimator:
    def fit(self, data, start=None, rng=None, progress=None):
        raise InvalidData("it has no use for these labels.")


def test_a_failing_candidate_is_skipped_and_reported():
    rng = np.random.default_rng(5)
    data = simulate_crowd(rng, 6, 4).pairs(100, rng)
    choice = choose_estimator(data, {"FailingEstimator": FailingEstimator(), **candidates("BradleyTerry")})
    assert choice.name == "BradleyTerry"
    assert choice.trials[0].failed == "it has no use for these labels."
    with pytest.raises(InsufficientData, match="no use"):
        choose_estimator(data, {"FailingEstimator": FailingEstimator(), "Another": FailingEstimator()})


def test_few_labels_get_the_simplest_with_the_reason():
    rng = np.random.default_rng(6)
    choice = choose_estimator(simulate_crowd(rng, 6, 4).pairs(49, rng), candidates("BradleyTerry", "CrowdBT"))
    assert choice.name == "BradleyTerry"
    assert "fewer than 50" in choice.reason


def test_choosing_can_be_cancelled():
    rng = np.random.default_rng(7)
    data = simulate_crowd(rng, 6, 4).pairs(100, rng)
    with pytest.raises(Cancelled):
        choose_estimator(data, candidates("BradleyTerry", "CrowdBT"), progress=lambda step, total, objective: False)
