"""The weighted total of criteria, against closed forms and against draws made here."""

import numpy as np
import pytest
from scipy.special import expit, logit

from models_engine.analysis.overall import weighted_total
from models_engine.covariance.forms import DenseCovariance
from models_engine.errors import InvalidData, InvalidSetting
from models_engine.estimators.competitor_posterior import CompetitorPosterior, Effects
from models_engine.posterior import Diagnostics, GaussianPosterior, SamplePosterior
from models_engine.predictive import Likelihood

DONE = Diagnostics(True, 1, (), 0.0, "")
FIRST = np.array([1.2, 0.9, -0.4, -1.7])
SECOND = np.array([-0.3, 0.8, 0.6, -1.1])
A = np.random.default_rng(3).normal(0, 0.4, (4, 4))
B = np.random.default_rng(4).normal(0, 0.6, (4, 4))


def gaussian(mean, root, **values) -> GaussianPosterior:
    return GaussianPosterior(mean - mean.mean(), DenseCovariance.of(root @ root.T), DONE, **values)


@pytest.fixture(scope="module")
def total():
    return weighted_total([gaussian(FIRST, A), gaussian(SECOND, B)], [3, 1], n_draws=20_000)


def test_mean_and_covariance_are_those_of_a_sum_of_normals(total):
    """Closed form: the mean of a sum is the sum of the means, its covariance that of independent terms."""
    expected = 0.75 * (FIRST - FIRST.mean()) + 0.25 * (SECOND - SECOND.mean())
    assert total.posterior.utilities() == pytest.approx(expected, abs=1e-12)
    centring = np.eye(4) - 0.25
    spread = centring @ (0.75**2 * A @ A.T + 0.25**2 * B @ B.T) @ centring
    assert total.posterior.covariance() == pytest.approx(spread, abs=0.02 * spread.max())


def test_places_are_those_of_independent_draws(total):
    """P(first), P(top 2) and the interval of places, by draws of each criterion from its uncentred normal."""
    rng = np.random.default_rng(9)
    first = FIRST + rng.standard_normal((60_000, 4)) @ A.T
    second = SECOND + rng.standard_normal((60_000, 4)) @ B.T
    # Ranks of uncentred draws are those of centred ones: a constant moves all items alike.
    ranks = (-(0.75 * first + 0.25 * second)).argsort(axis=1).argsort(axis=1) + 1
    top_2 = total.posterior.rank_summary(0.9, 2, n_samples=20_000)
    assert total.posterior.rank_summary(0.9, 1, n_samples=20_000).p_top_k == pytest.approx(
        (ranks == 1).mean(axis=0), abs=0.015
    )
    assert top_2.p_top_k == pytest.approx((ranks <= 2).mean(axis=0), abs=0.015)
    assert top_2.low.tolist() == np.quantile(ranks, 0.05, axis=0, method="lower").tolist()
    assert top_2.high.tolist() == np.quantile(ranks, 0.95, axis=0, method="higher").tolist()


def test_probits_count_in_logits(total):
    """The same answers by a probit link: utilities smaller by about 1.7, the total nearly the same."""
    probit = gaussian(SECOND / 1.7, B / 1.7, likelihood=Likelihood("probit"))
    other = weighted_total([gaussian(FIRST, A), probit], [3, 1])
    assert 1.5 < other.units[1] < 1.9
    assert other.posterior.utilities() == pytest.approx(total.posterior.utilities(), abs=0.05)


def test_competitors_count_in_logits_of_a_new_answer_about_a_new_context():
    """Two competitors 1.5 apart, their items spread by 1.2: the chance of a new answer by Monte Carlo."""
    none, tags, covariances = np.zeros(0), np.zeros((0, 2)), np.zeros((0, 2, 2))
    spread = (np.array([1.2]), np.ones(1), np.zeros(3))
    effects = Effects(*spread, none, np.zeros((0, 0)), tags, covariances, tags, tags, none)
    root = np.array([[0.3, 0.1], [0.0, 0.4]])
    mean, likelihood = np.array([0.75, -0.75]), Likelihood(side=0.4)
    own = CompetitorPosterior(mean, DenseCovariance.of(root @ root.T), DONE, likelihood, effects=effects)
    items = np.random.default_rng(2).normal(0, 1.2, (2, 400_000))
    margin = 1.5 + items[0] - items[1]
    chance = (expit(margin + 0.4).mean() + expit(margin - 0.4).mean()) / 2
    total = weighted_total([own.over_contexts(), gaussian(np.array([0.2, -0.2]), root)], [3, 1], n_draws=20_000)
    assert total.units == pytest.approx([logit(chance) / 1.5, 1], abs=0.005)
    assert total.posterior.utilities() == pytest.approx(0.75 * logit(chance) / 1.5 * mean + [0.05, -0.05], abs=0.005)
    apart = np.array([1, -1]) @ root @ root.T @ [1, -1]  # items' own effects add nothing to the doubt
    variance = (0.75 * total.units[0]) ** 2 * apart + 0.25**2 * apart
    assert total.posterior.difference_variance(0, 1) == pytest.approx(variance, rel=0.05)


def test_shares_say_how_much_of_the_differences_comes_from_each(total):
    contributions = np.stack([0.75 * (FIRST - FIRST.mean()), 0.25 * (SECOND - SECOND.mean())])
    assert total.contributions == pytest.approx(contributions)
    covariance = np.cov(contributions)
    assert total.shares == pytest.approx(covariance.sum(axis=1) / covariance.sum())


def test_a_criterion_of_weight_0_and_draws_change_nothing(total):
    draws = SamplePosterior.of(np.random.default_rng(5).normal(size=(500, 4)) * 9, DONE)
    alone = weighted_total([gaussian(FIRST, A), draws], [2, 0])
    assert alone.posterior.utilities() == pytest.approx(FIRST - FIRST.mean())
    assert alone.shares == pytest.approx([1, 0])
    both = weighted_total([gaussian(FIRST, A), draws], [1, 1])
    assert both.posterior.utilities() == pytest.approx(((FIRST - FIRST.mean()) + draws.utilities()) / 2)


@pytest.mark.parametrize("weights", [[0, 0], [1, -1], [1, np.nan], [1]])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(InvalidSetting):
        weighted_total([gaussian(FIRST, A), gaussian(SECOND, B)], weights)


def test_other_items_are_refused():
    with pytest.raises(InvalidData, match="same items"):
        weighted_total([gaussian(FIRST, A), gaussian(SECOND, B).restrict([0, 1, 2])], [1, 1])
