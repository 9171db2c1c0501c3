"""Classes against their definition in plain loops, and on simulated crowds whose order is known."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from models_engine.analysis.classes import rank_classes
from models_engine.analysis.tiers import assign_tiers
from models_engine.benchmarks.classes import measure
from models_engine.covariance.forms import DenseCovariance, LowRankCovariance
from models_engine.data import Comparisons
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.posterior import Diagnostics, GaussianPosterior, SamplePosterior
from tests.budget import examples

FINE = Diagnostics(True, 1, (0.0,), 0.1, "fine")


def by_definition(posterior, ranks):
    """(number, highest), one item after the other."""
    order = sorted(range(len(ranks.rank)), key=lambda item: ranks.rank[item])

    def reaches(item, first):
        unsure = posterior.superiority(first, item) < 0.95
        return item == first or ranks.low[item] <= order.index(first) + 1 or unsure

    firsts, number, highest = [], {}, {}
    for item in order:
        if not firsts or not reaches(item, firsts[-1]):
            firsts.append(item)
        number[item] = len(firsts)
        highest[item] = min(which for which, first in enumerate(firsts, start=1) if reaches(item, first))
    return [number[item] for item in range(len(order))], [highest[item] for item in range(len(order))]


@settings(deadline=None, max_examples=examples(60))
@given(st.integers(0, 10_000), st.integers(1, 12), st.sampled_from([0.05, 0.2, 0.6]), st.booleans())
def test_classes_are_what_the_definition_says(seed, n, noise, drawn):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n)) * noise * rng.gamma(1, size=(n, 1))
    posterior = GaussianPosterior(2 * rng.normal(size=n), DenseCovariance.of(root @ root.T), FINE)
    if drawn:
        posterior = SamplePosterior.of(posterior.sample(300, rng=rng), FINE)
    ranks = posterior.rank_summary(n_samples=300)
    found = rank_classes(posterior, ranks)
    number, highest = by_definition(posterior, ranks)
    assert_array_equal(found.number, number)
    assert_array_equal(found.highest, highest)


def test_a_chain_of_neighbours_is_not_one_class():
    """A hundred items, each hardly told apart from the next: one tier, and yet the last is far below the first."""
    mean = np.linspace(4, -4, 100)
    posterior = GaussianPosterior(mean, LowRankCovariance(np.zeros((100, 1)), np.full(100, 0.3**2)), FINE)
    assert assign_tiers(posterior, np.arange(100)).max() == 1
    number = rank_classes(posterior, posterior.rank_summary()).number
    assert 8 <= number.max() <= 14
    assert (np.diff(number) >= 0).all()


def test_an_item_little_is_known_of_may_belong_to_a_higher_class():
    spread = LowRankCovariance(np.zeros((5, 1)), np.array([0.01, 0.01, 0.01, 4.0, 0.01]))
    posterior = GaussianPosterior(np.array([4.0, 2.0, 0.0, -1.0, -5.0]), spread, FINE)
    found = rank_classes(posterior, posterior.rank_summary())
    assert_array_equal(found.number, [1, 2, 3, 3, 4])
    assert_array_equal(found.highest, [1, 2, 3, 2, 4])


def test_items_far_from_all_others_in_a_sparse_graph():
    """Nobody need be asked about: the first is far above all, the others are in reach of the second."""
    n = 2_200  # more than are kept as a matrix
    left = np.concatenate([np.zeros(n - 1, dtype=int), np.arange(1, n - 1)])
    right = np.concatenate([np.arange(1, n), np.arange(2, n)])
    data = Comparisons.from_pairs(left, right, np.where(left == 0, 1.0, 0.5), n_items=n, weights=np.where(left, 1, 50))
    fit = BradleyTerry().fit(data)
    number = rank_classes(fit, fit.rank_summary(n_samples=200)).number
    assert number[0] == 1
    assert (np.delete(number, 0) == 2).all()


def test_on_simulated_crowds_a_class_begins_below_the_first_of_the_class_above():
    """Also how alike the items of one class are; the benchmark prints the same figures for more crowds."""
    found = [measure(60, 40, 1.5, seed) for seed in range(12)]
    assert np.mean([one.first_right for one in found]) >= 0.92
    assert np.mean([one.others_right for one in found]) >= 0.99
    assert 0.85 <= np.mean([one.next_right for one in found]) <= 0.99
    assert np.mean([one.n_classes for one in found]) > 3 * np.mean([one.n_tiers for one in found])
