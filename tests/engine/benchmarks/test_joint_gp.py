"""The joint GP over annotators and items: EP against quadrature and the engine's, tastes recovered by features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr

from models_engine.benchmarks.joint_gp import JointGP, JointPrior, fit_at, run_margin_ep
from models_engine.data import Comparisons
from models_engine.errors import InvalidData, TooLarge
from models_engine.inference.probit_ep.annotator_blocks import build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, run_ep
from models_engine.inference.probit_ep.pair_sites import build_sites
from models_engine.kernels import ItemKernel
from models_engine.linalg import centre


def test_moments_and_evidence_of_two_margins_are_those_of_a_grid():
    prior, outcome = np.array([[1.5, 0.9], [0.9, 2.0]]), np.array([1.0, 0.0])
    found = run_margin_ep(prior, outcome)
    x = np.linspace(-9, 9, 1_201)
    z = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1)
    log_prior = -np.einsum("...i,ij,...j", z, np.linalg.inv(prior), z) / 2
    density = np.exp(log_prior) / (2 * np.pi * np.sqrt(np.linalg.det(prior))) * ndtr(z[..., 0]) * ndtr(-z[..., 1])
    total = density.sum() * (x[1] - x[0]) ** 2
    assert found.log_evidence == pytest.approx(np.log(total), abs=5e-3)
    mean = (density[..., None] * z).sum(axis=(0, 1)) / density.sum()
    assert_allclose(found.mean, mean, atol=0.03)


def some_answers(n_annotators=6, n_items=5, n_labels=60, seed=0):
    rng = np.random.default_rng(seed)
    left = rng.integers(n_items, size=n_labels)
    right = (left + rng.integers(1, n_items, size=n_labels)) % n_items
    who = np.sort(rng.integers(n_annotators, size=n_labels))
    outcome = rng.choice([0.0, 1.0], size=n_labels)
    return Comparisons.from_pairs(left, right, outcome, who, n_items=n_items, n_annotators=n_annotators)


def test_without_features_it_is_the_engines_collaborative_model():
    data = some_answers()
    prior = JointPrior(1.1, 0.8, ItemKernel(None, 5), ItemKernel(None, 6))
    pairs = data.pairs()
    found = fit_at(prior, pairs)
    sites = build_sites(pairs, data.weights)
    crowd = CrowdPrior(0.8**2 * np.eye(5), 1.1**2 * np.eye(5), np.zeros(5))
    known = run_ep(sites, build_blocks(sites), crowd, tolerance=1e-10, max_iterations=200)
    assert found.found.log_evidence == pytest.approx(known.log_evidence, abs=0.05)
    assert_allclose(centre(found.utilities()), centre(known.mean), atol=0.02)


def taste_by_feature(seed=0, n_annotators=30, n_newcomers=30, n_labels=7):
    """Tastes along two directions, each person's place along them a function of two features."""
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (n_annotators + n_newcomers, 2))
    directions = rng.normal(0, 1, (2, 10))
    own = rng.normal(0, 0.7, 10) + 1.5 * np.sin(2 * features) @ directions
    who = np.repeat(np.arange(n_annotators), n_labels)
    left = rng.integers(10, size=len(who))
    right = (left + rng.integers(1, 10, size=len(who))) % 10
    wins = rng.random(len(who)) < ndtr(own[who, left] - own[who, right])
    data = Comparisons.from_pairs(
        left, right, wins * 1.0, who, n_items=10, n_annotators=n_annotators, annotator_features=features[:n_annotators]
    )
    return data, own, features


def mean_correlation(found, true):
    return np.mean([np.corrcoef(one, other)[0, 1] for one, other in zip(found, true, strict=True)])


@pytest.mark.slow
def test_features_of_annotators_recover_tastes_and_those_of_newcomers():
    data, own, features = taste_by_feature()
    n = data.n_annotators
    known, blind = JointGP(max_trials=40).fit(data), JointGP(features=False, max_trials=40).fit(data)
    seen = [mean_correlation([fit.personal_utilities(j) for j in range(n)], own[:n]) for fit in (known, blind)]
    assert seen[0] > seen[1] + 0.1
    new = mean_correlation([known.utilities_of(one) for one in features[n:]], own[n:])
    assert new > mean_correlation([blind.utilities()] * (len(own) - n), own[n:]) + 0.2
    assert known.found.log_evidence > blind.found.log_evidence + 10


@pytest.mark.slow
def test_features_that_say_nothing_are_given_no_share():
    data, _, _ = taste_by_feature(1)
    shuffled = np.random.default_rng(5).permutation(data.annotator_features)
    pairs = data.pairs()
    others = Comparisons.from_pairs(
        pairs.left, pairs.right, pairs.outcome, pairs.annotator, n_items=10, annotator_features=shuffled
    )
    real, none = JointGP(max_trials=40).fit(data), JointGP(max_trials=40).fit(others)
    assert none.prior.annotators.share < 0.3 < 0.6 < real.prior.annotators.share


def test_probabilities_are_of_one_side_or_the_other_and_follow_answers():
    data = Comparisons.from_pairs([0] * 8, [1] * 8, [1.0] * 8, [0] * 8, n_items=3, n_annotators=2)
    found = JointGP(max_trials=10).fit(data)
    forward, back = (found.pairwise_probabilities(*pair, 0) for pair in (([0], [1]), ([1], [0])))
    assert_allclose(forward + back, 1)
    assert forward[0] > found.pairwise_probabilities([0], [1], 1)[0] > 0.5
    assert found.pairwise_probabilities([2], [2], 0)[0] == 0.5


def test_what_is_no_pair_or_too_much_is_refused():
    with pytest.raises(InvalidData, match="no labels"):
        JointGP().fit(Comparisons.from_pairs([], [], [], [], n_items=2, n_annotators=1))
    many = np.zeros(3_001, np.int64)
    with pytest.raises(TooLarge, match="limited to 3,000"):
        JointGP().fit(Comparisons.from_pairs(many, many + 1, many * 1.0, many))
