"""CrowdBT against choix, plain optimisation and the exact posterior; honest intervals; mirrored starts."""

from dataclasses import replace

import choix
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from models_engine.analysis.metrics import calibration_slope, coverage, spearman
from models_engine.data import Comparisons
from models_engine.errors import InvalidSetting
from models_engine.estimators.crowd_bt import CrowdBT
from models_engine.estimators.crowd_posterior import CrowdPosterior
from models_engine.inference.crowd_bt.reliability import BetaPrior
from models_engine.inference.crowd_bt.scales import Scales
from models_engine.simulate import simulate_crowd
from tests.engine.inference.test_crowd_ep import integrate_exactly

SURE = (1e9, 0.1)


def simulated(seed: int, n_items: int = 20, n_annotators: int = 20, n_labels: int = 600, **keywords):
    """(people, labels) of CrowdBT's own model at its default prior."""
    rng = np.random.default_rng(seed)
    people = simulate_crowd(rng, n_items, n_annotators, **{"utility_sd": 1.5, "reliability": (8.5, 1.5), **keywords})
    return people, people.pairs(n_labels, rng)


def test_the_mode_matches_choix_where_every_annotator_is_reliable():
    _, data = simulated(0, n_items=12, n_labels=200)
    pairs = data.pairs()
    won = [(a, b) if y == 1 else (b, a) for a, b, y in zip(pairs.left, pairs.right, pairs.outcome, strict=True)]
    theirs = choix.opt_pairwise(12, won, alpha=1 / (2 * 1.5**2), method="Newton-CG", tol=1e-12)
    ours = CrowdBT(prior_sd=1.5, reliability=SURE, inference="map").fit(data)
    assert_allclose(ours.utilities(), theirs - theirs.mean(), atol=1e-5)
    doubtful = CrowdBT(prior_sd=1.5, inference="map").fit(data)
    assert np.abs(doubtful.utilities() - ours.utilities()).max() > 0.1, "reliabilities matter"


def test_the_mode_matches_plain_optimisation():
    """P(labels) with each reliability summed over 100 nodes, climbed by finite differences."""
    _, data = simulated(1, n_items=6, n_annotators=4, n_labels=90)
    pairs = data.pairs()
    nodes, weights = np.polynomial.legendre.leggauss(100)
    eta = (nodes + 1) / 2
    log_prior = np.log(weights) + 5 * np.log(eta) + np.log1p(-eta)

    def loss(f: np.ndarray) -> float:
        p = 1 / (1 + np.exp(-(f[pairs.left] - f[pairs.right])))[:, None]
        p = np.where(pairs.outcome[:, None] == 1, p, 1 - p)
        log_p = np.log(eta * p + (1 - eta) * (1 - p))
        per_annotator = [log_p[pairs.annotator == one].sum(axis=0) + log_prior for one in range(4)]
        return float(f @ f / (2 * 1.2**2) - np.logaddexp.reduce(per_annotator, axis=1).sum())

    best = minimize(loss, np.zeros(6), method="BFGS", options={"gtol": 1e-7, "finite_diff_rel_step": 1e-7})
    other = minimize(loss, -best.x, method="BFGS")
    assert loss(-best.x) > best.fun + 1
    assert min(best.fun, other.fun) == best.fun
    found = CrowdBT(prior_sd=1.2, reliability=(6.0, 2.0), inference="map").fit(data)
    assert_allclose(found.utilities(), best.x - best.x.mean(), atol=1e-4)


@pytest.fixture(scope="module")
def crowds():
    """24 crowds and what CrowdBT with its default settings makes of them."""
    return [(people, CrowdBT().fit(data)) for people, data in (simulated(seed) for seed in range(24))]


@pytest.mark.slow
def test_intervals_cover_and_utilities_have_the_right_scale(crowds):
    """Standard errors over crowds: about 1.9% of the coverage, 5% of the slope."""
    assert 0.85 <= np.mean([coverage(found, people.utilities) for people, found in crowds]) <= 0.95
    assert 0.43 <= np.mean([coverage(found, people.utilities, 0.5) for people, found in crowds]) <= 0.57
    assert 0.9 <= np.mean([calibration_slope(found, people.utilities) for people, found in crowds]) <= 1.1


@pytest.mark.slow
def test_reliability_intervals_cover(crowds):
    covered, right, half = [], [], []
    for people, found in crowds:
        low, high = found.reliability_interval(0.9)
        covered.append((low <= people.reliability) & (people.reliability <= high))
        low, high = found.reliability_interval(0.5)
        half.append((low <= people.reliability) & (people.reliability <= high))
        right.append(np.corrcoef(found.annotators.reliability, people.reliability)[0, 1])
    assert 0.85 <= np.mean(covered) <= 0.95
    assert 0.42 <= np.mean(half) <= 0.58
    assert np.mean(right) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("n_labels", [20, 40])
def test_a_reversed_ranking_of_equal_likelihood_is_part_of_the_posterior(n_labels):
    """Annotators agree, and whether they are right or wrong only the prior knows: against numerical integration."""
    rng = np.random.default_rng(n_labels)
    left = rng.integers(3, size=n_labels)
    right = (left + rng.integers(1, 3, n_labels)) % 3
    outcome = np.where(rng.random(n_labels) < 0.95, left < right, left > right).astype(float)
    who = rng.integers(2, size=n_labels)
    data = Comparisons.from_pairs(left, right, outcome, who, n_items=3, n_annotators=2)
    found = CrowdBT(prior_sd=1.5, reliability=(2.0, 1.5)).fit(data)
    _, mean, covariance, reliabilities = integrate_exactly(data, Scales(1.5, BetaPrior(2.0, 1.5)))
    sd = np.sqrt(np.diagonal(covariance))
    assert_allclose(found.utilities(), mean, atol=0.1 * sd.mean())
    assert_allclose(found.standard_deviations(), sd, rtol=0.12)
    assert_allclose(found.annotators.reliability, reliabilities, atol=0.02)
    assert "wrong way round" in found.diagnostics.message
    certain = CrowdBT(prior_sd=1.5, reliability=(200.0, 10.0)).fit(data)
    assert certain.standard_deviations().max() < 0.7 * sd.max(), "the mirrored ranking widens the intervals"
    assert "wrong way round" not in certain.diagnostics.message


@pytest.mark.slow
@pytest.mark.parametrize("second", [0.9, 0.1])
@pytest.mark.parametrize("prior", [(1.5, 1.0), (1.0, 0.5), (0.5, 0.3), (0.3, 0.1), (3.0, 0.3)])
def test_weak_and_u_shaped_priors_of_reliability_against_numerical_integration(prior, second):
    """40 answers of two people. With 16 means are up to .6 deviations off, see the class."""
    rng, n = np.random.default_rng(40), 40
    left = rng.integers(3, size=n)
    right = (left + rng.integers(1, 3, n)) % 3
    who = rng.integers(2, size=n)
    utilities = np.array([1.2, 0.3, -1.2])
    won = utilities[left] - utilities[right] + rng.logistic(size=n) > 0
    outcome = np.where(rng.random(n) < np.array([0.9, second])[who], won, ~won).astype(float)
    data = Comparisons.from_pairs(left, right, outcome, who, n_items=3, n_annotators=2)
    found = CrowdBT(prior_sd=1.5, reliability=prior).fit(data)
    _, mean, covariance, reliabilities = integrate_exactly(data, Scales(1.5, BetaPrior(*prior)))
    sd = np.sqrt(np.diagonal(covariance))
    assert_allclose(found.utilities(), mean, atol=0.12 * sd.mean())
    assert_allclose(found.standard_deviations(), sd, rtol=0.18)
    assert_allclose(found.annotators.reliability, reliabilities, atol=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("n_labels", [600, 4_000])
@pytest.mark.parametrize("inference", ["ep", "map"])
def test_a_reversed_start_is_corrected(n_labels, inference):
    """4,000 labels are enough for a warm start to be taken at its word, were it not looked at."""
    people, data = simulated(5, n_labels=n_labels)
    cold = CrowdBT(inference=inference).fit(data)
    assert spearman(cold.utilities(), people.utilities) > 0.8
    mirrored = replace(cold, mean=-cold.mean, counts=cold.counts[:, ::-1].copy())
    again = CrowdBT(inference=inference).fit(data, start=mirrored)
    assert_allclose(again.utilities(), cold.utilities(), atol=0.05 * cold.standard_deviations().mean())
    assert_allclose(again.annotators.reliability, cold.annotators.reliability, atol=0.01)


@pytest.mark.slow
def test_a_warm_start_on_many_labels_matches_a_cold_one_in_fewer_steps():
    rng = np.random.default_rng(0)
    people, data = simulated(6, n_items=60, n_annotators=40, n_labels=6_000)
    more = Comparisons.concatenate([data, people.pairs(100, rng)])
    first = CrowdBT().fit(data)
    cold, warm = CrowdBT().fit(more), CrowdBT().fit(more, start=first)
    sd = cold.standard_deviations()
    assert_allclose(warm.utilities(), cold.utilities(), atol=0.05 * sd.mean())
    assert_allclose(warm.standard_deviations(), sd, rtol=0.02)
    assert warm.diagnostics.n_iterations < cold.diagnostics.n_iterations
    assert np.abs(first.utilities() - cold.utilities()).max() > 0.1 * sd.mean(), "the new labels count"


@pytest.mark.parametrize("setting", [(1.5, (850.0, 1.5)), (70.0, (8.5, 1.5)), (1.5, (1.2, 1.0))])
def test_scales_that_were_set_stay_as_set_where_learned_ones_have_bounds(setting):
    """Annotator 1 has no answers, so that their reliability has its Beta prior, in closed form."""
    prior_sd, (alpha, beta) = setting
    data = Comparisons.from_pairs([0] * 5, [1] * 5, [1, 1, 1, 1, 0], [0] * 5, n_items=3, n_annotators=2)
    found = CrowdBT(prior_sd=prior_sd, reliability=(alpha, beta)).fit(data)
    assert found.prior_sd == pytest.approx(prior_sd)
    assert found.crowd == pytest.approx((alpha, beta))
    size = alpha + beta
    assert found.annotators.reliability[1] == pytest.approx(alpha / size, abs=1e-4)
    assert found.annotators.reliability_sd[1] == pytest.approx(np.sqrt(alpha * beta / (size + 1)) / size, rel=1e-2)


def test_annotators_who_reverse_the_question_are_detected_and_used():
    rng = np.random.default_rng(7)
    people = simulate_crowd(rng, 20, 12, utility_sd=1.5)
    people = replace(people, reliability=np.where(np.arange(12) < 4, 0.02, 0.98))
    data = people.pairs(900, rng)
    found = CrowdBT().fit(data)
    low, high = found.reliability_interval()
    assert (high[:4] < 0.5).all()
    assert (low[4:] > 0.5).all()
    straight = data.with_weights((data.annotators >= 4).astype(float))
    known = CrowdBT(prior_sd=1.5, reliability=(2.2, 0.8))
    found, without = known.fit(data), known.fit(straight)
    assert found.standard_deviations().mean() < 0.95 * without.standard_deviations().mean(), "reversed answers inform"


@pytest.mark.slow
def test_ties_in_the_likelihood_keep_the_slope_correct_unlike_halves():
    """Ten crowds with 27% ties: Davidson's model is the truth here."""
    slopes = {"davidson": [], "half": []}
    nus = []
    for seed in range(10):
        people, data = simulated(seed, tie=1.0)
        for ties, values in slopes.items():
            found = CrowdBT(ties=ties).fit(data)
            values.append(calibration_slope(found, people.utilities))
            nus += [found.likelihood.tie] if ties == "davidson" else []
    assert 0.9 <= np.mean(slopes["davidson"]) <= 1.1
    assert np.mean(slopes["half"]) > np.mean(slopes["davidson"]) + 0.1
    assert 0.8 < np.mean(nus) < 1.25


def test_the_side_effect_is_found():
    people, _ = simulated(3)
    people, rng = replace(people, side=np.full(20, 0.7)), np.random.default_rng(0)
    found = CrowdBT(side=True).fit(people.pairs(2_000, rng)).likelihood
    assert found.side_sd is not None
    assert abs(found.side - 0.7) < 3 * found.side_sd
    assert 0.02 < found.side_sd < 0.2


def test_a_new_annotator_has_the_prior_reliability():
    _, data = simulated(2)
    found = CrowdBT().fit(Comparisons.concatenate([data, simulated(2, n_annotators=21, n_labels=0)[1]]))
    alpha, beta = found.crowd
    low, high = found.reliability_interval()
    assert found.annotators.reliability[-1] == pytest.approx(alpha / (alpha + beta), abs=0.01)
    assert high[-1] - low[-1] > np.median(high - low)


def test_settings_out_of_range_are_reported():
    _, data = simulated(0, n_labels=10)
    for wrong in ({"reliability": (1.0, 2.0)}, {"reliability": (2.0, 0.0)}, {"prior_sd": -1.0}, {"tolerance": 0.0}):
        with pytest.raises(InvalidSetting, match=next(iter(wrong))):
            CrowdBT(**wrong).fit(data)


def test_stored_and_loaded_reliabilities_are_the_same():
    found = CrowdBT().fit(simulated(0)[1])
    again = CrowdPosterior.from_arrays(found.to_arrays())
    assert_allclose(again.reliability_interval(), found.reliability_interval())
