"""Infit and outfit against plain loops, against crowds that follow the fit, and with a judge who guesses."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from models_engine.analysis.misfit import compute_misfit
from models_engine.covariance.forms import DenseCovariance
from models_engine.data import Comparisons
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.posterior import Diagnostics, GaussianPosterior, Likelihood
from models_engine.simulate import Crowd, simulate_crowd

FINE = Diagnostics(True, 1, (0.0,), 0.1, "fine")


def certain(people: Crowd, likelihood: Likelihood | None = None) -> GaussianPosterior:
    """The truth as a posterior without doubt."""
    n = people.n_items
    return GaussianPosterior(people.utilities, DenseCovariance.of(np.zeros((n, n))), FINE, likelihood or Likelihood())


def by_loops(posterior, data):
    """(n_items, 4) infit, its z, outfit, its z of pairs without ties, one comparison after the other."""
    mean, covariance, table, found = posterior.utilities(), posterior.covariance(), data.pairs(), []
    for item in range(data.n_items):
        squares = information = mean_square = spread = outer_spread = count = 0.0
        for row in range(len(table)):
            a, b, w = table.left[row], table.right[row], table.weight[row]
            if item not in (a, b):
                continue
            p = 1 / (1 + np.exp(mean[b] - mean[a]))
            v = p * (1 - p)
            left_over = v * (1 - v * (covariance[a, a] + covariance[b, b] - 2 * covariance[a, b]))
            squares += w * (table.outcome[row] - p) ** 2
            information += w * left_over
            mean_square += w * (table.outcome[row] - p) ** 2 / left_over
            fourth = p * (1 - p) ** 4 + (1 - p) * p**4
            spread += w**2 * (fourth - v**2)
            outer_spread += w**2 * (fourth / v**2 - 1)
            count += w
        one = []
        for m, q in (
            (squares / information, spread**0.5 / information),
            (mean_square / count, outer_spread**0.5 / count),
        ):
            one += [m, (m ** (1 / 3) - 1) * 3 / q + q / 3]
        found.append(one)
    return np.array(found)


def columns(found):
    return np.stack([found.infit, found.infit_z, found.outfit, found.outfit_z], axis=1)


def test_pairs_give_what_plain_loops_give():
    rng = np.random.default_rng(0)
    people = simulate_crowd(rng, 9, 4)
    data = people.pairs(120, rng).with_weights(rng.integers(1, 3, size=120))
    fit = BradleyTerry().fit(data)
    found = compute_misfit(fit, data)
    assert_allclose(columns(found.items), by_loops(fit, data), rtol=1e-7, atol=1e-7)
    assert_allclose(found.items.n, data.n_comparisons())
    for judge in range(4):
        own = data.annotators == judge
        others = data.with_weights(np.where(own, data.weights, 0.0))
        assert_allclose(columns(compute_misfit(fit, others).annotators)[judge], columns(found.annotators)[judge])


KINDS = {
    "pairs": (lambda people, rng: people.pairs(600, rng), 0.0),
    "ties": (lambda people, rng: people.pairs(600, rng), 0.8),
    "rankings": (lambda people, rng: people.rankings(150, 4, rng), 0.0),
    "choices": (lambda people, rng: people.choices(300, 4, rng), 0.0),
    "best-worst": (lambda people, rng: people.best_worst(200, 4, rng), 0.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_where_the_model_is_true_standardised_figures_are_standard_normal(kind):
    """Of the truth itself, over crowds, although the implied pairs of one label depend on one another."""
    (draw, tie), items, judges, squares = KINDS[kind], [], [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        people = simulate_crowd(rng, 20, 8, tie=tie)
        found = compute_misfit(certain(people, Likelihood(tie=tie or None)), draw(people, rng), rng=rng)
        items += [found.items.infit_z, found.items.outfit_z]
        judges += [found.annotators.infit_z, found.annotators.outfit_z]
        squares += [found.items.infit.mean(), found.items.outfit.mean()]
    for z in (np.concatenate(items), np.concatenate(judges)):
        assert abs(z.mean()) < 0.3
        assert 0.8 < z.std() < 1.2
    assert np.mean(squares) == pytest.approx(1, abs=0.08 if kind == "best-worst" else 0.04)


def test_pairs_by_their_formula_and_by_drawing_agree():
    rng = np.random.default_rng(1)
    people = simulate_crowd(rng, 12, 5)
    pairs, extra = people.pairs(400, rng), people.rankings(1, 3, rng).with_weights([1e-9])
    exact, drawn = (compute_misfit(certain(people), data) for data in (pairs, Comparisons.concatenate([pairs, extra])))
    assert_allclose(columns(drawn.items), columns(exact.items), atol=0.45)  # 200 draws: q to 5%
    assert_allclose(drawn.items.infit, exact.items.infit, rtol=1e-6)


def square_beside_one_who_guesses(utilities: np.ndarray) -> float:
    """The infit of seven who follow Bradley-Terry with these utilities where the eighth tosses a coin, with answers
    without end: p is then the model nearest to the mixture of all, and flatter than theirs."""
    one, other = np.triu_indices(len(utilities), 1)
    own = expit(utilities[one] - utilities[other])
    of_all = 7 / 8 * own + 1 / 8 / 2
    sides, weights = np.concatenate([[one, other], [other, one]], axis=1), np.concatenate([of_all, 1 - of_all])
    data = Comparisons.from_pairs(*sides, np.ones(len(weights)), n_items=len(utilities), weights=1e4 * weights)
    f = BradleyTerry(prior_sd=1e3, inference="map").fit(data).utilities()
    p = expit(f[one] - f[other])
    return float((own * (1 - own) + (own - p) ** 2).sum() / (p * (1 - p)).sum())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pairs", "rankings"])
def test_in_a_fit_mean_squares_are_what_the_crowd_gives_and_a_judge_who_guesses_stands_out(kind):
    flags, squares, guessing = [], [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        people = simulate_crowd(rng, 20, 8, utility_sd=1.5)
        reliability = people.reliability.copy()
        reliability[3] = 0.5
        people = Crowd(people.utilities, people.own, reliability, people.side)
        data = people.pairs(800, rng) if kind == "pairs" else people.rankings(240, 4, rng)
        found = compute_misfit(BradleyTerry(prior_sd=None, inference="auto").fit(data), data).annotators
        guessing.append(found.infit_z[3])
        flags += list(np.delete(found.infit_z, 3) > 2)
        squares.append(np.delete(found.infit, 3).mean() - square_beside_one_who_guesses(people.utilities))
    assert np.mean(np.array(guessing) > 2) >= 0.8
    assert np.mean(flags) <= 0.05
    error = np.std(squares, ddof=1) / np.sqrt(len(squares))
    assert error < 0.01
    assert abs(np.mean(squares)) < 3 * error


@pytest.mark.parametrize(("link", "side"), [("logit", 1.5), ("probit", 0.9)])
def test_a_side_effect_counts_once_and_in_its_own_unit(link, side):
    rng = np.random.default_rng(8)
    people = simulate_crowd(rng, 12, 10, utility_sd=0.7)
    left, right = rng.permuted(np.tile(np.arange(12), (20_000, 1)), axis=1)[:, :2].T
    noise = rng.logistic(size=20_000) if link == "logit" else rng.normal(size=20_000)
    outcome = people.utilities[left] - people.utilities[right] + side + noise > 0
    data = Comparisons.from_pairs(left, right, outcome.astype(float), rng.integers(10, size=20_000))
    found = compute_misfit(certain(people, Likelihood(link, side=side)), data)
    assert_allclose(found.annotators.infit.mean(), 1, atol=0.02)
    assert_allclose(found.items.infit.mean(), 1, atol=0.02)


def test_who_answered_nothing_has_no_figures():
    data = Comparisons.from_pairs([0, 1], [1, 0], [1.0, 1.0], [0, 0], n_items=3, n_annotators=2)
    found = compute_misfit(BradleyTerry().fit(data), data)
    assert np.isnan(found.items.infit[2])
    assert np.isnan(found.annotators.outfit_z[1])
    assert found.annotators.n.tolist() == [2, 0]
