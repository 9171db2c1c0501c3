"""The gain of a question against integrals over what could be answered, and its parts against finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.special import expit, ndtr
from scipy.stats import norm

from models_engine.acquisition.aims import Aim, Marginals, cuts_of, density, item_weights, surely_tied
from models_engine.acquisition.gains import PairGains, aim_laplacian, variance_share_of_answer


def marginals(rng, n, n_parts=1):
    return Marginals(rng.normal(size=n), rng.uniform(0.2, 0.8, n), rng.integers(n_parts, size=n))


def loss_below_zero(mean, sd):
    """E[(-x)+], x ~ N(mean, sd^2), by quadrature."""
    return quad(lambda x: -x * norm.pdf(x, mean, sd), mean - 12 * sd - abs(mean), 0, epsabs=1e-13, limit=200)[0]


@pytest.mark.parametrize(("distance", "sd"), [(0.0, 0.5), (0.4, 0.3), (1.0, 1.2), (0.1, 2.0)])
def test_density_is_how_fast_the_loss_grows_with_the_variance(distance, sd):
    step = 1e-3 * sd**2
    ends = [loss_below_zero(distance, np.sqrt(sd**2 + way * step)) for way in (1, -1)]
    assert_allclose(density(distance, sd), (ends[0] - ends[1]) / (2 * step), rtol=1e-4)


def falls(mean, sd, chance):
    """Expected fall of both items' variances by an answer, by sums over a grid of their utilities."""
    axes = [np.linspace(m - 7 * s, m + 7 * s, 401) for m, s in zip(mean, sd, strict=True)]
    a, b = np.meshgrid(*axes, indexing="ij")
    prior = norm.pdf(a, mean[0], sd[0]) * norm.pdf(b, mean[1], sd[1])
    prior /= prior.sum()
    left = np.zeros(2)
    for answer in (chance(a - b), 1 - chance(a - b)):
        weight = prior * answer
        each = weight.sum()
        for side, f in enumerate((a, b)):
            middle = (weight * f).sum() / each
            left[side] += (weight * (f - middle) ** 2).sum()
    return np.asarray(sd) ** 2 - left


@pytest.mark.parametrize("lapse", [0.0, 0.12])
@pytest.mark.parametrize(
    ("mean", "sd"), [((0.0, 0.0), (0.5, 0.5)), ((1.2, -0.3), (0.7, 0.2)), ((3.0, 0.0), (1.0, 1.5))]
)
def test_gain_of_a_pair_is_the_expected_fall_of_the_variances_weighted(mean, sd, lapse):
    known = Marginals(np.array(mean), np.array(sd), np.zeros(2, np.int64))
    aim = Aim("classes", boundaries=(0.1, 0.9))
    gain = PairGains.of(known, aim, 0.0, lapse, None).between(np.array([0]), np.array([1]))
    weights = item_weights(known, aim, 0.0)
    exact = falls(mean, sd, lambda z: lapse + (1 - 2 * lapse) * ndtr(z / 1.702)) @ weights
    assert_allclose(gain, exact, rtol=1e-6)
    logistic = falls(mean, sd, lambda z: lapse + (1 - 2 * lapse) * expit(z)) @ weights
    assert_allclose(gain, logistic, rtol=0.1)  # the probit nearest to the logistic answer


def test_gain_of_a_pair_against_simulated_answers():
    """Answers are drawn, and the posterior after each is found by weighing draws of the utilities."""
    rng, lapse = np.random.default_rng(1), 0.1
    mean, sd = np.array([0.4, -0.2]), np.array([0.9, 0.6])
    f = mean + sd * rng.standard_normal((400_000, 2))
    yes = rng.random(400_000) < lapse + (1 - 2 * lapse) * expit(f[:, 0] - f[:, 1])
    known = sum(
        share * (f[rows].mean(axis=0) - f.mean(axis=0)) ** 2
        for rows, share in ((yes, yes.mean()), (~yes, 1 - yes.mean()))
    )
    told = variance_share_of_answer(mean[:1] - mean[1:], (sd[:1] ** 2 + sd[1:] ** 2), lapse)
    assert_allclose(told * sd**4, known, rtol=0.06)


def order_loss(known, aim, covariance, margin):
    """Expected loss of the aim's pairs or items, each in the order or on the side of its mean, by the closed form."""
    mean, n = known.mean, known.n_items
    if aim.kind == "classes":
        sd = np.sqrt(np.diagonal(covariance))[:, None]
        gap = (np.abs(mean[:, None] - np.array(aim.boundaries)) + margin / 2) / sd
        return (sd * (norm.pdf(gap) - gap * ndtr(-gap))).sum()
    total = 0.0
    best = {
        p: set(np.flatnonzero(known.part == p)[np.argsort(-mean[known.part == p])][: aim.k]) for p in set(known.part)
    }
    for i in range(n):
        for j in range(i):
            across = aim.kind == "whole" or (i in best[known.part[i]]) != (j in best[known.part[j]])
            if known.part[i] == known.part[j] and across:
                sd = np.sqrt(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j])
                gap = (abs(mean[i] - mean[j]) + margin) / sd
                total += sd * (norm.pdf(gap) - gap * ndtr(-gap))
    return total


@pytest.mark.parametrize("margin", [0.0, 0.3])
@pytest.mark.parametrize("aim", [Aim("whole"), Aim("best", 2), Aim("classes", boundaries=(-0.5, 0.4))])
def test_gain_with_a_covariance_is_the_fall_of_the_loss_along_what_an_answer_tells(aim, margin):
    rng = np.random.default_rng(2)
    known, root = marginals(rng, 9, n_parts=2), rng.normal(size=(9, 9))
    covariance = 0.1 * root @ root.T + 0.05 * np.eye(9)
    known = Marginals(known.mean, np.sqrt(np.diagonal(covariance)), known.part)
    found = PairGains.of(known, aim, margin, 0.05, covariance)
    step = 1e-5
    for a, b in ((0, 1), (3, 7), (8, 2)):
        d = np.zeros(9)
        d[a], d[b] = 1, -1
        moved = covariance @ d
        ends = [order_loss(known, aim, covariance - way * step * np.outer(moved, moved), margin) for way in (1, -1)]
        told = variance_share_of_answer(np.array([known.mean @ d]), np.array([d @ moved]), 0.05)
        gain = np.maximum(told * (ends[1] - ends[0]) / (2 * step), 0)
        one, other = np.array([a]), np.array([b])
        tied = ndtr((margin - known.mean @ d) / np.sqrt(d @ moved)) - ndtr(
            (-margin - known.mean @ d) / np.sqrt(d @ moved)
        )
        assert tied < 0.95
        assert_allclose(found.between(one, other), gain, rtol=1e-4)


def test_laplacian_of_independent_items_has_their_weights_on_its_diagonal():
    known = marginals(np.random.default_rng(3), 40, n_parts=3)
    for margin in (0.0, 0.2):
        matrix = aim_laplacian(known, Aim("whole"), margin, np.diag(known.sd**2))
        assert_allclose(np.diagonal(matrix), item_weights(known, Aim("whole"), margin))
        assert_allclose(matrix.sum(axis=1), 0, atol=1e-12)


def test_cut_of_the_best_is_midway_and_small_parts_have_none():
    known = Marginals(np.array([3.0, 1.0, 2.0, 5.0, 4.0]), np.ones(5), np.array([0, 0, 0, 1, 1]))
    assert_allclose(cuts_of(known, Aim("best", 2))[:, 0], [1.5, 1.5, 1.5, np.inf, np.inf])
    weights = item_weights(known, Aim("best", 2), 0.0)
    assert (weights[:3] > 0).all()
    assert (weights[3:] == 0).all()


@pytest.mark.parametrize("margin", [0.0, 0.1, 1.0])
def test_sure_ties_are_those_of_the_normal_distribution(margin):
    distance, sd = np.linspace(0, 1.5, 31)[:, None], np.linspace(0.01, 1.0, 40)[None, :]
    inside = norm.cdf(margin, distance, sd) - norm.cdf(-margin, distance, sd)
    clear = np.abs(inside - 0.95) > 1e-9
    assert_array_equal(surely_tied(distance, sd, margin)[clear], (inside >= 0.95)[clear])
    assert surely_tied(distance, sd, margin).any() == (margin > 0)


def test_a_pair_known_to_be_tied_is_worth_nothing():
    known = Marginals(np.array([0.0, 0.02, 1.0]), np.array([0.05, 0.05, 0.3]), np.zeros(3, np.int64))
    gains = PairGains.of(known, Aim("whole"), 0.3, 0.0, None).between(np.array([0, 0]), np.array([1, 2]))
    assert gains[0] == 0
    assert gains[1] > 0
