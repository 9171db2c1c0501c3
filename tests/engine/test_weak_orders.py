"""Rankings with ties: implied pairs, Plackett-Luce stages and predictions, each against a sum over all orders."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from models_engine.analysis.metrics import coverage
from models_engine.data import Comparisons
from models_engine.errors import InvalidData
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.estimators.plackett_luce import PlackettLuce
from models_engine.log_predictive import log_order_probabilities
from models_engine.simulate import simulate_crowd

PATTERNS = [(0, 0, 1), (0, 1, 1, 2), (0, 0, 1, 1), (0, 0, 0, 1, 2), (0, 1, 1, 2, 2), (0, 0, 0, 0)]


def orders_of(pattern) -> list[tuple[int, ...]]:
    """All strict orders that the pattern allows, as places."""
    places = range(len(pattern))
    return [order for order in permutations(places) if list(np.array(pattern)[list(order)]) == sorted(pattern)]


def plackett_luce(f, order) -> float:
    return float(sum(f[order[s]] - logsumexp(f[list(order[s:])]) for s in range(len(order) - 1)))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_stages_are_the_mean_over_the_orders_that_ties_leave_open(pattern):
    k, f = len(pattern), np.random.default_rng(0).normal(size=len(pattern))
    data = Comparisons.from_ranks([pattern], [range(k)], tied=True)
    found = sum(
        float(stages.weight @ (f[stages.winner] - logsumexp(f[stages.items], axis=1))) for stages in data.stages()
    )
    assert found == pytest.approx(np.mean([plackett_luce(f, order) for order in orders_of(pattern)]))


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_weak_order_is_predicted_by_the_sum_over_its_orders(pattern, link):
    f = np.random.default_rng(1).normal(size=(1, 1, len(pattern)))
    found = log_order_probabilities(f, np.array([pattern]), link)
    strict = np.arange(len(pattern))[None, :]
    each = [log_order_probabilities(f[..., list(order)], strict, link)[0, 0] for order in orders_of(pattern)]
    assert_allclose(found[0, 0], logsumexp(each), atol=1e-5)


def test_equal_ranks_are_ties_only_where_the_label_says_so():
    data = Comparisons.from_ranks([[0, 0, 1], [0, 0, 1]], [[0, 1, 2], [0, 1, 2]], tied=[True, False])
    pairs = data.pairs()
    assert pairs.outcome[pairs.label == 0].tolist() == [0.5, 1, 1]
    assert pairs.outcome[pairs.label == 1].tolist() == [1, 1]
    assert_allclose(pairs.weight[pairs.label == 0], pairs.weight[pairs.label == 1][0])


def test_a_set_that_is_wholly_tied_has_the_weight_of_a_ranking():
    pairs = Comparisons.from_ranks([[0, 0, 0, 0, 0]], [range(5)], tied=True).pairs()
    assert (pairs.outcome == 0.5).all()
    assert_allclose(pairs.weight, 3 / 6)


def test_marks_follow_their_labels():
    data = Comparisons.from_ranks([[0, 0, 1], [0, 1, 2]], [[0, 1, 2], [2, 1, 0]], tied=[True, False])
    pair = Comparisons.from_pairs([0], [1], [0.5])
    both = Comparisons.concatenate([pair, data])
    assert both.tied.tolist() == [False, True, False]
    assert both.subset([1]).tied.tolist() == [True]
    assert both.data_hash() != Comparisons.concatenate([pair, data.subset([0, 1])]).subset([0, 2, 1]).data_hash()
    assert pair.tied is None
    with pytest.raises(InvalidData, match="tied"):
        Comparisons.from_ranks([[0, 0, 1]], [[0, 1, 2]], tied=[True, False])


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [BradleyTerry(prior_sd=None, inference="auto"), PlackettLuce()])
def test_intervals_hold_known_utilities_where_close_items_are_tied(estimator):
    covered = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        crowd = simulate_crowd(rng, 30, 5, utility_sd=1.0)
        fitted = estimator.fit(crowd.weak_orders(200, 5, 0.3, rng))
        assert fitted.diagnostics.converged
        covered.append(coverage(fitted, crowd.utilities))
    assert np.mean(covered) > 0.8
