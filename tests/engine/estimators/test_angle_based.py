"""AngleBased against enumeration of all rankings, quadrature, the paper's errata, and crowds of its own model."""

import math
import warnings
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import gammaln, hyp0f1, logsumexp

from models_engine.data import Comparisons
from models_engine.errors import EngineError, InsufficientData, InvalidSetting, NotConverged
from models_engine.estimators.angle_based import AngleBased, _Run
from models_engine.inference.angle.completions import Completions, draw_rankings
from models_engine.inference.angle.likelihood import AngleLabels, AngleTarget, fit_variational, match_gamma
from models_engine.inference.angle.permutations import (
    compatible_moments,
    log_compatible,
    log_constant,
    log_place_sum,
    place_scores,
)
from models_engine.inference.angle.von_mises_fisher import log_sphere_mean, mean_length, sample_directions
from models_engine.linalg import centre
from models_engine.progress import FitLog
from models_engine.simulate import simulate_crowd
from tests.budget import examples


def all_places(t: int) -> np.ndarray:
    """(t!, t) places of the items in every ranking."""
    return np.array(list(permutations(range(t))))


def is_compatible(places: np.ndarray, data: Comparisons, label: int) -> np.ndarray:
    """Which rankings agree with a label, by looking at every pair of its items."""
    cells = slice(data.starts[label], data.starts[label + 1])
    items, ranks = data.items[cells], data.ranks[cells]
    result = np.ones(len(places), dtype=bool)
    for a, rank_a in zip(items, ranks, strict=True):
        for b, rank_b in zip(items, ranks, strict=True):
            if rank_a < rank_b:
                result &= places[:, a] < places[:, b]
    return result


def plain_log_likelihood(data: Comparisons, eta: np.ndarray) -> float:
    """Sum over labels of w log sum over compatible rankings, over all t! of them."""
    places = all_places(data.n_items)
    log_weight = place_scores(data.n_items)[places] @ eta
    total = 0.0
    for label, w in enumerate(data.weights):
        total += w * (logsumexp(log_weight[is_compatible(places, data, label)]) - logsumexp(log_weight))
    return total


def rankings_of(eta: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """n rankings, best first, drawn exactly from the model by enumeration."""
    places = all_places(len(eta))
    log_weight = place_scores(len(eta))[places] @ eta
    chosen = rng.choice(len(places), n, p=np.exp(log_weight - logsumexp(log_weight)))
    return np.argsort(places[chosen], axis=1)


def mixed_labels(seed: int = 0, t: int = 5) -> Comparisons:
    """Complete rankings, pairs, choices, tops, best-worst; weights that are not whole."""
    rng = np.random.default_rng(seed)
    people = simulate_crowd(rng, t, 3)
    parts = [people.rankings(6, t, rng), people.pairs(6, rng), people.choices(5, 3, rng), people.top(5, t, 2, rng)]
    data = Comparisons.concatenate([*parts, people.best_worst(5, 4, rng), people.rankings(5, 3, rng)])
    return data.with_weights(rng.choice([0.0, 0.5, 1.0, 2.5], data.n_labels))


@pytest.mark.parametrize("p", [2, 3, 5, 9, 40, 200])
def test_the_normaliser_equals_its_hypergeometric_function(p):
    kappa = np.array([0.0, 1e-5, 0.1, 1.0, 5.0, 31.0, 60.0])
    assert_allclose(log_sphere_mean(kappa, p), np.log(hyp0f1(p / 2, kappa**2 / 4)), atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize(("p", "kappa"), [(4, 2000.0), (9, 7000.0), (95, 200.0), (600, 40.0), (4000, 900.0)])
def test_the_normaliser_by_quadrature_where_bessel_functions_overflow(p, kappa):
    """E[exp(kappa u)] with u the first coordinate, density (1 - u^2)^((p-3)/2)."""
    angle = np.linspace(1e-9, np.pi - 1e-9, 400_001)
    u, log_density = np.cos(angle), (p - 2) * np.log(np.sin(angle))
    expected = logsumexp(kappa * u + log_density) - logsumexp(log_density)
    assert log_sphere_mean(kappa, p) == pytest.approx(expected, rel=1e-9)
    mean = np.exp(kappa * u + log_density - logsumexp(kappa * u + log_density)) @ u
    assert mean_length(kappa, p) == pytest.approx(mean, rel=1e-6)


def test_mean_length_is_the_derivative():
    kappa, h = np.array([0.01, 0.5, 3.0, 30.0, 300.0]), 1e-4
    for p in (1, 2, 9, 99, 999):
        slope = (log_sphere_mean(kappa + h, p) - log_sphere_mean(kappa - h, p)) / (2 * h)
        assert_allclose(mean_length(kappa, p), slope, atol=1e-7)


@pytest.mark.parametrize(("p", "kappa"), [(1, 0.8), (2, 3.0), (4, 0.0), (9, 40.0)])
def test_directions_have_the_right_moments(p, kappa):
    mean = np.ones(p) / math.sqrt(p)
    draws = sample_directions(mean, np.full(40_000, kappa), np.random.default_rng(0))
    assert_allclose(np.linalg.norm(draws, axis=1), 1)
    along, length = draws @ mean, float(mean_length(kappa, p))
    assert along.mean() == pytest.approx(length, abs=0.02)
    second = 1 - (p - 1) * (length / kappa if kappa else 1 / p)
    assert (along**2).mean() == pytest.approx(second, abs=0.02)
    assert_allclose(draws.mean(axis=0), length * mean, atol=0.03)


@pytest.mark.parametrize("p", [2, 8, 19])
def test_a_concentration_of_any_size_has_a_normaliser_a_mean_length_and_directions(p):
    """Huge weights make it 1e12 and more, where scipy's Bessel functions are nan and 1 - cosine drowns in rounding."""
    kappa = np.array([1e7, 1e12, 1e20])
    slope = np.diff(log_sphere_mean(kappa, p)) / np.diff(kappa)
    assert_allclose(slope, 1.0, rtol=1e-5)
    assert_allclose(1 - mean_length(kappa[:1], p), (p - 1) / (2 * kappa[:1]), rtol=1e-3)
    mean = np.eye(p)[0]
    for one in kappa:
        draws = sample_directions(mean, np.full(20_000, one), np.random.default_rng(0))
        assert_allclose((draws[:, 1:] ** 2).sum(axis=1).mean(), (p - 1) / one, rtol=0.05)


@pytest.mark.parametrize("t", [2, 3, 6])
def test_sums_and_moments_under_any_constraints_equal_enumeration(t):
    rng, places = np.random.default_rng(t), all_places(t)
    eta, before = rng.normal(size=t) * 4, np.zeros((20, t), dtype=np.int64)
    for row in before[1:]:  # of some items in a drawn order, each before some of the later ones
        some = rng.permutation(t)[: rng.integers(2, t + 1)]
        for one, other in combinations(some, 2):
            row[other] |= int(rng.integers(2)) << one
    y, weight = place_scores(t)[places], np.exp(place_scores(t)[places] @ eta)
    needs = before[:, None] >> np.arange(t)[:, None] & 1  # (label, earlier, later)
    agrees = ((places[:, :, None] < places[:, None, :]) | (needs[:, None] == 0)).all(axis=(2, 3))
    share = weight * agrees
    share /= share.sum(axis=1, keepdims=True)
    level, mean, spread = compatible_moments(eta, before)
    assert len(np.unique(agrees, axis=0)) > 1
    assert_allclose(log_compatible(eta[None], before)[0], np.log(agrees @ weight), rtol=1e-12, atol=1e-12)
    assert_allclose(level, np.log(agrees @ weight), rtol=1e-12, atol=1e-12)
    assert_allclose(mean, share @ y, atol=1e-12)
    assert_allclose(spread, np.einsum("lr,ri,rj->lij", share, y, y) - np.einsum("li,lj->lij", mean, mean), atol=1e-12)


@pytest.mark.parametrize("length", [1.0, 1e3, 1e6, 1e12])
def test_sums_over_rankings_are_finite_for_a_consensus_of_any_length(length):
    eta = length * np.array([[0.8, -0.1, -0.7]])
    best = float((eta * np.sort(place_scores(3))[[2, 1, 0]]).sum())
    before = np.array([[0, 0, 0], [0, 0, 0b010]])  # nothing, and item 1 before item 2
    found = log_compatible(eta, before)
    assert np.isfinite(found).all()
    assert found[0, 0] == pytest.approx(max(best, log_plain(eta)), rel=1e-9)
    assert best - 700 - 1e-3 * abs(best) <= found[0, 1] <= found[0, 0]
    level, mean, spread = compatible_moments(eta[0], before[:1])
    assert level[0] == pytest.approx(found[0, 0])
    assert np.isfinite(mean).all()
    assert np.isfinite(spread).all()


def log_plain(eta: np.ndarray) -> float:
    return float(logsumexp(place_scores(3)[all_places(3)] @ eta[0]))


@pytest.mark.parametrize("t", [2, 4, 7])
def test_moments_of_compatible_rankings_are_the_derivatives_of_their_log_sum(t):
    rng = np.random.default_rng(t)
    eta = rng.normal(size=t)
    before = np.zeros((2, t), dtype=np.int64)
    before[1, 0] = 2  # item 1 before item 0
    level, mean, spread = compatible_moments(eta, before)
    assert_allclose(level, log_compatible(eta[None], before)[0])
    h = 1e-4
    ahead, behind = (compatible_moments(eta + sign * h * np.eye(t)[0], before) for sign in (1, -1))
    assert_allclose((ahead[0] - behind[0]) / (2 * h), mean[:, 0], atol=1e-7)
    assert_allclose((ahead[1] - behind[1]) / (2 * h), spread[:, 0], atol=1e-7)


@pytest.mark.parametrize("t", [2, 3, 5, 6])
def test_sums_over_rankings_equal_enumeration(t):
    rng, places = np.random.default_rng(t), all_places(t)
    eta = rng.normal(size=(3, t)) * 4
    log_weight = eta @ place_scores(t)[places].T
    assert_allclose(log_constant(eta), logsumexp(log_weight, axis=1), rtol=1e-12)
    before = np.zeros((1, t), dtype=np.int64)
    before[0, t - 1] = 1  # item 0 precedes the last
    agrees = places[:, 0] < places[:, t - 1]
    assert_allclose(log_compatible(eta, before)[:, 0], logsumexp(log_weight[:, agrees], axis=1), rtol=1e-12)
    assert_allclose(log_place_sum(eta, np.broadcast_to(place_scores(t), eta.shape)), log_constant(eta), rtol=1e-12)


def test_the_sphere_approximates_seven_and_more_places_well():
    rng, scores = np.random.default_rng(0), place_scores(8)
    eta = centre(rng.normal(size=(20, 8)))
    assert_allclose(log_place_sum(eta + 3.0, np.broadcast_to(scores, eta.shape)), log_constant(eta), atol=0.03)


def test_the_exact_constant_depends_on_the_direction_as_no_approximation_in_kappa_can():
    theta = centre(np.random.default_rng(0).normal(size=(4000, 4)))
    found = log_constant(20 * theta / np.linalg.norm(theta, axis=1, keepdims=True))
    assert found.max() - found.min() > 2
    assert found.min() < math.log(24) + log_sphere_mean(20.0, 3) < found.max()


def test_likelihoods_of_labels_match_enumeration():
    data = mixed_labels()
    target = AngleTarget(AngleLabels.of(data), prior_sd=2.0)
    for seed in range(3):
        z = np.random.default_rng(seed).normal(size=4) * 2
        expected = plain_log_likelihood(data, target.basis @ z) - z @ z / 8
        assert target.log_density(z[None])[0] == pytest.approx(expected, rel=1e-10)


def test_a_tie_is_half_a_label_each_way():
    tied = Comparisons.from_pairs([0, 1], [1, 2], [0.5, 1], n_items=3)
    halves = Comparisons.from_pairs([0, 1, 1], [1, 0, 2], [1, 1, 1], weights=[0.5, 0.5, 1], n_items=3)
    z = np.random.default_rng(0).normal(size=(4, 2))
    one, other = (AngleTarget(AngleLabels.of(data), 2.0).log_density(z) for data in (tied, halves))
    assert_allclose(one, other)


def test_maximum_likelihood_matches_the_mean_of_y():
    """The exponential family's equation, E[y] = mean of y, by enumeration."""
    rng = np.random.default_rng(1)
    rankings = rankings_of(centre(rng.normal(size=6) * 3), 80, rng)
    labels = AngleLabels.of(Comparisons.from_rankings(rankings))
    target = AngleTarget(labels, 1e6)
    mode = target.mode()
    y = place_scores(6)[all_places(6)]
    log_weight = y @ (target.basis @ mode.mean)
    expected = np.exp(log_weight - logsumexp(log_weight)) @ y
    assert_allclose(expected, labels.resultant / 80, atol=1e-6)
    spread = np.cov(y.T, aweights=np.exp(log_weight - logsumexp(log_weight)), ddof=0) * 80
    assert_allclose(
        np.linalg.inv(mode.root @ mode.root.T), target.basis.T @ spread @ target.basis, rtol=1e-4, atol=1e-3
    )


def test_beyond_eight_items_the_mode_is_in_closed_form():
    rng = np.random.default_rng(1)
    target = AngleTarget(AngleLabels.of(simulate_crowd(rng, 10, 3).rankings(30, 10, rng)), 3.0)
    mode, h = target.mode(), 1e-4
    steps = np.eye(9) * h
    up, down = target.log_density(mode.mean + steps), target.log_density(mode.mean - steps)
    assert_allclose((up - down) / (2 * h), 0, atol=1e-4)
    assert_allclose(
        np.diagonal(np.linalg.inv(mode.root @ mode.root.T)), -(up + down - 2 * mode.value) / h**2, rtol=1e-3
    )


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), shape=st.floats(0.3, 20), rate=st.floats(0.05, 5))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_the_variational_bound_never_decreases_and_is_a_bound(seed, n, shape, rate):
    """log p(labels) under the approximate constant is an integral over kappa alone.

    The bands are what the paper's (7) leaves open where ln I_nu is not concave; see fit_variational.
    """
    rng = np.random.default_rng(seed)
    labels = AngleLabels.of(Comparisons.from_rankings(np.argsort(rng.random((n, 5)) + rng.random(5), axis=1)))
    beta = float(np.linalg.norm(labels.resultant))
    form = fit_variational(labels.resultant, labels.total, (shape, rate))
    assert (np.diff(form.bounds) >= -1e-5 * (1 + np.abs(form.bounds[1:]))).all()

    def log_integrand(k: float) -> float:
        prior = (shape - 1) * np.log(k) - rate * k + shape * np.log(rate) - gammaln(shape)
        return float(prior - n * (gammaln(6) + log_sphere_mean(k, 4)) + log_sphere_mean(beta * k, 4))

    top = log_integrand(form.a / form.b)
    points = [form.a / form.b * one for one in (0.5, 1, 2)]
    mass = quad(lambda k: np.exp(log_integrand(k) - top), 1e-12, 400, points=points, limit=500)[0]
    evidence = math.log(mass) + top
    assert form.bounds[-1] <= evidence + 1e-6
    assert form.bounds[-1] >= evidence - 0.5 * (4 + shape)


def test_the_gamma_prior_has_the_moments_of_the_normal():
    shape, rate = match_gamma(2.0, 7)
    length = np.linalg.norm(np.random.default_rng(0).normal(scale=2.0, size=(200_000, 7)), axis=1)
    assert shape / rate == pytest.approx(length.mean(), rel=5e-3)
    assert shape / rate**2 == pytest.approx(length.var(), rel=2e-2)


def test_resampling_equals_a_grid_where_labels_are_few():
    """Three items: the posterior over two dimensions, on a grid."""
    data = Comparisons.concatenate(
        [Comparisons.from_rankings([[0, 1, 2], [0, 2, 1]]), Comparisons.from_pairs([2, 0], [1, 1], [1, 0.5])]
    )
    posterior = AngleBased(prior_sd=2.0, n_draws=8000).fit(data)
    target = AngleTarget(AngleLabels.of(data), 2.0)
    grid = np.stack(np.meshgrid(*[np.linspace(-14, 14, 281)] * 2), axis=-1).reshape(-1, 2)
    log_density = target.log_density(grid)
    weight = np.exp(log_density - logsumexp(log_density))
    utilities = -grid @ target.basis.T
    mean = weight @ utilities
    assert_allclose(posterior.utilities(), mean, atol=0.06)
    assert_allclose(posterior.standard_deviations(), np.sqrt(weight @ (utilities - mean) ** 2), rtol=0.05)


def test_beyond_eight_items_resampling_equals_the_integral_over_kappa():
    rng = np.random.default_rng(3)
    data = simulate_crowd(rng, 10, 3, utility_sd=0.4).rankings(8, 10, rng)
    labels = AngleLabels.of(data)
    beta = float(np.linalg.norm(labels.resultant))
    kappa = np.linspace(1e-3, 60, 20_000)
    log_density = 8 * np.log(kappa) - kappa**2 / 18 - labels.total * log_sphere_mean(kappa, 9)
    log_density += log_sphere_mean(beta * kappa, 9)
    weight = np.exp(log_density - logsumexp(log_density))
    found = AngleBased(n_draws=4000).fit(data).concentrations()
    assert found.mean() == pytest.approx(weight @ kappa, abs=0.15)
    assert found.std() == pytest.approx(math.sqrt(weight @ kappa**2 - (weight @ kappa) ** 2), rel=0.1)
    narrow = AngleBased(n_draws=4000, inference="vi").fit(data).concentrations().std()
    assert narrow < 0.9 * found.std(), "the variational form doubts too little; the docstring's reason for resampling"


@pytest.mark.slow
def test_completions_follow_the_model_among_the_compatible():
    data = Comparisons.from_top([[1, 3]], [[0, 1, 2, 3]], n_items=5).with_weights([20.0])
    eta, rng = np.array([-2.0, 1.5, 0.5, 2.0, -2.0]), np.random.default_rng(0)
    completions, places = Completions(data, rng), all_places(5)
    assert completions.total == 20
    counts = np.zeros(len(places))
    index = {tuple(one): row for row, one in enumerate(places)}
    for _ in range(1500):
        completions.move(eta, 5, rng)
        for one in completions.places:
            counts[index[tuple(one)]] += 1
    agrees = is_compatible(places, data, 0)
    assert counts[~agrees].sum() == 0
    expected = np.where(agrees, np.exp(place_scores(5)[places] @ eta), 0)
    assert_allclose(counts / counts.sum(), expected / expected.sum(), atol=0.012)


@pytest.mark.parametrize("eta", [[-3.0, 1.0, 0.0, 2.0], [1.0, -1.5, 0.5, 2.0, -2.0], [0.7, -0.7]])
def test_rankings_are_drawn_from_the_model(eta):
    """Of an odd number of items one is in no pair of a round; of two items a round is one pair. 4.5 standard errors."""
    eta, places, n = np.array(eta), all_places(len(eta)), 40_000
    drawn = draw_rankings(np.tile(eta, (n, 1)), np.random.default_rng(0))
    found = np.array([(drawn == one).all(axis=1).mean() for one in places])
    expected = np.exp(place_scores(len(eta))[places] @ eta)
    expected /= expected.sum()
    assert_allclose(found, expected, atol=min(0.01, 4.5 * np.sqrt(expected.max() / n)))


def test_rankings_of_several_vectors_are_drawn_each_from_its_own():
    eta = np.repeat([[2.0, -1.0, -1.0], [-1.0, -1.0, 2.0]], 20_000, axis=0)
    drawn = draw_rankings(eta, np.random.default_rng(1))
    expected = np.exp(place_scores(3)[all_places(3)] @ eta[0])
    last = expected[all_places(3)[:, 0] == 2].sum() / expected.sum()
    assert (drawn[:20_000, 0] == 2).mean() == pytest.approx(last, abs=0.015)
    assert (drawn[20_000:, 2] == 2).mean() == pytest.approx(last, abs=0.015)


def test_draws_of_many_items_have_the_models_mean():
    """The mean of eta'y is the slope of the log constant along eta, by the sphere, which is near for 12 items."""
    eta = np.linspace(-1.0, 1.0, 12)
    eta *= 3.0 / np.linalg.norm(eta)
    drawn = place_scores(12)[draw_rankings(np.tile(eta, (20_000, 1)), np.random.default_rng(2))] @ eta
    slope = 3.0 * float(mean_length(3.0, 11))
    assert drawn.mean() == pytest.approx(slope, abs=4.5 * drawn.std() / np.sqrt(len(drawn)) + 0.005 * slope)


@pytest.mark.slow
def test_gibbs_agrees_with_summing_exactly():
    data = mixed_labels(2).with_weights(None)
    exact = AngleBased(n_draws=2000).fit(data)
    estimator = AngleBased(inference="sir", n_draws=700, n_burn_in=200)
    run = _Run(estimator, AngleLabels.of(data), np.random.default_rng(0), FitLog(10**6))
    eta, _, converged, _ = run.gibbs(data)
    assert converged
    assert_allclose(centre(-eta.mean(axis=0)), exact.utilities(), atol=0.2 * exact.standard_deviations().mean())
    assert_allclose(eta.std(axis=0), exact.standard_deviations(), rtol=0.15)


@pytest.mark.slow
def test_predictive_probabilities_sum_to_one():
    data = mixed_labels()
    posterior = AngleBased().fit(data)
    every = Comparisons.from_rankings(np.argsort(all_places(5), axis=1))
    density = np.exp(posterior.log_predictive(every))
    assert density.sum() == pytest.approx(1, abs=1e-9)
    log_weight = -posterior.draws[::4] @ place_scores(5)[all_places(5)].T
    expected = np.exp(log_weight - logsumexp(log_weight, axis=1, keepdims=True)).mean(axis=0)
    assert_allclose(density, expected, rtol=1e-9)


def test_probabilities_of_incomplete_labels_are_sums_over_rankings():
    posterior = AngleBased(n_draws=4000).fit(mixed_labels())
    data = mixed_labels(5).with_weights(None)
    places = all_places(5)
    log_weight = -posterior.draws @ place_scores(5)[places].T
    probability = np.exp(log_weight - logsumexp(log_weight, axis=1, keepdims=True)).mean(axis=0)
    found = np.exp(posterior.log_predictive(data))
    no_tie = 1 - posterior.likelihood.tie_rate
    for label, size in enumerate(data.sizes):
        expected = probability[is_compatible(places, data, label)].sum() * (no_tie if size == 2 else 1)
        assert found[label] == pytest.approx(expected, rel=0.12)
    first, second = np.triu_indices(5, 1)
    expected = [probability[places[:, a] < places[:, b]].sum() for a, b in zip(first, second, strict=True)]
    assert_allclose(posterior.pairwise_probabilities(first, second), expected, atol=0.02)


@pytest.mark.slow
def test_intervals_cover_in_crowds_of_its_own_model():
    covered = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        truth = centre(rng.normal(scale=3.0, size=5))
        rankings = rankings_of(-truth, 30, rng)
        full = Comparisons.from_rankings(rankings[:15])
        tops = Comparisons.from_top(rankings[15:, :2], np.sort(rankings[15:], axis=1))
        posterior = AngleBased().fit(Comparisons.concatenate([full, tops]))
        low, high = np.quantile(posterior.draws, [0.05, 0.95], axis=0)
        covered.append(((low <= truth) & (truth <= high)).mean())
    assert 0.84 <= np.mean(covered) <= 0.96


def test_the_variational_form_agrees_with_resampling_on_much_data_and_reports_its_error():
    rng = np.random.default_rng(0)
    data = Comparisons.from_rankings(rankings_of(centre(rng.normal(size=6)), 800, rng))
    exact, form = AngleBased().fit(data), AngleBased(inference="vi").fit(data)
    assert_allclose(form.utilities(), exact.utilities(), atol=0.1)
    assert "errs by" in form.diagnostics.message


@pytest.mark.slow
def test_incomplete_rankings_of_many_items():
    rng = np.random.default_rng(0)
    people = simulate_crowd(rng, 12, 4, utility_sd=1.5)
    posterior = AngleBased(inference="sir", n_draws=400, thin=1, n_burn_in=150).fit(people.top(100, 12, 4, rng))
    assert np.corrcoef(posterior.utilities(), people.utilities)[0, 1] > 0.9


@pytest.mark.slow
def test_the_mode_over_drawn_rankings_agrees_with_the_sampler_of_completions():
    """Two ways to the posterior of incomplete rankings beyond eight items that share neither draws nor formulas."""
    rng = np.random.default_rng(0)
    data = simulate_crowd(rng, 12, 4, utility_sd=1.5).top(100, 12, 4, rng)
    mode = AngleBased().fit(data)
    drawn = AngleBased(inference="sir", n_burn_in=200, n_draws=600).fit(data)
    assert "mode of the log posterior" in mode.diagnostics.message, "what the default takes here"
    assert mode.diagnostics.converged
    sd = drawn.standard_deviations()
    assert_allclose(mode.utilities(), drawn.utilities(), atol=0.35 * float(sd.max()))
    assert_allclose(mode.standard_deviations().mean(), sd.mean(), rtol=0.1)
    free = AngleBased(inference="mle").fit(data)
    assert free.diagnostics.converged
    assert np.linalg.norm(free.utilities()) > np.linalg.norm(mode.utilities()), "the prior draws towards 0"


def test_maximum_likelihood_without_a_maximum_is_refused():
    unanimous = [[3, 0, 1, 2, 4, 5, 6, 7, 8]] * 5
    for rankings, t in (([[0, 1, 2]] * 9, 3), ([[0, 1, 2, 3], [1, 0, 2, 3]], 4), ([], 4), ([], 9), (unanimous, 9)):
        with pytest.raises(InsufficientData, match="no maximum"):
            AngleBased(inference="mle").fit(Comparisons.from_rankings(rankings, n_items=t))


def test_a_prior_of_zero_width_is_rejected():
    with pytest.raises(InvalidSetting, match="prior_sd=0"):
        AngleBased(prior_sd=0).fit(mixed_labels())


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    t=st.integers(1, 6),
    inference=st.sampled_from(["sir", "vi", "laplace", "mle"]),
    weight=st.sampled_from([0.0, 1e-9, 1.0, 1e6]),
)
@settings(max_examples=examples(25), deadline=None)
def test_difficult_data_give_an_answer_or_a_named_error(seed, t, inference, weight):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 4)) if t > 1 else 0
    pairs = np.argsort(rng.random((n, t)), axis=1)[:, :2]
    parts = [Comparisons.from_pairs(pairs[:, 0], pairs[:, -1], rng.choice([0, 0.5, 1], n), n_items=t)]
    if t > 1:
        parts.append(Comparisons.from_rankings(np.tile(rng.permutation(t), (3, 1)), n_items=t))
    data = Comparisons.concatenate(parts)
    data = data.with_weights(np.full(data.n_labels, weight))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        try:
            posterior = AngleBased(inference=inference, n_draws=50, n_burn_in=10, thin=1).fit(data)
        except EngineError:
            return
    assert np.isfinite(posterior.draws).all()
    assert np.isfinite(posterior.log_predictive(data)).all()
