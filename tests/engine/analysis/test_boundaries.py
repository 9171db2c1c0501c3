"""Chances of grades against draws and against the true grades of simulated crowds; bad boundaries are named."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from models_engine.analysis.boundaries import boundary_states, expected_shares, grade_probabilities
from models_engine.errors import InvalidBoundaries, InvalidData
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.simulate import simulate_crowd

CUTS = [-1.0, 0.2, 1.1]


def test_chances_of_grades_are_the_shares_of_draws():
    rng = np.random.default_rng(0)
    mean, deviation = rng.normal(size=20), rng.gamma(2, 0.3, size=20)
    grades = np.searchsorted(CUTS, mean + deviation * rng.standard_normal((200_000, 20)), side="right")
    shares = np.stack([(grades == grade).mean(axis=0) for grade in range(4)], axis=1)
    found = grade_probabilities(mean, deviation, CUTS)
    assert_allclose(found, shares, atol=4 * 0.5 / np.sqrt(200_000))
    assert_allclose(expected_shares(found), shares.mean(axis=0), atol=0.005)


@given(
    st.lists(st.tuples(st.floats(-50, 50), st.floats(0, 20)), min_size=1, max_size=8),
    st.lists(st.floats(-60, 60), max_size=5, unique=True),
)
def test_rows_sum_to_one(items, cuts):
    mean, deviation = np.array(items).T
    found = grade_probabilities(mean, deviation, sorted(cuts))
    assert found.shape == (len(items), len(cuts) + 1)
    assert (found >= 0).all()
    assert_allclose(found.sum(axis=1), 1)


def test_what_is_certain():
    found = grade_probabilities([0.0, -2.0, 5.0], [0.0, 0.0, 0.0], [0.0, 3.0])
    assert_allclose(found, [[0, 1, 0], [1, 0, 0], [0, 0, 1]])  # a value at a boundary has the higher grade
    assert 0 < grade_probabilities([-30.0], [1.0], [0.0])[0, 1] < 1e-190  # not lost as the difference of two ones


@pytest.mark.slow
def test_grades_of_simulated_crowds_are_as_likely_as_it_says():
    """Of the items given a grade with probability p, a share p has it; and the expected error is the real one."""
    said, right, expected, wrong = [], [], [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        people = simulate_crowd(rng, 40, 8, utility_sd=1.5)
        fit = BradleyTerry(inference="variational").fit(people.pairs(500, rng))
        chances = grade_probabilities(fit.utilities(), fit.standard_deviations(), CUTS)
        true = np.searchsorted(CUTS, people.utilities, side="right")
        said += [chances.max(axis=1)]
        right += [chances.argmax(axis=1) == true]
        states = boundary_states(fit.utilities(), fit.standard_deviations(), CUTS)
        expected += [state.error for state in states]
        wrong += [((fit.utilities() >= cut) != (people.utilities >= cut)).mean() for cut in CUTS]
    said, right = np.concatenate(said), np.concatenate(right)
    assert said.mean() == pytest.approx(right.mean(), abs=0.04)
    for low, high in ((0.4, 0.7), (0.7, 0.9), (0.9, 1.01)):
        part = (said >= low) & (said < high)
        assert said[part].mean() == pytest.approx(right[part].mean(), abs=0.07)
    assert np.mean(expected) == pytest.approx(np.mean(wrong), abs=0.015)


def test_a_boundary_settles_when_few_items_are_doubtful():
    mean = np.concatenate([np.full(30, -2.0), [0.05], np.full(30, 2.0)])
    loose, tight = (boundary_states(mean, np.full(61, sd), [0.0])[0] for sd in (2.0, 0.3))
    assert (loose.n_above, loose.n_below) == (31, 30)
    assert not loose.is_settled
    assert loose.n_doubtful == 61
    assert tight.is_settled
    assert tight.n_doubtful == 1
    assert boundary_states([], [], [0.0])[0].is_settled


@pytest.mark.parametrize(
    ("cuts", "row", "value"), [([0.0, 2.0, 1.5], 2, 1.5), ([1.0, 1.0], 1, 1.0), ([0.0, np.inf], 1, np.inf)]
)
def test_boundaries_out_of_order_are_named(cuts, row, value):
    with pytest.raises(InvalidBoundaries, match=f"boundary {row + 1} is {value:g}") as caught:
        grade_probabilities([0.0], [1.0], cuts)
    assert (caught.value.row, caught.value.value) == (row, value)
    with pytest.raises(InvalidBoundaries):
        boundary_states([0.0], [1.0], cuts)


def test_a_negative_deviation_is_named():
    with pytest.raises(InvalidData, match="row 1: the standard deviation is -1"):
        grade_probabilities([0.0, 0.0], [1.0, -1.0], CUTS)


@pytest.mark.process
def test_a_web_process_may_use_it_without_scipy():
    code = (
        "import sys, models_engine.analysis.boundaries as b, models_engine.analysis.anchors; "
        "b.grade_probabilities([0.0] * 10_000, [1.0] * 10_000, [-1, 0, 1]); sys.exit('scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
