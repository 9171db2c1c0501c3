"""Opposite utilities: pieces, priors, answers that stay as probable; who has the question upside down."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.estimators.collaborative.sampled import answer_groups, scale_densities
from models_engine.inference.tastes.opposites import NOISE, Opposites, pieces_of
from models_engine.inference.tastes.perception import AnswerGroup, Perception
from models_engine.inference.tastes.sampling import sample_tastes
from models_engine.simulate import Crowd

# Two people; the first compared items 0 and 1, and 2, 3 and 4 in a set, the second 1 and 3.
ANNOTATOR, ITEM = np.array([0, 0, 0, 0, 0, 1, 1]), np.array([0, 1, 2, 3, 4, 1, 3])
CELLS = [np.array([[0, 1], [5, 6]]), np.array([[4, 2, 3]])]


def sum_by_annotator(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.array([(values[ANNOTATOR == u, None] * rows[ITEM[ANNOTATOR == u]]).sum(axis=0) for u in range(2)])


def test_answers_connect_the_items_of_one_person():
    found = pieces_of(CELLS, 7)
    assert len(set(found)) == 3
    assert [len(set(found[rows])) for rows in ([0, 1], [2, 3, 4], [5, 6])] == [1, 1, 1]


def normals(precision: np.ndarray, push: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    covariances = np.linalg.inv(precision)
    return np.array([rng.multivariate_normal(one @ p, one) for one, p in zip(covariances, push, strict=True)])


@pytest.mark.slow
@pytest.mark.parametrize("u", [0, 1])
def test_proposals_have_the_density_of_the_posterior_given_the_opposite(u):
    """Against dense matrices: the mean of draws, and prior times proposal density there and back."""
    rng, r = np.random.default_rng(0), 0.4
    count = np.array([1.0, 1, 1, 1, 1, 2, 2])
    t, v, f = rng.normal(size=5), rng.normal(size=(5, 2)), rng.normal(size=7)
    opposites = Opposites(ANNOTATOR, ITEM, count, CELLS, 2, sum_by_annotator, lambda *of: normals(*of, rng))
    found = [opposites.propose(f, t, v, r, rng) for _ in range(3_000)]
    middle, rows = found[0].middle, ANNOTATOR == u
    for piece in ([0, 1], [2, 3, 4], [5, 6]):
        np.testing.assert_allclose(middle[piece], t[ITEM[piece]].mean())
    own = ITEM[rows]
    prior, noise = v[own] @ v[own].T + r**2 * np.eye(len(own)), np.diag(NOISE**2 / count[rows])
    spread = np.linalg.inv(np.linalg.inv(prior) + np.linalg.inv(noise))

    def proposals(before: np.ndarray) -> multivariate_normal:
        opposite = 2 * middle[rows] - before
        return multivariate_normal(spread @ (np.linalg.solve(prior, t[own]) + np.linalg.solve(noise, opposite)), spread)

    draws = np.array([one.utilities[rows] for one in found])
    np.testing.assert_allclose(draws.mean(axis=0), proposals(f[rows]).mean, atol=0.06)
    np.testing.assert_allclose(np.cov(draws.T), spread, atol=0.06)
    density = multivariate_normal(t[own], prior).logpdf
    for one in found[:5]:
        now, then = f[rows], one.utilities[rows]
        there, back = proposals(now).logpdf(then), proposals(then).logpdf(now)
        assert one.gain[u] == pytest.approx(density(then) + back - density(now) - there)
    precision = v[own].T @ v[own] / r**2 + np.eye(2)
    expected = [np.linalg.solve(precision, v[own].T @ (one - t[own]) / r**2) for one in draws]
    scores = np.array([one.scores[u] for one in found])
    np.testing.assert_allclose((scores - expected).mean(axis=0), 0.0, atol=0.06)


def test_answers_to_opposite_utilities_are_as_probable_reversed():
    """Of pairs, tied pairs and sets; twice opposed is as before."""
    rng, who, reliability = np.random.default_rng(1), np.zeros(3, np.int64), np.array([0.8])
    for k, ranks in ((2, [[0, 1], [1, 0], [0, 0]]), (3, [[0, 1, 2], [2, 0, 1], [0, 1, 1]])):
        answers = Perception(AnswerGroup(who, np.tile(np.arange(k), (3, 1)), np.array(ranks)), may_reverse=True)
        mean, centre = rng.normal(size=(3, k)), np.full((3, k), 0.7)
        for _ in range(5):
            answers.draw(mean, reliability, rng)
        now, perceived, was = answers.chances(mean, reliability), answers.perceived, answers.reversed
        announced = answers.chances(2 * centre - mean, reliability, opposite=True)
        answers.oppose(np.ones(3, dtype=bool), centre)
        np.testing.assert_allclose(answers.perceived - 0.7, 0.7 - perceived)
        np.testing.assert_array_equal(answers.reversed, was != ~answers.tied)
        found = answers.chances(2 * centre - mean, reliability)
        np.testing.assert_allclose(found, announced)
        np.testing.assert_allclose(found, now[::-1])
        answers.oppose(np.array([False, True, False]), centre)
        np.testing.assert_allclose(answers.perceived[1], perceived[1])


def test_what_was_perceived_in_sets_and_its_reflection_have_the_densities_of_the_normal_distribution():
    rng, who = np.random.default_rng(4), np.array([0, 1, 1])
    answers = Perception(AnswerGroup(who, np.tile([0, 1, 2], (3, 1)), np.tile([1, 0, 2], (3, 1))), may_reverse=True)
    before, after, centre = rng.normal(size=(3, 3, 3))
    answers.draw(before, np.array([0.9, 0.7]), rng)
    reflected = 2 * centre - answers.perceived
    density = [
        norm.logpdf(z, mean, np.sqrt(0.5)).sum(axis=1) for z, mean in ((reflected, after), (answers.perceived, before))
    ]
    expected = np.bincount(who, density[0] - density[1])
    np.testing.assert_allclose(answers.opposite_gain(before, after, centre, 2), expected)


@pytest.mark.slow
def test_one_person_the_wrong_way_round_is_not_taken_for_a_taste():
    """The chain begins with everybody reliable, where only a component of taste explains this person's answers."""
    rng = np.random.default_rng(2)
    utilities = rng.normal(scale=1.5, size=12)
    people = Crowd(utilities, np.tile(utilities, (10, 1)), np.r_[0.02, np.ones(9)], np.zeros(10), link="probit")
    data, settings = people.pairs(400, rng), CollaborativeGP()
    for seed in range(3):
        found = sample_tastes(
            answer_groups(data),
            12,
            10,
            3,
            scale_densities(settings, 3),
            np.random.default_rng(seed),
            reliability=True,
            n_warm_up=200,
            n_draws=200,
            on_step=lambda _: None,
        )
        assert found.reliability[0] < 0.2
        assert found.reliability[1:].min() > 0.8
