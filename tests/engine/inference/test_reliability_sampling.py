"""Reliabilities drawn on a grid with reversed answers summed out: masses, likelihoods and draws against quadrature."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import beta, norm

from models_engine.inference.tastes.perception import AnswerGroup, Perception
from models_engine.inference.tastes.reliability import FIRST_MEAN, MEANS, SIZES, Reliabilities
from models_engine.inference.tastes.reliability_sampling import (
    P_REVERSED,
    AnswerGroups,
    ReliabilitySampler,
    log_odds_of,
    prior_masses,
)


@pytest.mark.parametrize(("a", "b"), [(6.0, 1.0), (0.2997, 0.0003), (27.0, 3.0), (0.19, 0.11)])
def test_masses_of_the_prior_are_those_of_the_beta_distribution(a, b):
    log_odds = log_odds_of(24)
    found = prior_masses(np.array([a]), np.array([b]), log_odds)[0]
    ends = np.r_[-np.inf, (log_odds[1:] + log_odds[:-1]) / 2, np.inf]
    low, high = ends[:-1] < 0, ends[1:] > 0
    below, above = np.diff(beta.cdf(expit(ends), a, b)), -np.diff(beta.cdf(expit(-ends), b, a))
    np.testing.assert_allclose(found[low & ~high], below[low & ~high], rtol=1e-9)
    np.testing.assert_allclose(found[high & ~low], above[high & ~low], rtol=1e-9)
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert found @ expit(log_odds) == pytest.approx(a / (a + b), abs=0.005)


def chances(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    kept = norm.cdf(rng.normal(1.0, 1.0, n))
    return kept, 1 - kept


def test_the_probability_of_all_answers_is_that_of_quadrature_over_each_reliability():
    rng = np.random.default_rng(0)
    who = np.repeat([0, 2, 3], [11, 8, 30])
    kept, turned = chances(rng, len(who))
    order = rng.permutation(len(who))
    sampler = ReliabilitySampler(who[order], 4)
    sampler.release()
    found = sampler.table(kept[order], turned[order])
    row, column = 0, 3
    a, b = SIZES[column] * MEANS[row], SIZES[column] * (1 - MEANS[row])
    expected = 0.0
    for u in (0, 2, 3):
        own = who == u

        def density(eta: float, own: np.ndarray = own) -> float:
            return float(np.prod(eta * kept[own] + (1 - eta) * turned[own]) * beta.pdf(eta, a, b))

        expected += np.log(quad(density, 0, 1, epsabs=0, epsrel=1e-10, limit=400)[0])
    assert found.by_prior[row * len(SIZES) + column] == pytest.approx(expected, abs=0.02)
    assert (found.likelihood[1] == 1).all(), "without answers every value is as likely"


def test_what_is_proposed_for_each_annotator_is_taken_as_often_as_its_probability_says():
    """Of two annotators, the first by their own answers' probability; the other's proposal is what there was."""
    rng, n = np.random.default_rng(3), 4_000
    who = np.repeat([0, 1], [6, 8])
    kept, turned = chances(rng, len(who))
    sampler = ReliabilitySampler(who, 2)
    sampler.release()
    now = sampler.table(kept, turned)
    first = who == 0
    proposed = sampler.table(np.where(first, turned, kept), np.where(first, kept, turned))
    gain = np.array([1.5, -np.inf])
    taken = np.array([sampler.choose(now, proposed, gain, rng)[0] for _ in range(n)])
    expected = np.exp(1.5 + proposed.log_marginal - now.log_marginal)
    assert 0.05 < expected < 0.95, "else nothing is tested"
    assert taken[:, 0].mean() == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / n))
    assert not taken[:, 1].any()
    _, after = sampler.choose(now, proposed, np.array([np.inf, -np.inf]), rng)
    np.testing.assert_allclose(after.by_prior, proposed.by_prior)
    np.testing.assert_allclose(after.likelihood, proposed.likelihood)


def test_before_its_prior_is_learned_a_crowd_is_reliable_but_for_those_the_wrong_way_round():
    who = np.repeat([0, 1, 2], 12)
    right = np.where(who == 0, 0.95, np.where(who == 1, 0.05, 0.5))
    sampler, rng = ReliabilitySampler(who, 3), np.random.default_rng(4)
    table = sampler.table(right, 1 - right)
    found = []
    for _ in range(400):
        sampler.draw(table, rng)
        found.append(sampler.value)
    assert sampler.crowd == FIRST_MEAN
    share = (np.array(found) > 0.5).mean(axis=0)
    assert share[0] == 1
    assert share[1] == 0
    assert share[2] == pytest.approx(1 - P_REVERSED, abs=0.05), "answers that tell nothing leave the prior"
    np.testing.assert_allclose(np.abs(np.array(found) - 0.5), FIRST_MEAN - 0.5, atol=0.03)


def test_many_improbable_answers_do_not_underflow():
    who = np.zeros(5_000, np.int64)
    sampler = ReliabilitySampler(who, 1)
    found = sampler.table(np.full(5_000, 1e-14), np.ones(5_000))
    assert np.isfinite(found.by_prior).all()
    assert found.likelihood[0].argmax() == 0, "all of them were reversed"


def test_values_are_drawn_as_often_as_their_posterior_says():
    """Given one prior of the crowd, by the product of chances at each value; the crowd's prior by its own weights."""
    rng, n = np.random.default_rng(1), 20_000
    who = np.repeat([0, 1], [9, 14])
    kept, turned = chances(rng, len(who))
    sampler = ReliabilitySampler(who, 2)
    sampler.release()
    table = sampler.table(kept, turned)
    eta = expit(log_odds_of(14))
    mean, size = np.repeat(MEANS, len(SIZES)), np.tile(SIZES, len(MEANS))
    masses = prior_masses(mean * size, size - mean * size, log_odds_of(14))
    likelihood = [
        np.prod(eta[:, None] * kept[who == u] + (1 - eta[:, None]) * turned[who == u], axis=1) for u in (0, 1)
    ]
    by_prior = (masses @ likelihood[0]) * (masses @ likelihood[1])
    by_prior /= by_prior.sum()
    own = [(masses * one) / (masses @ one)[:, None] for one in likelihood]
    found = np.zeros((3, n))
    for draw in range(n):
        sampler.draw(table, rng)
        found[:, draw] = *sampler.value, sampler.crowd
    expected = [by_prior @ (one @ eta) for one in own] + [by_prior @ mean]
    np.testing.assert_allclose(found.mean(axis=1), expected, atol=0.006)
    product = by_prior @ ((own[0] @ eta) * (own[1] @ eta))
    assert (found[0] * found[1]).mean() == pytest.approx(product, abs=0.006), "they have a prior in common"


def test_chances_of_pairs_and_ties_are_those_of_the_normal_distribution():
    mean = np.array([[0.4, -0.3], [1.0, 0.2], [0.1, 0.5]])
    ranks = np.array([[0, 1], [1, 0], [0, 0]])
    answers = Perception(AnswerGroup(np.zeros(3, np.int64), np.tile([0, 1], (3, 1)), ranks), may_reverse=True)
    answers.draw(mean, np.array([0.8]), np.random.default_rng(2))
    kept, turned = answers.chances(mean, np.array([0.8]))
    np.testing.assert_allclose(kept[:2], norm.cdf([0.7, -0.8]))
    np.testing.assert_allclose(turned[:2], norm.cdf([-0.7, 0.8]))
    assert kept[2] == turned[2], "a tie says nothing of reliability"


def test_chances_of_graded_answers_add_up_to_one():
    """A tie, and both winners with grades 1 and 2, between cut points .3, .9; of a reversed answer the other winner."""
    cuts, mean = np.array([0.3, 0.9]), np.tile([0.5, 0.0], (5, 1))
    ranks, grades = np.array([[0, 0], [0, 1], [0, 1], [1, 0], [1, 0]]), np.array([0, 1, 2, 1, 2])
    group = AnswerGroup(np.zeros(5, np.int64), np.tile([0, 1], (5, 1)), ranks, grades)
    low, high = np.array([-0.3, 0.3, 0.9, 0.3, 0.9]), np.array([0.3, 0.9, np.inf, 0.9, np.inf])
    kept, turned = Perception(group, may_reverse=True).chances(mean, np.array([0.8]), (low, high))
    assert kept.sum() == pytest.approx(1.0)
    assert turned.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(turned, kept[[0, 3, 4, 1, 2]])
    assert kept[2] == pytest.approx(1 - norm.cdf(cuts[1] - 0.5))


def test_who_is_new_gets_the_ends_of_the_crowds_prior():
    ends = np.array([[0.9, 0.3], [1.0, 0.6]])
    known = Reliabilities(np.array([0.97, 0.45]), np.array([0.05, 0.1]), 0.9, ends=ends).extended(3)
    np.testing.assert_array_equal(known.ends[:, :2], ends)
    assert known.ends[:, 2] == pytest.approx(beta.ppf([0.05, 0.95], 4.5, 0.5))
    assert Reliabilities(np.ones(1), np.zeros(1), 0.9).extended(3).ends is None


def test_groups_of_answers_are_taken_as_tables_of_all_answers_say():
    """One group after the other, each against a table computed anew of what was taken before it."""
    rng = np.random.default_rng(5)
    who, group = rng.integers(4, size=60), rng.integers(6, size=60)
    group[:6] = np.arange(6)
    sampler = ReliabilitySampler(who, 5)
    sampler.release()
    now, other = chances(rng, 60), chances(rng, 60)
    proposed = tuple(0.8 * old + 0.2 * new for old, new in zip(now, other, strict=True))
    gain = np.r_[rng.normal(scale=2.0, size=5), -np.inf]
    change = sampler.log_ratios(now, proposed)
    np.testing.assert_allclose(
        change[7], np.log(expected_chances(sampler, proposed)[7] / expected_chances(sampler, now)[7])
    )
    taken_by_seed = set()
    for seed in range(20):
        groups, table = AnswerGroups(group, who), sampler.table(*now)
        taken = sampler.choose_groups(table, change, groups, gain, np.random.default_rng(seed))
        levels, kept = np.log(np.random.default_rng(seed).random(6)), table
        chosen = np.zeros(6, dtype=bool)
        for one in range(6):
            chosen[one] = True
            then = sampler.table(*(np.where(chosen[group], new, old) for old, new in zip(now, proposed, strict=True)))
            chosen[one] = levels[one] < then.log_marginal - kept.log_marginal + gain[one]
            kept = then if chosen[one] else kept
        np.testing.assert_array_equal(taken, chosen)
        taken_by_seed.add(tuple(taken.tolist()))
    assert len(taken_by_seed) > 3


def expected_chances(sampler: ReliabilitySampler, chance: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    eta = expit(sampler.log_odds)
    return chance[0][:, None] * eta + chance[1][:, None] * (1 - eta)
