"""Competitors with contexts too large for a matrix over their items, on small ones fitted both ways."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from models_engine.data import Comparisons
from models_engine.estimators import competitors
from models_engine.estimators.competitor_posterior import CompetitorPosterior
from models_engine.estimators.competitor_table import CompetitorTable
from models_engine.estimators.competitors import Competitors
from models_engine.graphs import GraphPrecision
from models_engine.inference.competitors.graph_blocks import GraphBlocks, GraphInverse
from tests.engine.estimators.test_competitors import contest


def one_context(seed: int, n_competitors: int, n_items: int, n_labels: int) -> tuple[Comparisons, CompetitorTable]:
    rng = np.random.default_rng(seed)
    whose = rng.integers(n_competitors, size=n_items)
    utilities = rng.normal(0, 1, n_competitors)[whose] + rng.normal(0, 0.7, n_items)
    left = rng.integers(n_items, size=n_labels)
    right = (left + rng.integers(1, n_items, size=n_labels)) % n_items
    outcome = (rng.random(n_labels) < expit(utilities[left] - utilities[right])).astype(float)
    data = Comparisons.from_pairs(left, right, outcome, rng.integers(20, size=n_labels), n_items=n_items)
    return data, CompetitorTable.of(whose, context=np.zeros(n_items, np.int64))


def both_ways(
    monkeypatch, estimator: Competitors, data: Comparisons, table: CompetitorTable, **known
) -> tuple[CompetitorPosterior, CompetitorPosterior]:
    exact = estimator.fit(data, table, **known)
    monkeypatch.setattr(competitors, "MAX_CONTEXT_ITEMS", 1)
    return exact, estimator.fit(data, table, **known)


def assert_alike(exact: CompetitorPosterior, found: CompetitorPosterior) -> None:
    assert found.diagnostics.converged
    assert_allclose(found.utilities(), exact.utilities(), atol=2e-3)
    assert_allclose(found.standard_deviations(), exact.standard_deviations(), rtol=0.01)
    assert found.likelihood.side == pytest.approx(exact.likelihood.side, abs=0.01)


def test_the_inverse_is_that_of_the_matrix():
    rng = np.random.default_rng(3)
    left = rng.integers(40, size=160)
    right = (left + rng.integers(1, 40, size=160)) % 40
    blocks = GraphBlocks.of(left, right, np.zeros(40, np.int64))
    weights = rng.uniform(0.1, 1.0, 160)
    cells, log_determinant = blocks.inverse(weights, 2.0)
    assert isinstance(cells.precision, GraphPrecision)
    design = np.zeros((160, blocks.n_slots))
    design[np.arange(160), blocks.left], design[np.arange(160), blocks.right] = 1, -1
    precision = design.T * weights @ design + 2 * np.eye(blocks.n_slots)
    whole = np.linalg.inv(precision)
    columns = rng.standard_normal((blocks.n_slots, 3))
    assert_allclose(blocks.times(cells, columns), whole @ columns, atol=1e-7)
    assert log_determinant == pytest.approx(np.linalg.slogdet(precision)[1], abs=0.05)
    assert blocks.trace(cells) == pytest.approx(np.trace(whole), rel=0.02)
    assert blocks.square(cells) == pytest.approx((whole**2).sum(), rel=0.05)
    expected = np.einsum("ri,ij,rj->r", design, whole, design)
    assert_allclose(blocks.pair_variance(cells), expected, rtol=0.1)
    again = GraphInverse.of(cells.precision)
    assert_allclose(again.pair_variances, cells.pair_variances, rtol=0)


@pytest.mark.slow
def test_one_large_context_gives_the_fit_with_matrices(monkeypatch):
    data, table = one_context(1, 6, 150, 900)
    exact, found = both_ways(monkeypatch, Competitors(), data, table)
    assert_alike(exact, found)
    again = CompetitorPosterior.from_arrays(found.to_arrays())
    assert_allclose(again.standard_deviations(), found.standard_deviations())


@pytest.mark.slow
def test_many_contexts_tags_features_and_sides_give_the_fit_with_matrices(monkeypatch):
    _, data, table = contest(3, n=5, contexts=40, labels=800, n_tags=2, tag_sd=0.6)
    rng = np.random.default_rng(5)
    data = replace(data, item_features=rng.standard_normal((data.n_items, 2)))
    assert_alike(*both_ways(monkeypatch, Competitors(), data, table))


@pytest.mark.slow
def test_equal_effects_of_items_widen_as_with_matrices(monkeypatch):
    _, data, table = contest(4, n=5, contexts=20, labels=600)
    same = np.arange(data.n_items) // 2
    assert_alike(*both_ways(monkeypatch, Competitors(careless=False), data, table, same_item=same))


@pytest.mark.slow
def test_ten_thousand_items_of_one_context_are_not_refused():
    data, table = one_context(2, 5, 10_000, 20_000)
    found = Competitors(tastes=False, careless=False).fit(data, table)
    assert found.diagnostics.converged
    assert (found.standard_deviations() < 0.2).all()
