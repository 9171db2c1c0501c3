"""BradleyTerry as it is by default: its scale learned, by the nearest Gaussian of few items and at the mode of many."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.estimators.bradley_terry import MAX_ROUGH_ITEMS, QUICK, BradleyTerry
from models_engine.simulate import simulate_crowd


@pytest.mark.slow
@pytest.mark.parametrize("utility_sd", [0.75, 1.5, 3.0])
def test_intervals_cover_by_default_at_half_once_and_twice_the_usual_spread(utility_sd):
    held, fixed = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        people = simulate_crowd(rng, 40, 20, utility_sd=utility_sd)
        data, truth = people.pairs(400, rng), people.utilities - people.utilities.mean()
        for found, posterior in ((held, BradleyTerry().fit(data)), (fixed, QUICK.fit(data))):
            found.append((np.abs(posterior.utilities() - truth) < 1.645 * posterior.standard_deviations()).mean())
    assert 0.85 <= np.mean(held) <= 0.96
    assert (np.mean(fixed) < 0.75) == (utility_sd == 3.0), "a fixed prior half as wide does not cover"


def test_fits_converge_and_do_not_depend_on_where_they_begin():
    """Small crowds of any spread with few answers: averages at too few nodes moved some by .002 and let some fail."""
    for seed in [3, 44, 46, 81, 92, 164, 237, 244, *range(10, 30)]:
        rng = np.random.default_rng(seed)
        n_items = int(np.exp(rng.uniform(np.log(3), np.log(80))))
        n_labels = 1 + int(n_items * np.exp(rng.uniform(np.log(0.3), np.log(60))))
        people = simulate_crowd(rng, n_items, 20, utility_sd=float(np.exp(rng.uniform(np.log(0.1), np.log(4)))))
        data = people.pairs(n_labels, rng)
        cold, before = BradleyTerry().fit(data), BradleyTerry().fit(data.subset(np.arange(n_labels * 9 // 10)))
        warm = BradleyTerry().fit(data, start=before)
        for one in (cold, before, warm):
            assert one.diagnostics.converged
            assert "was used" not in one.diagnostics.message
        assert_allclose(warm.utilities(), cold.utilities(), atol=1e-4)
        assert_allclose(warm.standard_deviations(), cold.standard_deviations(), rtol=1e-3)


@pytest.mark.slow
def test_of_many_items_the_mode_is_found_at_a_scale_of_some_warm_as_cold():
    rng = np.random.default_rng(0)
    people = simulate_crowd(rng, MAX_ROUGH_ITEMS + 100, 50, utility_sd=2.5)
    data = people.pairs(9_000, rng)
    cold, before = BradleyTerry().fit(data), BradleyTerry().fit(data.subset(np.arange(8_900)))
    assert cold.prior_sd == pytest.approx(2.5, rel=0.15)
    mode = BradleyTerry(prior_sd=cold.prior_sd, inference="map").fit(data)
    assert_allclose(cold.utilities(), mode.utilities(), atol=1e-6)
    warm = BradleyTerry().fit(data, start=before)
    assert warm.diagnostics.n_iterations < cold.diagnostics.n_iterations
    assert_allclose(warm.utilities(), cold.utilities(), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("labels", "utility_sd", "least"), [(300, 1.5, 0.84), (1_200, 1.5, 0.88), (3_000, 3.0, 0.85)])
def test_of_600_items_intervals_count_what_is_open_about_the_scale(labels, utility_sd, least):
    """By the mode at the likeliest scale .79, .88 and .81 held."""
    held = []
    for seed in (100, 101):
        rng = np.random.default_rng(seed)
        people = simulate_crowd(rng, 600, 50, utility_sd=utility_sd)
        found = BradleyTerry().fit(people.pairs(labels, rng))
        off = found.utilities() - (people.utilities - people.utilities.mean())
        held.append((np.abs(off) < 1.645 * found.standard_deviations()).mean())
    assert least <= np.mean(held) <= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("side", [False, True])
def test_what_is_open_about_the_scale_lies_where_utilities_move_with_it(side):
    """Against modes at scales beside it; what it adds to the variances is its square."""
    rng = np.random.default_rng(0)
    data = simulate_crowd(rng, 320, 50, utility_sd=2.0).pairs(1_500, rng)
    model = BradleyTerry(inference="map", side=side)
    found = model.fit(data)
    below, at, above = (
        BradleyTerry(prior_sd=found.prior_sd * np.exp(step), inference="map", side=side).fit(data)
        for step in (-0.02, 0.0, 0.02)
    )
    moved = (above.utilities() - below.utilities()) / 0.04
    deviation = float(found.along_scale @ moved / (moved @ moved))
    assert 0.05 < deviation < 0.4
    assert_allclose(found.along_scale, deviation * moved, atol=1e-3 * deviation)
    added = found.standard_deviations() ** 2 - at.standard_deviations() ** 2
    assert_allclose(added, found.along_scale**2, atol=1e-6)
