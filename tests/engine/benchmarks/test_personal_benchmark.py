"""The figures about people that the documentation gives, on fewer crowds, within what so few crowds can tell."""

import json

import numpy as np
import pytest

from models_engine.benchmarks.personal import main, measure, measure_groups, ratio

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_draws")]


@pytest.mark.parametrize("name", ["CollaborativeGP", "CrowdGPPL"])
def test_intervals_of_judges_hold_the_truth_and_few_signs_are_wrong(name):
    """Two juries of 1,080 judgements each: over eight, coverage was .91 to .94 with .03 between juries, so that the
    mean of two is 3 standard errors of .02 from the nearer limit."""
    found = [measure(name, "jury", seed) for seed in range(20, 22)]
    assert 0.85 < np.mean([one.own for one in found]) < 0.97
    assert 0.85 < np.mean([one.difference for one in found]) < 0.98
    said, wrong = (sum(getattr(one, key) for one in found) for key in ("n_sure", "wrong"))
    assert said > 200, "there is something to say"
    assert wrong / said < 0.05
    assert np.mean([one.found for one in found]) > 0.2


def test_nothing_is_said_of_people_of_one_taste():
    found = [measure("CollaborativeGP", "none", seed) for seed in range(20, 22)]
    assert sum(one.n_sure for one in found) <= 5, "of 1,000 differences, all of them 0"


def test_two_camps_are_told_from_one_taste():
    camps = [measure_groups(20, seed, camps=True) for seed in range(20, 22)]
    assert all(one.n_groups == 2 for one in camps)
    assert all(one.n_components >= 1 for one in camps)
    alike = [measure_groups(12, seed, camps=False) for seed in range(20, 23)]
    assert sum(one.n_components for one in alike) == 0
    assert all(one.n_groups < 2 for one in alike)


def test_the_jackknife_of_a_ratio_of_equal_crowds_is_that_of_a_mean():
    part = np.array([1.0, 3.0, 2.0, 6.0])
    share, error = ratio(part, np.full(4, 10.0))
    assert share == pytest.approx(0.3)
    assert error == pytest.approx(part.std(ddof=1) / 2 / 10)


@pytest.mark.process
def test_the_command_prints_and_writes_what_it_found(tmp_path, capsys):
    path = tmp_path / "found.json"
    given = [
        "--crowds",
        "1",
        "--estimators",
        "CollaborativeGP",
        "--scenarios",
        "few",
        "--groups",
        "4",
        "--json",
        str(path),
    ]
    assert main(given) == 0
    printed = capsys.readouterr().out
    assert "few answers" in printed
    assert "4 people, two camps" in printed
    told = json.loads(path.read_text())
    assert len(told["found"]) == 1
    assert [one["camps"] for one in told["groups"]] == [False, True]
