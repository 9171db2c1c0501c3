"""The benchmark of reliabilities: by a simulated crowd with a known answer, and on the real data where they are."""

import json

import numpy as np
import pytest

from models_engine.benchmarks import reliability
from models_engine.benchmarks.__main__ import main as benchmarks
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.simulate import simulate_crowd
from tests.engine.benchmarks.test_crowd_benchmarks import needs_readability, needs_ukp, simulated_data
from tests.paths import DATA

__all__ = ["simulated_data"]


@pytest.mark.slow
def test_in_a_crowd_of_one_opinion_both_measures_hold_what_halves_give():
    """Forty items, 20 people, all alike: SSR of a half is the correlation with the other half, near .9 here."""
    crowd = simulate_crowd(np.random.default_rng(0), 40, 20, utility_sd=1.5)
    data = crowd.pairs(2_000, np.random.default_rng(1))
    found, lines = reliability.check_halves(data, BradleyTerry(), n_splits=3, seed=0, n_inner=4)
    (ssr, low, high, held), (split, *_, split_held) = lines
    assert low < ssr < high
    assert ssr == pytest.approx(found, abs=0.06)
    assert split == pytest.approx(found, abs=0.06)
    assert held >= 0.5
    assert split_held >= 0.5


def test_halves_share_no_annotator_and_follow_the_seed():
    data = simulate_crowd(np.random.default_rng(0), 12, 8).pairs(400, np.random.default_rng(1))
    one, again, other = (reliability.check_halves(data, BradleyTerry(), 1, seed, n_inner=1)[0] for seed in (3, 3, 4))
    assert one == again != other


def test_topics_are_crowds_of_their_own_over_their_own_items(simulated_data):
    crowds = reliability.read_crowds(simulated_data, "ukp")
    assert [crowd.n_items for crowd in crowds] == [6] * 4
    assert sum(crowd.n_labels for crowd in crowds) == 900
    assert [crowd.n_items for crowd in reliability.read_crowds(simulated_data, "readability")] == [24]


def test_what_is_missing_or_unknown_is_one_line(tmp_path, simulated_data, capsys):
    assert benchmarks(["reliability", "--data", str(tmp_path / "none")]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert benchmarks(["reliability", "--data", str(simulated_data), "--sets", "sushi"]) == 2
    assert "readability, ukp" in capsys.readouterr().err


@pytest.mark.process
def test_the_command_prints_a_table_and_writes_its_figures(simulated_data, tmp_path, capsys):
    out = tmp_path / "figures.json"
    given = ["--data", str(simulated_data), "--estimators", "BradleyTerry", "--splits", "1", "--json", str(out)]
    assert benchmarks(["reliability", *given]) == 0
    assert "split halves of one half" in capsys.readouterr().out
    rows = json.loads(out.read_text())["rows"]
    assert [(row["data"], row["n_crowds"]) for row in rows] == [("readability", 1), ("ukp", 4)]
    assert all(row["ssr"]["low"] <= row["ssr"]["value"] <= row["ssr"]["high"] for row in rows)


@pytest.mark.slow
@needs_readability
def test_real_readers_agree_about_as_much_as_one_half_of_them_says():
    """Within .1 of what the other half answers: see docs/figures.md for how often the intervals hold."""
    crowd = reliability.read_crowds(DATA, "readability")[0]
    found, lines = reliability.check_halves(crowd, BradleyTerry(), n_splits=1, seed=0, n_inner=2)
    assert 0.6 < found < 0.75
    assert lines[:, 0] == pytest.approx([found, found], abs=0.1)


@pytest.mark.slow
@needs_ukp
def test_topics_of_real_arguments_are_told_apart_as_well_as_said():
    crowds = reliability.read_crowds(DATA, "ukp")
    assert len(crowds) == 32
    found, lines = reliability.check_halves(crowds[0], BradleyTerry(), n_splits=2, seed=0, n_inner=2)
    assert found > 0.85
    assert lines[:, 0] == pytest.approx([found, found], abs=0.1)
