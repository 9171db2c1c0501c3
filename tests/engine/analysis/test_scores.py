"""Scores against answers drawn one by one, and the common unit against Bradley-Terry fits of very many answers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import expit, ndtr

from models_engine.analysis.scores import common_unit, compute_scores
from models_engine.constants import Z90
from models_engine.covariance.forms import DenseCovariance, LowRankCovariance
from models_engine.data import Comparisons
from models_engine.estimators.angle_based import AngleBased
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.estimators.plackett_luce import PlackettLuce
from models_engine.linalg import centre
from models_engine.posterior import Diagnostics, GaussianPosterior, Likelihood, SamplePosterior
from models_engine.simulate import simulate_crowd
from tests.engine.simulated_data import quick

FINE = Diagnostics(True, 1, (0.0,), 0.1, "fine")
N_ANSWERS = 400_000
WORLDS = {
    "logit": (Likelihood(), False),
    "probit": (Likelihood("probit"), False),
    "tastes": (Likelihood("probit"), True),
    "wrong answers": (Likelihood(lapse=0.12), False),
    "sides": (Likelihood(side=0.8), False),
    "ties": (Likelihood(tie=0.9), False),
}


def posterior_of(likelihood: Likelihood, has_tastes: bool, n: int = 6) -> GaussianPosterior:
    rng = np.random.default_rng(7)
    root, taste = 0.3 * rng.standard_normal((n, n)), 0.5 * rng.standard_normal((n, n))
    wide = DenseCovariance.of(taste @ taste.T) if has_tastes else None
    return GaussianPosterior(centre(rng.normal(size=n)), DenseCovariance.of(root @ root.T), FINE, likelihood, wide)


def answers(posterior: GaussianPosterior, utilities: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(n_answers, n_items) whether somebody prefers the item to an average one: untied answers, either side first."""
    likelihood, shape = posterior.likelihood, utilities.shape
    own = utilities
    if posterior.taste is not None:
        own = own + rng.multivariate_normal(np.zeros(shape[1]), posterior.taste.dense(), size=shape[0], method="eigh")
    margin = own + likelihood.side * rng.choice([-1.0, 1.0], size=shape)
    right = rng.random(shape) < (ndtr(margin) if likelihood.link == "probit" else expit(margin))
    return right != (rng.random(shape) < likelihood.lapse)


@pytest.mark.parametrize("world", WORLDS)
def test_a_score_is_the_share_of_answers_that_prefer_the_item_to_an_average_one(world):
    posterior, rng = posterior_of(*WORLDS[world]), np.random.default_rng(0)
    drawn = answers(posterior, posterior.sample(N_ANSWERS, rng=rng), rng)
    assert_allclose(compute_scores(posterior).score, 100 * drawn.mean(axis=0), atol=4 * 50 / np.sqrt(N_ANSWERS))


@pytest.mark.parametrize("world", ["probit", "tastes", "wrong answers"])
def test_the_ends_are_the_shares_at_the_ends_of_the_interval_of_the_utility(world):
    posterior, rng = posterior_of(*WORLDS[world]), np.random.default_rng(0)
    found = compute_scores(posterior)
    for end, sign in ((found.low, -1), (found.high, 1)):
        utilities = posterior.utilities() + sign * Z90 * posterior.standard_deviations()
        drawn = answers(posterior, np.broadcast_to(utilities, (N_ANSWERS, 6)), rng)
        assert_allclose(end, 100 * drawn.mean(axis=0), atol=4 * 50 / np.sqrt(N_ANSWERS))


def test_draws_give_what_the_gaussian_they_come_from_gives():
    posterior = posterior_of(Likelihood(), False)
    drawn = SamplePosterior.of(posterior.sample(2_000, rng=np.random.default_rng(1)), FINE)
    assert common_unit(drawn) == pytest.approx(1)
    exact, found = compute_scores(posterior), compute_scores(drawn)
    for name in ("score", "low", "high"):
        assert_allclose(getattr(found, name), getattr(exact, name), atol=3)


@pytest.mark.slow
@pytest.mark.usefixtures("quick_draws")
def test_every_estimator_gives_the_same_item_the_same_score():
    """Answers with tastes and errors: whatever an estimator makes of them, the chance to be preferred is one."""
    rng = np.random.default_rng(3)
    people = simulate_crowd(rng, 10, 40, utility_sd=1.0, taste_sd=0.7, n_components=50, reliability=(17, 3))
    data, honest, own = people.pairs(3_000, rng), people.reliability[:, None], centre(people.own)
    truth = 100 * (honest * expit(own) + (1 - honest) * expit(-own)).mean(axis=0)
    fits = {name: quick(name).fit(data) for name in ("BradleyTerry", "CrowdBT", "GPPL", "CollaborativeGP")}
    for name, fit in fits.items():
        assert np.abs(compute_scores(fit).score - truth).max() < 6, name
        # Closer to the truth than BradleyTerry are those that infer who answers the wrong way round.
        assert np.abs(compute_scores(fit).score - compute_scores(fits["BradleyTerry"]).score).max() < 5, name
    not_converted = [np.abs(100 * expit(fits[name].utilities()) - truth).max() for name in ("CrowdBT", "GPPL")]
    assert min(not_converted) > 6


def by_search(chance: np.ndarray, margin: np.ndarray) -> float:
    """The best factor, by a search over the divergence itself."""

    def divergence(u):
        p = expit(u * margin)
        return -(chance * np.log(p) + (1 - chance) * np.log1p(-p)).sum()

    return float(minimize_scalar(divergence, bounds=(0.05, 5), method="bounded", options={"xatol": 1e-10}).x)


@pytest.mark.parametrize("world", WORLDS)
def test_the_unit_is_the_factor_that_comes_closest(world):
    posterior = posterior_of(*WORLDS[world])
    left, right = np.triu_indices(posterior.n_items, 1)
    certain = GaussianPosterior(
        posterior.mean, DenseCovariance.of(np.zeros((6, 6))), FINE, posterior.likelihood, posterior.taste
    )
    chance = certain.pairwise_probabilities(left, right)
    assert common_unit(posterior) == pytest.approx(by_search(chance, posterior.mean[left] - posterior.mean[right]))


@pytest.mark.parametrize("world", ["logit", "probit", "tastes", "wrong answers"])
def test_the_unit_is_what_bradley_terry_makes_of_very_many_answers(world):
    posterior, rng = posterior_of(*WORLDS[world]), np.random.default_rng(2)
    n, left, right = posterior.n_items, *np.triu_indices(posterior.n_items, 1)
    which = rng.integers(len(left), size=N_ANSWERS)
    own = np.broadcast_to(posterior.mean, (N_ANSWERS, n))
    if posterior.taste is not None:
        own = own + rng.multivariate_normal(np.zeros(n), posterior.taste.dense(), size=N_ANSWERS, method="eigh")
    rows = np.arange(N_ANSWERS)
    margin = own[rows, left[which]] - own[rows, right[which]]
    chance = ndtr(margin) if posterior.likelihood.link == "probit" else expit(margin)
    wins = (rng.random(N_ANSWERS) < chance) != (rng.random(N_ANSWERS) < posterior.likelihood.lapse)
    data = Comparisons.from_pairs(left[which], right[which], wins.astype(float), n_items=n)
    fit = BradleyTerry(prior_sd=100).fit(data)
    mean = posterior.utilities()
    assert common_unit(posterior) == pytest.approx(fit.utilities() @ mean / (mean @ mean), rel=0.02)


def test_known_values_of_the_unit():
    near = GaussianPosterior(np.array([1e-3, -1e-3]), DenseCovariance.of(np.eye(2)), FINE, Likelihood("probit"))
    assert common_unit(near) == pytest.approx(np.sqrt(8 / np.pi), rel=1e-4)
    equal = GaussianPosterior(np.zeros(2), DenseCovariance.of(np.eye(2)), FINE, Likelihood("probit"))
    assert common_unit(equal) == pytest.approx(np.sqrt(8 / np.pi), rel=1e-4)
    alone = GaussianPosterior(np.zeros(1), DenseCovariance.of(np.zeros((1, 1))), FINE)
    assert common_unit(alone) == pytest.approx(1)
    assert_allclose(compute_scores(alone).score, 50)


@pytest.mark.slow
def test_draws_of_other_models_have_a_unit_of_their_own():
    """An angle-based model's utilities are no logits of pairs: the unit brings its pairs back all the same."""
    rng = np.random.default_rng(4)
    data = simulate_crowd(rng, 6, 40, utility_sd=1.0).rankings(400, 6, rng)
    posterior, pairs = AngleBased().fit(data), np.triu_indices(6, 1)
    mean = common_unit(posterior) * posterior.utilities()
    assert_allclose(expit(mean[pairs[0]] - mean[pairs[1]]), posterior.pairwise_probabilities(*pairs), atol=0.06)
    gibbs = PlackettLuce(inference="gibbs", n_draws=400).fit(data, rng=rng)
    assert common_unit(gibbs) == pytest.approx(1, abs=0.02)


def test_the_score_lies_within_its_interval_where_next_to_nothing_is_known():
    """Here the chance averaged over the posterior is nearer to 50 than the ends of the utility's interval are."""
    posterior = GaussianPosterior(
        np.array([-12.0, 12.0]), DenseCovariance.of(np.diag([72.0, 72.0])), FINE, Likelihood("probit")
    )
    found = compute_scores(posterior)
    reach = Z90 * posterior.standard_deviations()[0]
    assert found.score[0] > 100 * ndtr(posterior.utilities()[0] + reach) + 0.5
    assert (found.low <= found.score).all()
    assert (found.score <= found.high).all()


def test_ten_thousand_items():
    mean, spread = np.linspace(-5, 5, 10_000), LowRankCovariance(np.zeros((10_000, 1)), np.full(10_000, 0.3))
    found = compute_scores(GaussianPosterior(mean, spread, FINE))
    assert (np.diff(found.score) > 0).all()
    assert (found.low < found.score).all()
    assert (found.score < found.high).all()
    assert common_unit(GaussianPosterior(mean, spread, FINE)) == pytest.approx(1)
