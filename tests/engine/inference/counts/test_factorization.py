"""CountModel: effects found where they are, what changes nothing, intervals, strange counts."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import poisson

from models_engine.covariance import cores
from models_engine.covariance.graph import GraphCovariance
from models_engine.errors import Cancelled, InsufficientData, InvalidData, InvalidSetting
from models_engine.inference.counts import factorization
from models_engine.inference.counts.bound import CountBound
from models_engine.inference.counts.cells import MAX_COUNT, CountCells
from models_engine.inference.counts.effects import fit_effects
from models_engine.inference.counts.factorization import CountModel

pytestmark = pytest.mark.filterwarnings("ignore::models_engine.errors.NotConverged")


def simulate(rng, n_items=60, n_annotators=200, seen=0.1, n_factors=0, dispersion=np.inf, sd=0.6):
    """Cells and the true effects of the items."""
    b, a = rng.normal(0, sd, n_items), rng.normal(0, 0.5, n_annotators)
    v, w = (rng.normal(0, 0.8, (n, n_factors)) for n in (n_items, n_annotators))
    item, who = np.nonzero(rng.random((n_items, n_annotators)) < seen)
    exposure = rng.uniform(0.5, 2.0, len(item))
    rate = exposure * np.exp(0.5 + b[item] + a[who] + (v[item] * w[who]).sum(axis=1))
    if np.isfinite(dispersion):
        rate = rate * rng.gamma(dispersion, 1 / dispersion, len(item))
    cells = CountCells.from_rows(item, who, rng.poisson(rate), exposure, n_items=n_items, n_annotators=n_annotators)
    return cells, b


@pytest.mark.slow
def test_effects_are_found():
    cells, b = simulate(np.random.default_rng(0))
    found = CountModel().fit(cells)
    assert found.diagnostics.converged
    assert np.corrcoef(found.item_effects, b)[0, 1] > 0.9
    assert found.scales.items == pytest.approx(b.var(), rel=0.3)


@pytest.mark.slow
def test_the_bound_never_falls_from_round_to_round():
    cells, _ = simulate(np.random.default_rng(1), 30, 60, seen=0.3, n_factors=2)
    bounds = CountModel(n_factors=3, family="poisson").fit(cells).diagnostics.objective
    assert len(bounds) > 2
    assert (np.diff(bounds) > -1e-6 * np.abs(bounds[:-1])).all()


@pytest.mark.slow
def test_the_family_is_the_one_that_made_the_counts():
    rng = np.random.default_rng(2)
    assert CountModel().fit(simulate(rng)[0]).dispersion > 30
    assert CountModel().fit(simulate(rng, dispersion=1.5)[0]).dispersion == pytest.approx(1.5, rel=0.4)


def test_names_and_order_of_rows_change_nothing():
    cells, _ = simulate(np.random.default_rng(3), n_items=12, n_annotators=20, seen=0.5)
    first = CountModel(family="poisson", tolerance=1e-9, max_rounds=60).fit(cells)
    renamed, order = np.random.default_rng(0).permutation(12), np.random.default_rng(1).permutation(cells.n_cells)
    second = CountModel(family="poisson", tolerance=1e-9, max_rounds=60).fit(
        CountCells.from_rows(
            renamed[cells.items][order],
            cells.annotators[order],
            cells.counts[order].astype(int),
            cells.exposures[order],
        )
    )
    np.testing.assert_allclose(second.item_effects[renamed], first.item_effects, atol=2e-3)


def test_twice_the_exposure_lowers_the_constant_by_log_two():
    cells, _ = simulate(np.random.default_rng(4), n_items=12, n_annotators=20, seen=0.5)
    twice = CountCells(
        cells.items, cells.annotators, cells.counts, 2 * cells.exposures, cells.n_items, cells.n_annotators
    )
    first, second = (CountModel(family="poisson").fit(one) for one in (cells, twice))
    assert second.effects.constant == pytest.approx(first.effects.constant - np.log(2), abs=1e-6)
    np.testing.assert_allclose(second.item_effects, first.item_effects, atol=1e-6)


@pytest.mark.parametrize("shape", [(60, 25), (25, 60)])
def test_deviations_are_those_of_the_whole_curvature(shape):
    """Both ways of the same: by the smaller side, and by inverting the matrix of all effects."""
    cells, _ = simulate(np.random.default_rng(5), *shape, seen=0.3)
    found = CountModel(family="poisson").fit(cells)
    n, k = shape
    whole = np.zeros((n + k + 1, n + k + 1))
    rates = CountBound(cells).rates(found.effects)
    for item, who, weight in zip(cells.items, cells.annotators, rates, strict=True):
        place = np.zeros(n + k + 1)
        place[[item, n + who, n + k]] = 1
        whole += weight * np.outer(place, place)
    whole += np.diag(np.r_[np.full(n, 1 / found.scales.items), np.full(k, 1 / found.scales.annotators), 1 / 9])
    expected = np.linalg.inv(whole)
    items, annotators = found.standard_deviations()
    np.testing.assert_allclose(items, np.sqrt(np.diag(expected)[:n]), rtol=1e-6)
    np.testing.assert_allclose(annotators, np.sqrt(np.diag(expected)[n : n + k]), rtol=1e-6)
    np.testing.assert_allclose(found.item_covariance(), expected[:n, :n], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("shape", [(60, 25), (25, 60)])
def test_a_graph_of_cells_gives_the_covariance_of_matrices(monkeypatch, shape):
    """With the elimination exact nothing differs; draws are within their 1.5%."""
    cells, _ = simulate(np.random.default_rng(5), *shape, seen=0.4, dispersion=3.0)
    found = CountModel(family="negative binomial").fit(cells)
    exact, deviations = found.item_spread(), found.standard_deviations()
    monkeypatch.setattr(factorization, "MAX_SIDE", 5)
    for largest_core, tolerance in ((2_000, 1e-9), (10, 0.05)):
        monkeypatch.setattr(cores, "MAX_DENSE_CORE", largest_core)
        large = replace(found)  # nothing of what was computed is kept
        spread = large.item_spread()
        assert isinstance(spread, GraphCovariance)
        np.testing.assert_allclose(spread.variances(), exact.variances(), rtol=tolerance)
        np.testing.assert_allclose(spread.dense(), exact.dense(), atol=1e-9)
        for one, other in zip(large.standard_deviations(), deviations, strict=True):
            np.testing.assert_allclose(one, other, rtol=tolerance)


@pytest.mark.slow
def test_intervals_of_items_hold_the_truth():
    """60 items, 200 annotators, a tenth of the cells; effects are about their own mean."""
    held = []
    for seed in range(12):
        cells, b = simulate(np.random.default_rng(100 + seed))
        found = CountModel().fit(cells)
        covariance = found.item_covariance()
        centring = np.eye(len(b)) - 1 / len(b)
        sd = np.sqrt(np.diag(centring @ covariance @ centring))
        held.append(np.abs(centring @ (found.item_effects - b)) < 1.6449 * sd)
    assert 0.84 < np.mean(held) < 0.95


def test_predictions_sum_to_one_and_beat_one_rate():
    rng = np.random.default_rng(6)
    cells, _ = simulate(rng, seen=0.3)
    test = rng.random(cells.n_cells) < 0.25
    found = CountModel().fit(cells.subset(~test))
    out = cells.subset(test)
    own = found.log_predictive(out.items, out.annotators, out.counts, out.exposures).mean()
    rate = cells.subset(~test).counts.sum() / cells.subset(~test).exposures.sum() * out.exposures
    assert own > poisson.logpmf(out.counts, rate).mean() + 0.1
    y = np.arange(400)
    assert np.exp(found.log_predictive(np.zeros(400, int), np.zeros(400, int), y)).sum() == pytest.approx(1, abs=1e-3)


@pytest.mark.slow
def test_factors_are_found_where_they_are_and_no_more():
    rng = np.random.default_rng(7)
    cells, _ = simulate(rng, n_annotators=120, seen=0.3, n_factors=3, sd=0.3)
    found = CountModel(n_factors=6, family="poisson", max_rounds=12).fit(cells)
    variances = np.sort(found.scales.factors)[::-1]
    assert variances[2] > 0.25
    assert variances[3] < 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("items", "annotators", "counts"),
    [
        ([0, 1, 2], [0, 0, 0], [0, 0, 0]),
        ([0, 1], [0, 0], [MAX_COUNT, 0]),
        ([0], [0], [7]),
        ([0, 1, 2], [0, 0, 0], [1, 5, 9]),
    ],
    ids=["all zeros", "a thousand million", "one cell", "one annotator"],
)
def test_strange_counts_have_finite_answers(items, annotators, counts):
    found = CountModel(n_factors=1).fit(CountCells.from_rows(items, annotators, counts))
    for values in (found.item_effects, *found.standard_deviations(), found.log_predictive(items, annotators, counts)):
        assert np.isfinite(values).all()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0], [0], [-1]), "-1"),
        (([0], [0], [1.5]), "1.5"),
        (([0, 1], [0], [1, 2]), "annotators has 1"),
        (([0], [0], [MAX_COUNT + 1]), "1,000,000,000"),
        (([0], [0], [1], [0.0]), "0.0 is not allowed; exposures"),
        (([0], [0], [1], [np.nan]), "nan is not allowed; exposures"),
        (([0], [0], [1], ["a"]), "exposures"),
    ],
)
def test_bad_rows_are_named(columns, message):
    with pytest.raises(InvalidData, match=message):
        CountCells.from_rows(*columns)


def test_no_counts_bad_settings_and_cancelling_are_named():
    with pytest.raises(InsufficientData, match="no counts"):
        CountModel().fit(CountCells.from_rows([], [], []))
    with pytest.raises(InvalidSetting, match="51"):
        CountModel(n_factors=51)
    with pytest.raises(InvalidSetting, match="gamma"):
        CountModel(family="gamma")
    with pytest.raises(Cancelled):
        CountModel().fit(simulate(np.random.default_rng(8))[0], progress=lambda *_: False)


def test_rows_of_one_cell_are_added_up():
    cells = CountCells.from_rows([1, 1, 0], [2, 2, 0], [3, 4, 5], [1, 2, 3])
    assert list(cells.items) == [0, 1]
    assert list(cells.counts) == [5, 7]
    assert list(cells.exposures) == [3, 3]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [10, 11])
def test_effects_alone_are_those_of_the_general_fit(seed):
    """Alternating steps and L-BFGS climb the same bound."""
    cells, _ = simulate(np.random.default_rng(seed), n_items=30, n_annotators=40, seen=0.3)
    general = CountModel(family="poisson", tolerance=1e-10, max_rounds=60).fit(cells)
    found = fit_effects(cells)
    assert found.diagnostics.converged
    assert found.bound >= general.bound - 1e-3
    np.testing.assert_allclose(found.item_effects, general.item_effects, atol=5e-3)
    for one, other in zip(found.standard_deviations(), general.standard_deviations(), strict=True):
        np.testing.assert_allclose(one, other, rtol=0.02)


@pytest.mark.parametrize("counts", [[0, 0, 0], [MAX_COUNT, 0, 5], [1, 1, 1]])
def test_effects_alone_of_strange_counts_are_finite(counts):
    found = fit_effects(CountCells.from_rows([0, 1, 2], [0, 0, 1], counts))
    assert np.isfinite(np.r_[found.item_effects, *found.standard_deviations()]).all()
    with pytest.raises(InsufficientData, match="no counts"):
        fit_effects(CountCells.from_rows([], [], []))
