"""Each annotator's side bias beside tastes and reliabilities: CollaborativeGP and CrowdGPPL."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from models_engine.data import Comparisons
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.estimators.collaborative.posterior import CollaborativePosterior
from models_engine.estimators.crowd_gppl import CrowdGPPL
from models_engine.simulate import Crowd, simulate_crowd

pytestmark = pytest.mark.usefixtures("quick_draws")

QUICK = CollaborativeGP(covariance="prior", log_scale_sd=0, side=True)


def biased_crowd(n_annotators: int = 12, n_items: int = 12) -> tuple[Crowd, np.random.Generator]:
    rng = np.random.default_rng(3)
    people = simulate_crowd(rng, n_items, n_annotators, taste_sd=0.5, link="probit")
    side = np.resize([1.0, -0.6, 0.0, 0.4, -0.2], n_annotators)
    return replace(people, side=side), rng


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [QUICK, CollaborativeGP(side=True)])
def test_side_biases_are_found_with_intervals_and_predict_better(estimator):
    people, rng = biased_crowd()
    train, held = (people.pairs(12 * n, rng) for n in (80, 200))
    posterior = estimator.fit(train)
    figures, found = posterior.annotator_summary(), posterior.sides()
    assert_array_equal(figures.side_bias, found.mean)
    assert np.corrcoef(found.mean, people.side)[0, 1] > 0.85
    assert np.abs(found.mean - people.side).max() < 3 * found.sd.max() < 1.5
    assert (np.abs(found.mean - people.side) < 1.645 * found.sd).mean() >= 0.75
    assert 0.25 < found.crowd_sd < 1.2
    plain = replace(estimator, side=False).fit(train)
    assert plain.sides() is None
    assert plain.annotator_summary().side_bias is None
    assert posterior.log_predictive(held).mean() > plain.log_predictive(held).mean() + 0.02


def test_predictions_count_the_side_and_what_is_open_about_it():
    people, rng = biased_crowd(5, 6)
    posterior = QUICK.fit(people.pairs(150, rng))
    own, sides = posterior.for_annotator(0), posterior.sides()
    one, other = (Comparisons.from_pairs([a], [1 - a], [1.0], [0], n_items=6, n_annotators=5) for a in (0, 1))
    unknown = Comparisons.from_rankings([[0, 1]], [0], n_items=6, n_annotators=5)
    margin, lapse = own.mean[0] - own.mean[1], own.likelihood.lapse
    scale = np.sqrt(1 + own.difference_variance([0], [1])[0] + sides.sd[0] ** 2)
    shown, elsewhere = (norm.cdf((margin + way * sides.mean[0]) / scale) for way in (1, -1))
    not_tied = 1 - posterior.likelihood.tie_rate
    first = not_tied * (lapse + (1 - 2 * lapse) * shown)
    assert np.exp(posterior.log_predictive(one)[0]) == pytest.approx(first)
    second = not_tied * (lapse + (1 - 2 * lapse) * (1 - elsewhere))
    assert np.exp(posterior.log_predictive(other)[0]) == pytest.approx(second)
    whole = np.sqrt(1 + own.difference_variance([0], [1])[0])
    plain = not_tied * (lapse + (1 - 2 * lapse) * norm.cdf(margin / whole))
    assert np.exp(posterior.log_predictive(unknown)[0]) == pytest.approx(plain)
    either = lapse + (1 - 2 * lapse) * (shown + elsewhere) / 2
    assert posterior.pairwise_probabilities([0], [1], 0)[0] == pytest.approx(either)
    new = posterior.for_annotator(None).likelihood
    assert (new.side, new.side_sd) == (sides.crowd, sides.crowd_sd)
    assert posterior.hyperparameters()["side"] == sides.crowd


def test_a_stored_fit_has_them_and_the_next_one_begins_with_them():
    people, rng = biased_crowd(6, 6)
    data = people.pairs(200, rng)
    posterior = QUICK.fit(data)
    loaded = CollaborativePosterior.from_arrays(posterior.to_arrays())
    assert_array_equal(loaded.tastes.pair_sites.side, posterior.tastes.pair_sites.side)
    assert_allclose(loaded.log_predictive(data), posterior.log_predictive(data))
    again = QUICK.fit(data, start=loaded)
    assert_array_equal(again.sides().mean, posterior.sides().mean)
    assert_allclose(again.utilities(), posterior.utilities(), atol=1e-3)
    plain = {name: value for name, value in posterior.to_arrays().items() if "side" not in name}
    old = CollaborativePosterior.from_arrays(plain)
    assert old.sides() is None
    assert_array_equal(QUICK.fit(data, start=old).sides().mean, posterior.sides().mean)


@pytest.mark.slow
def test_few_peoples_sides_are_found_beside_components_of_taste():
    people, rng = biased_crowd(6, 8)
    found = CrowdGPPL(n_components=2, max_steps=8, side=True).fit(people.pairs(6 * 80, rng)).sides()
    assert np.corrcoef(found.mean, people.side)[0, 1] > 0.9


def test_without_a_known_order_nobody_has_a_side():
    people, rng = biased_crowd(6, 6)
    pairs = people.pairs(200, rng).pairs()
    winner = np.where(pairs.outcome == 1, pairs.left, pairs.right)
    loser = pairs.left + pairs.right - winner
    counts = {"n_items": 6, "n_annotators": 6}
    unknown = Comparisons.from_rankings(np.stack([winner, loser], axis=1), pairs.annotator, **counts)
    first = Comparisons.from_pairs(winner, loser, np.ones(200), pairs.annotator, **counts)
    found = [QUICK.fit(one) for one in (unknown, first)]
    assert found[0].sides() is found[1].sides() is None
    assert_array_equal(found[0].utilities(), found[1].utilities())
