"""Newcomers: readers, pairs and losses of people without answers; real data are checked where they are there."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from models_engine.benchmarks import newcomers
from models_engine.benchmarks.newcomers import People, draw_pairs, measure, read_tricot
from models_engine.errors import InvalidData, InvalidSetting, TooLarge
from tests.paths import DATA

HEADER = "farmer,item_a,item_b,item_c,best,worst,season,max_night_temp_c,lon_1dp,lat_1dp,planting_day"


def two_tastes(n: int, rng: np.random.Generator) -> People:
    """Rankings of three of six items by people of two tastes, which are each other's reverse; one feature says it."""
    kind = rng.integers(2, size=n)
    utility = np.where(kind[:, None] == 1, 1, -1) * np.arange(6) + 0.3 * rng.normal(size=(n, 6))
    shown = np.argsort(rng.random((n, 6)), axis=1)[:, :3]
    order = np.argsort(-np.take_along_axis(utility, shown, axis=1), axis=1)
    return People(np.take_along_axis(shown, order, axis=1), np.column_stack([kind, rng.normal(size=n)]), 6)


def test_farmers_are_read_with_best_other_and_worst(tmp_path: Path):
    lines = [HEADER, "0,1,9,8,c,a,Ap - 15,19.5,-85.7,13.1,2015-12-18", "1,6,2,7,b,a,Po - 15,18.0,-85.4,13.3,2015-09-10"]
    with gzip.open(tmp_path / "rankings.csv.gz", "wt") as file:
        file.write("\n".join(lines))
    found = read_tricot(tmp_path)
    assert_array_equal(found.rankings, [[8, 9, 1], [2, 7, 6]])
    assert_array_equal(found.features[:, :3], [[19.5, -85.7, 13.1], [18.0, -85.4, 13.3]])
    assert found.features[0, 3] - found.features[1, 3] == 99, "days from 10 September to 18 December"
    assert_array_equal(found.features[:, 4:], np.eye(2))


def test_data_that_are_not_there_are_named(tmp_path: Path):
    with pytest.raises(InvalidData, match=r"rankings\.csv\.gz does not exist"):
        read_tricot(tmp_path)


def test_pairs_are_different_and_in_the_order_of_the_ranking():
    rankings = np.array([[4, 2, 0, 1], [3, 0, 1, 2]])
    winner, loser = draw_pairs(rankings, 6, np.random.default_rng(0))
    for own, won, lost in zip(rankings.tolist(), winner.tolist(), loser.tolist(), strict=True):
        assert len(set(zip(won, lost, strict=True))) == 6
        assert all(own.index(a) < own.index(b) for a, b in zip(won, lost, strict=True))


@pytest.mark.slow
@pytest.mark.usefixtures("quick_draws")
def test_features_that_say_the_taste_predict_newcomers_and_others_do_not():
    people = two_tastes(45, np.random.default_rng(0))
    rows = {row.model: row for row in measure(people, 30, 3, list(newcomers.MODELS))}
    assert rows["one ranking"].loss == pytest.approx(np.log(2), abs=0.1), "the two tastes cancel"
    for name in ("regression", "joint GP"):
        assert rows[name].difference < -5 * rows[name].error
        assert rows[name].loss < 0.45
    assert abs(rows["joint GP-u"].difference) < 0.1
    assert rows["one ranking"].difference == 0


def test_more_labels_than_the_joint_process_takes_are_named():
    people = two_tastes(1_300, np.random.default_rng(1))
    with pytest.raises(TooLarge, match="limited to 3,000"):
        measure(people, 1_040, 3, ["joint GP"])


def test_an_unknown_model_is_named(tmp_path: Path):
    with pytest.raises(InvalidSetting, match="no model 'x'"):
        newcomers.main(["--data", str(tmp_path), "--models", "x"])


@pytest.mark.skipif(not (DATA / "tricot_beans").is_dir(), reason="the tricot data are no part of the project")
def test_the_farmers_are_those_of_the_paper():
    found = read_tricot(DATA)
    assert found.rankings.shape == (842, 3)
    assert set(np.unique(found.rankings)) == set(range(10))
    assert (np.sort(found.rankings, axis=1)[:, 1:] > np.sort(found.rankings, axis=1)[:, :-1]).all()
    assert found.features.shape == (842, 9)
