"""Forecasts of labels still needed, held against what simulated crowds then really needed."""

import numpy as np
import pytest

from models_engine.data import Comparisons
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.simulate import crowd
from models_engine.stopping import enough_history, labels_for_count, labels_for_top, labels_for_width
from models_engine.tiers import tiers

Z = 1.6449
SEEDS = range(6)


def needed(n_items: int, data: Comparisons, is_met, start: int, step: float) -> int | None:
    """Labels at which the goal is first met, to within a step."""
    n = start
    while n <= data.n_labels:
        if is_met(BradleyTerry().fit(data.subset(np.arange(n)))):
            return n
        n = int(n * step)
    return None


def test_the_width_is_forecast_within_a_factor_of_two_from_a_third_of_the_labels():
    """Stated in the module: the total lies in the range for nine of ten crowds, the middle is off by two at most."""
    inside, ratios = [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        data = crowd(rng, 25, 20).pairs(4_000, rng)
        total = needed(25, data, lambda fit: 2 * Z * fit.standard_deviations().max() <= 1.2, 400, 1.05)
        first = data.subset(np.arange(int(0.3 * total)))
        fit = BradleyTerry().fit(first)
        forecast = labels_for_width(fit.standard_deviations(), first.n_comparisons(), 1.2, per_label=2)
        inside.append(first.n_labels + forecast.low <= total <= first.n_labels + forecast.high)
        ratios.append((first.n_labels + forecast.middle) / total)
    assert np.mean(inside) >= 0.85
    assert 0.5 < min(ratios)
    assert max(ratios) < 2


def test_the_top_is_forecast_in_a_range_that_holds():
    """From a fixed number of labels, as the border's gap is unknown then: the range holds, the middle does not lean."""
    inside, below = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        data = crowd(rng, 8, 20).pairs(4_000, rng)
        now = BradleyTerry().fit(data.subset(np.arange(100)))
        forecast = labels_for_top(now, 3, n_labels=100, rng=np.random.default_rng(0))

        def apart(fit) -> bool:
            tier = tiers(fit, np.argsort(-fit.utilities()))
            return bool(tier[3] != tier[2])

        total = needed(8, data, apart, 100, 1.25)
        really = np.inf if total is None else total - 100
        inside.append(forecast.low <= really * 1.25 and really / 1.25 <= forecast.high)
        below.append(really <= forecast.middle)
    assert np.mean(inside) >= 0.8
    assert 0.25 <= np.mean(below) <= 0.85


def test_what_is_missing_is_counted():
    forecast = labels_for_count([10, 6, 12, 2], 10, per_label=2)
    assert (forecast.low, forecast.middle, forecast.high) == (6, 6, 16)
    assert labels_for_count([10, 11], 10, per_label=2).high == 0


def test_half_the_width_takes_four_times_the_labels_where_the_prior_says_nothing():
    sd, n = np.full(10, 0.5), np.full(10, 40)
    same = labels_for_width(sd, n, 2 * Z * 0.5, per_label=2, prior_sd=1e6)
    half = labels_for_width(sd, n, Z * 0.5, per_label=2, prior_sd=1e6)
    assert same.middle == pytest.approx(0, abs=1)
    assert 200 + half.middle == pytest.approx(4 * 200, rel=0.05)
    assert half.low < half.middle < half.high
    assert not labels_for_width(np.full(3, 1.5), np.zeros(3), 1.0, per_label=2).is_known


def test_items_that_tie_at_the_border_are_out_of_reach():
    flat = Comparisons.from_pairs(
        *np.repeat([[0, 1, 0, 2, 1, 2], [1, 0, 2, 0, 2, 1]], 200, axis=1), np.ones(1200), None
    )
    fit = BradleyTerry().fit(flat)
    assert labels_for_top(fit, 1, n_labels=1200, rng=np.random.default_rng(0)).high == np.inf
    assert labels_for_top(fit, 3, n_labels=1200, rng=np.random.default_rng(0)).middle == 0


@pytest.mark.parametrize(
    ("n_labels", "compared", "enough"),
    [([10, 50, 100], [8] * 5, True), ([50, 100], [8] * 5, False), ([98, 99, 100], [8] * 5, False),
     ([10, 50, 100], [2] * 5, False), ([10, 10, 100], [8] * 5, False), ([], [], False)],
)  # fmt: skip
def test_too_early_to_say(n_labels, compared, enough):
    assert enough_history(n_labels, np.array(compared)) == enough
