"""How a rule spreads its questions in a forecast: by hand, and held against simulated collections."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.acquisition import Aim
from models_engine.analysis.attention import Attention
from models_engine.analysis.collecting.collect import Collection, collect
from models_engine.analysis.collecting.rules import Adaptive, Balanced
from models_engine.analysis.collecting.worlds import Scenario, draw_world
from models_engine.analysis.done import expected_wrong
from models_engine.analysis.stopping import Rule, forecast_labels_for_spread, forecast_labels_for_top
from models_engine.data import Comparisons
from models_engine.errors import InvalidSetting
from models_engine.estimators.bradley_terry import QUICK

BEST = Aim("best", 2)


def test_the_balanced_share_is_spread_evenly_and_the_rest_over_what_is_open():
    mean, variance = np.array([[3.0, 1.0, 0.9, -3.0], [3.0, 1.0, -1.0, -3.0]]), np.full(4, 0.01)
    spread = Attention(BEST, 0.3).growth(mean, variance)
    assert_allclose(spread[0], 0.3 + 0.7 * np.array([0, 2, 2, 0]), atol=1e-12)
    assert_allclose(spread.mean(axis=1), 1)
    assert_allclose(Attention(Aim("whole"), 0.1).growth(mean, variance), 1)


def test_what_is_surely_tied_gets_no_more_and_nothing_open_is_spread_evenly():
    mean, variance = np.array([[3.0, 1.0, 0.99, -3.0]]), np.full(4, 0.01**2)
    assert_allclose(Attention(BEST, 0.3, margin=0.2).growth(mean, variance), 1)
    assert Attention(BEST, 0.3).growth(mean, variance)[0, 1] > 1.6


def test_closer_items_tell_more_unless_they_have_been_asked_about_already():
    mean = np.linspace(-6, 6, 200)
    first = Attention(Aim("whole"), 0.1).gain(mean)
    assert first > 1.5
    assert_allclose(Attention(Aim("whole"), 1.0).gain(mean), 1)
    assert_allclose(Attention(Aim("whole"), 0.1, adaptive_so_far=0.9).gain(mean), 1)


def labels_of(collection: Collection) -> Comparisons:
    pairs = [collection.winner, collection.loser, np.ones(len(collection.winner)), collection.annotator]
    return Comparisons.from_pairs(*pairs, n_items=collection.world.n_items, n_annotators=collection.world.n_people)


def start_and_end(seed: int, k: int, wrong: float, most: int) -> tuple[Comparisons, float]:
    """The first 300 labels of a collection that looks for the best k, and at how many it seems to have them."""
    world = draw_world(
        Scenario(n_items=40, spammers=0, taste_sd=0, lag=(40, 60), overlap=100), np.random.default_rng([seed, 7])
    )
    rng = np.random.default_rng(seed)
    collection = Collection(world, Adaptive(world, rng, Aim("best", k), 0.3), rng)
    first, end = [], []

    def see(n_labels, fit) -> bool:
        if n_labels == 300:
            first.append(labels_of(collection))
        if n_labels >= 300 and expected_wrong("top", fit.mean, fit.covariance, Aim("best", k)) <= wrong:
            end.append(n_labels)
        return bool(end)

    collect(collection, looks=range(300, most + 1, 100), see=see)
    return first[0], end[0] if end else np.inf


@pytest.mark.slow
def test_the_top_is_forecast_for_the_rule_in_use():
    """The labels needed lie in the range, and its middle is nearer to them than that of a balanced forecast."""
    inside, own, balanced = [], [], []
    for seed in range(5):
        data, end = start_and_end(seed, 5, 0.5, 2_000)
        fit = QUICK.fit(data)
        told = {"n_labels": 300, "wrong": 0.5}
        rule = Rule(Attention(Aim("best", 5), 0.3, adaptive_so_far=0.6), data.n_comparisons())
        found = forecast_labels_for_top(fit, 5, **told, rng=np.random.default_rng(0), rule=rule)
        inside.append(300 + found.low <= 1.25 * end and end <= 1.25 * (300 + found.high))
        if np.isfinite(end):
            evenly = forecast_labels_for_top(fit, 5, **told, rng=np.random.default_rng(0))
            own.append(abs(np.log((300 + min(found.middle, 6_000)) / end)))
            balanced.append(abs(np.log((300 + min(evenly.middle, 6_000)) / end)))
    assert np.mean(inside) >= 0.8
    assert len(own) >= 4
    assert np.mean(own) < np.mean(balanced)


def test_widths_and_reliability_are_forecast_for_a_rule():
    world, rng = (
        draw_world(Scenario(n_items=30, spammers=0, taste_sd=0), np.random.default_rng(4)),
        np.random.default_rng(4),
    )
    collection = Collection(world, Balanced(world, rng), rng)
    collect(collection, looks=(400,), see=lambda n, fit: None)
    data = labels_of(collection)
    fit = QUICK.fit(data)
    found = {}
    for balanced in (1.0, 0.1):
        rule = Rule(Attention(Aim("whole"), balanced), data.n_comparisons())
        told = {"n_labels": 400, "rule": rule}
        narrow = forecast_labels_for_spread(fit, width=1.0, rng=np.random.default_rng(0), **told)
        sure = forecast_labels_for_spread(fit, reliability=0.93, rng=np.random.default_rng(0), **told)
        found[balanced] = (narrow.middle, sure.middle)
        assert narrow.low < narrow.middle < narrow.high
    assert np.all(np.array(found[0.1]) < np.array(found[1.0])), "closer items tell more"
    with pytest.raises(InvalidSetting, match="give either of them"):
        forecast_labels_for_spread(fit, rng=rng, n_labels=400, rule=rule)
