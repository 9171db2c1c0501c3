"""Sequences and returns: data drawn and read as described, and the floors."""

import numpy as np
import pytest

from models_engine.benchmarks.forecast import Crowd
from models_engine.benchmarks.sequence_data import (
    Endings,
    Split,
    read_check_ins,
    read_submissions,
    simulate_transitions,
)
from models_engine.benchmarks.sequences import (
    FLOORS,
    area_under_curve,
    by_difficulty,
    main,
    run_endings,
    run_returns,
    run_split,
)
from models_engine.errors import InvalidSetting
from models_engine.inference.sequences.choosing import COUNTS
from models_engine.inference.sequences.data import Sequences
from tests.paths import DATA

pytestmark = pytest.mark.filterwarnings("ignore::models_engine.errors.NotConverged")
has_data = pytest.mark.skipif(not (DATA / "activity").is_dir(), reason=f"the activity data are not in {DATA}")


@pytest.mark.slow
def test_own_matrices_win_over_pooled_and_counts_over_both():
    rows = {row.model: row for row in run_split(simulate_transitions(0), ["pooled", "own"])}
    assert rows[COUNTS].loss <= FLOORS["simulated", COUNTS]
    assert rows["own"].loss < rows["pooled"].loss - 0.1
    assert rows[COUNTS].loss < rows["own"].loss < rows["2-gram"].loss
    assert rows["own"].gain == pytest.approx(rows[COUNTS].loss - rows["own"].loss)


def test_the_best_that_is_possible_is_the_entropy_of_the_tables():
    split = simulate_transitions(1, n_users=5, length=40)
    assert split.bound is not None
    assert 0 < split.bound < np.log(8)
    assert list(split.tails) == [36] * 5


def test_losses_are_told_by_thirds_of_entropy():
    """Six people: two always at one place, two at two, two at four; the last has no tail and is left out."""
    lists = [[0] * 8, [1] * 8, [0, 1] * 4, [2, 3] * 4, [0, 1, 2, 3] * 2, [3, 2, 1, 0] * 2, [0, 1, 2, 3]]
    split = Split("small", Sequences.from_lists(lists, 4), np.array([6, 6, 6, 6, 6, 6, 4]))
    rows = by_difficulty(split, {"one": np.array([1.0, 3.0, 2.0, 6.0, 5.0, 9.0])})
    assert [(row.third, row.n, row.mean) for row in rows] == [("easy", 2, 2.0), ("middle", 2, 4.0), ("hard", 2, 7.0)]
    assert [row.entropy for row in rows] == pytest.approx([0, np.log(2), np.log(4)])
    assert rows[0].quartiles == (1.5, 2.0, 2.5)


def test_losses_by_difficulty_need_the_check_ins():
    with pytest.raises(InvalidSetting, match="needs the check-ins"):
        main(["--difficulty"])


@has_data
@pytest.mark.slow
def test_check_ins_are_those_of_the_description():
    split = read_check_ins(DATA, "A")
    assert (split.sequences.n_annotators, split.sequences.n_tokens, len(split.sequences.tokens)) == (530, 799, 17_547)
    rows = {row.model: row for row in run_split(split, [])}
    assert rows[COUNTS].loss <= FLOORS["check-ins A", COUNTS]


@has_data
@pytest.mark.slow
def test_the_last_submission_is_told_by_two_numbers():
    split, endings = read_submissions(DATA)
    assert np.median(split.sequences.lengths) == 3  # two submissions and END
    rate, found = run_endings(endings)
    assert found.loss <= FLOORS["last submission", "two numbers"] < rate.loss
    assert found.auc is not None
    assert found.auc >= 0.87


def test_endings_are_predicted_by_the_number_of_visits():
    seen = np.array([[1, 1]] * 8 + [[1, 0]] * 2 + [[5, 0]] * 10)
    rate, found = run_endings(Endings(seen, np.array([[1, 1], [5, 0]])))
    assert found.auc == 1.0
    assert found.loss < rate.loss


@pytest.mark.slow
def test_returns_of_a_steady_crowd_are_predicted():
    rng = np.random.default_rng(0)
    stays = rng.uniform(0, 400, (30, 40))
    leaves = rng.uniform(0, 400, (30, 1)) + rng.uniform(0, 20, (30, 10))
    times = np.concatenate([stays.ravel(), leaves.ravel()])
    who = np.concatenate([np.repeat(np.arange(30), 40), np.repeat(np.arange(30, 60), 10)])
    order = np.argsort(times)
    share, found = run_returns(Crowd("ukp", times[order], who[order]), 24.0)
    assert found.loss < share.loss
    assert found.auc is not None
    assert found.auc > 0.8


def test_the_area_counts_pairs():
    assert area_under_curve(np.array([1.0, 2.0, 2.0]), np.array([False, True, False])) == 0.75
    assert np.isnan(area_under_curve(np.ones(2), np.array([True, True])))
