"""Predictive probabilities against adaptive quadrature, brute force over permutations, and each other's sums."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import expit, logsumexp
from scipy.stats import norm

from models_engine.log_predictive import log_order_probabilities
from models_engine.predictive import Likelihood, expectation, log_expectation


@pytest.mark.parametrize("variance", [0.0, 1e-4, 0.3, 2.0, 10.0, 400.0])
@pytest.mark.parametrize("mean", [-30.0, -3.0, 0.0, 0.7, 8.0])
def test_logit_expectation_against_adaptive_quadrature(mean, variance):
    if variance == 0:
        truth = expit(mean)
    else:
        sd = math.sqrt(variance)
        points = sorted({mean, 0.0, -mean, mean + variance})
        truth, _ = quad(
            lambda z: expit(z) * norm.pdf(z, mean, sd),
            mean - 12 * sd,
            mean + 12 * sd,
            points=[p for p in points if abs(p - mean) < 12 * sd],
            limit=500,
            epsabs=0,
            epsrel=1e-11,
        )
    found = Likelihood().preference(mean, variance)
    assert_allclose(found, truth, rtol=1e-8)


@pytest.mark.parametrize("sd", [0.5, 3.0, 4.0, 6.0, 8.0])
@pytest.mark.parametrize("mean", [-200.0, -100.0, -60.0, -40.0, -10.0, 40.0])
def test_rare_answers_are_integrated_where_their_probability_lies(mean, sd):
    """Against a fine grid over z whose middle is where e^z times the normal density is largest as well."""
    z = np.linspace(mean - 16 * sd, mean + sd**2 + 16 * sd, 200_001)
    tie = Likelihood(tie=0.5)
    for log_function, found in (
        (lambda z: -np.logaddexp(0, -z), float(Likelihood().log_outcome(1.0, mean, sd**2))),
        (
            lambda z: np.log(0.5) - np.logaddexp(np.logaddexp(z / 2, -z / 2), np.log(0.5)),
            float(tie.log_outcome(0.5, mean, sd**2)),
        ),
    ):
        truth = logsumexp(log_function(z) + norm.logpdf(z, mean, sd)) + np.log(z[1] - z[0])
        assert found == pytest.approx(truth, abs=1e-9)


def test_a_factor_e_to_the_z_has_its_closed_form_expectation():
    """E[e^z] = exp(mean + variance / 2), whose middle lies sd standard deviations from the mean."""
    mean, sd = np.meshgrid([-60.0, -41.0], [0.1, 1.0, 3.0, 5.0, 6.0])
    assert_allclose(log_expectation(lambda z: z, mean, sd**2), mean + sd**2 / 2, atol=1e-9)


def test_expectation_is_elementwise_over_very_different_variances():
    mean, variance = np.array([[0.5, -2.0, 1.0]]), np.array([[0.0], [3.0], [900.0]])
    found = expectation(lambda z: -np.logaddexp(0, -z), mean, variance)
    alone = [[float(expectation(lambda z: -np.logaddexp(0, -z), m, v)) for m in mean[0]] for v in variance[:, 0]]
    assert_allclose(found, alone, rtol=1e-9)


def test_probit_against_its_closed_form_by_sampling():
    rng = np.random.default_rng(0)
    draws = 0.4 + math.sqrt(1.7) * rng.standard_normal(1_000_000)
    assert float(Likelihood("probit").preference(0.4, 1.7)) == pytest.approx(norm.cdf(draws).mean(), abs=2e-3)


@pytest.mark.parametrize(
    "likelihood",
    [
        Likelihood(side=0.4),
        Likelihood(tie=0.8, side=-0.3),
        Likelihood(lapse=0.1, tie=0.5),
        Likelihood(tie_rate=0.2),
        Likelihood("probit", tie_rate=0.1, side=0.5, lapse=0.05),
    ],
)
@pytest.mark.parametrize("variance", [0.0, 1.5, 60.0])
def test_probabilities_of_all_outcomes_add_up_to_one(likelihood, variance):
    mean = np.array([-4.0, -0.3, 0.0, 2.0])
    outcomes = (1.0, 0.0, 0.5) if likelihood.tie or likelihood.tie_rate else (1.0, 0.0)
    total = sum(np.exp(likelihood.log_outcome(outcome, mean, variance)) for outcome in outcomes)
    assert_allclose(total, 1, atol=1e-9)


def test_davidson_probabilities():
    """pi_left : pi_right : nu sqrt(pi_left pi_right) (Davidson 1970, eq. 2.4)."""
    left, right, nu = 2.0, 0.5, 0.7
    total = left + right + nu * math.sqrt(left * right)
    model = Likelihood(tie=nu)
    margin = math.log(left / right)
    for outcome, expected in ((1, left), (0, right), (0.5, nu * math.sqrt(left * right))):
        assert float(np.exp(model.log_outcome(outcome, margin, 0.0))) == pytest.approx(expected / total)


def test_side_is_averaged_in_preferences_and_applied_to_answers_as_shown():
    model = Likelihood(side=0.6)
    assert float(model.preference(0.0, 2.0)) == pytest.approx(0.5)
    assert float(np.exp(model.log_outcome(1, 0.0, 0.0))) == pytest.approx(expit(0.6))
    assert float(np.exp(model.log_outcome(1, 0.0, 0.0, sided=False))) == pytest.approx(0.5)


def log_plackett_luce(order, f) -> float:
    f = f[list(order)]
    return sum(f[place] - np.log(np.exp(f[place:]).sum()) for place in range(len(f)))


def log_of(f, order, ranks, link) -> float:
    return float(log_order_probabilities(f[None, None, list(order)], np.array([ranks]), link)[0, 0])


PATTERNS = {  # ranks, best first -> the distinct answers, each as one order that stands for it
    "ranking": ([0, 1, 2, 3], list(itertools.permutations(range(4)))),
    "choice": ([0, 1, 1, 1], [(i, *(j for j in range(4) if j != i)) for i in range(4)]),
    "top two": (
        [0, 1, 2, 2],
        [(i, j, *(k for k in range(4) if k not in (i, j))) for i, j in itertools.permutations(range(4), 2)],
    ),
    "best-worst": (
        [0, 1, 1, 2],
        [(i, *(k for k in range(4) if k not in (i, j)), j) for i, j in itertools.permutations(range(4), 2)],
    ),
}


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("kind", PATTERNS)
def test_probabilities_of_all_answers_to_a_set_add_up_to_one(kind, link):
    f = np.random.default_rng(2).normal(size=4)
    ranks, orders = PATTERNS[kind]
    within = 3e-3 if (kind, link) == ("best-worst", "probit") else 1e-5
    assert sum(math.exp(log_of(f, order, ranks, link)) for order in orders) == pytest.approx(1, abs=within)


@pytest.mark.parametrize("kind", PATTERNS)
def test_sets_under_the_logit_link_against_all_permutations(kind):
    f = np.random.default_rng(3).normal(size=4)
    ranks, orders = PATTERNS[kind]
    order = orders[5 % len(orders)]
    middle = [order[place] for place in range(4) if ranks.count(ranks[place]) > 1]
    consistent = []
    for shuffled in itertools.permutations(middle):
        rest = iter(shuffled)
        consistent.append([next(rest) if item in middle else item for item in order])
    truth = math.log(sum(math.exp(log_plackett_luce(one, f)) for one in consistent))
    assert log_of(f, order, ranks, "logit") == pytest.approx(truth, abs=1e-6)


@pytest.mark.parametrize("kind", PATTERNS)
def test_sets_under_the_probit_link_against_simulation(kind):
    rng = np.random.default_rng(4)
    f = 0.5 * rng.normal(size=4)
    ranks, orders = PATTERNS[kind]
    order = np.array(orders[3])
    worth = f + rng.normal(scale=math.sqrt(0.5), size=(1_000_000, 4))
    ranked = np.argsort(-worth, axis=1)
    place = np.argsort(ranked, axis=1)[:, order]  # the place each item of our order took
    fixed = [i for i in range(4) if ranks.count(ranks[i]) == 1]
    share = (place[:, fixed] == np.array(fixed)).all(axis=1).mean()
    assert math.exp(log_of(f, order, ranks, "probit")) == pytest.approx(share, abs=4.5 * math.sqrt(share / 1e6))


def test_a_set_of_two_equals_a_pair():
    f = np.array([0.7, -0.4])
    assert log_of(f, (0, 1), [0, 1], "logit") == pytest.approx(math.log(expit(1.1)))
    assert log_of(f, (0, 1), [0, 1], "probit") == pytest.approx(norm.logcdf(1.1), abs=1e-5)
