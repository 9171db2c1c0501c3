"""Simulated crowds answer with the probabilities their documentation states, and repeat with their seed."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, ndtr

from models_engine.errors import InvalidData
from models_engine.simulate import Crowd, simulate_crowd

F = np.array([0.8, 0.1, -0.3, -0.6])
N = 60_000


def alike(f=F, **fields) -> Crowd:
    """Three annotators without tastes."""
    given = {"reliability": np.ones(3), "side": np.zeros(3), **fields}
    return Crowd(f, np.tile(f, (3, 1)), **given)


def share(hits) -> float:
    return float(np.mean(hits))


@pytest.mark.parametrize(("link", "cdf"), [("logit", expit), ("probit", ndtr)])
def test_pairs_are_won_with_the_probability_of_the_link(link, cdf):
    pairs = alike(link=link).pairs(N, np.random.default_rng(0)).pairs()
    for a, b in itertools.permutations(range(4), 2):
        rows = (pairs.left == a) & (pairs.right == b)
        assert share(pairs.outcome[rows]) == pytest.approx(cdf(F[a] - F[b]), abs=0.03)


def test_choices_and_rankings_follow_plackett_luce():
    people, rng = alike(), np.random.default_rng(1)
    worth = np.exp(F)
    chosen = people.choices(N, 4, rng).stages()[0].winner
    assert_allclose(np.bincount(chosen, minlength=4) / N, worth / worth.sum(), atol=0.01)
    items, _ = people.rankings(N, 3, rng).groups()[0].best_first()
    rows = np.sort(items, axis=1) == [0, 1, 3]
    second = items[rows.all(axis=1) & (items[:, 0] == 1), 1]
    assert share(second == 0) == pytest.approx(worth[0] / (worth[0] + worth[3]), abs=0.03)


def test_best_worst_of_two_choices_agree_with_rankings():
    people = alike()
    ends, _ = people.best_worst(N, 4, np.random.default_rng(2)).groups()[0].best_first()
    whole, _ = people.rankings(N, 4, np.random.default_rng(3)).groups()[0].best_first()
    for best, worst in itertools.permutations(range(4), 2):
        first = share((ends[:, 0] == best) & (ends[:, 3] == worst))
        assert first == pytest.approx(share((whole[:, 0] == best) & (whole[:, 3] == worst)), abs=0.012)


def test_ties_side_and_reliability():
    nu = 0.6
    pairs = alike(F * 0, tie=nu).pairs(N, np.random.default_rng(4)).pairs()
    assert share(pairs.outcome == 0.5) == pytest.approx(nu / (2 + nu), abs=0.01)
    pairs = alike(F * 0, side=np.array([0.5, 0.5, 0.5])).pairs(N, np.random.default_rng(5)).pairs()
    assert share(pairs.outcome) == pytest.approx(expit(0.5), abs=0.01)
    people = alike(reliability=np.array([1.0, 0.5, 0.0]))
    pairs = people.pairs(N, np.random.default_rng(6)).pairs()
    right = (pairs.outcome == 1) == (F[pairs.left] > F[pairs.right])
    honest, guessing, reversed_ = (share(right[pairs.annotator == j]) for j in range(3))
    assert guessing == pytest.approx(0.5, abs=0.02)
    assert honest + reversed_ == pytest.approx(1, abs=0.02)
    assert honest > 0.6


def test_annotators_get_equal_shares_and_sets_are_distinct():
    data = simulate_crowd(np.random.default_rng(0), 200, 7).rankings(700, 5, np.random.default_rng(1))
    assert_array_equal(np.bincount(data.annotators), 100)
    items = data.groups()[0].items
    assert (np.diff(np.sort(items, axis=1), axis=1) > 0).all()
    counts = np.bincount(items.ravel(), minlength=200)
    assert counts.min() > 3, "every item is drawn about 17.5 times"


def test_a_seed_repeats_the_crowd_and_its_answers():
    def answers(seed):
        rng = np.random.default_rng(seed)
        people = simulate_crowd(rng, 20, 5, taste_sd=0.5, reliability=(8, 2), side_sd=0.3, tie=0.2)
        return people.pairs(50, rng).data_hash() + people.best_worst(20, 4, rng).data_hash()

    assert answers(3) == answers(3)
    assert answers(3) != answers(4)


def test_taste_has_the_requested_standard_deviation():
    people = simulate_crowd(np.random.default_rng(0), 300, 400, taste_sd=0.7)
    assert (people.own - people.utilities).std() == pytest.approx(0.7, rel=0.1)
    assert simulate_crowd(np.random.default_rng(0), 300, 2, utility_sd=2.0).utilities.std() == pytest.approx(
        2, rel=0.15
    )


def test_impossible_crowds_are_rejected():
    with pytest.raises(InvalidData, match="sets of 5"):
        alike().choices(1, 5, np.random.default_rng(0))
    with pytest.raises(InvalidData, match="logit"):
        simulate_crowd(np.random.default_rng(0), 3, 1, tie=0.5, link="probit")
