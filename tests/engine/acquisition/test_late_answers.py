"""Answers added to marginals: exact moments of one, many against quadrature, what stays, and what is refused."""

import numpy as np
import pytest
from scipy.stats import norm

from models_engine.acquisition.late_answers import add_answers
from models_engine.errors import InvalidData

C = 1.702
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)


def moments_of_one(mean, sd, winner, loser, item):
    """By quadrature over both utilities."""
    a, b = np.meshgrid(mean[winner] + sd[winner] * NODES, mean[loser] + sd[loser] * NODES, indexing="ij")
    chance = np.outer(WEIGHTS, WEIGHTS) * norm.cdf((a - b) / C)
    chance /= chance.sum()
    own = a if item == winner else b
    middle = (chance * own).sum()
    return middle, np.sqrt((chance * (own - middle) ** 2).sum())


@pytest.mark.parametrize("mean", [[0.0, 0.0], [1.5, -0.5], [-2.0, 2.5]])
def test_one_answer_gives_the_moments_of_both_items(mean):
    sd = [0.8, 1.4]
    found = add_answers(mean, sd, [0], [1], changes=[True, True])
    for item in (0, 1):
        assert (found.mean[item], found.sd[item]) == pytest.approx(moments_of_one(mean, sd, 0, 1, item), rel=1e-6)


@pytest.mark.parametrize("apart", [1e3, 2e4, 1e5, 1e9])
def test_an_answer_against_a_prediction_far_off_counts_as_an_observed_draw(apart):
    """log Phi(x) is -x^2 / 2 there: as if the difference had been seen to be 0, with a variance of 1.702^2."""
    mean, sd = np.array([-apart, 0.0]), np.array([0.8, 1.4])
    with np.errstate(all="raise"):
        found = add_answers(mean, sd, [0], [1], changes=[True, True])
        surely = add_answers(mean, sd, [1], [0], changes=[True, True])
    share = sd**2 / (C**2 + sd[0] ** 2 + sd[1] ** 2)
    assert found.mean == pytest.approx(mean + share * [apart, -apart], rel=1e-5)
    assert found.sd == pytest.approx(sd * np.sqrt(1 - share), rel=1e-5)
    assert surely.mean == pytest.approx(mean)
    assert surely.sd == pytest.approx(sd)


def test_answers_about_one_item_come_near_its_posterior():
    """Five answers against opponents that stay: the exact posterior of the one utility, by quadrature."""
    mean, sd = np.array([0.5, 1.0, -0.5, 0.0]), np.array([1.2, 0.3, 0.3, 0.5])
    winners, losers = [0, 1, 0, 0, 3], [1, 0, 2, 3, 0]
    found = add_answers(mean, sd, winners, losers, changes=[True, False, False, False])
    grid = mean[0] + sd[0] * NODES
    chance = WEIGHTS.copy()
    for winner, loser in zip(winners, losers, strict=True):
        other, way = (loser, 1) if winner == 0 else (winner, -1)
        chance *= norm.cdf(way * (grid - mean[other]) / np.sqrt(C**2 + sd[other] ** 2))
    chance /= chance.sum()
    middle = (chance * grid).sum()
    assert found.mean[0] == pytest.approx(middle, abs=0.02)
    assert found.sd[0] == pytest.approx(np.sqrt((chance * (grid - middle) ** 2).sum()), abs=0.02)
    assert found.mean[1:].tolist() == mean[1:].tolist()
    assert found.sd[1:].tolist() == pytest.approx(sd[1:].tolist())


def test_weights_are_shares_of_an_answer():
    before = {"mean": [0.3, -0.2], "sd": [1.0, 0.6]}
    none = add_answers(**before, winners=[1], losers=[0], changes=[True, True], weights=[0.0])
    assert none.mean.tolist() == pytest.approx(before["mean"])
    whole, half = (
        add_answers(**before, winners=[1], losers=[0], changes=[True, True], weights=[share]) for share in (1.0, 0.5)
    )
    gained = [one.sd**-2 - np.array(before["sd"]) ** -2.0 for one in (whole, half)]
    assert gained[1] == pytest.approx(gained[0] / 2)
    shifts = [one.mean / one.sd**2 - np.array(before["mean"]) / np.array(before["sd"]) ** 2 for one in (whole, half)]
    assert shifts[1] == pytest.approx(shifts[0] / 2)


def test_a_most_surprising_answer_stays_finite():
    found = add_answers([-40.0, 40.0], [1.0, 1.0], [0], [1], changes=[True, True])
    assert np.isfinite(found.mean).all()
    assert (found.sd > 0).all()
    assert found.mean[0] > -40


@pytest.mark.parametrize(
    "wrong",
    [{"winners": [2]}, {"winners": [0, 1]}, {"changes": [True]}, {"sd": [1.0, 0.0]}, {"weights": [1.0, 1.0]}],
)
def test_what_is_refused(wrong):
    given = {"mean": [0.0, 0.0], "sd": [1.0, 1.0], "winners": [0], "losers": [1], "changes": [True, True]}
    with pytest.raises(InvalidData):
        add_answers(**given | wrong)
