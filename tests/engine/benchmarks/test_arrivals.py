"""Items that arrive: what the simulation draws, by what it chooses and how it tells what was reached."""

import numpy as np
import pytest

from models_engine.analysis.collecting.quick_fit import QuickFit
from models_engine.analysis.collecting.worlds import draw_world
from models_engine.benchmarks import arrivals
from models_engine.benchmarks.arrivals import (
    FIRST,
    LOOKS,
    NEW,
    OLD,
    PREDICTED,
    SCENARIO,
    Arrival,
    ArrivalRule,
    draw_features,
    format_arrivals,
    measure_arrivals,
)

N = OLD + NEW


@pytest.fixture
def world():
    return draw_world(SCENARIO, np.random.default_rng(0))


def test_the_first_feature_explains_its_share_and_the_others_nothing(world):
    drawn = [draw_features(world, 0.5, np.random.default_rng(seed)) for seed in range(20)]
    shares = np.array([[np.corrcoef(column, world.truth)[0, 1] ** 2 for column in one.T] for one in drawn])
    assert shares[:, 0].mean() == pytest.approx(0.5, abs=0.05)
    assert shares[:, 1:].max() < 0.1


def test_a_start_from_predictions_changes_items_without_answers_alone(world):
    features = draw_features(world, 0.9, np.random.default_rng(1))
    rule = ArrivalRule(world, np.random.default_rng(2), "best", features)
    answered = np.arange(N) < OLD
    fit = QuickFit(np.where(answered, world.truth, 0.0), np.diag(np.where(answered, 0.2, 1.5) ** 2), np.zeros(1), 1.5)
    rule.arrive(FIRST)
    assert rule.believed(fit, answered)[0].tolist() == fit.mean.tolist()
    rule.arrive(PREDICTED)
    mean, covariance = rule.believed(fit, answered)
    assert mean[:OLD] == pytest.approx(world.truth[:OLD] - world.truth[:OLD].mean())
    assert covariance[:OLD, :OLD].tolist() == fit.covariance[:OLD, :OLD].tolist()
    assert np.corrcoef(mean[OLD:], world.truth[OLD:])[0, 1] > 0.9
    assert (np.diagonal(covariance)[OLD:] < 1.5**2).all()


def test_only_old_items_are_asked_about_before_the_others_arrive(world):
    rule = ArrivalRule(world, np.random.default_rng(2), "whole", draw_features(world, 0.5, np.random.default_rng(1)))
    before = {item for _ in range(60) for item in rule.pair(0)}
    assert max(before) < OLD
    for item in range(OLD):
        rule.shown[item] = 10
    rule.arrive(FIRST)
    assert min(item for _ in range(20) for item in rule.least_compared(0)) >= OLD


@pytest.mark.slow
def test_starts_differ_by_the_start_alone(monkeypatch):
    monkeypatch.setattr(arrivals, "N_BEFORE", 300)
    monkeypatch.setattr(arrivals, "LOOKS", np.array([10, 20]))
    found = measure_arrivals("best", 0.75, 3, (FIRST, PREDICTED))
    again = measure_arrivals("best", 0.75, 3, (PREDICTED,))
    assert [one.start for one in found] == [FIRST, PREDICTED]
    assert found[1].reached == again[0].reached
    assert found[1].n_new == again[0].n_new
    assert found[0].helps == found[1].helps


def test_the_table_compares_with_the_balanced_rule_first():
    def one(start: str, seed: int, more: float) -> Arrival:
        reached = tuple((0.3 + LOOKS / 1000 + more).tolist())
        off = tuple((0.2 - more / 10 + 0 * LOOKS).tolist())
        return Arrival("best", 0.5, start, seed, seed == 0, reached, off, tuple(LOOKS.tolist()), 0.0)

    table = format_arrivals(
        [one(start, seed, more) for start, more in ((FIRST, 0.0), (PREDICTED, 0.1)) for seed in (0, 1)]
    )
    heading, _heads, first, predicted = table.splitlines()
    assert "gain shown in 1 of 2 projects" in heading
    assert "70.0%" in first
    assert "0.75 ±0.00" in predicted, "300 answers reach what 400 do"
    assert "+10.0 ±0.0" in predicted
    assert "-1.0 ±0.0" in predicted
