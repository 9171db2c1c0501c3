"""Items compared with their neighbours alone, all answers agreeing: what is concluded, and what is said of it."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.special import expit, ndtr

from models_engine.covariance.forms import DenseCovariance
from models_engine.data import Comparisons
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.estimators.competitor_table import CompetitorTable
from models_engine.estimators.competitors import Competitors
from models_engine.estimators.crowd_bt import CrowdBT
from models_engine.estimators.crowd_bt_online import CrowdBTOnline
from models_engine.estimators.crowd_gppl import CrowdGPPL
from models_engine.estimators.feature_plackett_luce import FeaturePlackettLuce
from models_engine.estimators.gppl import GPPL
from models_engine.estimators.missed_agreement import compare_agreement
from models_engine.estimators.plackett_luce import PlackettLuce
from models_engine.posterior import GaussianPosterior, Likelihood
from models_engine.simulate import simulate_crowd
from tests.engine.simulated_data import make_chain

SURE = (1e9, 0.1)
SCALES = np.exp(np.arange(np.log(0.03), 4.0, 0.25))


def integrate_chain(n_items: int, n_answers: int) -> tuple[np.ndarray, np.ndarray]:
    """Posterior of the spread of utilities at SCALES, its log normal around log 1.5, and P(first above last) at each.

    Exact up to the grid: nobody is careless, so that item k + 1 depends on item k alone, and the joint distribution of
    the first and the last is a power of one matrix.
    """
    log_evidence, above = [], []
    for sd in SCALES:
        f = np.arange(-5 * sd, 5 * sd, min(0.25 * sd, 1.0))
        prior = np.exp(-((f / sd) ** 2) / 2)
        prior /= prior.sum()
        step = expit(f[:, None] - f) ** n_answers * prior
        joint = prior[:, None] * np.linalg.matrix_power(step, n_items - 1)
        log_evidence.append(np.log(joint.sum()))
        above.append((np.tril(joint, -1).sum() + np.trace(joint) / 2) / joint.sum())
    log_posterior = np.array(log_evidence) - np.log(SCALES / 1.5) ** 2 / 2
    posterior = np.exp(log_posterior - log_posterior.max())
    return posterior / posterior.sum(), np.array(above)


def test_a_spread_at_which_all_is_certain_is_found_where_it_explains_the_answers_better():
    """12 items: the evidence has a maximum at narrow spreads too, as of coin tosses, where it is e^11 times smaller."""
    posterior, above = integrate_chain(12, 5)
    assert posterior @ above > 0.99
    found = CrowdBT(reliability=SURE).fit(make_chain(12, 5))
    assert found.superiority(0, 11) > 0.97
    assert abs(np.log(found.prior_sd) - posterior @ np.log(SCALES)) < 0.5


@pytest.mark.slow
def test_a_long_chain_of_few_answers_is_taken_for_chance_and_the_fit_says_so():
    """One order of 40 items is one in 40!: 39 unanimous triples by chance are likelier, by exact integration too."""
    posterior, above = integrate_chain(40, 3)
    assert posterior @ above == pytest.approx(0.65, abs=0.05)
    for sure in (SURE, None):
        found = CrowdBT(reliability=sure).fit(make_chain(40, 3))
        assert found.superiority(0, 39) == pytest.approx(posterior @ above, abs=0.1)
        assert "agree in 100% of cases where this fit expects 5" in found.diagnostics.message
    learned = BradleyTerry(prior_sd=None).fit(make_chain(40, 3))
    assert "agree in 100% of cases where this fit expects 5" in learned.diagnostics.message


@pytest.mark.parametrize(
    ("estimator", "n_items", "n_answers"),
    [
        (BradleyTerry(), 40, 5),
        (CrowdBT(), 12, 5),
        (CrowdBT(), 40, 8),
        (CrowdBTOnline(), 12, 5),
        (PlackettLuce(), 40, 5),
        (GPPL(), 40, 5),
        (GPPL(inference="ep"), 40, 5),
        (CollaborativeGP(), 12, 5),
    ],
)
def test_the_first_is_above_the_last(estimator, n_items, n_answers):
    found = estimator.fit(make_chain(n_items, n_answers))
    assert found.superiority(0, n_items - 1) > 0.95
    assert found.diagnostics.converged


def test_competitors_are_in_order_where_their_items_are_in_five_contexts():
    """Each shown on either side: else that the left one always wins is the simpler explanation."""
    n, contexts = 12, np.arange(5)
    step, context, who = (one.ravel() for one in np.meshgrid(np.arange(n - 1), contexts, np.arange(5)))
    better = context * n + step
    swapped = (step + who + context) % 2
    left, right = better + swapped, better + 1 - swapped
    data = Comparisons.from_pairs(left, right, 1 - swapped, who, n_items=5 * n, n_annotators=5)
    table = CompetitorTable.of(np.tile(np.arange(n), 5), context=np.repeat(contexts, n))
    assert Competitors().fit(data, table).superiority(0, n - 1) > 0.95


@pytest.mark.parametrize(
    ("estimator", "n_answers"), [(FeaturePlackettLuce(), 5), (CollaborativeGP(), 5), (CrowdGPPL(), 3), (GPPL(), 3)]
)
def test_a_fit_that_cannot_order_a_long_chain_says_so(estimator, n_answers):
    found = estimator.fit(make_chain(40, n_answers))
    assert found.superiority(0, 39) < 0.95
    assert "agree in 100% of cases where this fit expects" in found.diagnostics.message


def test_crowds_whose_agreement_the_fit_expects_are_told_nothing():
    for seed, sd in enumerate((0.5, 1.5, 4.0)):
        rng = np.random.default_rng(seed)
        data = simulate_crowd(rng, 8, 12, utility_sd=sd, reliability=(8.5, 1.5)).pairs(300, rng)
        for estimator in (CrowdBT(), BradleyTerry(prior_sd=None), FeaturePlackettLuce(), GPPL()):
            assert "agree in" not in estimator.fit(data).diagnostics.message


def test_a_side_bias_where_the_order_is_always_the_same_is_not_missed_agreement():
    rng = np.random.default_rng(1)
    people = replace(simulate_crowd(rng, 12, 20, utility_sd=0.5), side=np.full(20, 2.0))
    shown = np.sort([rng.permutation(12)[:2] for _ in range(600)])
    data = people.pairs(600, rng, shown=shown)
    for estimator in (CrowdBT(side=True), BradleyTerry(prior_sd=None, side=True)):
        assert "agree in" not in estimator.fit(data).diagnostics.message


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_expected_agreement_by_draws_of_tastes_where_ties_are_left_out(link):
    """Two answers to one pair, shown either way round to people with different side effects; ties within 0.7 of 0."""
    rng, cut, side = np.random.default_rng(2), 0.7, np.array([0.5, -0.8])
    spread, taste = DenseCovariance.of(np.diag([0.5, 0.3])), DenseCovariance.of(np.diag([0.4, 0.9]))
    likelihood = Likelihood(link, cuts=(cut,), side=9.0, lapse=0.3)
    posterior = GaussianPosterior(np.array([0.6, 0.0]), spread, None, likelihood, taste)
    data = Comparisons.from_pairs([0, 1], [1, 0], [1, 0], [0, 1], n_items=2, n_annotators=2)
    n = 400_000
    margin = posterior.sample(n, rng=rng) @ [1, -1]
    noise_above = expit if link == "logit" else ndtr
    chances = []
    for shift in (side[0], -side[1]):
        own = margin + shift + taste.sample(n, rng) @ [1, -1]
        first, second = noise_above(own - cut), noise_above(-own - cut)
        chances.append(first / (first + second))
    expected = (chances[0] * chances[1] + (1 - chances[0]) * (1 - chances[1])).mean()
    found = compare_agreement(data.pairs(), posterior, side=side)
    assert found.observed == 1
    assert found.expected == pytest.approx(expected, abs=0.002)


def test_the_agreement_of_two_is_that_of_all_twos():
    """Against a loop over each two people and draws of utilities; a tie, and somebody who answers twice."""
    left, right = [0, 1, 0, 0, 1, 2, 1, 1, 1, 0], [1, 0, 1, 1, 0, 1, 2, 2, 2, 1]
    outcome, who = [1, 0, 1, 0, 0, 0, 1, 0.5, 1, 1], [0, 1, 2, 3, 4, 0, 1, 2, 4, 0]
    data = Comparisons.from_pairs(left, right, outcome, who, n_items=3, n_annotators=5)
    posterior, reliability = BradleyTerry().fit(data), np.array([0.9, 0.8, 0.7, 0.6, 0.95])
    won_by_low = {(0, 1): {0: 1, 1: 1, 2: 1, 3: 0, 4: 1}, (1, 2): {0: 1, 1: 1, 4: 1}}
    draws = posterior.sample(40_000, rng=np.random.default_rng(0))
    same, expected = [], []
    for (low, high), answers in won_by_low.items():
        p = expit(draws[:, low] - draws[:, high])
        for one, other in combinations(answers, 2):
            q, r = (reliability[j] * p + (1 - reliability[j]) * (1 - p) for j in (one, other))
            same.append(answers[one] == answers[other])
            expected.append((q * r + (1 - q) * (1 - r)).mean())
    found = compare_agreement(data.pairs(), posterior, reliability)
    assert found.observed == pytest.approx(np.mean(same))
    assert found.expected == pytest.approx(np.mean(expected), abs=0.003)
    assert found.deviations == pytest.approx(2 * (np.mean(same) - found.expected) * np.sqrt(len(same)))
