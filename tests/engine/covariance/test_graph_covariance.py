"""Sparse covariances against the dense inverse, on the graphs that are hard for one method or the other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from models_engine.covariance import cores as covariance_cores
from models_engine.covariance.cores import DenseCore, DrawnCore
from models_engine.covariance.forms import pack, unpack
from models_engine.covariance.graph import GraphCovariance
from models_engine.graphs import GraphPrecision, PairGraph
from models_engine.linalg import centre_covariance, sum_by_group
from tests.budget import examples


def precision(left, right, n_items, weights=None, ridge=0.4) -> GraphPrecision:
    left, right = np.asarray(left), np.asarray(right)
    graph, pair = PairGraph.of(left, right, n_items)
    given = np.full(len(left), 0.2) if weights is None else weights
    return GraphPrecision(graph, sum_by_group(pair, given, graph.n_pairs), np.full(n_items, ridge))


def exact(one: GraphPrecision, extra=None) -> np.ndarray:
    inverse = np.linalg.inv(one.graph.dense(one.weights, one.ridge))
    return centre_covariance(inverse + (extra @ extra.T if extra is not None else 0))


def random_graph(rng, n, m):
    left = rng.integers(n, size=m)
    return left, (left + 1 + rng.integers(n - 1, size=m)) % n


def chain(rng, n, m):
    left = np.concatenate([np.arange(n - 1), rng.integers(n - 1, size=m)])
    return left, left + 1


def two_clusters(rng, n, m):
    half = n // 2
    left, right = random_graph(rng, half, m)
    side = half * rng.integers(2, size=m)
    bridges = rng.integers(half, size=(5, 2))
    return np.append(left + side, bridges[:, 0]), np.append(right + side, half + bridges[:, 1])


def power_law(rng, n, m):
    share = 1 / np.arange(1, n + 1)
    left, right = rng.choice(n, size=(2, m), p=share / share.sum())
    return left, np.where(left == right, (right + 1) % n, right)


def lattice(rng, n, m):
    left = rng.integers(n, size=m)
    return left, (left + rng.integers(1, 41, size=m)) % n


def fringed(rng, n, m):
    """A well-connected half with chains hanging from it."""
    half = n // 2
    left, right = random_graph(rng, half, m)
    tail = np.arange(half, n)
    return np.append(left, tail), np.append(right, np.where(tail % 50, tail - 1, rng.integers(half, size=len(tail))))


GRAPHS = [random_graph, chain, two_clusters, power_law, lattice, fringed]


@settings(deadline=None, max_examples=examples(60))
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(0, 80), st.integers(0, 2), st.sampled_from([0, 5, 24]))
def test_elimination_is_exact_on_any_graph(seed, n, m, n_extra, most):
    rng = np.random.default_rng(seed)
    left, right = random_graph(rng, n, m) if n > 1 else ([], [])
    one = precision(np.array(left, int), np.array(right, int), n, rng.random(len(left)))
    extra = rng.normal(size=(n, n_extra))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models_engine.covariance.elimination.MAX_NEIGHBOURS", most)
        form = GraphCovariance.of(one, extra)
        truth = exact(one, extra)
        assert_allclose(form.variances(), np.diagonal(truth), atol=1e-10)
        a, b = rng.integers(n, size=(2, 20))
        differences = truth[a, a] + truth[b, b] - 2 * truth[a, b]
        assert_allclose(form.difference_variance(a, b), differences, atol=1e-10)
    assert_allclose(form.dense(), truth, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("make", GRAPHS)
def test_standard_deviations_within_three_per_cent_of_exact(make):
    """1,200 items with the dense core forbidden, so that what is for tens of thousands of items is what is tested."""
    rng = np.random.default_rng(0)
    n, m = 1_200, 60_000
    one = precision(*make(rng, n, m), n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(covariance_cores, "MAX_DENSE_CORE", 50)
        form = GraphCovariance.of(one)
        assert isinstance(form.core, DrawnCore if make is not chain else DenseCore)
    truth = exact(one)
    assert_allclose(form.variances() ** 0.5, np.diagonal(truth) ** 0.5, rtol=0.03)
    a, b = rng.integers(n, size=(2, 500))
    a, b = np.append(a, one.graph.low[:200]), np.append(b, one.graph.high[:200])
    a, b = a[a != b], b[a != b]
    differences = truth[a, a] + truth[b, b] - 2 * truth[a, b]
    assert_allclose(form.difference_variance(a, b) ** 0.5, differences**0.5, rtol=0.03)
    draws = form.sample(4_000, rng)
    assert_allclose(draws.mean(axis=1), 0, atol=1e-9)
    ratio = draws.std(axis=0) / np.diagonal(truth) ** 0.5
    assert abs(ratio.mean() - 1) < 0.01
    assert ratio.std() < 0.02, "sampling error alone is 0.011"


@pytest.mark.slow
def test_covariance_is_accurate_under_weak_priors():
    """With almost no ridge the clusters' offset is known only through the five bridges."""
    rng = np.random.default_rng(1)
    one = precision(*two_clusters(rng, 1_200, 60_000), 1_200, ridge=1e-4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(covariance_cores, "MAX_DENSE_CORE", 50)
        form = GraphCovariance.of(one)
        truth = exact(one)
        assert np.diagonal(truth).mean() > 5 / one.diagonal.mean(), "the offset dominates"
        assert_allclose(form.variances() ** 0.5, np.diagonal(truth) ** 0.5, rtol=0.03)


def test_restriction_and_storage():
    rng = np.random.default_rng(2)
    one = precision(*fringed(rng, 200, 3_000), 200)
    extra = rng.normal(size=(200, 1)) * 0.1
    form, truth = GraphCovariance.of(one, extra), exact(one, extra)
    kept = rng.permutation(200)[:70]
    part = form.restrict(kept).restrict(np.arange(10, 60))
    expected = centre_covariance(truth[np.ix_(kept[10:60], kept[10:60])])
    assert_allclose(part.variances(), np.diagonal(expected), rtol=1e-6)
    assert_allclose(part.dense(), expected, atol=1e-7)
    loaded = unpack("x", pack("x", part))
    assert_allclose(loaded.variances(), part.variances(), atol=0)
    assert_allclose(loaded.difference_variance(0, [1, 2]), part.difference_variance(0, [1, 2]), rtol=1e-9)


@pytest.mark.slow
def test_conjugate_gradients_meet_their_tolerance():
    rng = np.random.default_rng(3)
    one = precision(*chain(rng, 3_000, 6_000), 3_000, ridge=1e-5)
    b = rng.normal(size=(3_000, 2))
    assert_allclose(one.times(one.solve(b, tolerance=1e-10)), b, atol=1e-6)
    assert_allclose(one.solve(np.zeros((3_000, 1))), 0)
