"""The planner against full simulations on other seeds, published figures, and its own quick formula."""

import subprocess
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from models_engine.analysis.plan_design import Design, expected_reliability, expected_score_width, expected_top
from models_engine.analysis.planning import Plan, plan_project, simulate_answers, top_share
from models_engine.benchmarks.plan import DESIGNS, simulate_in_full
from models_engine.errors import InvalidDesign
from models_engine.simulate import simulate_crowd

ESSAYS = DESIGNS["essays"]


@cache
def plan_of(name: str) -> Plan:
    return plan_project(DESIGNS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["essays", "jury", "large"])
def test_plans_are_what_full_simulations_on_other_seeds_give(name):
    """Means of 12 full simulations within three of their errors and .03; "large" has three times as many items as the
    planner simulates."""
    plan = plan_of(name)
    real = np.array([simulate_in_full(DESIGNS[name], seed) for seed in range(5_000, 5_012)])
    errors = real.std(axis=0, ddof=1) / np.sqrt(len(real))
    for column, (band, slack) in enumerate(((plan.reliability, 0.03), (plan.width, 0.1), (plan.top, 0.08))):
        assert abs(band.middle - real[:, column].mean()) <= slack + 3 * errors[column]
    inside = (real[:, 0] >= plan.reliability.low) & (real[:, 0] <= plan.reliability.high)
    assert inside.mean() >= 0.75
    assert plan.is_scaled == (name == "large")


@pytest.mark.slow
def test_so_many_comparisons_give_the_reliability_that_assessments_had():
    """.70 took 10 to 14 comparisons of each item, .90 took 26 to 37 (Verhavert et al. 2019)."""
    fewer, more = plan_project(Design(40, 10, 24)), plan_project(Design(40, 10, 62))
    assert (fewer.showings, more.showings) == (12, 31)
    assert fewer.reliability.low < 0.70 < fewer.reliability.high
    assert more.reliability.low < 0.90 < more.reliability.high


@pytest.mark.slow
@pytest.mark.parametrize("name", ["essays", "posters", "lexicon", "jury", "ideas"])
def test_the_formula_is_near_the_simulation(name):
    plan = plan_of(name)
    assert expected_reliability(DESIGNS[name]) == pytest.approx(plan.reliability.middle, abs=0.05)
    assert expected_score_width(DESIGNS[name]) == pytest.approx(plan.score_width.middle, abs=5)
    assert expected_top(DESIGNS[name]) == pytest.approx(plan.top.middle, abs=0.07)


def test_more_answers_bring_narrower_scores_and_more_of_the_best():
    few, many = Design(30, 5, 10, top=5), Design(30, 5, 100, top=5)
    assert expected_score_width(few) > 2 * expected_score_width(many)
    assert expected_top(few) < expected_top(many) - 0.2
    assert expected_top(Design(6, 5, 10, top=6)) == 1


@pytest.mark.slow
def test_more_answers_than_are_simulated():
    """Past 6,000 answers errors are scaled: against simulations in full."""
    design = Design(100, 20, 600, top=5)
    plan, real = plan_project(design, n_crowds=16), np.array([simulate_in_full(design, seed) for seed in range(5)])
    assert plan.is_scaled
    assert plan.reliability.middle == pytest.approx(real[:, 0].mean(), abs=0.01)
    assert plan.width.middle == pytest.approx(real[:, 1].mean(), rel=0.1)


@pytest.mark.slow
def test_the_same_design_and_seed_give_the_same_plan():
    plan = plan_project(ESSAYS, n_crowds=6)
    assert plan_project(ESSAYS, n_crowds=6) == plan
    assert plan_project(ESSAYS, n_crowds=6, seed=1) != plan


@pytest.mark.slow
def test_costs_and_checks():
    plan = plan_project(replace(ESSAYS, checks_each=6, minutes_per_answer=2.0, cost_per_hour=30.0), n_crowds=4)
    assert (plan.n_answers, plan.n_labels, plan.showings) == (180, 150, 10)
    assert (plan.minutes_each, plan.minutes, plan.cost) == (72, 360, 180)
    assert plan_of("essays").reliability.middle > plan_project(replace(ESSAYS, checks_each=18)).reliability.middle


def test_people_who_differ_are_less_reliable():
    """The fit of a small panel cannot know: of the truth it tells less than it says."""
    same, differing = Design(20, 4, 100), Design(20, 4, 100, taste_sd=1.5)
    real = [np.mean([simulate_in_full(design, seed)[0] for seed in range(10)]) for design in (same, differing)]
    assert real[1] < real[0] - 0.1


def test_sets_show_every_item_equally_often():
    rng = np.random.default_rng(0)
    design = Design(11, 3, 20, "rankings", 4)
    shown = simulate_answers(simulate_crowd(rng, 11, 3), design, 55, rng).items.reshape(-1, 4)
    assert shown.shape == (55, 4)
    assert all(len(set(row)) == 4 for row in shown.tolist())
    assert (
        np.ptp(np.bincount(simulate_answers(simulate_crowd(rng, 12, 3), replace(design, n_items=12), 60, rng).items))
        == 0
    )


def test_the_share_of_the_top():
    assert top_share(np.array([3.0, 2.0, 1.0, 0.0]), np.array([3.0, 1.0, 2.0, 0.0]), 2) == 0.5
    assert top_share(np.array([3.0, 2.0]), np.array([2.0, 3.0]), 5) == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_items": 1}, "n_items is 1"),
        ({"answers_each": 5, "checks_each": 5}, "all 5 answers"),
        ({"kind": "pairs", "k": 3}, "sets of 3"),
        ({"kind": "rankings", "k": 31}, "sets of 31"),
        ({"kind": "votes"}, "kind 'votes'"),
        ({"cost_per_hour": -1.0}, "cost_per_hour is -1"),
        ({"utility_sd": 0.0}, "0.0 is no spread"),
    ],
)
def test_a_design_that_cannot_be_carried_out_is_named(wrong, message):
    with pytest.raises(InvalidDesign, match=message):
        replace(ESSAYS, **wrong)


@pytest.mark.process
def test_the_formula_needs_no_scipy():
    code = (
        "import sys; from models_engine.analysis.plan_design import *; "
        "expected_reliability(Design(30, 5, 36)); sys.exit('scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
