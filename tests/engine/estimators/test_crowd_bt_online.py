"""CrowdBTOnline: moment matching against quadrature, exact fractions and the published expansion; near the batch."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.analysis.metrics import calibration_slope, coverage
from models_engine.data import Comparisons
from models_engine.errors import InvalidData
from models_engine.estimators.crowd_bt import CrowdBT
from models_engine.estimators.crowd_bt_online import CrowdBTOnline
from models_engine.inference.crowd_bt.moment_matching import match_moments, update_beta
from models_engine.simulate import simulate_crowd

TIE = {"tie": True, "log_nu": -0.5, "log_nu_variance": 0.6}
WIN_AMONG_TIES = {"log_nu": 0.4, "log_nu_variance": 1.5}


def answer(d: np.ndarray, nu: np.ndarray, reliability: float, tie: bool) -> np.ndarray:
    scale = np.exp(d / 2) + np.exp(-d / 2) + nu
    right, wrong = np.exp(d / 2) / scale, np.exp(-d / 2) / scale
    return nu / scale if tie else reliability * right + (1 - reliability) * wrong


@pytest.mark.parametrize("options", [{}, {"weight": 0.3}, WIN_AMONG_TIES, TIE, TIE | {"weight": 0.5}])
@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (2.0, 0.3), (-3.0, 2.0), (1.0, 8.0), (0.5, 1e-3)])
@pytest.mark.parametrize("reliability", [0.9, 0.5, 0.1])
def test_matched_moments_against_a_fine_grid(mean, sd, reliability, options):
    found = match_moments(mean, sd**2, reliability, **options)
    unit = np.linspace(-9, 9, 4_001)
    normal = np.exp(-(unit**2) / 2) / np.exp(-(unit**2) / 2).sum()
    few = np.linspace(-8, 8, 161)
    few_normal = np.exp(-(few**2) / 2) / np.exp(-(few**2) / 2).sum()
    tied = "log_nu" in options
    log_nu = options["log_nu"] + np.sqrt(options["log_nu_variance"]) * few if tied else np.array([-np.inf])
    prior = normal * (few_normal[:, None] if tied else 1.0)
    d = mean + sd * unit
    p = answer(d, np.exp(log_nu)[:, None], reliability, options.get("tie", False))
    joint = prior * p ** options.get("weight", 1.0)
    assert found.log_probability == pytest.approx(np.log(joint.sum()), abs=3e-5)
    joint /= joint.sum()
    of_d = joint.sum(axis=0)
    assert found.mean == pytest.approx(of_d @ d, abs=2e-4 * sd)
    assert found.variance == pytest.approx(of_d @ (d - of_d @ d) ** 2, rel=4e-4)
    if tied:
        of_nu = joint.sum(axis=1)
        assert found.log_nu == pytest.approx(of_nu @ log_nu, abs=1e-3)
        assert found.log_nu_variance == pytest.approx(of_nu @ (log_nu - of_nu @ log_nu) ** 2, rel=4e-3)
    if not options.get("tie"):
        good = prior * answer(d, np.exp(log_nu)[:, None], 1.0, False)
        bad = prior * answer(d, np.exp(log_nu)[:, None], 0.0, False)
        share = reliability * good.sum() / (reliability * good.sum() + (1 - reliability) * bad.sum())
        assert found.right == pytest.approx(share, abs=1e-5)


def exact_beta(alpha: float, beta: float, right: float, weight: float) -> tuple[Fraction, Fraction]:
    """(mean, variance) of the mixture, in fractions: no rounding at all."""
    a, b, r, w = (Fraction(value) for value in (alpha, beta, right, weight))
    size = a + b + w
    first = r * (a + w) / size + (1 - r) * a / size
    second = (r * (a + w) * (a + w + 1) + (1 - r) * a * (a + 1)) / (size * (size + 1))
    return first, second - first * first


@pytest.mark.parametrize("right", [1e-12, 0.03, 0.5, 0.93, 1 - 1e-12])
@pytest.mark.parametrize("weight", [1e-6, 0.4, 1.0, 1e6])
@pytest.mark.parametrize(
    ("alpha", "beta"), [(8.5, 1.5), (0.1, 0.1), (1e3, 2.0), (1e10, 1e10), (1e10, 1.5), (3.0, 1e10), (1e15, 1e14)]
)
def test_a_matched_beta_has_the_exact_mean_and_variance(alpha, beta, weight, right):
    found = update_beta(alpha, beta, right, weight)
    assert np.isfinite(found).all()
    assert min(found) > 0
    mean, variance = exact_beta(alpha, beta, right, weight)
    own = found[0] / (found[0] + found[1])
    assert own == pytest.approx(float(mean), rel=1e-14, abs=0)
    assert found[1] / (found[0] + found[1]) == pytest.approx(float(1 - mean), rel=1e-14, abs=0)
    mine = exact_beta(found[0], found[1], 0.5, 0.0)[1]
    assert float(mine) == pytest.approx(float(variance), rel=1e-9, abs=0)


def test_a_matched_beta_against_draws():
    rng, n = np.random.default_rng(0), 400_000
    alpha, beta, right, weight = 3.0, 2.0, 0.7, 0.8
    good = rng.random(n) < right
    draws = rng.beta(np.where(good, alpha + weight, alpha), np.where(good, beta, beta + weight))
    found = rng.beta(*update_beta(alpha, beta, right, weight), size=n)
    assert found.mean() == pytest.approx(draws.mean(), abs=4 * draws.std() * np.sqrt(2 / n))
    assert found.std() == pytest.approx(draws.std(), rel=0.01)


def test_ten_billion_answers_of_one_annotator_keep_counts_finite():
    data = Comparisons.from_pairs([0, 0], [1, 1], [1, 0], [0, 0], n_items=2, weights=[1.0, 1.0])
    start = CrowdBTOnline().fit(data)
    known = replace(start, counts=np.array([[9e9, 1e9]]))
    found = CrowdBTOnline().update(known, data)
    assert np.isfinite(found.counts).all()
    assert_allclose(found.counts.sum(), 1e10, rtol=1e-6)
    assert_allclose(found.counts[0, 0] / found.counts.sum(), 0.9, rtol=1e-9)


def test_one_answer_against_integration_over_both_utilities():
    found = CrowdBTOnline(prior_sd=1.2, reliability=(5.0, 2.0)).fit(Comparisons.from_pairs([0], [1], [1.0]))
    f = 1.2 * np.linspace(-8, 8, 801)
    normal = np.exp(-((f / 1.2) ** 2) / 2)
    joint = normal[:, None] * normal * answer(f[:, None] - f, np.zeros(1), 5 / 7, False)
    joint /= joint.sum()
    of_left = joint.sum(axis=1)
    mean = of_left @ f
    assert_allclose(found.utilities(), [mean, -mean], atol=1e-4)
    assert_allclose(found.spread.diagonal, of_left @ (f - mean) ** 2, rtol=1e-3)
    assert found.annotators.reliability[0] == pytest.approx(5 / 7), "a win between equals says nothing of who gave it"


def chen(mean, variance, alpha, beta):
    """Chen et al. 2013, (12), (13): expansion around the means after item 0 won; beats: P(0 beats 1)."""
    beats = 1 / (1 + np.exp(mean[1] - mean[0]))
    right = alpha * beats / (alpha * beats + beta * (1 - beats))
    push = right - beats
    shrink = right * (1 - right) - beats * (1 - beats)
    return mean + variance * push * np.array([1, -1]), variance * (1 + variance * shrink)


@pytest.mark.parametrize("gap", [0.0, 1.0, -2.0])
def test_small_steps_match_the_published_expansion(gap):
    settings = CrowdBTOnline(prior_sd=0.05, reliability=(4.0, 1.5))
    data = Comparisons.from_pairs([0], [1], [1.0])
    start = CrowdBTOnline(prior_sd=0.05).fit(data.with_weights([0.0]))
    start = replace(start, mean=np.array([gap / 2, -gap / 2]), counts=np.array([[4.0, 1.5]]))
    found = settings.update(start, data)
    mean, variance = chen(start.mean, np.full(2, 0.05**2), 4.0, 1.5)
    assert_allclose(found.utilities() - start.mean, mean - start.mean, rtol=0.01)
    assert_allclose(found.spread.diagonal - 0.05**2, variance - 0.05**2, rtol=0.03)


def simulated(seed: int, **keywords):
    rng = np.random.default_rng(seed)
    people = simulate_crowd(rng, 20, 20, utility_sd=1.5, reliability=(8.5, 1.5), **keywords)
    return people, people.pairs(600, rng)


@pytest.mark.slow
def test_online_is_close_to_the_batch_and_its_intervals_cover():
    """Twenty crowds. Standard errors: 2% of the coverage, 4% of the slope, 1.7% of the reliabilities' coverage."""
    covered, slopes, known, off = [], [], [], []
    for seed in range(20):
        people, data = simulated(seed)
        online, batch = CrowdBTOnline().fit(data), CrowdBT(prior_sd=1.5, reliability=(8.5, 1.5)).fit(data)
        covered.append(coverage(online, people.utilities))
        slopes.append(calibration_slope(online, people.utilities))
        low, high = online.reliability_interval()
        known.append(np.mean((low <= people.reliability) & (people.reliability <= high)))
        off.append(np.sqrt(np.mean((online.mean - batch.mean) ** 2)) / batch.standard_deviations().mean())
    assert 0.85 <= np.mean(covered) <= 0.95
    assert 0.9 <= np.mean(slopes) <= 1.1
    assert 0.83 <= np.mean(known) <= 0.95
    assert np.mean(off) < 0.5, "nearer to the batch than half a standard deviation"


@pytest.mark.parametrize("tie", [0.0, 0.8])
def test_labels_added_later_count_the_same_as_at_the_start(tie):
    people, first = simulated(1, tie=tie)
    more = people.pairs(200, np.random.default_rng(2))
    whole = CrowdBTOnline(side=True).fit(Comparisons.concatenate([first, more]))
    found = CrowdBTOnline(side=True).update(CrowdBTOnline(side=True).fit(first), more)
    assert_allclose(found.utilities(), whole.utilities(), atol=1e-9)
    assert_allclose(found.counts, whole.counts, rtol=1e-9)
    assert_allclose(found.standard_deviations(), whole.standard_deviations(), rtol=1e-9)
    assert found.likelihood.side == pytest.approx(whole.likelihood.side, abs=1e-9)
    assert found.log_nu_sd == pytest.approx(whole.log_nu_sd)
    assert (found.log_nu_sd > 0) == bool(tie)


def test_update_continues_from_a_batch_posterior_with_new_items_and_annotators():
    rng = np.random.default_rng(3)
    people, data = simulated(3)
    batch = CrowdBT().fit(data)
    more = Comparisons.from_pairs([20] * 12, rng.integers(20, size=12), np.ones(12), np.full(12, 20), n_items=21)
    found = CrowdBTOnline().update(batch, more)
    assert found.n_items == 21
    assert np.argmax(found.utilities()) == 20
    assert found.annotators.reliability.shape == (21,)
    moved = found.utilities()[:20] - batch.utilities()
    assert np.corrcoef(found.utilities()[:20], people.utilities)[0, 1] > 0.9
    assert (moved < 0).all(), "they lost against the new one, and the mean is 0 again"


def test_of_known_utilities_the_share_of_ties_is_the_exact_posteriors():
    """Log nu by itself, over a grid, for 300 answers about items that are equal for certain."""
    rng = np.random.default_rng(0)
    data = simulate_crowd(rng, 6, 3, tie=1.3, utility_sd=1e-6).pairs(300, rng)
    n_ties = int((data.pairs().outcome == 0.5).sum())
    log_nu = np.linspace(-4, 4, 8_001)
    log_density = n_ties * log_nu - 300 * np.log(2 + np.exp(log_nu)) - log_nu**2 / 18
    share = np.exp(log_density - log_density.max())
    share /= share.sum()
    mean = float(share @ log_nu)
    found = CrowdBTOnline(prior_sd=1e-3).fit(data)
    assert np.log(found.likelihood.tie) == pytest.approx(mean, abs=0.02)
    assert found.log_nu_sd == pytest.approx(np.sqrt(share @ (log_nu - mean) ** 2), rel=0.03)


@pytest.mark.slow
def test_nu_is_too_large_where_utilities_are_too_steep_and_ties_are_predicted_as_often_as_they_are():
    """Eight crowds who reverse no answer: a prior of .15 reversed ones makes both too large, one of .01 hardly."""
    left, right = np.triu_indices(40, 1)
    ties = Comparisons.from_pairs(left, right, np.full(len(left), 0.5), n_items=40)
    found = {}
    for prior in ((8.5, 1.5), (99.0, 1.0)):
        rows = []
        for seed in range(100, 108):
            rng = np.random.default_rng(seed)
            crowd = simulate_crowd(rng, 40, 12, tie=1.0, utility_sd=1.2)
            fitted = CrowdBTOnline(reliability=prior).fit(crowd.pairs(1_500, rng))
            margin = crowd.utilities[left] - crowd.utilities[right]
            share = (1 / (2 * np.cosh(margin / 2) + 1)).mean()
            slope = np.polyfit(crowd.utilities, fitted.utilities(), 1)[0]
            predicted = np.exp(fitted.log_predictive(ties)).mean()
            rows.append((np.log(fitted.likelihood.tie), slope, predicted / share))
        found[prior] = np.mean(rows, axis=0)
    (nu, slope, predicted), (other_nu, other_slope, other_predicted) = found.values()
    assert abs(other_nu) < 0.1 < nu
    assert abs(other_slope - 1) < 0.1 < slope - 1
    assert [predicted, other_predicted] == pytest.approx([1, 1], abs=0.04)


@pytest.mark.parametrize("ties", ["half", "ignore"])
def test_ties_as_halves_or_ignored(ties):
    data = Comparisons.from_pairs([0, 1, 0], [1, 2, 2], [1.0, 0.5, 0.5], [0, 0, 1], n_items=3)
    found = CrowdBTOnline(ties=ties).fit(data)
    halves = Comparisons.from_pairs([0, 1, 1, 0, 0], [1, 2, 2, 2, 2], [1, 1, 0, 1, 0], [0, 0, 0, 1, 1], n_items=3)
    weights = [1, 0.5, 0.5, 0.5, 0.5] if ties == "half" else [1, 0, 0, 0, 0]
    same = CrowdBTOnline().fit(halves.with_weights(weights))
    assert_allclose(found.utilities(), same.utilities(), atol=1e-12)
    assert_allclose(found.counts, same.counts, rtol=1e-12)


def test_a_weight_too_large_to_count_singly_is_rejected():
    data = Comparisons.from_pairs([0, 1], [1, 2], [1, 0], [0, 1], weights=[1e6, 1])
    with pytest.raises(InvalidData, match="1e\\+06"):
        CrowdBTOnline().fit(data)
    assert CrowdBTOnline().fit(data.with_weights(np.array([1e3, 1]))).utilities()[0] > 1
