"""Rank correlations against scipy's."""

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr

from models_engine.rank_correlations import kendall_tau, spearman_rho


def pairs_of_orders():
    rng = np.random.default_rng(0)
    for n in (2, 3, 4, 5, 17, 64, 100, 333):
        for n_grades in (2, 5, 10 * n):  # many ties, some, hardly any
            first = rng.integers(n_grades, size=n)
            yield first, rng.integers(n_grades, size=n)
            yield first, first + rng.integers(2, size=n)
            yield first / 7, -first


@pytest.mark.filterwarnings("ignore:An input array is constant")
def test_they_are_scipys():
    for first, second in pairs_of_orders():
        np.testing.assert_allclose(kendall_tau(first, second), kendalltau(first, second).statistic, atol=1e-12)
        np.testing.assert_allclose(spearman_rho(first, second), spearmanr(first, second).statistic, atol=1e-12)


@pytest.mark.parametrize("correlation", [kendall_tau, spearman_rho])
@pytest.mark.parametrize("first", [[], [1.0], [2.0, 2.0, 2.0], [1.0, np.nan, 3.0]], ids=str)
def test_where_there_is_no_order_it_is_nan(correlation, first):
    assert np.isnan(correlation(first, np.arange(len(first))))


def test_ten_thousand_items_in_exact_reverse():
    assert kendall_tau(np.arange(10_000), -np.arange(10_000.0)) == pytest.approx(-1)
