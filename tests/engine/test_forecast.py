"""Sessions and forecasts of labels on small histories with known answers, difficult clocks, seeds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from models_engine.errors import Cancelled, InsufficientData, InvalidData, InvalidSetting
from models_engine.forecast import Forecast, Forecaster, draw_needed
from models_engine.rates import RateModel
from models_engine.sessions import find_sessions

QUICK = Forecaster(n_draws=100, n_hyper=2)
POSTERIOR = RateModel(n_hyper=1, max_evaluations=1).fit([1.0])


def simulate_labels(seed: int, hours: float) -> tuple[np.ndarray, np.ndarray]:
    """Draw labels of sessions that begin twice an hour at random and have ten labels, one a minute."""
    rng = np.random.default_rng(seed)
    begun = rng.uniform(0, hours, rng.poisson(2 * hours))
    times = (begun[:, None] + np.arange(10) / 60).ravel()
    who = np.repeat(np.arange(len(begun)), 10)
    return times[times <= hours], who[times <= hours]


def of_draws(labels, bin_hours: float = 1.0) -> Forecast:
    return Forecast(np.array(labels, dtype=float), bin_hours, "labels", POSTERIOR, 100.0, 0)


def test_a_pause_of_half_an_hour_begins_a_session():
    sessions = find_sessions([0.0, 0.2, 0.75, 0.1, 0.9], [0, 0, 0, 1, 0], now=1.0)
    assert_array_equal(sessions.size, [2, 2, 1])
    assert_allclose(sessions.begun, [0.0, 0.75, 0.1])
    assert_array_equal(sessions.is_open, [False, True, False])


def test_patterns_count_by_the_bin_in_which_a_session_begins():
    sessions = find_sessions([0.9, 1.1, 1.2, 2.05, 3.0], [0, 0, 0, 1, 1], now=10.0)
    assert_allclose(sessions.patterns(np.arange(3), 1.0), [[1, 2], [1, 0], [1, 0]])


def test_an_open_session_goes_on_as_those_at_least_as_long_and_as_silent():
    # Finished: one ended after .1 h; one went on at once; one was silent for .3 h after .1 h, then had two labels.
    times = [0.0, 0.1, 10.0, 10.1, 10.15, 20.0, 20.1, 20.4, 20.6, 29.7, 29.8]
    sessions = find_sessions(times, [0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3], now=30.0)
    ways = sessions.continuations(3, np.arange(3), 3, 0.25)
    assert_allclose(ways, [[0, 0, 0], [1, 1, 0]])


def test_nobody_like_an_open_session_means_it_ends():
    sessions = find_sessions([0.0, 9.0, 9.3, 9.6, 9.9], [0, 1, 1, 1, 1], now=10.0)
    assert_allclose(sessions.continuations(1, np.arange(1), 2, 1.0), [[0, 0]])


def test_simulated_sessions_copy_finished_ones():
    sessions = find_sessions([0.0, 0.1, 0.2], [0, 0, 0], now=10.0)
    begun = np.array([[2.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    labels = sessions.simulate(begun, -np.inf, 1.0, np.random.default_rng(0))
    assert_allclose(labels, [[6, 0, 3], [0, 0, 0]])


def test_a_flood_of_sessions_keeps_its_mean():
    sessions = find_sessions([0.0, 0.1, 5.0], [0, 0, 1], now=10.0)
    labels = sessions.simulate(np.full((2, 2), 5e6), -np.inf, 1.0, np.random.default_rng(0))
    assert_allclose(labels, 7.5e6, rtol=0.01)


def test_labels_within_and_hours_to_are_read_off_the_draws():
    forecast = of_draws([[10, 0, 20], [0, 0, 0]])
    assert_allclose(forecast.within([0, 0.5, 1, 3]), [[0, 5, 10, 30], [0, 0, 0, 0]])
    assert_allclose(forecast.within(3, most=12)[:, 0], [12, 0])
    assert_allclose(forecast.hours_to(np.array([20.0, 1.0])), [2.5, np.inf])
    assert_allclose(forecast.hours_to(np.array([10.0, 0.0])), [1, 0])
    assert_allclose(forecast.hours_to(np.array([20.0, 1.0]), most=15), np.inf)
    with pytest.raises(InvalidSetting):
        forecast.within(3.5)
    with pytest.raises(InvalidData):
        forecast.hours_to(np.ones(3))


def test_labels_needed_have_the_quantiles_given():
    drawn = draw_needed(50, 100, 400, 40_000)
    assert_allclose(np.quantile(drawn, [0.05, 0.5, 0.95]), [50, 100, 400], rtol=0.03)
    unknown = draw_needed(50, 100, None, 1000)
    assert np.isinf(unknown).mean() == pytest.approx(0.5, abs=0.06)
    assert not np.isnan(unknown).any()
    assert_allclose(draw_needed(0, 3, 3, 10), 3, atol=3)
    for wrong in ((5, 4, 9), (1, 2, 1), (0, 0, 0)):
        with pytest.raises(InvalidSetting):
            draw_needed(*wrong, 10)


@pytest.mark.slow
def test_a_steady_crowd_is_forecast():
    times, who = simulate_labels(0, 72)
    forecast = Forecaster().forecast(times, who, 72.0)
    assert forecast.basis == "sessions"
    low, middle, high = np.quantile(forecast.within([6, 24]), [0.05, 0.5, 0.95], axis=0)
    assert (low < [120, 480]).all()
    assert (high > [120, 480]).all()
    assert_allclose(middle, [120, 480], rtol=0.3)
    assert forecast.horizon == 7 * 24


@pytest.mark.slow
def test_an_hour_is_counted_by_the_minute_and_forecast_for_six_hours():
    times = np.sort(np.random.default_rng(0).uniform(0, 0.9, 200))
    forecast = QUICK.forecast(times, np.arange(200) % 20, 0.9)
    assert (forecast.bin_hours, forecast.basis) == (1 / 60, "labels")
    assert forecast.horizon == pytest.approx(6)
    assert np.isfinite(forecast.within([1, 6])).all()


def test_a_day_or_less_is_forecast_for_six_hours():
    times, who = simulate_labels(1, 20)
    assert QUICK.forecast(times, who, 20.0).horizon == 6


@pytest.mark.parametrize("times", [[5.0], [5.0, 5.0], [4.0, 5.0, 900.0], [-1e4, 5.0]])
def test_few_labels_and_clocks_that_jump_give_an_answer(times):
    forecast = QUICK.forecast(times, np.zeros(len(times), dtype=int), 5.0)
    assert np.isfinite(forecast.within([0.5, 6])).all()
    assert forecast.n_later == sum(time > 5 for time in times)


def test_what_cannot_be_forecast_is_named():
    with pytest.raises(InsufficientData):
        QUICK.forecast([], [], 5.0)
    with pytest.raises(InsufficientData):
        QUICK.forecast([6.0], [0], 5.0)
    with pytest.raises(InvalidData):
        QUICK.forecast([np.nan], [0], 5.0)
    with pytest.raises(InvalidData):
        QUICK.forecast([1.0, 2.0], [0], 5.0)
    with pytest.raises(Cancelled):
        QUICK.forecast([1.0, 2.0], [0, 0], 5.0, progress=lambda *_: False)


@pytest.mark.slow
def test_one_seed_one_forecast_and_names_and_clocks_do_not_matter():
    times, who = simulate_labels(2, 30)
    one, again = (QUICK.forecast(times, who, 30.0, seed=3) for _ in range(2))
    assert_array_equal(one.labels, again.labels)
    shifted = QUICK.forecast(times + 7 * 24, who, 30.0 + 7 * 24, seed=3)
    assert_allclose(shifted.labels.mean(), one.labels.mean(), rtol=0.05)
    renamed = QUICK.forecast(times, who.max() - who, 30.0, seed=3)
    assert_allclose(renamed.labels.mean(), one.labels.mean(), rtol=0.1)
