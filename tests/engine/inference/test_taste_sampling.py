"""Draws of tastes: truncated normals, a Gaussian case known in closed form, what grows with what is asked."""

import numpy as np
import pytest
from scipy.stats import kstest, norm, truncnorm

from models_engine.estimators.collaborative.sampled import Widening, count_components_beyond_noise
from models_engine.inference.tastes.perception import AnswerGroup, Perception, truncated_normal
from models_engine.inference.tastes.sampling import GRID, Sampled, ScaleDensities, sample_tastes
from models_engine.log_predictive import log_order_probabilities

SD = np.sqrt(0.5)


@pytest.mark.parametrize(("mean", "low", "high"), [(0.0, -0.3, 1.0), (2.0, -np.inf, 0.5), (-4.0, 0.0, np.inf)])
def test_truncated_normals_are_those_of_scipy(mean, low, high):
    drawn = truncated_normal(*(np.full(4000, one) for one in (mean, low, high)), np.random.default_rng(0))
    other = truncnorm((low - mean) / SD, (high - mean) / SD, mean, SD)
    assert kstest(drawn, other.cdf).pvalue > 1e-3


def test_far_in_a_tail_the_nearer_end_is_drawn():
    drawn = truncated_normal(np.array([-60.0]), np.array([0.0]), np.array([1.0]), np.random.default_rng(0))
    assert drawn[0] == pytest.approx(0.0, abs=1e-9)


def only_at(sd: float) -> np.ndarray:
    """A prior density with all its weight at the grid point nearest to sd."""
    return np.where(np.arange(len(GRID)) == np.abs(GRID - sd).argmin(), 0.0, -1e9)


@pytest.mark.slow
def test_one_person_who_always_answers_one_way_has_the_moments_of_quadrature():
    """A pair answered n times: the posterior of the margin by quadrature of its prior times Phi(z)^n."""
    n, at = 6, float(GRID[np.abs(GRID - 0.7).argmin()])
    pairs = AnswerGroup(np.zeros(n, np.int64), np.tile([0, 1], (n, 1)), np.tile([0, 1], (n, 1)))
    tiny = float(GRID[0])
    densities = ScaleDensities(only_at(at), only_at(tiny), only_at(at), lambda sd: np.zeros_like(sd))
    rng = np.random.default_rng(1)
    found = sample_tastes([pairs], 2, 1, 1, densities, rng, n_warm_up=200, n_draws=4_000, on_step=lambda _: None)
    z = np.linspace(-12, 12, 4001)
    prior_variance = 2 * (at**2 + at**2 + tiny**2)
    density = norm.pdf(z, scale=np.sqrt(prior_variance)) * norm.cdf(z) ** n
    mean = (z * density).sum() / density.sum()
    square = (z**2 * density).sum() / density.sum()
    assert 2 * found.own[0, 0] == pytest.approx(mean, abs=0.06)
    assert 4 * found.own_square[0, 0] == pytest.approx(square, rel=0.08)


@pytest.mark.slow
def test_a_tie_pulls_no_way():
    pairs = AnswerGroup(np.zeros(9, np.int64), np.tile([0, 1], (9, 1)), np.zeros((9, 2), np.int64))
    densities = ScaleDensities(only_at(1.0), only_at(0.01), only_at(0.3), lambda sd: np.zeros_like(sd))
    found = sample_tastes([pairs], 2, 1, 1, densities, np.random.default_rng(2), n_draws=3000, on_step=lambda _: None)
    assert abs(found.own[0, 0]) < 0.06
    assert found.own_square[0, 0] < 0.5 * (1 + 0.09), "nine ties say more than the prior"


@pytest.mark.parametrize("ranks", [[0, 1, 2], [0, 1, 1], [0, 0, 1]])
def test_a_set_is_reversed_as_often_as_its_probabilities_say(ranks):
    """P(reversed | order) by the probabilities of the order and of its reverse (Thurstone)."""
    mean, reliability, n = np.array([0.3, 0.0, -0.4]), 0.7, 2_000
    group = AnswerGroup(np.zeros(n, np.int64), np.tile([0, 1, 2], (n, 1)), np.tile(ranks, (n, 1)))
    answers, rng = Perception(group, may_reverse=True), np.random.default_rng(3)
    for _ in range(25):
        answers.draw(np.tile(mean, (n, 1)), np.array([reliability]), rng)
    kept, turned = (
        np.exp(log_order_probabilities(sign * mean[None, None], np.array([ranks]), "probit"))[0, 0] for sign in (1, -1)
    )
    expected = (1 - reliability) * turned / ((1 - reliability) * turned + reliability * kept)
    assert answers.reversed.mean() == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / n))
    assert answers.count(1)[0][0] + answers.count(1)[1][0] == n


def test_pairs_are_reversed_as_often_as_their_probabilities_say():
    margin, reliability, n = 0.8, 0.7, 4_000
    group = AnswerGroup(np.zeros(n, np.int64), np.tile([0, 1], (n, 1)), np.tile([0, 1], (n, 1)))
    answers = Perception(group, may_reverse=True)
    answers.draw(np.tile([margin, 0.0], (n, 1)), np.array([reliability]), np.random.default_rng(4))
    expected = 0.3 * norm.cdf(-margin) / (0.3 * norm.cdf(-margin) + 0.7 * norm.cdf(margin))
    assert answers.reversed.mean() == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / n))
    first_larger = answers.perceived[:, 0] > answers.perceived[:, 1]
    assert (first_larger != answers.reversed).all()


def test_widening_makes_deviations_those_of_the_draws():
    rng = np.random.default_rng(3)
    draws = 2.0 * rng.standard_normal((4000, 1, 12)) + 0.3
    moments = (draws.mean(axis=0), (draws**2).mean(axis=0))
    zero = np.zeros((12, 12))
    sampled = Sampled(
        zero, zero, 1.0, np.ones(1), np.ones((1, 1)), *moments, *moments, (draws > 0).mean(axis=0), *np.ones((3, 1))
    )
    at, sd = np.full(12, 0.3), np.full(12, 0.5)
    found = Widening.between(sampled, [(0, at, sd, at, sd)])
    assert found.own[0] == pytest.approx(4.0, rel=0.03)
    assert found.difference[0] == pytest.approx(4.0, rel=0.03)
    assert found.extended(3).own.tolist() == [found.own[0]] * 3


def test_noise_of_a_large_crowd_is_below_the_largest_eigenvalue_it_can_have():
    rng = np.random.default_rng(4)
    values = np.linalg.eigvalsh(np.cov(rng.standard_normal((200, 80)).T))[::-1]
    shares = values[:10] / values.sum()
    assert count_components_beyond_noise(shares * 0.97, 200, 81) == 0
    assert count_components_beyond_noise(np.r_[0.4, 0.2, shares[2:]] * 0.97, 200, 81) == 2
