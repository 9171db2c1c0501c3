"""Draws of tastes: truncated normals, a Gaussian case known in closed form, what grows with what is asked."""

import numpy as np
import pytest
from scipy.stats import beta, kstest, norm, truncnorm

from models_engine.data import Comparisons
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.estimators.collaborative.sampled import (
    LOG_TOTALS,
    ConsensusFactors,
    Widening,
    count_components,
    count_components_beyond_noise,
    count_sweeps,
    log_density_of_total,
    scale_densities,
    told_taste,
)
from models_engine.inference.tastes.perception import AnswerGroup, Perception, truncated_normal
from models_engine.inference.tastes.reliability import MEANS, SIZES
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
    found = sample_tastes([pairs], 2, 1, 1, densities, rng, n_warm_up=200, n_draws=1_500, on_step=lambda _: None)
    z = np.linspace(-12, 12, 4001)
    prior_variance = 2 * (at**2 + at**2 + tiny**2)
    density = norm.pdf(z, scale=np.sqrt(prior_variance)) * norm.cdf(z) ** n
    mean = (z * density).sum() / density.sum()
    square = (z**2 * density).sum() / density.sum()
    assert 2 * found.own[0, 0] == pytest.approx(mean, abs=0.06)
    assert 4 * found.own_square[0, 0] == pytest.approx(square, rel=0.08)


@pytest.mark.slow
@pytest.mark.parametrize("reliability", [False, True])
def test_scales_that_are_drawn_have_the_moments_of_quadrature(reliability):
    """One person, one pair, 9 answers one way and one the other, every scale among neighbouring points of the grid.

    Over eight chains of 2,000 draws without reliabilities, moments differed with standard deviations of .014, .02 (of
    the square, relative) and .004 (of the log scale), a sixth of what is allowed or less; with them, by far more.
    """
    right, wrong = 9, 1
    pairs = AnswerGroup(np.zeros(10, np.int64), np.tile([0, 1], (10, 1)), np.array([[0, 1]] * right + [[1, 0]] * wrong))
    at = np.abs(GRID - 0.5).argmin() + np.arange(20)
    densities = np.full((3, len(GRID)), -1e9)
    densities[:, at] = np.random.default_rng(7).normal(size=(3, len(at)))
    rng = np.random.default_rng(8)
    found = sample_tastes(
        [pairs],
        2,
        1,
        1,
        ScaleDensities(*densities, lambda sd: -((sd - 1.0) ** 2)),
        rng,
        reliability=reliability,
        n_draws=7_000 if reliability else 1_500,
        on_step=lambda _: None,
    )
    z = np.linspace(-16, 16, 801)
    eta, share = np.ones(1), np.ones(1)
    if reliability:
        edges = 1 - np.r_[1.0, np.geomspace(0.8, 1e-12, 300), 0.0]
        a, b = (SIZES * MEANS[:, None]).ravel(), (SIZES * (1 - MEANS[:, None])).ravel()
        eta, share = (edges[1:] + edges[:-1]) / 2, np.diff(beta.cdf(edges[:, None], a, b), axis=0).mean(axis=1)
    chance = norm.cdf(z) * eta[:, None] + norm.cdf(-z) * (1 - eta[:, None])
    by_eta = share[:, None] * chance**right * (1 - chance) ** wrong
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    tau, s, r, w = np.meshgrid(GRID[at], GRID[at], GRID[at], np.arange(20), indexing="ij")
    variance = 2 * (tau**2 + (s * nodes[w]) ** 2 + r**2)
    knots = np.geomspace(variance.min(), variance.max(), 120)
    likelihoods = norm.pdf(z, scale=np.sqrt(knots)[:, None])
    prior = densities[0][at][:, None, None, None] + densities[1][at][:, None, None] + densities[2][at][:, None]
    mass = weights[w] * np.exp(prior - (np.sqrt(s**2 + r**2) - 1.0) ** 2)

    def expected(values: np.ndarray) -> float:
        """Return the sum over z and reliabilities, then over scales, of these values (len(eta), len(z))."""
        by_variance = likelihoods @ (by_eta * values).sum(axis=0)
        return float((mass * np.interp(variance, knots, by_variance)).sum())

    one = np.ones_like(by_eta)
    total = expected(one)
    by_variance = likelihoods @ by_eta.sum(axis=0)
    log_tau = float((mass * np.interp(variance, knots, by_variance) * np.log(tau)).sum()) / total
    assert 2 * found.own[0, 0] == pytest.approx(expected(one * z) / total, abs=0.12)
    assert 4 * found.own_square[0, 0] == pytest.approx(expected(one * z**2) / total, rel=0.12)
    assert np.log(found.consensus_sd) == pytest.approx(log_tau, abs=0.04)
    assert found.reliability[0] == pytest.approx(expected(one * eta[:, None]) / total, abs=0.02)


@pytest.mark.slow
def test_a_tie_pulls_no_way():
    pairs = AnswerGroup(np.zeros(9, np.int64), np.tile([0, 1], (9, 1)), np.zeros((9, 2), np.int64))
    densities = ScaleDensities(only_at(1.0), only_at(0.01), only_at(0.3), lambda sd: np.zeros_like(sd))
    found = sample_tastes([pairs], 2, 1, 1, densities, np.random.default_rng(2), n_draws=1000, on_step=lambda _: None)
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
    kept, turned = answers.chances(np.tile(mean, (n, 1)), np.array([reliability]))
    assert (kept == ~answers.reversed).all(), "whether a set is reversed is known"
    assert (kept + turned == 1).all()


def test_pairs_are_reversed_as_often_as_their_probabilities_say():
    margin, reliability, n = 0.8, 0.7, 4_000
    group = AnswerGroup(np.zeros(n, np.int64), np.tile([0, 1], (n, 1)), np.tile([0, 1], (n, 1)))
    answers = Perception(group, may_reverse=True)
    answers.draw(np.tile([margin, 0.0], (n, 1)), np.array([reliability]), np.random.default_rng(4))
    expected = 0.3 * norm.cdf(-margin) / (0.3 * norm.cdf(-margin) + 0.7 * norm.cdf(margin))
    assert answers.reversed.mean() == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / n))
    first_larger = answers.perceived[:, 0] > answers.perceived[:, 1]
    assert (first_larger != answers.reversed).all()


def test_other_utilities_change_the_density_of_pairs_and_sets_as_the_normal_distribution_says():
    rng, factor = np.random.default_rng(5), 1.3
    before, after, reliability = rng.normal(size=(4, 2)), rng.normal(size=(4, 2)), np.array([0.9, 0.6])
    who = np.array([0, 0, 1, 1])
    pairs = Perception(AnswerGroup(who, np.tile([0, 1], (4, 1)), np.tile([1, 0], (4, 1))), may_reverse=True)
    pairs.draw(before, reliability, rng)
    chance = [
        norm.cdf(m) * reliability[who] + norm.cdf(-m) * (1 - reliability[who])
        for m in (mean[:, 1] - mean[:, 0] for mean in (after, before))
    ]
    expected = np.log(chance[0] / chance[1]).sum()
    assert gain(pairs, before, after, factor, reliability) == pytest.approx(expected)
    before, after = rng.normal(size=(2, 4, 3))
    sets = Perception(AnswerGroup(who, np.tile([0, 1, 2], (4, 1)), np.tile([0, 1, 2], (4, 1))), may_reverse=True)
    sets.draw(before, reliability, rng)
    perceived = factor * sets.perceived, sets.perceived
    density = [norm.logpdf(z, mean, SD).sum() for z, mean in zip(perceived, (after, before), strict=True)]
    expected = density[0] - density[1] + 12 * np.log(factor)
    assert gain(sets, before, after, factor, reliability) == pytest.approx(expected)


def gain(seen: Perception, before: np.ndarray, after: np.ndarray, factor: float, reliability: np.ndarray) -> float:
    return seen.log_density(after, factor, reliability) - seen.log_density(before, 1.0, reliability)


def drawn_from(log_density: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.choice(GRID, n, p=np.exp(log_density) / np.exp(log_density).sum())


def test_the_density_of_a_root_of_squares_is_that_of_draws():
    rng, n = np.random.default_rng(9), 200_000
    densities = scale_densities(CollaborativeGP(), 3)
    log_densities = [densities.own] + [densities.component] * 3
    total = np.sqrt(sum(drawn_from(one, n, rng) ** 2 for one in log_densities))
    points, mass = np.exp(LOG_TOTALS), np.exp(log_density_of_total(log_densities))
    mass /= mass.sum()
    for power in (-1.0, 0.5, 1.0):
        values = total**power
        assert mass @ points**power == pytest.approx(values.mean(), abs=5 * values.std() / np.sqrt(n), rel=2e-3)


def test_a_whole_taste_is_as_large_beforehand_as_its_prior_says_with_any_number_of_components():
    """Draws of the parts, weighted by the factor of the whole: a log-normal of median taste_sd."""
    rng, n, settings = np.random.default_rng(10), 400_000, CollaborativeGP()
    for n_components in (1, 6):
        densities = scale_densities(settings, n_components)
        parts = [densities.own] + [densities.component] * n_components
        total = np.sqrt(sum(drawn_from(one, n, rng) ** 2 for one in parts))
        weight = np.exp(densities.total(total))
        log_total = np.log(total / settings.taste_sd)
        mean = (weight @ log_total) / weight.sum()
        sd = np.sqrt(weight @ (log_total - mean) ** 2 / weight.sum())
        assert mean == pytest.approx(0.0, abs=0.06)
        assert sd == pytest.approx(settings.log_scale_sd, abs=0.08)


def test_fewer_answers_are_given_more_sweeps():
    def pairs(n: int) -> Comparisons:
        left = np.arange(n) % 10
        return Comparisons.from_pairs(left, left + 1, np.ones(n), np.arange(n) % 9)

    assert count_sweeps(pairs(10_000)) == (250, 450)
    assert count_sweeps(pairs(2_500)) == (250, 900)
    assert count_sweeps(pairs(100)) == (450, 1800)


def test_factors_of_the_consensus_make_it_that_of_the_draws_on_average():
    rng = np.random.default_rng(6)
    parts = np.repeat([0, 1], 5)
    mean, covariance = rng.normal(size=10), np.diag(rng.uniform(0.5, 1.0, 10))
    centred = np.concatenate([one - one.mean() for one in np.split(mean, 2)])
    drawn = 0.8 * centred + 1.5 * (rng.standard_normal((20_000, 10)) * np.sqrt(np.diagonal(covariance)))
    drawn = np.concatenate([one - one.mean(axis=1, keepdims=True) for one in np.split(drawn, 2, axis=1)], axis=1)
    zero, one = np.zeros((10, 10)), np.ones(1)
    unused = (one,) * 7
    sampled = Sampled(zero, zero, 1.0, one, zero, *unused, 1.0, drawn.mean(axis=0), (drawn**2).mean(axis=0))
    found = ConsensusFactors.between(sampled, mean + 3.0 * parts, covariance, parts)
    assert found.mean == pytest.approx(0.8, abs=0.02)
    assert found.sd == pytest.approx(1.5, abs=0.02)
    nothing = ConsensusFactors.between(sampled, np.zeros(10), covariance, np.arange(10))
    assert nothing == ConsensusFactors()


def test_widening_makes_deviations_those_of_the_draws():
    rng = np.random.default_rng(3)
    draws = 2.0 * rng.standard_normal((4000, 1, 12)) + 0.3
    moments = (draws.mean(axis=0), (draws**2).mean(axis=0))
    zero = np.zeros((12, 12))
    above, one = (draws > 0).mean(axis=0), np.ones(1)
    sampled = Sampled(zero, zero, 1.0, one, np.ones((1, 1)), *moments, *moments, above, one, one, 1.0, one, one)
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


def summaries(shared: np.ndarray, spectra: np.ndarray, own: float) -> Sampled:
    one, taste = np.ones(1), shared + own * np.eye(len(shared))
    return Sampled(shared, taste, 1.0, one, spectra, *(one,) * 7, 1.0, one, one)


def test_tastes_of_which_no_direction_is_told_have_none():
    rng = np.random.default_rng(7)
    directions = np.linalg.qr(np.column_stack([np.ones(12), rng.standard_normal((12, 2))]))[0][:, 1:]
    shared = (directions * [6.0, 1.0]) @ directions.T
    clear, noise = (summaries(shared, np.array([one]), 0.1) for one in ([6.5, 4.0], [20.0, 9.0]))
    assert (count_components(clear), count_components(noise)) == (1, 0)
    np.testing.assert_array_equal(told_taste(clear), clear.taste)
    np.testing.assert_allclose(told_taste(noise), np.trace(noise.taste) / 12 * np.eye(12), atol=1e-12)
