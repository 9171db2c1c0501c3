"""Replays of real crowds' answers, and coverage where questions were chosen: small runs, each answer given once."""

import json
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.acquisition import Aim
from models_engine.analysis.collecting.collect import collect
from models_engine.analysis.collecting.rules import Adaptive, Balanced, Random
from models_engine.analysis.collecting.worlds import Scenario
from models_engine.benchmarks import active
from models_engine.benchmarks.active_coverage import RULES, Covered, format_coverage, measure_coverage
from models_engine.benchmarks.active_replay import Answers, read_replays, replay
from models_engine.errors import InvalidData
from models_engine.simulate import simulate_crowd
from tests.paths import DATA


@pytest.fixture
def answers() -> Answers:
    """Twelve items; a third of their pairs, answered by some of ten people."""
    rng = np.random.default_rng(3)
    people = simulate_crowd(rng, 12, 10, utility_sd=2.0, tie=0.3)
    ring = np.array([[i, (i + step) % 12] for i in range(12) for step in (1, 2)])
    return Answers.of(people.pairs(300, rng, shown=ring[rng.integers(len(ring), size=300)]))


@pytest.mark.parametrize(
    "make",
    [
        Balanced,
        Random,
        lambda world, rng: Adaptive(world, rng, Aim("best", 3), 0.3),
        lambda world, rng: Adaptive(world, rng, Aim("whole"), 0.1),
    ],
)
def test_each_recorded_answer_is_given_once(answers, make):
    running = replay(answers, make, np.random.default_rng(0))
    seen = []
    collect(running, looks=[100, 300], see=lambda n, fit: seen.append(fit.mean.copy()))
    given = Counter(
        (min(a, b), max(a, b), who) for a, b, who in zip(running.winner, running.loser, running.annotator, strict=True)
    )
    recorded = Counter((*pair, who) for pair, rows in answers.given.items() for _, who in rows)
    assert given == recorded, "all were asked for, so all are given"
    wins = Counter(zip(running.winner, running.loser, strict=True))
    for (a, b), rows in answers.given.items():
        sure = sum(outcome == 1 for outcome, _ in rows)
        assert sure <= wins[a, b] <= sure + sum(outcome == 0.5 for outcome, _ in rows)
    assert np.corrcoef(seen[-1], answers.truth)[0, 1] > 0.95


def test_balanced_questions_are_about_the_least_compared(answers):
    running = replay(answers, Balanced, np.random.default_rng(0))
    for _ in range(60):
        running.ask(0)
    assert running.rule.shown.max() - running.rule.shown.min() <= 4


def test_a_folder_without_any_of_the_data_is_refused(tmp_path):
    with pytest.raises(InvalidData, match="holds none of readability, llmfao, sushi"):
        read_replays(tmp_path)


@pytest.mark.skipif(not (DATA / "llmfao").is_dir(), reason=f"the llmfao data are not in {DATA}; set CROWDRANK_DATA")
@pytest.mark.process
@pytest.mark.slow
def test_replays_are_printed_as_ratios(tmp_path, capsys):
    (tmp_path / "llmfao").symlink_to(DATA / "llmfao")
    assert active.main(["--replay", str(tmp_path), "--rules", "balanced,best,gavel", "--crowds", "2"]) == 0
    shown = capsys.readouterr().out
    assert "llmfao: 59 models, prompts pooled, ties by lot (2 crowds, 1,200 labels)" in shown
    assert "best 10, 30% balanced" in shown
    assert "Gavel" not in shown


@pytest.mark.process
@pytest.mark.slow
def test_coverage_is_measured_by_the_fit_that_asks_and_the_site_s(tmp_path, capsys):
    small = Scenario(n_items=20, n_people=(10, 10), overlap=10)
    found = measure_coverage("small", small, 0, "best", 0, 300, ["BradleyTerry"])
    assert set(found.coverage) == {"quick", "BradleyTerry"}
    assert all(0.4 < share <= 1 for share in found.coverage.values())
    assert found.width["BradleyTerry"] < found.width["quick"], "it takes everybody for careful"
    file = tmp_path / "coverage.jsonl"
    common = ["--coverage", "BradleyTerry", "--scenarios", "few", "--labels", "100", "--keep", str(file)]
    assert active.main([*common, "--crowds", "1"]) == 0
    kept = file.read_text()
    assert [json.loads(line)["rule"] for line in kept.splitlines()] == list(RULES)
    assert active.main([*common, "--crowds", "2"]) == 0
    assert file.read_text().startswith(kept)
    assert len(file.read_text().splitlines()) == 2 * len(RULES)
    assert "BradleyTerry" in capsys.readouterr().out


def test_differences_of_coverage_are_those_of_the_same_collections():
    def covered(rule, seed, share):
        return Covered("spam", rule, seed, {"quick": share}, {"quick": 1.0}, {"quick": 0.5})

    found = [covered(rule, seed, 0.8 + 0.1 * seed) for rule in RULES for seed in (0, 1)]
    found = [one if one.rule != "best" else covered("best", one.seed, one.coverage["quick"] - 0.04) for one in found]
    found.append(covered("balanced", 2, 0.1))  # the others of this collection are still to come
    row = format_coverage(found).splitlines()[1].split()
    assert row[:3] == ["spam", "quick", "2"]
    assert_allclose([float(row[place]) for place in (3, 5, 7, 9)], [0.85, 0, -0.04, 0])
    assert row[8] == "±0.000"
