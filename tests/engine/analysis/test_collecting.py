"""Simulated collections: the quick fit, the sets, the rules and their formulas against something independent."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from scipy.stats import beta as beta_distribution
from scipy.stats import norm

from models_engine.acquisition import Aim
from models_engine.analysis.collecting import rules
from models_engine.analysis.collecting.collect import Collection, collect
from models_engine.analysis.collecting.measures import measure_fit
from models_engine.analysis.collecting.quick_fit import QuickFit, fit_quickly, no_fit
from models_engine.analysis.collecting.sets import Sets
from models_engine.analysis.collecting.worlds import Scenario, draw_world
from tests.budget import examples

SMALL = Scenario(n_items=12, n_people=(6, 6), lag=(5, 15))


def small_world(seed=0, **changes):
    return draw_world(replace(SMALL, **changes), np.random.default_rng(seed))


def simulated_labels(seed, n_items, n_people, n_labels):
    rng = np.random.default_rng(seed)
    truth, pairs = rng.normal(size=n_items), rng.integers(n_items, size=(n_labels, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    first = rng.random(len(pairs)) < expit(truth[pairs[:, 0]] - truth[pairs[:, 1]])
    winner, loser = np.where(first[:, None], pairs, pairs[:, ::-1]).T
    return winner, loser, rng.integers(n_people, size=len(pairs))


def test_quick_fit_is_the_mode_given_its_lapse_rates():
    labels = simulated_labels(0, 8, 3, 150)
    fit = no_fit(8, 3)
    for _ in range(20):
        fit = fit_quickly(*labels, fit)
    winner, loser, who = labels

    def minus_log_posterior(f):
        lapse = fit.lapse[who]
        chance = lapse + (1 - 2 * lapse) * np.exp(log_expit(f[winner] - f[loser]))
        return -np.log(chance).sum() + (f**2).sum() / (2 * fit.prior_sd**2)

    mode = minimize(minus_log_posterior, np.zeros(8)).x
    assert_allclose(fit.mean, mode - mode.mean(), atol=1e-3)
    assert_allclose(fit.covariance.sum(axis=0), 0, atol=1e-9)
    assert (np.linalg.eigvalsh(fit.covariance) > -1e-9).all()


def test_quick_fit_finds_who_answers_anything():
    winner, loser, who = simulated_labels(1, 20, 4, 1_200)
    rng = np.random.default_rng(2)
    careless = (who == 3) & (rng.random(len(who)) < 0.5)
    winner, loser = np.where(careless, loser, winner), np.where(careless, winner, loser)
    fit = no_fit(20, 4)
    for _ in range(5):
        fit = fit_quickly(winner, loser, who, fit)
    assert fit.lapse[3] > 2 * fit.lapse[:3].max()


@pytest.mark.parametrize("spammers", [0.0, 0.3])
def test_lapse_rates_are_not_told_by_labels_that_made_the_ranking(spammers):
    """Six labels an item: what the crowd is said to lapse is what it does, on the mean over ten crowds; counted on the
    labels that made the utilities it was half."""
    true, found = [], []
    for seed in range(10):
        world = draw_world(
            Scenario(n_items=60, n_people=(15, 15), reliability=(17.0, 3.0), spammers=spammers, taste_sd=0.0),
            np.random.default_rng(seed),
        )
        rng = np.random.default_rng([seed, 1])
        collection = Collection(world, rules.Balanced(world, rng), rng)
        fits = []
        collect(collection, looks=[360], see=lambda _, fit, fits=fits: fits.append(fit))
        fit = fits[0]
        for _ in range(5):
            fit = collection.fit(fit)
        who = np.array(collection.annotator)
        true.append((1 - world.reliability)[who].mean())
        found.append(fit.lapse[who].mean())
    assert_allclose(np.mean(found), np.mean(true), atol=0.05)


def test_a_known_crowd_is_not_learned_and_its_intervals_hold_nine_of_ten():
    held = []
    for seed in range(12):
        world, rng = small_world(seed, n_items=30, taste_sd=0.0, side_sd=0.0), np.random.default_rng([seed, 1])
        collection, fits = Collection(world, rules.Balanced(world, rng), rng, known_crowd=True), []
        collect(collection, looks=[150, 300], see=lambda _, fit, fits=fits: fits.append(fit))
        assert_allclose(fits[-1].lapse, 1 - world.reliability)
        assert fits[-1].prior_sd == pytest.approx(world.truth.std())
        held.append(np.abs(fits[-1].mean - world.truth) < 1.645 * fits[-1].sd)
    assert 0.85 < np.mean(held) < 0.95


@settings(max_examples=examples(20))
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 4)), max_size=60), st.integers(1, 3))
def test_sets_are_full_when_overlap_people_were_asked(asked, overlap):
    sets, told = Sets(overlap), {}
    for a, b, who in asked:
        people = told.setdefault(frozenset((a, b)), set())
        room = a != b and len(people) < overlap and who not in people
        if a == b:
            continue
        assert sets.has_room(a, b, who) == room
        assert sets.is_new(b, a) == (not people)
        if room:
            sets.wait(a, b)
            sets.add(b, a, who)
            people.add(who)
        waiting = [one for one, people in told.items() if 0 < len(people) < overlap]
        assert {frozenset(pair) for pair in sets.waiting} == set(waiting)
        assert {frozenset(pair) for pair in sets.full().tolist()} == {
            one for one, people in told.items() if len(people) == overlap
        }


RULES = {
    "balanced": rules.Balanced,
    "random": rules.Random,
    "gavel": rules.Gavel,
    "best": lambda world, rng: rules.Adaptive(world, rng, Aim("best", 3), 0.3),
    "waiting": lambda world, rng: rules.Adaptive(world, rng, Aim("whole"), 0.1, waits=True),
}


@pytest.mark.parametrize("name", RULES)
def test_no_rule_asks_a_person_twice_or_more_people_than_the_overlap(name):
    world, rng = small_world(overlap=2), np.random.default_rng(1)
    rule, looks = RULES[name](world, rng), []
    collect(Collection(world, rule, rng), looks=(40, 100), see=lambda n, fit: looks.append((n, fit)))
    assert [n for n, _ in looks] == [40, 100]
    assert all(len(people) <= 2 for people in rule.sets.people.values())
    assert sum(len(people) for people in rule.sets.people.values()) == 100  # no set was asked of a person twice
    assert rule.shown.sum() == 200
    assert looks[1][1].sd.mean() < looks[0][1].sd.mean()


def test_balanced_shows_items_equally_often_and_the_best_are_shown_more_by_their_rule():
    counts = {}
    for name in ("balanced", "best"):
        world, rng = small_world(3, n_items=30, overlap=1), np.random.default_rng(3)
        rule = RULES[name](world, rng)
        collect(Collection(world, rule, rng), looks=(200,), see=lambda n, fit: None)
        counts[name] = rule.shown[np.argsort(-world.truth)]
    assert counts["balanced"].max() - counts["balanced"].min() <= 2
    assert counts["best"][:8].mean() > 1.3 * counts["best"][15:].mean()


def test_collecting_stops_when_told():
    world, rng = small_world(), np.random.default_rng(0)
    seen = []
    collection = Collection(world, rules.Balanced(world, rng), rng)
    collect(collection, looks=(10, 20, 30), see=lambda n, fit: seen.append(n) or n == 20)
    assert seen == [10, 20]


def test_people_answer_as_often_by_their_utilities_as_they_care():
    world, rng = small_world(4), np.random.default_rng(4)
    world = replace(world, reliability=np.full(6, 0.8))
    won = np.mean([world.left_wins(2, 0, 1, chance) for chance in rng.random(4_000)])
    follows = expit(world.own[2, 0] - world.own[2, 1] + world.side[2])
    assert_allclose(won, 0.8 * follows + 0.2 * (1 - follows), atol=4 * 0.5 / np.sqrt(4_000))


def test_truth_is_what_an_average_person_answers_in_logits():
    """Answers of fresh people to the same items, against the logistic of the truth."""
    rng = np.random.default_rng(5)
    consensus, sd, side_sd = 1.2, 0.5, 0.3
    margins = consensus + rng.normal(scale=np.sqrt(2) * sd, size=400_000) + rng.normal(scale=side_sd, size=400_000)
    flat = np.sqrt(1 + (2 * sd**2 + side_sd**2) / 1.702**2)
    assert_allclose(expit(margins).mean(), expit(consensus / flat), atol=0.005)


def test_ties_are_true_ties_in_the_truth_and_each_own():
    world = small_world(6, n_items=40, step=0.5, taste_sd=0.0)
    assert len(np.unique(np.round(world.truth, 9))) < 20
    same = np.flatnonzero(np.isclose(world.truth, world.truth[0]))
    assert_allclose(world.own[0, same], world.own[0, 0], atol=1e-9)


def test_measures_of_a_fit_by_hand():
    fit = QuickFit(np.array([2.0, 1.0, 0.0, -1.0]), np.diag([0.01, 0.04, 0.01, 0.01]), np.zeros(1), 1.5)
    found = measure_fit(fit, np.array([1.9, -0.1, 0.9, -2.0]), 2, np.array([0.5]))
    assert found.recall == 0.5
    assert found.classes == 0.5
    assert found.coverage == 0.25
    assert_allclose(found.width, 2 * 1.6448536 * 0.125)
    assert_allclose(found.tau, 4 / 6)


def test_recall_counts_true_ties_at_the_border():
    fit = QuickFit(np.array([2.0, 1.0, 0.5]), np.eye(3), np.zeros(1), 1.5)
    assert measure_fit(fit, np.array([1.0, 0.0, 0.0]), 2, np.array([0.5])).recall == 1


MOMENTS = (np.array(5.0), np.array(2.0), np.array(0.4), np.array(0.8), np.array(-0.3), np.array(0.5))


def test_items_move_by_the_derivatives_of_the_log_chance():
    alpha, beta, mean_w, var_w, mean_l, var_l = MOMENTS

    def log_chance(gap):
        w = expit(gap)
        return np.log((alpha * w + beta * (1 - w)) / (alpha + beta))

    gap, step = mean_w - mean_l, 1e-4
    slope = (log_chance(gap + step) - log_chance(gap - step)) / (2 * step)
    bend = (log_chance(gap + step) - 2 * log_chance(gap) + log_chance(gap - step)) / step**2
    new = rules._updated_items(*MOMENTS)
    assert_allclose(
        new,
        (mean_w + var_w * slope, var_w * (1 + var_w * bend), mean_l - var_l * slope, var_l * (1 + var_l * bend)),
        rtol=1e-5,
    )


def test_annotators_counts_have_the_moments_of_their_posterior():
    alpha, beta, mean_w, var_w, mean_l, var_l = MOMENTS
    w = expit(mean_w - mean_l)
    first = w + 0.5 * (var_w + var_l) * w * (1 - w) * (1 - 2 * w)  # second-order Taylor series of P(preferred)

    def weight(r):
        return (r * first + (1 - r) * (1 - first)) * beta_distribution.pdf(r, alpha, beta)

    total, one, two = (quad(lambda r, p=p: weight(r) * r**p, 0, 1)[0] for p in range(3))
    a, b, chance = rules._updated_annotator(*MOMENTS)
    assert_allclose(chance, total)
    assert_allclose(a / (a + b), one / total)
    assert_allclose(beta_distribution.var(a, b), two / total - (one / total) ** 2)


def test_divergences_by_quadrature():
    found = rules._divergence(np.array(0.3), np.array(0.5), np.array(-0.2), np.array(0.9))
    p, q = norm(0.3, np.sqrt(0.5)), norm(-0.2, np.sqrt(0.9))
    assert_allclose(found, quad(lambda x: p.pdf(x) * (p.logpdf(x) - q.logpdf(x)), -8, 8)[0])
    found = rules._beta_divergence(*(np.array(x) for x in (6.0, 2.0, 5.0, 3.0)))
    p, q = beta_distribution(6, 2), beta_distribution(5, 3)
    assert_allclose(found, quad(lambda x: p.pdf(x) * (p.logpdf(x) - q.logpdf(x)), 0, 1)[0], rtol=1e-6)


def test_gavel_asks_for_a_person_whose_last_item_comes_again():
    world, rng = small_world(overlap=50), np.random.default_rng(0)
    rule = rules.Gavel(world, rng)
    collection = Collection(world, rule, rng)
    for _ in range(4):
        before = rule.last.get(1)
        collection.ask(1)
        shown = {collection.winner[-1], collection.loser[-1]}
        assert before is None or before in shown
