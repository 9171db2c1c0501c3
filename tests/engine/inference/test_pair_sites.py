"""Labels as EP sites: rankings taken whole, against the exact probability of an order."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from models_engine.data import Comparisons
from models_engine.inference.probit_ep.annotator_blocks import build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, run_ep, taste_statistic
from models_engine.inference.probit_ep.pair_sites import build_sites, build_sites_with_rankings


def fitted(data: Comparisons, crowd: CrowdPrior) -> EPResult:
    sites = build_sites_with_rankings(data)
    result = run_ep(sites, build_blocks(sites), crowd, tolerance=1e-9, max_iterations=500)
    assert result.converged
    return result


def test_sites_are_the_pairs_of_neighbouring_ranks():
    top = Comparisons.from_top([[4, 2]], [[0, 1, 2, 4]], [1], n_items=5, n_annotators=3)
    whole = Comparisons.from_rankings([[3, 0, 1]], [2], n_items=5, n_annotators=3)
    pairs = Comparisons.from_pairs([0, 1], [1, 0], [1, 0.5], [0, 0], n_items=5, n_annotators=3)
    best = Comparisons.from_choices([1], [[0, 1, 2]], [0], n_items=5, n_annotators=3, weights=[0.5])
    data = Comparisons.concatenate([pairs, top, whole, best])
    sites = build_sites_with_rankings(data)
    found = [
        (int(who), *((int(low), int(high)) if won else (int(high), int(low))), int(label))
        for who, low, high, won, label in zip(
            sites.annotator, sites.low, sites.high, sites.wins, sites.ranking, strict=True
        )
        if label >= 0
    ]
    assert sorted(found) == [(1, 2, 0, 2), (1, 2, 1, 2), (1, 4, 2, 2), (2, 0, 1, 3), (2, 3, 0, 3)]
    rest = sites.select(np.flatnonzero(~sites.ranked))
    expected = build_sites(Comparisons.concatenate([pairs, best]).pairs(), np.array([1.0, 1.0, 0.5]))
    assert_allclose(rest.keys[:, :5], expected.keys[:, :5])
    assert_allclose(rest.copies, expected.copies)


def test_a_ranking_of_weight_two_is_two_rankings():
    data = Comparisons.from_rankings([[0, 2, 1], [1, 0, 2]], [0, 1], n_items=3, n_annotators=2)
    twice = Comparisons.concatenate([data, data.subset([1])])
    crowd = CrowdPrior(0.4 * np.eye(3), 1.1 * np.eye(3), np.zeros(3))
    weighted, repeated = fitted(data.with_weights([1.0, 2.0]), crowd), fitted(twice, crowd)
    assert weighted.log_evidence == pytest.approx(repeated.log_evidence, abs=1e-8)
    assert_allclose(weighted.mean, repeated.mean, atol=1e-8)
    assert np.abs(weighted.mean - fitted(data, crowd).mean).max() > 0.01


def test_a_ranking_of_two_equals_a_pair():
    """Neighbours in a ranking of which only two were told apart from nothing else: Phi(z) with its noise outside."""
    crowd = CrowdPrior(0.4 * np.eye(3), 1.1 * np.eye(3), np.zeros(3))
    pair = Comparisons.from_pairs([0], [1], [1], n_items=3)
    ranking = Comparisons.from_rankings([[0, 1, 2]], n_items=3)
    sites = build_sites_with_rankings(ranking)
    sites = sites.select(np.flatnonzero((sites.low == 0) & (sites.high == 1)))
    alone = run_ep(sites, build_blocks(sites), crowd, tolerance=1e-9)
    as_pair = fitted(pair, crowd)
    assert alone.log_evidence == pytest.approx(as_pair.log_evidence, abs=1e-8)
    assert_allclose(alone.mean, as_pair.mean, atol=1e-7)
    assert_allclose(alone.covariance, as_pair.covariance, atol=1e-7)


@pytest.mark.slow
def test_evidence_and_consensus_of_rankings_match_thurstones_model():
    """A ranking of four: the probability of its order is an orthant probability, known by integration."""
    crowd = CrowdPrior(0.4 * np.eye(4), 1.1 * np.eye(4), np.array([0.3, -0.2, 0.1, 0.0]))
    order = np.array([2, 0, 3, 1])
    difference = np.eye(4)[order[:-1]] - np.eye(4)[order[1:]]
    perceived = difference @ (crowd.taste + crowd.consensus + 0.5 * np.eye(4)) @ difference.T

    def log_probability(mean: np.ndarray) -> float:
        return float(multivariate_normal(-difference @ mean, perceived, abseps=1e-9, maxpts=10**6).logcdf(np.zeros(3)))

    result = fitted(Comparisons.from_rankings([order], n_items=4), crowd)
    assert result.log_evidence == pytest.approx(log_probability(crowd.mean), abs=0.02)
    h = 0.05
    slope = [(log_probability(crowd.mean + h * e) - log_probability(crowd.mean - h * e)) / (2 * h) for e in np.eye(4)]
    assert_allclose(result.mean, crowd.mean + crowd.consensus @ slope, atol=0.03)


@pytest.mark.slow
def test_gradient_of_the_evidence_by_the_taste_covariance_with_rankings():
    rng = np.random.default_rng(4)
    rankings = np.argsort(rng.random((6, 4)), axis=1)
    pairs = Comparisons.from_pairs([0, 1, 2], [1, 3, 0], [1, 0, 0.5], [0, 1, 2], n_items=4, n_annotators=3)
    who = rng.integers(3, size=6)
    data = Comparisons.concatenate([Comparisons.from_rankings(rankings, who, n_items=4, n_annotators=3), pairs])
    loadings = rng.standard_normal((4, 2))
    crowd = CrowdPrior(0.5 * loadings @ loadings.T + 0.3 * np.eye(4), 1.5 * np.eye(4), np.zeros(4))
    statistic = taste_statistic(fitted(data, crowd))
    for _ in range(3):
        direction = rng.standard_normal((4, 4))
        direction += direction.T
        h = 1e-5
        ends = (CrowdPrior(crowd.taste + s * h * direction, crowd.consensus, crowd.mean) for s in (1, -1))
        up, down = (fitted(data, end).log_evidence for end in ends)
        assert (up - down) / (2 * h) == pytest.approx(-(statistic * direction).sum() / 2, rel=1e-3, abs=1e-5)
