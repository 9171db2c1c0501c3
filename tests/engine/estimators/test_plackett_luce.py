"""PlackettLuce against finite differences, a slow obvious likelihood, choix, and its own Gibbs sampler."""

import math

import choix
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logit, polygamma
from scipy.stats import beta, kstest, loggamma

from models_engine.data import Comparisons
from models_engine.errors import InvalidSetting
from models_engine.estimators.plackett_luce import ChoiceProblem, PlackettLuce, match_gamma_shape, split_rhat
from models_engine.simulate import simulate_crowd
from tests.engine.simulated_data import labels_of_every_kind


def plain_objective(data: Comparisons, f: np.ndarray, shape: float) -> float:
    """The log posterior, stage by stage in plain Python, for rankings, tops and choices."""
    worth, total = np.exp(f), shape * float((f - np.exp(f)).sum())
    for start, end, weight in zip(data.starts[:-1], data.starts[1:], data.weights, strict=True):
        left = sorted(zip(data.ranks[start:end], data.items[start:end], strict=True))
        while len(left) > 1 and left[0][0] < left[1][0]:
            chosen = left[0][1]
            total += weight * math.log(worth[chosen] / sum(worth[item] for _, item in left))
            left = left[1:]
    return total


def rankings(seed: int = 0, n: int = 30) -> Comparisons:
    rng = np.random.default_rng(seed)
    people = simulate_crowd(rng, 8, 5)
    parts = [people.rankings(n, 4, rng), people.choices(n, 5, rng), people.top(n, 6, 2, rng)]
    data = Comparisons.concatenate(parts)
    return data.with_weights(rng.choice([0.5, 1.0, 2.0], data.n_labels))


def ranked_by(utilities: np.ndarray, rng: np.random.Generator, *, k: int, n: int) -> Comparisons:
    """n rankings of k items each, drawn from the model."""
    sets = np.stack([rng.choice(len(utilities), k, replace=False) for _ in range(n)])
    noisy = utilities[sets] + rng.gumbel(size=sets.shape)
    ordered = np.take_along_axis(sets, np.argsort(-noisy, axis=1), axis=1)
    return Comparisons.from_rankings(ordered, n_items=len(utilities))


def test_the_objective_matches_a_plain_implementation():
    data, f = rankings(), np.random.default_rng(1).normal(size=8)
    assert ChoiceProblem(data, 0.8).objective(f) == pytest.approx(plain_objective(data, f, 0.8), rel=1e-12)


def test_gradient_and_curvature_are_derivatives():
    problem, f = ChoiceProblem(labels_of_every_kind(), 0.8), np.random.default_rng(1).normal(size=8)
    eye = np.eye(8) * 1e-5
    slope = [(problem.objective(f + e) - problem.objective(f - e)) / 2e-5 for e in eye]
    assert_allclose(problem.gradient(f), slope, rtol=1e-6, atol=1e-6)
    bend = [(problem.gradient(f - e) - problem.gradient(f + e)) / 2e-5 for e in eye]
    assert_allclose(problem.curvature(f), bend, rtol=1e-5, atol=1e-6)


def test_mm_never_decreases_and_ends_at_newtons_mode():
    data = rankings()
    problem, f = ChoiceProblem(data, match_gamma_shape(1.5)), np.zeros(8)
    values = [problem.objective(f)]
    for _ in range(500):
        f = problem.mm_step(f)
        values.append(problem.objective(f))
    assert (np.diff(values) >= -1e-9).all()
    assert_allclose(f - f.mean(), PlackettLuce(prior_sd=1.5).fit(data).utilities(), atol=1e-7)


@pytest.mark.slow
def test_with_a_weak_prior_the_mode_matches_choix():
    rng = np.random.default_rng(4)
    people = simulate_crowd(rng, 6, 3, utility_sd=0.7)
    data = people.rankings(200, 4, rng)
    best_first = data.groups()[0].best_first()[0]
    theirs = choix.opt_rankings(6, best_first.tolist(), alpha=1e-9)
    ours = PlackettLuce(prior_sd=1000.0).fit(data).utilities()
    assert_allclose(ours, theirs - theirs.mean(), atol=1e-3)


def test_on_pairs_plackett_luce_is_bradley_terry_with_another_prior():
    rng = np.random.default_rng(4)
    data = simulate_crowd(rng, 6, 3, utility_sd=0.7).pairs(400, rng)
    pairs = data.pairs()
    won = np.where(pairs.outcome == 1, pairs.left, pairs.right)
    lost = np.where(pairs.outcome == 1, pairs.right, pairs.left)
    theirs = choix.opt_pairwise(6, list(zip(won, lost, strict=True)), alpha=1e-9)
    assert_allclose(PlackettLuce(prior_sd=1000.0).fit(data).utilities(), theirs - theirs.mean(), atol=1e-3)


@pytest.mark.parametrize("sd", [0.1, 0.7, 1.5, 4.0])
def test_the_prior_has_the_standard_deviation_it_is_given(sd):
    a = match_gamma_shape(sd)
    assert polygamma(1, a) == pytest.approx(sd**2, rel=1e-9)
    assert loggamma.std(a) == pytest.approx(sd, rel=1e-9)


def test_gibbs_draws_from_the_prior_without_data():
    data = Comparisons.from_rankings([], [], n_items=4, n_annotators=1)
    draws = PlackettLuce(inference="gibbs", n_draws=4000).fit(data).draws
    a = match_gamma_shape(1.5)
    rng = np.random.default_rng(0)
    exact = np.log(rng.gamma(a, size=(40_000, 4)))
    gap = exact[:, 0] - exact[:, 1]
    assert kstest(draws[:, 0] - draws[:, 1], gap).pvalue > 0.01
    assert kstest(1.3 * (draws[:, 0] - draws[:, 1]), gap).pvalue < 1e-6


def test_without_labels_map_is_as_wide_as_the_prior():
    data = Comparisons.from_rankings([], [], n_items=4, n_annotators=1)
    assert_allclose(PlackettLuce(prior_sd=1.2).fit(data).standard_deviations(), 1.2 * math.sqrt(3 / 4))


@pytest.mark.parametrize(("won", "lost"), [(1, 0), (3, 0), (4, 2), (40, 25)])
def test_map_has_the_exact_variance_of_two_items(won, lost):
    """Their share of the worths is Beta(a + won, a + lost)."""
    data = Comparisons.from_rankings([[0, 1]] * won + [[1, 0]] * lost)
    a = match_gamma_shape(1.5)
    share = beta(a + won, a + lost)
    mean = share.expect(logit)
    variance = share.expect(lambda p: (logit(p) - mean) ** 2)
    found = PlackettLuce().fit(data).difference_variance(np.array([0]), np.array([1]))
    assert_allclose(found, variance, rtol=1e-5)


@pytest.mark.slow
def test_gibbs_and_map_agree_on_much_data():
    rng = np.random.default_rng(2)
    data = simulate_crowd(rng, 6, 4).rankings(400, 4, rng)
    mode, drawn = PlackettLuce().fit(data), PlackettLuce(inference="gibbs", n_draws=1500).fit(data)
    sd = mode.standard_deviations()
    assert_allclose(drawn.utilities(), mode.utilities(), atol=0.2 * sd.mean())
    assert_allclose(drawn.standard_deviations(), sd, rtol=0.15)
    assert drawn.diagnostics.converged


@pytest.mark.slow
def test_gibbs_matches_importance_sampling_on_few_data():
    """Three items, two rankings: the posterior mean by weighting 200,000 draws from the prior."""
    data = Comparisons.from_rankings([[0, 1, 2], [0, 2, 1]], [0, 0])
    f = np.log(np.random.default_rng(0).gamma(match_gamma_shape(1.5), size=(200_000, 3)))
    worth = np.exp(f)
    first = worth[:, 0] / worth.sum(axis=1)
    second = worth[:, 1] * worth[:, 2] / (worth[:, 1] + worth[:, 2]) ** 2
    weight = first**2 * second
    centred = f - f.mean(axis=1, keepdims=True)
    mean = weight @ centred / weight.sum()
    drawn = PlackettLuce(inference="gibbs", n_draws=8_000).fit(data)
    assert_allclose(drawn.utilities(), mean, atol=0.05)
    sd = np.sqrt(weight @ (centred - mean) ** 2 / weight.sum())
    assert_allclose(drawn.standard_deviations(), sd, rtol=0.05)
    assert_allclose(PlackettLuce().fit(data).standard_deviations(), sd, rtol=0.08)


@pytest.mark.slow
def test_gibbs_weight_two_equals_the_row_twice_in_distribution():
    rng = np.random.default_rng(5)
    data = simulate_crowd(rng, 5, 3).rankings(40, 4, rng)
    estimator = PlackettLuce(inference="gibbs", n_draws=2000)
    weighted = estimator.fit(data.with_weights(np.full(40, 2.0)))
    repeated = estimator.fit(Comparisons.concatenate([data, data]))
    assert_allclose(weighted.utilities(), repeated.utilities(), atol=0.05)
    assert_allclose(weighted.standard_deviations(), repeated.standard_deviations(), rtol=0.12)


@pytest.mark.slow
def test_gibbs_intervals_cover_utilities_drawn_from_its_prior():
    rng, found = np.random.default_rng(6), []
    for _ in range(12):
        truth = np.log(rng.gamma(match_gamma_shape(1.5), size=10))
        data = ranked_by(truth, rng, k=4, n=60)
        posterior = PlackettLuce(inference="gibbs", n_draws=600, n_burn_in=150, max_iterations=1).fit(data)
        low, high = np.quantile(posterior.draws, [0.05, 0.95], axis=0)
        centred = truth - truth.mean()
        found.append(((low <= centred) & (centred <= high)).mean())
    assert 0.85 <= np.mean(found) <= 0.95


def test_intervals_by_map_cover_after_few_answers():
    """Three pairs an item; Laplace's covariance alone holds .81 of these utilities."""
    rng, found = np.random.default_rng(8), []
    for _ in range(40):
        truth = np.log(rng.gamma(match_gamma_shape(1.5), size=20))
        data = ranked_by(truth, rng, k=2, n=30)
        posterior = PlackettLuce().fit(data)
        off = np.abs(posterior.utilities() - (truth - truth.mean())) / posterior.standard_deviations()
        found.append((off <= 1.645).mean())
    assert 0.86 <= np.mean(found) <= 0.93


def test_split_rhat_detects_a_drift():
    rng = np.random.default_rng(0)
    still = rng.normal(size=(1000, 3))
    assert split_rhat(still) < 1.02
    assert split_rhat(still + np.linspace(0, 3, 1000)[:, None]) > 1.3


@pytest.mark.parametrize("inference", ["map", "gibbs"])
def test_the_posterior_says_which_prior_it_has(inference):
    posterior = PlackettLuce(1.2, inference, n_draws=400, n_burn_in=50).fit(rankings())
    assert posterior.prior_sd == 1.2
    assert polygamma(1, posterior.prior_shape) == pytest.approx(1.2**2)


def test_a_prior_of_zero_width_is_rejected():
    with pytest.raises(InvalidSetting, match="prior_sd=0"):
        PlackettLuce(prior_sd=0).fit(rankings())


def test_without_a_matrix_over_all_items_the_fit_is_the_same(monkeypatch):
    data = labels_of_every_kind()
    problem = ChoiceProblem(data, 0.7)
    f = np.random.default_rng(1).normal(size=data.n_items)
    precision = problem.precision(f)
    assert_allclose(precision.graph.dense(precision.weights, precision.ridge), problem.curvature(f), atol=1e-12)
    dense = PlackettLuce().fit(data)
    monkeypatch.setattr("models_engine.estimators.plackett_luce.MAX_DENSE_ITEMS", 1)
    sparse = PlackettLuce().fit(data)
    assert_allclose(sparse.utilities(), dense.utilities(), atol=1e-7)
    assert_allclose(sparse.covariance(), dense.covariance(), atol=1e-7)


@pytest.mark.slow
def test_many_items_are_fitted_by_the_same_likelihood_as_few():
    """6,000 items in unconnected threes: each three has the posterior that it has by itself."""
    n = 2_000
    threes = np.arange(3 * n).reshape(n, 3)
    many = PlackettLuce().fit(Comparisons.from_rankings(threes, shown=threes))
    alone = PlackettLuce().fit(Comparisons.from_rankings([[0, 1, 2]]))
    assert_allclose(many.restrict(threes[7]).utilities(), alone.utilities(), atol=1e-7)
    assert_allclose(many.restrict(threes[7]).standard_deviations(), alone.standard_deviations(), atol=1e-7)
