"""Who comes back: simulated crowds whose numbers are known, what is certain by hand, and difficult data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from scipy.special import beta

from models_engine.analysis.returning import find_visits, forecast_returns
from models_engine.errors import Cancelled, InvalidData
from models_engine.inference.returns import (
    N_BINS,
    BetaGeometric,
    GapDistribution,
    fit_beta_geometric,
    fit_returns,
    longer_share,
)


def crowd(rng: np.random.Generator, n: int = 1500, until: float = 600.0):
    """People who join at random, stop after each visit with a chance of their own, Beta(1.2, 2.5), and else come again
    after an exponential gap of 30 hours on average: visits, silence, gaps, and whether they would come again."""
    n_visits, silence, gaps, again = [], [], [], []
    for stop in rng.beta(1.2, 2.5, n):
        at, k = rng.uniform(0, until), 1
        while True:
            goes, gap = rng.random() > stop, 0.5 + rng.exponential(30)
            if not goes or at + gap > until:
                break
            at, k = at + gap, k + 1
            gaps.append(gap)
        n_visits.append(k)
        silence.append(until - at)
        again.append(goes)
    return n_visits, silence, gaps, np.array(again)


def test_chances_of_visits_are_the_integrals_over_the_chance_to_stop():
    found = BetaGeometric(0.7, 1.9)
    k = np.arange(1, 6)
    # a person with k visits went on k - 1 times
    chance = beta(0.7 + 1, 1.9 + k - 1) / beta(0.7, 1.9 + k - 1)
    assert_allclose(found.stop(k), chance, rtol=1e-12)
    assert_allclose(found.more(k), 1 - chance, rtol=1e-12)
    assert_allclose(found.more(2, 3), np.prod(1 - found.stop([2, 3, 4])), rtol=1e-12)


def test_two_numbers_are_where_the_slope_is_nothing():
    rng = np.random.default_rng(3)
    stopped, continued = rng.integers(0, 40, 12), rng.integers(0, 60, 12)
    found = fit_beta_geometric(stopped, continued)
    visits = np.arange(1, 13)

    def log_posterior(logs):
        one = BetaGeometric(*np.exp(logs))
        return stopped @ np.log(one.stop(visits)) + continued @ np.log(one.more(visits)) - (logs @ logs) / 18

    assert_allclose(approx_fprime(np.log([found.a, found.b]), log_posterior, 1e-6), 0, atol=1e-2)


def test_a_crowd_whose_numbers_are_known_is_found_though_nobody_says_goodbye():
    n_visits, silence, gaps, again = crowd(np.random.default_rng(5))
    found = fit_returns(n_visits, silence, gaps)
    assert found.diagnostics.converged
    assert found.visits.a / (found.visits.a + found.visits.b) == pytest.approx(1.2 / 3.7, abs=0.05)
    chances = found.returns(n_visits, silence)
    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 1.0)):
        kept = (chances >= low) & (chances < high)
        spread = np.sqrt((chances[kept] * (1 - chances[kept])).sum()) / kept.sum()
        assert again[kept].mean() == pytest.approx(chances[kept].mean(), abs=4 * spread + 0.02)


def test_the_objective_never_falls():
    n_visits, silence, gaps, _again = crowd(np.random.default_rng(6), n=200)
    objective = np.array(fit_returns(n_visits, silence, gaps).diagnostics.objective)
    assert (np.diff(objective) > -1e-6).all()


def test_longer_silence_makes_it_less_likely_and_more_visits_more():
    n_visits, silence, gaps, _again = crowd(np.random.default_rng(7), n=300)
    found = fit_returns(n_visits, silence, gaps)
    assert (np.diff(found.returns(np.full(50, 4), np.geomspace(0.1, 3000, 50))) <= 1e-12).all()
    assert (np.diff(found.returns(np.arange(1, 30), np.full(29, 20.0))) > 0).all()
    within = found.returns_within([3, 3, 3], [5.0, 5.0, 5.0], np.array([1.0, 24.0, 24.0 * 400]))
    assert within[0] < within[1] < within[2] <= found.returns([3], [5.0])[0] + 1e-12


def test_gaps_are_shares_of_their_bins():
    gaps = GapDistribution(np.full(N_BINS, 1 / N_BINS))
    assert_allclose(gaps.longer([0, 0.5, 24 * 90, 1e9]), [1, 1, 0, 0], atol=1e-12)
    assert_allclose(gaps.longer(gaps.quantile(0.95)), 0.05)
    assert longer_share(np.zeros(0)).shape == (0, N_BINS)


@pytest.mark.parametrize(
    ("n_visits", "silence", "gaps"),
    [
        ([], [], []),
        ([1], [0.0], []),
        ([1] * 50, [1e6] * 50, []),
        ([10_000], [1.0], [1.0]),
        ([2, 2], [0.0, 0.0], [1e9, 0.0]),
    ],
    ids=["nobody", "one", "all gone long ago", "many visits", "gaps beyond the ends"],
)
def test_difficult_data_give_an_answer(n_visits, silence, gaps):
    found = fit_returns(n_visits, silence, gaps)
    chances = found.returns(np.array(n_visits, dtype=int), np.array(silence))
    assert np.isfinite(chances).all()
    assert ((chances >= 0) & (chances <= 1)).all()
    assert np.isfinite(found.gaps.quantile(0.95))


@pytest.mark.parametrize(
    ("n_visits", "silence", "gaps"),
    [
        ([0], [1.0], []),
        ([1], [-1.0], []),
        ([1], [np.nan], []),
        ([1, 2], [1.0], []),
        ([1], [1.0], [-2.0]),
        ([1.5], [1.0], []),
    ],
)
def test_bad_data_are_refused(n_visits, silence, gaps):
    with pytest.raises(InvalidData):
        fit_returns(n_visits, silence, gaps)
    with pytest.raises(InvalidData):
        fit_beta_geometric([1, -1], [1, 1])


def test_a_fit_can_be_cancelled():
    with pytest.raises(Cancelled):
        fit_returns([1, 2], [3.0, 4.0], [2.0], progress=lambda *_: False)


def test_visits_are_runs_of_labels_without_half_an_hour_of_nothing():
    times = [0.0, 0.1, 5.0, 2.0, 9.0, 30.0]
    found = find_visits(times, [7, 7, 7, 3, 3, 3], now=10.0)  # the last is after now: a clock that jumped
    assert list(found.annotators) == [3, 7]
    assert list(found.n_visits) == [2, 2]
    assert_allclose(found.silence, [1.0, 5.0])
    assert_allclose(sorted(found.gaps), [4.9, 7.0])


@pytest.mark.slow
def test_forecasts_do_not_depend_on_names_or_on_the_clock():
    rng = np.random.default_rng(8)
    times, who = rng.uniform(0, 300, 400), rng.integers(0, 30, 400)
    one = forecast_returns(times, who, 300.0)
    other = forecast_returns(times - 77.0, 1000 - who, 223.0)
    assert_allclose(one.probability, other.probability[::-1], rtol=1e-9)
    assert one.limit == pytest.approx(other.limit)
    assert one.expected_within_a_day == pytest.approx(other.within_a_day.sum())


def test_who_has_dropped_out_has_been_silent_for_long():
    rng = np.random.default_rng(9)
    busy = np.sort(rng.uniform(0, 700, (20, 60)), axis=1)
    gone = busy / 7  # all of theirs in the first hundred hours
    times = np.concatenate([busy.ravel(), gone.ravel()])
    found = forecast_returns(times, np.repeat(np.arange(40), 60), 700.0)
    assert not found.dropped_out[found.visits.silence <= found.limit].any()
    assert (found.probability[:20] > 0.5).sum() >= 18
    assert found.dropped_out[20:].all()
    nobody = forecast_returns([], [], 5.0)
    assert nobody.expected_within_a_day == 0
    assert np.isfinite(nobody.limit)
