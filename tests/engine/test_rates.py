"""Rates of counts: what their bands hold on simulated series, difficult counts, seeds, progress."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from models_engine.errors import Cancelled, InsufficientData, InvalidData, InvalidSetting, TooLarge
from models_engine.progress import FitLog
from models_engine.rates import MAX_BINS, RateModel, RatePrior, _Problem, kernel

QUICK = RateModel(n_hyper=2, max_evaluations=4)


def simulate_series(seed: int, n: int, ahead: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw (rates without bursts, counts) of n + ahead hours from the model, about 5 events an hour."""
    rng = np.random.default_rng(seed)
    theta = np.array([-0.5, np.log(12), -0.5, 0.0, -0.7, 1.0])
    hours = np.arange(n + ahead, dtype=float)
    covariance = kernel(hours[:, None] - hours, theta, 1.0)
    smooth = 1 + np.linalg.cholesky(covariance + 1e-9 * np.eye(len(hours))) @ rng.standard_normal(len(hours))
    bursty = smooth + np.exp(theta[4]) * rng.standard_normal(len(hours))
    return 5 * np.maximum(smooth, 0), rng.poisson(5 * np.maximum(bursty, 0)).astype(float)


@pytest.mark.slow
def test_bands_hold_what_they_say_on_simulated_series():
    inside, sums = [], []
    for seed in range(12):
        rates, counts = simulate_series(seed, 120, 6)
        posterior = RateModel().fit(counts[:120])
        low, _, high = posterior.rate(posterior.bins)
        inside.append(np.mean((low - 1e-9 <= rates[:120]) & (rates[:120] <= high + 1e-9)))
        total = np.cumsum(posterior.draws(120.5 + np.arange(6), np.ones(6)), axis=1)
        low, high = np.quantile(total, [0.05, 0.95], axis=0)
        sums.append(np.mean((low <= np.cumsum(counts[120:])) & (np.cumsum(counts[120:]) <= high)))
    assert 0.86 <= np.mean(inside) <= 0.98
    assert np.mean(sums) >= 0.8


def test_gradient_of_the_log_posterior_by_finite_differences():
    _, counts = simulate_series(3, 40, 0)
    prior = RatePrior()
    problem = _Problem(counts, np.full(40, 5.0), 1.0, prior, FitLog(total=1))
    problem.tolerance = 1e-11
    theta, step = np.array(prior.mean) + 0.2, 1e-4
    slope = problem.value_and_slope(theta)[1]
    for k, move in enumerate(step * np.eye(6)):
        rise = problem.value_and_slope(theta + move)[0] - problem.value_and_slope(theta - move)[0]
        assert_allclose(slope[k], rise / (2 * step), atol=1e-4)


def test_a_steady_rate_is_found():
    counts = np.random.default_rng(0).poisson(20, 48)
    low, middle, high = RateModel(n_hyper=3).fit(counts).rate([24.0, 47.0])
    assert (low < 20).all()
    assert (high > 20).all()
    assert_allclose(middle, 20, rtol=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("counts", [[0.0] * 30, [7.0], [0.0], [1e9] * 12, [0, 0, 1e9, 0, 0, 3], [1.0] + [0.0] * 40])
def test_difficult_counts_give_an_answer(counts):
    posterior = QUICK.fit(counts)
    assert np.isfinite(posterior.rate([0.5, len(counts) + 3.0])).all()
    drawn = posterior.draws(len(counts) + 0.5 + np.arange(24), np.ones(24))
    assert np.isfinite(drawn).all()
    assert (drawn >= 0).all()


def test_no_event_gives_an_upper_end_that_falls_with_time():
    upper = [QUICK.fit([0.0] * n).rate([n / 2])[2, 0] for n in (6, 60)]
    assert upper[1] < upper[0]


@pytest.mark.parametrize(
    ("counts", "exposure", "error"),
    [
        ([], None, InsufficientData),
        ([0, 0], [0, 0], InsufficientData),
        ([-1], None, InvalidData),
        ([1, 2], [1], InvalidData),
        ([1], [0], InvalidData),
        ([1], [np.nan], InvalidData),
        (np.zeros(MAX_BINS + 1), None, TooLarge),
    ],
)
def test_what_cannot_be_fitted_is_named(counts, exposure, error):
    with pytest.raises(error):
        QUICK.fit(counts, exposure)


def test_settings_out_of_range_are_refused():
    for settings in ({"bin_hours": 0}, {"n_hyper": 0}, {"max_evaluations": 0}):
        with pytest.raises(InvalidSetting):
            RateModel(**settings)
    posterior = QUICK.fit([3, 4, 5])
    with pytest.raises(InvalidSetting):
        posterior.draws([4.5], [1.0], 0)
    with pytest.raises(InvalidData):
        posterior.draws([4.5], [1.0, 2.0])
    with pytest.raises(InvalidData):
        posterior.rate([np.nan])


@pytest.mark.slow
def test_one_seed_gives_one_result_and_another_start_nearly_the_same():
    counts = np.random.default_rng(1).poisson(9, 30)
    one, again = (RateModel(n_hyper=2).fit(counts, seed=4) for _ in range(2))
    hours = 30.5 + np.arange(5)
    assert_array_equal(one.draws(hours, np.ones(5), seed=2), again.draws(hours, np.ones(5), seed=2))
    warm = RateModel(n_hyper=2).fit(counts, start=one, seed=4)
    assert_allclose(warm.rate([29.5]), one.rate([29.5]), rtol=0.2)


def test_progress_is_told_and_cancels():
    steps: list[tuple[int, int]] = []
    QUICK.fit([3, 4, 5], progress=lambda step, total, _objective: steps.append((step, total)))
    assert len(steps) > 3
    with pytest.raises(Cancelled):
        QUICK.fit([3, 4, 5], progress=lambda *_: False)
