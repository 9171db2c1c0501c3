"""CountFactorization: a ranking from counts that holds what the crowd counts on average, and odd counts."""

import numpy as np
import pytest

from models_engine.covariance.graph import GraphCovariance
from models_engine.errors import InsufficientData, InvalidData, InvalidSetting
from models_engine.estimators.count_factorization import CountFactorization
from models_engine.estimators.count_posterior import CountPosterior
from models_engine.inference.counts import factorization
from models_engine.inference.counts.cells import MAX_COUNT, CountCells
from models_engine.inference.counts.effects import fit_effects
from tests.engine.inference.counts.test_factorization import simulate


def test_every_item_by_itself_is_ranked_by_count_over_exposure():
    """With one annotator and large counts the utilities are logs of rates, their errors those of a Poisson count."""
    counts, exposures = np.array([10_000, 40_000, 20_000]), np.array([1.0, 2.0, 4.0])
    found = CountFactorization().fit(CountCells.from_rows([0, 1, 2], [0, 0, 0], counts, exposures))
    rate = np.log(counts / exposures)
    np.testing.assert_allclose(found.utilities(), rate - rate.mean(), atol=1e-3)
    expected = np.sqrt(1 / counts[0] + 1 / counts[1])
    assert np.sqrt(found.difference_variance([0], [1])[0]) == pytest.approx(expected, rel=0.01)
    assert found.dispersion == np.inf


def test_a_busy_annotator_does_not_raise_what_they_counted():
    """Two annotators, one ten times as busy: items 0 and 1 are alike, though only the busy one counted item 1."""
    items, who = [0, 0, 1, 2, 2], [0, 1, 1, 0, 1]
    found = CountFactorization().fit(CountCells.from_rows(items, who, [200, 2000, 2000, 100, 1000]))
    assert abs(found.utilities()[0] - found.utilities()[1]) < 0.05
    assert found.utilities()[2] == pytest.approx(found.utilities()[0] - np.log(2), abs=0.05)
    assert found.annotator_effects[1] - found.annotator_effects[0] == pytest.approx(np.log(10), abs=0.1)


@pytest.mark.parametrize(("n_items", "n_annotators"), [(40, 8), (8, 40)])
def test_the_covariance_is_the_same_in_either_form(n_items, n_annotators):
    cells, _ = simulate(np.random.default_rng(0), n_items, n_annotators, seen=0.5)
    fitted = fit_effects(cells)
    whole, centring = fitted.item_covariance(), np.eye(n_items) - 1 / n_items
    np.testing.assert_allclose(fitted.item_spread().dense(), centring @ whole @ centring, atol=1e-9)


@pytest.mark.slow
def test_what_the_crowd_counts_on_average_is_held_where_tastes_differ():
    held = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        b, a = rng.normal(0, 0.6, 60), rng.normal(0, 0.5, 200)
        taste = rng.normal(0, 0.7, 60)[:, None] * rng.normal(0, 0.7, 200)
        truth = b + np.log(np.exp(taste).mean(axis=1))
        item, who = np.nonzero(rng.random((60, 200)) < 0.3)
        counts = rng.poisson(np.exp(0.5 + b[item] + a[who] + taste[item, who]))
        found = CountFactorization().fit(CountCells.from_rows(item, who, counts))
        error = found.utilities() - (truth - truth.mean())
        held.append(np.abs(error) < 1.6449 * found.standard_deviations())
    assert np.mean(held) > 0.82


@pytest.mark.parametrize(
    "counts", [[0, 0, 0], [MAX_COUNT, MAX_COUNT - 1, 0], [5, 6, 7]], ids=["all zeros", "a thousand million", "few"]
)
@pytest.mark.parametrize("who", [[0, 0, 0], [0, 1, 2]], ids=["one annotator", "one each"])
def test_odd_counts_have_an_answer(counts, who):
    found = CountFactorization().fit(CountCells.from_rows([0, 1, 2], who, counts, n_items=4))
    assert np.isfinite(np.r_[found.utilities(), found.standard_deviations(), found.superiority([0], [1])]).all()
    assert found.standard_deviations()[3] > 0.3  # never counted: its prior


def test_equal_zeros_and_single_counts_are_not_known_to_be_equal():
    for counts in ([0, 0], [3, 3]):
        found = CountFactorization().fit(CountCells.from_rows([0, 1], [0, 0], counts))
        assert np.sqrt(found.difference_variance([0], [1])[0]) > 0.5


def test_arrays_give_the_posterior_back():
    cells, _ = simulate(np.random.default_rng(1), 6, 10, seen=0.8)
    found = CountFactorization().fit(cells)
    again = CountPosterior.from_arrays(found.to_arrays())
    np.testing.assert_array_equal(again.utilities(), found.utilities())
    np.testing.assert_array_equal(again.annotator_effects, found.annotator_effects)
    assert again.hyperparameters() == found.hyperparameters()


def test_counted_items_are_one_part_and_each_other_its_own():
    cells = CountCells.from_rows([0, 3], [0, 1], [1, 2], n_items=5)
    assert cells.connected_parts().tolist() == [0, 1, 2, 0, 3]
    assert cells.connected_parts(np.array([False, False, True, False, True])).tolist() == [2, 3, 0, 2, 1]
    assert cells.n_comparisons().tolist() == [1, 0, 0, 1, 0]


def test_the_hash_tells_every_change():
    given = ([0, 1], [0, 0], [1, 2], [1.0, 2.0])
    first = CountCells.from_rows(*given)
    assert CountCells.from_rows(*given).data_hash() == first.data_hash()
    assert CountCells.from_rows(*given[:3], [1.0, 3.0]).data_hash() != first.data_hash()
    assert CountCells.from_rows(*given, n_items=3).data_hash() != first.data_hash()


def test_what_cannot_be_fitted_is_named():
    with pytest.raises(InsufficientData, match="there are no counts"):
        CountFactorization().fit(CountCells.from_rows([], [], [], n_items=3))
    with pytest.raises(InvalidData, match="CountCells"):
        CountFactorization().fit([1, 2])
    with pytest.raises(InvalidSetting, match="gamma"):
        CountFactorization(family="gamma").fit(CountCells.from_rows([0], [0], [1]))


def test_a_table_too_large_for_a_low_rank_gives_the_same(monkeypatch):
    cells, _ = simulate(np.random.default_rng(0), 40, 8, seen=0.5)
    fitted = fit_effects(cells)
    exact = fitted.item_spread()
    monkeypatch.setattr(factorization, "MAX_LOW_RANK", 40 * 8 - 1)
    spread = fitted.item_spread()
    assert isinstance(spread, GraphCovariance)
    np.testing.assert_allclose(spread.dense(), exact.dense(), atol=1e-9)


@pytest.mark.slow
def test_ten_thousand_items_are_not_refused():
    """Neither side has a matrix; a posterior of so many is stored and read."""
    n_items, n_annotators = 10_000, 10_000
    rng = np.random.default_rng(9)
    items, who = rng.integers(40, size=600), rng.integers(30, size=600)
    cells = CountCells.from_rows(items, who, rng.poisson(3, 600), n_items=n_items, n_annotators=n_annotators)
    found = CountFactorization(family="poisson").fit(cells)
    again = CountPosterior.from_arrays(found.to_arrays())
    np.testing.assert_array_equal(again.standard_deviations(), found.standard_deviations())
    counted = cells.n_comparisons() > 0
    assert found.standard_deviations()[~counted] == pytest.approx(found.prior_sd, rel=0.01)
    assert (found.standard_deviations()[counted] < found.prior_sd).all()
