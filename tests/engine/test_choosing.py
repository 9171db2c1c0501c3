"""AUTO chooses the model that made the labels, splits without leaks, and prefers the simpler one in doubt."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from models_engine.data import Comparisons
from models_engine.errors import Cancelled, InsufficientData, InvalidData
from models_engine.estimators.choosing import choose, folds_of, names_for, paired_difference
from models_engine.estimators.table import ESTIMATORS
from models_engine.simulate import crowd


def candidates(*names: str):
    return {name: ESTIMATORS[name].estimator() for name in names}


def test_equal_careful_annotators_get_the_plain_choice():
    rng = np.random.default_rng(0)
    choice = choose(crowd(rng, 10, 12, utility_sd=1.0).pairs(600, rng), candidates("BradleyTerry", "CrowdBT"))
    assert choice.name == "BradleyTerry"
    assert choice.n_held_out == 600
    assert "BradleyTerry" in choice.reason


def test_annotators_who_answer_at_random_get_the_one_that_learns_whom_to_trust():
    rng = np.random.default_rng(1)
    truth = 2 * rng.standard_normal(10)
    who = rng.integers(20, size=1500)
    left = rng.integers(10, size=1500)
    right = (left + rng.integers(1, 10, size=1500)) % 10
    p = np.where(who < 10, 0.5, 1 / (1 + np.exp(truth[right] - truth[left])))
    data = Comparisons.from_pairs(left, right, (rng.random(1500) < p).astype(float), who)
    choice = choose(data, candidates("BradleyTerry", "CrowdBT"))
    assert choice.name == "CrowdBT"
    plain = choice.trials[0]
    assert plain.difference > plain.error > 0


def test_differing_tastes_get_the_one_that_learns_each():
    rng = np.random.default_rng(2)
    data = crowd(rng, 8, 15, utility_sd=0.5, taste_sd=2.0, link="probit").pairs(900, rng)
    choice = choose(data, candidates("BradleyTerry", "CollaborativeGP"))
    assert choice.name == "CollaborativeGP"


def test_repeated_answers_share_a_fold_whichever_side_was_left():
    rng = np.random.default_rng(3)
    left, right = rng.integers(4, size=300), rng.integers(4, 8, size=300)
    swap, who = rng.random(300) < 0.5, rng.integers(6, size=300)
    data = Comparisons.from_pairs(np.where(swap, right, left), np.where(swap, left, right), np.ones(300), who)
    fold = folds_of(data, seed=5)
    key = who * 64 + left * 8 + right
    assert all(len(np.unique(fold[key == one])) == 1 for one in np.unique(key))
    assert np.bincount(fold, minlength=5).min() > 20
    assert_array_equal(fold, folds_of(data, seed=5))
    assert (fold != folds_of(data, seed=6)).any()


def test_the_error_counts_annotators_not_labels():
    """Ten labels of each annotator that all say the same are worth one: the error is sqrt 10 times the naive one."""
    rng = np.random.default_rng(4)
    by_annotator, who = rng.standard_normal(400), np.repeat(np.arange(400), 10)
    worse = np.repeat(by_annotator, 10)
    difference, error = paired_difference(worse, np.zeros(4000), who)
    assert difference == pytest.approx(by_annotator.mean())
    assert error == pytest.approx(by_annotator.std(ddof=1) / 20)
    _, naive = paired_difference(worse, np.zeros(4000), np.zeros(4000, dtype=np.int64))
    assert error / naive == pytest.approx(np.sqrt(10), rel=0.01)


def test_whole_answers_of_larger_sets_have_a_candidate_of_their_own():
    rng = np.random.default_rng(8)
    people = crowd(rng, 6, 4)
    assert "PlackettLuce" not in names_for(people.pairs(20, rng))
    names = names_for(people.rankings(20, 4, rng))
    assert "PlackettLuce" in names
    assert set(names) <= set(ESTIMATORS)


class Refusing:
    def fit(self, data, start=None, rng=None, progress=None):
        raise InvalidData("it has no use for these labels.")


def test_one_that_fails_is_passed_over_and_named():
    rng = np.random.default_rng(5)
    data = crowd(rng, 6, 4).pairs(100, rng)
    choice = choose(data, {"Refusing": Refusing(), **candidates("BradleyTerry")})
    assert choice.name == "BradleyTerry"
    assert choice.trials[0].failed == "it has no use for these labels."
    with pytest.raises(InsufficientData, match="no use"):
        choose(data, {"Refusing": Refusing(), "Another": Refusing()})


def test_few_labels_get_the_simplest_and_are_told_so():
    rng = np.random.default_rng(6)
    choice = choose(crowd(rng, 6, 4).pairs(49, rng), candidates("BradleyTerry", "CrowdBT"))
    assert choice.name == "BradleyTerry"
    assert "fewer than 50" in choice.reason


def test_choosing_can_be_cancelled():
    rng = np.random.default_rng(7)
    data = crowd(rng, 6, 4).pairs(100, rng)
    with pytest.raises(Cancelled):
        choose(data, candidates("BradleyTerry", "CrowdBT"), progress=lambda step, total, objective: False)
