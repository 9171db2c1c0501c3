"""The estimated log determinant of a graph's precision, against the one of the matrix."""

import numpy as np
import pytest

from models_engine.covariance.determinant import log_determinant
from models_engine.graphs import GraphPrecision, PairGraph


def random_graph(n: int, n_pairs: int, seed: int = 0) -> tuple[PairGraph, np.ndarray]:
    rng = np.random.default_rng(seed)
    left = rng.integers(n, size=n_pairs)
    graph, _ = PairGraph.of(left, (left + rng.integers(1, n, size=n_pairs)) % n, n)
    return graph, rng.uniform(0.05, 0.25, graph.n_pairs)


def exact(precision: GraphPrecision) -> float:
    return float(np.linalg.slogdet(precision.graph.dense(precision.weights, precision.ridge))[1])


@pytest.mark.parametrize(("n_pairs", "ridge"), [(4_000, 0.4), (4_000, 0.01), (1_200, 0.1), (500, 0.4)])
def test_well_connected_items_have_it_within_a_tenth(n_pairs, ridge):
    graph, weights = random_graph(400, n_pairs)
    precision = graph.precision(weights, np.full(400, ridge))
    assert log_determinant(precision) == pytest.approx(exact(precision), abs=0.1)


def test_in_many_small_parts_with_a_weak_ridge_it_is_within_two_thousandths():
    graph, weights = random_graph(400, 500)
    one, other = (graph.precision(weights, np.full(400, ridge)) for ridge in (0.02, 0.08))
    assert log_determinant(one) == pytest.approx(exact(one), rel=2e-3)
    assert log_determinant(other) - log_determinant(one) == pytest.approx(exact(other) - exact(one), rel=5e-3)


def test_without_pairs_it_is_that_of_the_ridge():
    ridge = np.array([0.5, 2.0, 3.0])
    none = PairGraph(np.zeros(0, np.int64), np.zeros(0, np.int64), 3)
    assert log_determinant(none.precision(np.zeros(0), ridge)) == pytest.approx(np.log(ridge).sum())
