"""Incomplete rankings of many items: probabilities and derivatives against sums over all rankings."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from models_engine.data import Comparisons
from models_engine.inference.angle.likelihood import AngleLabels, AngleTarget, label_rows
from models_engine.inference.angle.order_target import OrderTarget
from models_engine.inference.angle.orders import DrawnRankings, Orders, _block
from models_engine.inference.angle.permutations import compatible_moments, log_compatible, log_constant
from models_engine.linalg import centre
from models_engine.simulate import simulate_crowd

# 1 + the rank of each of seven items, 0 for those that are not in the label's set: a pair, a choice of three, a
# ranking of six, the best two of seven, and a best and worst of four.
CODES = np.array(
    [
        [0, 1, 0, 2, 0, 0, 0],
        [1, 0, 2, 0, 0, 2, 0],
        [3, 1, 2, 4, 6, 5, 0],
        [1, 2, 3, 3, 3, 3, 3],
        [0, 2, 2, 3, 1, 0, 0],
    ]
)
BEFORE = np.array(
    [[sum(1 << a for a in range(7) if 0 < one[a] < one[b]) for b in range(7)] for one in CODES]
)  # the same labels as predecessors
ETA = centre(np.array([2.0, -1.5, 0.3, -0.7, 1.1, 0.0, -2.4]))
WEIGHT = np.array([1.0, 2.0, 0.5, 3.0, 1.5])


EXACT = [0, 1, 2, 4]  # sets of at most six items; the other goes by the sphere


def test_probabilities_and_their_slope_are_those_of_all_rankings():
    rankings, weight = DrawnRankings.at(ETA, np.random.default_rng(0), 20_000), np.zeros(5)
    weight[EXACT] = WEIGHT[EXACT]
    found, slope, _ = Orders.of(CODES).derivatives(ETA, weight, rankings)
    each = Orders.of(CODES).log_probabilities(ETA, rankings)
    expected = log_compatible(ETA[None], BEFORE)[0] - log_constant(ETA[None])[0]
    assert_allclose(each[EXACT], expected[EXACT], atol=0.01)
    assert_allclose(each, expected, atol=0.03)
    assert found == pytest.approx(weight @ each)
    _, mean, _ = compatible_moments(ETA, np.concatenate([BEFORE, np.zeros((1, 7), dtype=np.int64)]))
    assert_allclose(slope, weight @ (mean[:-1] - mean[-1]), atol=0.015)


def test_rankings_drawn_elsewhere_serve_by_their_weights():
    elsewhere = ETA + centre(np.array([0.3, -0.2, 0.1, 0.2, -0.4, 0.3, 0.0]))
    rankings = DrawnRankings.at(elsewhere, np.random.default_rng(1), 20_000)
    expected = log_compatible(ETA[None], BEFORE)[0] - log_constant(ETA[None])[0]
    assert_allclose(Orders.of(CODES).log_probabilities(ETA, rankings), expected, atol=0.03)


def test_derivatives_agree_with_differences():
    """The Hessian that the search takes has the sphere's covariance of few items, which is rougher."""
    rankings = DrawnRankings.at(0.9 * ETA, np.random.default_rng(0), 30)
    orders, h = Orders.of(CODES), 1e-5
    _, slope, curvature = orders.derivatives(ETA, WEIGHT, rankings, exact=True)
    ahead = [orders.derivatives(ETA + h * one, WEIGHT, rankings) for one in np.eye(7)]
    behind = [orders.derivatives(ETA - h * one, WEIGHT, rankings) for one in np.eye(7)]
    pairs = list(zip(ahead, behind, strict=True))
    assert_allclose(slope, [(one[0] - other[0]) / (2 * h) for one, other in pairs], atol=1e-7)
    assert_allclose(curvature, [(other[1] - one[1]) / (2 * h) for one, other in pairs], atol=1e-6)
    assert_allclose(orders.derivatives(ETA, WEIGHT, rankings)[2], curvature, atol=0.05)


@pytest.mark.parametrize("r", [1, 2, 3, 4, 6])
def test_blocks_of_few_items_sum_over_their_permutations(r):
    rng = np.random.default_rng(r)
    x, scores = rng.normal(size=(3, r)) * 5, np.sort(rng.normal(size=(3, 4, r)), axis=2)
    block = _block(x, scores)
    orders = scores[:, :, list(permutations(range(r)))]
    log_each = np.einsum("lmor,lr->lmo", orders, x)
    assert_allclose(block.log_sum, logsumexp(log_each, axis=2), rtol=1e-10)
    chance = np.exp(log_each - logsumexp(log_each, axis=2, keepdims=True))
    assert_allclose(block.mean, np.einsum("lmo,lmor->lmr", chance, orders), atol=1e-10)


def test_rows_of_more_than_eight_items_say_who_is_ranked_where():
    data = Comparisons.concatenate(
        [
            Comparisons.from_top([[4, 2]], [[1, 2, 4, 7]], n_items=9),
            Comparisons.from_pairs([3], [8], [0.5], n_items=9),
        ]
    )
    _, which, codes, label, weight = label_rows(data)
    expected = [[0, 0, 0, 1, 0, 0, 0, 0, 2], [0, 0, 0, 2, 0, 0, 0, 0, 1], [0, 3, 2, 0, 1, 0, 0, 3, 0]]
    assert sorted(codes[which].tolist()) == expected
    assert sorted(zip(label.tolist(), weight.tolist(), strict=True)) == [(0, 1.0), (1, 0.5), (1, 0.5)]


@pytest.mark.slow
def test_the_mode_is_that_of_exact_sums():
    """Seven items, as if they were more: rankings of some, choices and complete ones, which go by the sphere."""
    rng = np.random.default_rng(2)
    people = simulate_crowd(rng, 7, 3)
    data = Comparisons.concatenate([people.rankings(40, 4, rng), people.choices(20, 5, rng), people.pairs(40, rng)])
    labels = AngleLabels.of(data)
    exact = AngleTarget(labels, 3.0).mode()
    codes = np.zeros((len(labels.before), 7), dtype=np.int64)
    for row, before in enumerate(labels.before):
        precedes = np.array([[int(before[b]) >> a & 1 for b in range(7)] for a in range(7)])
        codes[row] = np.where(precedes.any(axis=0) | precedes.any(axis=1), 1 + precedes.sum(axis=0), 0)
    target = OrderTarget(labels, Orders.of(codes), 3.0)
    drawn = DrawnRankings.at(np.zeros(7), rng, 1_000)
    rough, rankings = target.mode(drawn, rng)
    mode = target.with_exact_root(rough, rankings)
    assert mode.converged
    assert np.linalg.norm(target.basis @ mode.mean - rankings.base) <= rankings.radius
    sd = np.sqrt((exact.root**2).sum(axis=1))
    assert_allclose(mode.mean, exact.mean, atol=0.1 * float(sd.max()))
    assert_allclose(np.sqrt((mode.root**2).sum(axis=1)), sd, rtol=0.05)
    assert mode.value == pytest.approx(exact.value, abs=0.3)
