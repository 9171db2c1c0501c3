"""GPPL against quadrature, a slow optimiser of its bound, brute force and itself written the other way round."""

import io
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import digamma, gammaln, log_ndtr, ndtr

from models_engine.analysis.metrics import calibration_slope, coverage
from models_engine.data import Comparisons
from models_engine.errors import InvalidData, InvalidSetting, NotConverged, Unsupported
from models_engine.estimators.gppl import GPPL
from models_engine.estimators.gppl_posterior import GPPLPosterior
from models_engine.inference.pairwise_gp.inducing import build_item_prior, inducing_points
from models_engine.inference.pairwise_gp.kernel_choice import LENGTHS
from models_engine.inference.pairwise_gp.model import GammaPrior, PairFactors, PairwiseGP
from models_engine.inference.pairwise_gp.variational import label_noise, linearised_sites, maximise_bound
from models_engine.inference.probit_ep.expected_probit import expected_factor
from models_engine.kernels import ItemKernel
from models_engine.simulate import Crowd, simulate_crowd
from tests.budget import examples
from tests.engine.estimators.test_difficult_data import comparisons

CERTAIN = {"prior_shape": 1e5, "prior_rate": 1e5}  # s = 1, to 0.3%


def simulate_along_features(seed: int, n_items: int = 60, n_labels: int = 400, *, noise: float = 0.0, width: int = 2):
    """(truth, labels) of a crowd whose utilities are a smooth function of the features, and some noise."""
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, size=(n_items, width))
    worth = 1.5 * np.sin(2 * features[:, 0]) + features[:, -1] + noise * rng.standard_normal(n_items)
    worth -= worth.mean()
    plain = simulate_crowd(rng, n_items, 6, link="probit")
    truth = Crowd(worth, np.tile(worth, (6, 1)), plain.reliability, plain.side, link="probit")
    data = truth.pairs(n_labels, rng)
    with_features = Comparisons.from_pairs([], [], [], [], n_items=n_items, n_annotators=6, item_features=features)
    return truth, Comparisons.concatenate([data, with_features])


def random_problem(seed: int = 0, n: int = 4, n_labels: int = 9) -> PairwiseGP:
    rng = np.random.default_rng(seed)
    data = simulate_crowd(rng, n, 2, link="probit").pairs(n_labels, rng)
    kernel = ItemKernel(rng.standard_normal((n, 2)), n, share=0.7)
    return PairwiseGP(PairFactors.of(data.pairs()), build_item_prior(kernel, n, rng), GammaPrior(1.5, 2.5))


# Sites and bound of the variational Gaussian


@pytest.mark.parametrize("variance", [0.01, 1.0, 9.9, 50.0, 400.0])
@pytest.mark.parametrize("mean", [-5.0, 0.3, 4.0])
@pytest.mark.parametrize(("wins", "losses"), [(1.0, 0.0), (0.5, 0.5), (0.3, 2.0)])
def test_expectations_of_the_factor_are_those_of_quadrature(mean, variance, wins, losses):
    z, step = np.linspace(mean - 9 * np.sqrt(variance), mean + 9 * np.sqrt(variance), 4_001, retstep=True)
    density = np.exp(-((z - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance) * step  # trapezoidal rule
    up, down = (np.exp(-(z**2) / 2 - log_ndtr(s * z)) / np.sqrt(2 * np.pi) for s in (1, -1))  # (log Phi)' by densities
    value, first = density @ (wins * log_ndtr(z) + losses * log_ndtr(-z)), density @ (wins * up - losses * down)
    h = 1e-4 * np.sqrt(variance)  # E g'' = d/dm E g'
    shifted = [
        float(expected_factor(*(np.array([x]) for x in (mean + s * h, variance, wins, losses)))[1][0]) for s in (1, -1)
    ]
    found = [float(x[0]) for x in expected_factor(*(np.array([float(x)]) for x in (mean, variance, wins, losses)))]
    assert_allclose(found[:2], [value, first], rtol=1e-6)
    assert found[2] == pytest.approx(-(shifted[0] - shifted[1]) / (2 * h), rel=1e-4, abs=1e-7)


def slow_bound(problem: PairwiseGP, mean, covariance, shape: float, rate: float) -> float:
    """E log p(labels, f, s) - E log q term by term, expectations of log Phi by adaptive quadrature."""
    factors, scale, kernel = problem.factors, problem.scale, problem.prior.kernel
    n, log_s, s = len(mean), digamma(shape) - np.log(rate), shape / rate
    total = 0.0
    for low, high, wins, losses in zip(factors.low, factors.high, factors.wins, factors.losses, strict=True):
        d = np.eye(n)[low] - np.eye(n)[high]
        m, v = d @ mean, d @ covariance @ d
        total += quad(
            lambda x, m=m, v=v, w=wins, k=losses: (
                (w * log_ndtr(m + np.sqrt(v) * x) + k * log_ndtr(-m - np.sqrt(v) * x))
                * np.exp(-x * x / 2)
                / np.sqrt(2 * np.pi)
            ),
            -9,
            9,
        )[0]
    second = covariance + np.outer(mean, mean)
    total += n * (log_s - np.log(2 * np.pi)) / 2 - np.linalg.slogdet(kernel)[1] / 2
    total -= s * np.trace(np.linalg.solve(kernel, second)) / 2
    total += scale.shape * np.log(scale.rate) - gammaln(scale.shape) + (scale.shape - 1) * log_s - scale.rate * s
    total += np.linalg.slogdet(2 * np.pi * np.e * covariance)[1] / 2
    return float(total + shape - np.log(rate) + gammaln(shape) + (1 - shape) * digamma(shape))


def test_the_bound_matches_a_sum_of_terms():
    problem = random_problem()
    state = problem.at(np.linspace(0.1, 0.9, len(problem.factors)), 0.8, np.array([0.3, -0.5, 0.9, 0.0]))
    assert state.bound == pytest.approx(slow_bound(problem, state.mean, state.covariance, *state.gamma), abs=1e-6)


def test_the_best_scale_for_a_gaussian_has_zero_gradient():
    problem = random_problem(1)
    state = problem.start()
    shape, rate = state.gamma
    best = slow_bound(problem, state.mean, state.covariance, shape, rate)
    for a, b in ((1.01, 1), (0.99, 1), (1, 1.01), (1, 0.99)):
        assert slow_bound(problem, state.mean, state.covariance, a * shape, b * rate) < best


def test_natural_gradient_steps_match_a_slow_optimiser_of_the_bound():
    problem = random_problem(2, n=3, n_labels=7)
    found = maximise_bound(problem.start(), tolerance=1e-9, limit=500, on_step=lambda _: None).state
    rows, columns = np.tril_indices(3)

    def loss(x):
        lower = np.zeros((3, 3))
        lower[rows, columns] = x[3:9]
        return -slow_bound(problem, x[:3], lower @ lower.T + 1e-12 * np.eye(3), *np.exp(x[9:]))

    start = np.concatenate([np.zeros(3), np.eye(3)[rows, columns], np.log([3.0, 3.0])])
    slow = minimize(loss, start, method="L-BFGS-B", options={"maxiter": 500, "ftol": 1e-13})
    assert -slow.fun == pytest.approx(found.bound, abs=1e-5)
    assert_allclose(slow.x[:3], found.mean, atol=5e-3)
    assert np.exp(slow.x[9] - slow.x[10]) == pytest.approx(found.expected_scale, rel=0.01)


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_never_decreases_and_is_a_bound(seed):
    _, data = simulate_along_features(seed, n_items=12, n_labels=int(10 * 3**seed))
    trace = np.array(GPPL(share=0.5, length_scale=1.0).fit(data).diagnostics.objective)
    assert (np.diff(trace) > -1e-8 * np.abs(trace[:-1])).all()
    assert (trace < 0).all()
    assert trace[-1] > trace[0]


def test_the_bound_is_just_below_the_evidence():
    """Two items: log p(labels) is an integral over the margin and s."""
    data = Comparisons.from_pairs([0] * 6, [1] * 6, [1, 1, 1, 1, 0, 1])
    problem = PairwiseGP(
        PairFactors.of(data.pairs()), build_item_prior(ItemKernel(None, 2), 2, None), GammaPrior(2.0, 2.0)
    )
    bound = maximise_bound(problem.start(), tolerance=1e-8, limit=300, on_step=lambda _: None).state.bound
    z, s = np.linspace(-15, 15, 1501), np.geomspace(1e-4, 30, 1501)
    log_prior = np.log(s)[:, None] / 2 - s[:, None] * z**2 / 4 - np.log(4 * np.pi) / 2
    density = np.exp(log_prior + 5 * log_ndtr(z) + log_ndtr(-z)) * (4 * s * np.exp(-2 * s))[:, None]
    evidence = np.log(np.trapezoid(np.trapezoid(density, z, axis=1), s))
    assert evidence - 0.3 < bound < evidence


# Inducing points and minibatches


def test_inducing_points_at_all_distinct_items_change_nothing():
    rng = np.random.default_rng(0)
    truth = simulate_crowd(rng, 12, 3, link="probit")
    features = np.repeat(rng.standard_normal((6, 2)), 2, axis=0)
    none = Comparisons.from_pairs([], [], [], [], n_items=12, n_annotators=3, item_features=features)
    data = Comparisons.concatenate([truth.pairs(120, rng), none])
    dense = GPPL(share=1.0, length_scale=1.0).fit(data)
    sparse = GPPL(share=1.0, length_scale=1.0, n_inducing=6).fit(data)
    assert_allclose(sparse.utilities(), dense.utilities(), atol=2e-3)
    assert_allclose(sparse.covariance(), dense.covariance(), atol=1e-2 * dense.covariance().max())
    new = rng.standard_normal((4, 2))
    assert_allclose(sparse.at(new).utilities(), dense.at(new).utilities(), atol=5e-3)
    assert_allclose(sparse.at(new).covariance(), dense.at(new).covariance(), atol=0.02)


@pytest.mark.slow
def test_a_tenth_of_the_items_as_inducing_points_is_close_to_the_exact_fit():
    truth, data = simulate_along_features(3, n_items=300, n_labels=3000)
    dense = GPPL(share=1.0, length_scale=1.0).fit(data)
    sparse = GPPL(share=1.0, length_scale=1.0, n_inducing=30).fit(data)
    assert np.corrcoef(sparse.utilities(), dense.utilities())[0, 1] > 0.995
    assert np.corrcoef(sparse.utilities(), truth.utilities)[0, 1] > 0.97
    chosen = GPPL(n_inducing=30).fit(data)
    assert chosen.source is not None
    assert chosen.source.kernel[0] > 0
    assert np.corrcoef(chosen.utilities(), truth.utilities)[0, 1] > 0.97
    file = io.BytesIO()
    np.savez(file, **sparse.to_arrays())
    file.seek(0)
    loaded = GPPLPosterior.from_arrays(np.load(file, allow_pickle=False))
    new = data.item_features[:3] + 0.1
    assert_allclose(loaded.at(new).utilities(), sparse.at(new).utilities(), atol=1e-12)


def sparse_problem() -> PairwiseGP:
    """Five features, which forty points leave half open: there a scale fitted to the points alone runs away."""
    _, data = simulate_along_features(5, n_items=400, n_labels=700, width=5)
    kernel = ItemKernel(data.item_features, 400, share=0.5)
    prior = build_item_prior(kernel, 40, np.random.default_rng(0))
    assert 0.5 < prior.rest.mean() < 0.9
    return PairwiseGP(PairFactors.of(data.pairs()), prior, GammaPrior(2.0, 2.0))


@pytest.mark.slow
def test_the_scale_includes_the_variance_given_the_points():
    problem = sparse_problem()
    found = maximise_bound(problem.start(), tolerance=1e-8, limit=300, on_step=lambda _: None)
    assert found.converged
    state = found.state

    def objective(log_s: float) -> float:
        s = float(np.exp(log_s))
        factors = problem.factors
        margins = problem.margins(factors, state.mean, state.covariance, s)
        value = expected_factor(margins.mean, margins.variance, factors.wins, factors.losses)[0].sum()
        return float(value + (2.0 + problem.prior.n_points / 2) * log_s - s * (2.0 + state.square / 2))

    at, h = float(np.log(state.expected_scale)), 1e-3
    slope = (objective(at + h) - objective(at - h)) / (2 * h)
    curvature = (2 * objective(at) - objective(at + h) - objective(at - h)) / h**2
    assert curvature > 0
    assert abs(slope) < 1e-4 * curvature


def test_inducing_points_spread_over_the_rows():
    rng = np.random.default_rng(0)
    rows = np.concatenate(
        [centre + 0.05 * rng.standard_normal((50, 2)) for centre in np.eye(2) * 10] + [np.zeros((1, 2))]
    )
    points = inducing_points(rows, 3, rng)
    assert_allclose(np.sort(points.sum(axis=1)), [0, 10, 10], atol=0.1)
    assert len(inducing_points(np.repeat(rows[:2], 5, axis=0), 4, rng)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("n_inducing", [1_000, 25])
def test_minibatches_are_close_to_the_batch(n_inducing):
    _, data = simulate_along_features(4, n_items=80, n_labels=2000)
    plain = {"share": 1.0, "length_scale": 1.0, "n_inducing": n_inducing}
    batch = GPPL(**plain).fit(data, rng=np.random.default_rng(0))
    some = GPPL(**plain, batch_size=150, epochs=15).fit(data, rng=np.random.default_rng(0))
    sd = batch.standard_deviations()
    assert np.abs(some.utilities() - batch.utilities()).max() < 0.1 * sd.mean()
    assert_allclose(some.standard_deviations(), sd, rtol=0.05)
    assert some.diagnostics.objective[-1] == pytest.approx(batch.diagnostics.objective[-1], rel=1e-3)
    other = GPPL(**plain, batch_size=150, epochs=15, delay=0.0, forget=0.8).fit(data, rng=np.random.default_rng(0))
    assert np.abs(other.utilities() - batch.utilities()).max() < 0.1 * sd.mean()


def test_too_few_epochs_are_reported():
    _, data = simulate_along_features(4, n_items=80, n_labels=2000)
    with pytest.warns(NotConverged, match="raise epochs"):
        posterior = GPPL(share=1.0, length_scale=1.0, batch_size=20, epochs=1).fit(data)
    assert not posterior.diagnostics.converged


# Expectation propagation


def truncated_ep(mean0, covariance0, steps: int = 400):
    """EP on v | v < 0, v ~ N(mean0, covariance0): Takeno's note with its signs and Sigma_0^-1 mu_0 put right.

    E[v | v < 0] = mu - sd phi(b) / Phi(b), b = -mu / sd. Returns site precisions and means times them.
    """
    n = len(mean0)
    precision, shift = np.zeros(n), np.zeros(n)
    prior = np.linalg.inv(covariance0)
    for _ in range(steps):
        for j in range(n):
            covariance = np.linalg.inv(prior + np.diag(precision))
            mean = covariance @ (shift + prior @ mean0)
            cavity_variance = 1 / (1 / covariance[j, j] - precision[j])
            cavity = cavity_variance * (mean[j] / covariance[j, j] - shift[j])
            sd = np.sqrt(cavity_variance)
            b = -cavity / sd
            ratio = np.exp(-b * b / 2 - log_ndtr(b)) / np.sqrt(2 * np.pi)
            site_mean = cavity - sd / (b + ratio)
            site_variance = (1 / (b * ratio + ratio**2) - 1) * cavity_variance
            precision[j], shift[j] = 1 / site_variance, site_mean / site_variance
    return precision, shift


def test_ep_on_truncated_differences_is_ep_with_probit_sites():
    rng = np.random.default_rng(5)
    n = 5
    features = rng.standard_normal((n, 2))
    shown = np.array([[0, 1], [2, 1], [3, 4], [0, 4], [1, 3], [2, 0], [4, 2], [3, 0]])
    winner, loser = shown.T
    data = Comparisons.from_pairs(winner, loser, np.ones(len(shown)), item_features=features)
    found = GPPL(inference="ep", share=0.8, length_scale=1.0, tolerance=1e-11, prior_shape=1e9, prior_rate=1e9).fit(
        data
    )
    kernel = ItemKernel(features, n, 0.8).matrix()
    d = np.eye(n)[loser] - np.eye(n)[winner]  # v = f_l + e_l - f_w - e_w, noise of variance 1/2 per item
    prior = d @ kernel @ d.T + np.eye(len(d))
    precision, shift = truncated_ep(np.zeros(len(d)), prior)
    site_covariance = np.diag(1 / precision)
    gain = kernel @ d.T @ np.linalg.inv(prior + site_covariance)
    mean = gain @ (shift / precision)
    covariance = kernel - gain @ d @ kernel
    centring = np.eye(n) - 1 / n
    assert_allclose(found.utilities(), centring @ mean, atol=1e-6)
    assert_allclose(found.covariance(), centring @ covariance @ centring, atol=1e-6)


def test_the_mean_update_of_the_note_has_the_wrong_sign():
    mean, sd = 0.4, 1.3
    b = -mean / sd
    draws = mean + sd * np.random.default_rng(0).standard_normal(400_000)
    below = draws[draws < 0].mean()
    ratio = np.exp(-b * b / 2) / np.sqrt(2 * np.pi) / ndtr(b)
    assert mean - sd * ratio == pytest.approx(below, abs=0.01)
    assert abs(mean + sd * ratio - below) > 1


@pytest.mark.parametrize("inference", ["ep", "vg", "linearised"])
def test_close_to_brute_force_for_three_items(inference):
    data = Comparisons.from_pairs([0, 0, 1, 0, 0], [1, 2, 2, 2, 1], [1, 1, 0, 1, 0.5], n_items=3)
    covariance = np.eye(2) + 1  # of (f0 - f1, f0 - f2) at s = 1
    grid = np.linspace(-10, 10, 601)
    first, second = np.meshgrid(grid, grid, indexing="ij")
    inverse = np.linalg.inv(covariance)
    quadratic = inverse[0, 0] * first**2 + 2 * inverse[0, 1] * first * second + inverse[1, 1] * second**2
    ties = (log_ndtr(first) + log_ndtr(-first)) / 2
    mass = np.exp(log_ndtr(first) + ties + 2 * log_ndtr(second) + log_ndtr(first - second) - quadratic / 2)
    mass /= mass.sum()
    exact = np.array([(mass * first).sum(), (mass * second).sum()])
    variance = np.array([(mass * first**2).sum(), (mass * second**2).sum()]) - exact**2
    posterior = GPPL(inference=inference, **CERTAIN).fit(data)
    mean = posterior.utilities()
    near = {"ep": 0.02, "vg": 0.06, "linearised": 0.4}[inference]
    assert_allclose([mean[0] - mean[1], mean[0] - mean[2]], exact, rtol=near, atol=near / 10)
    assert_allclose(
        posterior.difference_variance(0, [1, 2]), variance, rtol={"ep": 0.02, "vg": 0.15}.get(inference, 0.4)
    )


def test_ep_finds_the_most_probable_scale():
    """The scale it ends at is the one of highest evidence times prior on a grid of its own fits at fixed scales."""
    _, data = simulate_along_features(6, n_items=10, n_labels=80)
    plain = {"inference": "ep", "share": 0.5, "length_scale": 1.0}
    found = GPPL(**plain, prior_shape=2.0, prior_rate=3.0).fit(data)
    s = found.prior_sd**-2

    def objective(at: float) -> float:
        fixed = GPPL(**plain, prior_shape=2e9, prior_rate=2e9 / at).fit(data).diagnostics.objective[-1]
        evidence = fixed - (2e9 * np.log(at) - 2e9)
        return evidence + 2 * np.log(at) - 3 * at

    best = objective(s)
    assert objective(0.8 * s) < best - 1e-3
    assert objective(1.25 * s) < best - 1e-3


def test_linearised_sites_have_the_slope_of_the_gaussian_likelihood_and_its_gauss_newton_curvature():
    margin, noise, h = np.array([-1.2, 0.3, 2.0]), np.array([0.2, 0.25, 0.1]), 1e-6
    rows = np.arange(3)
    factors = PairFactors(rows, rows + 1, np.array([1.0, 0.5, 3.0]), np.array([0.0, 0.5, 1.0]), 4)

    def log_likelihood(z):
        return -(factors.wins * (1 - ndtr(z)) ** 2 + factors.losses * ndtr(z) ** 2) / (2 * noise)

    weights, slopes = linearised_sites(factors, margin, noise)
    assert_allclose(slopes, (log_likelihood(margin + h) - log_likelihood(margin - h)) / (2 * h), rtol=1e-6)
    rate = (ndtr(margin + h) - ndtr(margin - h)) / (2 * h)
    assert_allclose(weights, (factors.wins + factors.losses) * rate**2 / noise, rtol=1e-6)


def test_label_noise_is_the_expected_bernoulli_variance_of_the_matched_beta():
    problem = random_problem()
    v = problem.start().margins.variance
    expected = []
    for variance in v:
        p = ndtr(np.sqrt(variance) * np.random.default_rng(0).standard_normal(400_000))
        a = (p.mean() * (1 - p.mean()) / p.var() - 1) / 2  # Beta(a, a), then one label more: Beta(a + 1, a)
        draws = np.random.default_rng(1).beta(a + 1, a, size=400_000)
        expected.append((draws * (1 - draws)).mean())
    assert_allclose(label_noise(problem), expected, rtol=0.01)


@pytest.mark.slow
def test_the_three_schemes_agree_roughly():
    truth, data = simulate_along_features(7, n_items=20, n_labels=600)
    fits = {name: GPPL(inference=name).fit(data) for name in ("vg", "ep", "linearised")}
    for posterior in fits.values():
        assert np.corrcoef(posterior.utilities(), truth.utilities)[0, 1] > 0.95
    assert_allclose(fits["vg"].utilities(), fits["ep"].utilities(), atol=0.15)
    assert_allclose(fits["vg"].standard_deviations(), fits["ep"].standard_deviations(), rtol=0.15)


# Features


@pytest.mark.slow
def test_items_never_compared_are_ranked_by_their_features():
    truth, data = simulate_along_features(8, n_items=80, n_labels=900)
    seen = np.flatnonzero((data.items.reshape(-1, 2) < 60).all(axis=1))
    known = Comparisons.from_pairs(
        data.items.reshape(-1, 2)[seen, 0],
        data.items.reshape(-1, 2)[seen, 1],
        data.pairs().outcome[seen],
        n_items=60,
        item_features=data.item_features[:60],
    )
    posterior = GPPL().fit(known)
    new = posterior.at(data.item_features[60:])
    assert np.corrcoef(new.utilities(), truth.utilities[60:])[0, 1] > 0.9
    within = (
        np.abs(new.utilities() - (truth.utilities[60:] - truth.utilities[60:].mean())) < 2 * new.standard_deviations()
    )
    assert within.mean() >= 0.8
    again = posterior.at(data.item_features[:60]).utilities()
    assert np.corrcoef(again, posterior.utilities())[0, 1] > 0.97


@pytest.mark.slow
def test_uninformative_features_are_ignored_and_informative_ones_used():
    truth, data = simulate_along_features(9, n_items=40, n_labels=1200)
    informative = GPPL().fit(data)
    assert informative.source is not None
    assert informative.source.kernel[0] >= 0.9
    rng = np.random.default_rng(0)
    plain = simulate_crowd(rng, 40, 6, utility_sd=1.0, link="probit")
    noise = Comparisons.from_pairs(
        [], [], [], [], n_items=40, n_annotators=6, item_features=rng.standard_normal((40, 2))
    )
    uninformed = GPPL().fit(Comparisons.concatenate([plain.pairs(1200, rng), noise]))
    assert uninformed.source is None or uninformed.source.kernel[0] <= 0.5
    without = GPPL(kernel="identity").fit(data)
    for fit in (informative, without):
        assert np.corrcoef(fit.utilities(), truth.utilities)[0, 1] > 0.9
    assert (
        np.abs(informative.utilities() - truth.utilities).mean() < np.abs(without.utilities() - truth.utilities).mean()
    )


@pytest.mark.slow
def test_few_answers_do_not_settle_a_kernel_by_which_all_items_are_nearly_alike():
    """By the kernel of the highest bound alone errors were up to 4.6 standard deviations of what the fit said."""
    sizes = []
    for seed in range(9, 21):
        rng = np.random.default_rng(seed)
        crowd = simulate_crowd(rng, 10, 5, link="probit")
        noise = rng.standard_normal((10, 3))
        known = Comparisons.from_pairs([], [], [], [], n_items=10, n_annotators=5, item_features=noise)
        found = GPPL().fit(Comparisons.concatenate([crowd.pairs(10, rng), known]))
        error = (crowd.utilities - found.utilities()) / found.standard_deviations()
        sizes.append(np.sqrt(np.mean(error**2)))
    assert max(sizes) < 2.5


def test_an_average_over_kernels_is_stored_and_has_the_moments_of_its_parts():
    _, data = simulate_along_features(2, n_items=9, n_labels=25)
    found = GPPL(tolerance=1e-9).fit(data)
    parts = [GPPL(share=one.kernel[0], length_scale=one.kernel[1], tolerance=1e-9).fit(data) for one in found.sources]
    means = np.array([part.utilities() for part in parts])
    mean = found.shares @ means
    second = sum(
        share * (part.covariance() + np.outer(m, m)) for share, part, m in zip(found.shares, parts, means, strict=True)
    )
    assert len(parts) > 3
    assert_allclose(found.utilities(), mean, atol=1e-6)
    assert_allclose(found.covariance(), second - np.outer(mean, mean), atol=1e-5)
    file = io.BytesIO()
    np.savez(file, **found.to_arrays())
    file.seek(0)
    loaded = GPPLPosterior.from_arrays(np.load(file, allow_pickle=False))
    new = data.item_features[:3] + 0.1
    assert_allclose(loaded.at(new).utilities(), found.at(new).utilities(), atol=1e-12)
    assert_allclose(loaded.at(new).covariance(), found.at(new).covariance(), atol=1e-12)
    apart = np.array([part.at(new).utilities() if part.sources else np.zeros(3) for part in parts])
    assert_allclose(found.at(new).utilities(), found.shares @ apart, atol=1e-6)


@pytest.mark.parametrize("form", ["matern32", "matern32-product", "rbf"])
@pytest.mark.parametrize("width", [1, 5, 40])
def test_the_median_length_scale_keeps_correlations_for_any_number_of_features(form, width):
    """Without the sqrt(D), 40 features leave next to no correlation; some length tried keeps about half."""
    features = np.random.default_rng(0).standard_normal((60, width))
    apart = []
    for length in LENGTHS:
        kernel = ItemKernel(features, 60, 1.0, length, form).matrix()
        assert np.linalg.eigvalsh(kernel)[0] > 0
        apart.append(kernel[np.triu_indices(60, 1)].mean())
    assert 0.1 < apart[LENGTHS.index(1.0)] < 0.75
    assert min(abs(one - 0.5) for one in apart) < 0.15
    assert ItemKernel(features, 60, 1.0, 1 / np.sqrt(40), form).matrix()[np.triu_indices(60, 1)].mean() < 0.35


def test_the_product_kernel_of_one_feature_is_the_isotropic_one():
    features = np.random.default_rng(0).standard_normal((9, 1))
    product, plain = (ItemKernel(features, 9, 0.7, 1.3, form).matrix() for form in ("matern32-product", "matern32"))
    assert_allclose(product, plain, atol=1e-12)


def test_new_items_without_features_are_rejected():
    posterior = GPPL().fit(Comparisons.from_pairs([0], [1], [1]))
    with pytest.raises(Unsupported, match="used no item features"):
        posterior.at([[1.0]])
    _, data = simulate_along_features(0, n_items=10, n_labels=40)
    with pytest.raises(InvalidData, match="as in the fit"):
        GPPL(share=0.9).fit(data).at([[1.0, 2.0, 3.0]])


# Honesty, settings and hard data


@pytest.mark.slow
@pytest.mark.parametrize("inference", ["vg", "ep"])
@pytest.mark.parametrize("spread", [0.5, 2.0])
def test_intervals_cover_at_half_and_twice_the_priors_scale(inference, spread):
    """s is learned, so 90% intervals hold the truth whatever the scale; 20 crowds: standard error about 2%."""
    covered, slopes = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        people = simulate_crowd(rng, 15, 8, utility_sd=spread, link="probit")
        posterior = GPPL(inference=inference).fit(people.pairs(300, rng))
        covered.append(coverage(posterior, people.utilities))
        slopes.append(calibration_slope(posterior, people.utilities))
    assert 0.83 <= np.mean(covered) <= 0.96
    assert 0.88 <= np.mean(slopes) <= 1.12


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"prior_rate": 0.0}, "prior_rate=0"),
        ({"share": 1.5}, "share=1.5"),
        ({"n_inducing": 0}, "n_inducing=0"),
        ({"delay": -1.0}, "delay=-1"),
    ],
)
def test_invalid_settings_are_reported(wrong, message):
    with pytest.raises(InvalidSetting, match=message):
        GPPL(**wrong).fit(Comparisons.from_pairs([0], [1], [1]))


@pytest.mark.parametrize("largest_exact_core", [2_000, 10])
def test_without_a_matrix_over_all_items_the_fit_is_nearly_the_same(monkeypatch, largest_exact_core):
    """With exact variances up to the tolerance of the steps, and by draws within their standard errors."""
    rng = np.random.default_rng(2)
    data = simulate_crowd(rng, 120, 10, utility_sd=1.0).pairs(1_500, rng)
    dense = GPPL(kernel="identity").fit(data)
    monkeypatch.setattr("models_engine.estimators.gppl.MAX_ITEMS", 1)
    for module in ("inference.pairwise_gp.graph", "covariance.cores"):
        monkeypatch.setattr(f"models_engine.{module}.MAX_DENSE_CORE", largest_exact_core)
    sparse, exact = GPPL(kernel="identity").fit(data), largest_exact_core > 120
    assert sparse.diagnostics.converged
    error = np.abs(sparse.utilities() - dense.utilities()) / dense.standard_deviations()
    assert error.max() < (0.01 if exact else 0.05)
    assert_allclose(sparse.standard_deviations(), dense.standard_deviations(), rtol=0.005 if exact else 0.04)
    assert sparse.prior_sd == pytest.approx(dense.prior_sd, rel=0.005 if exact else 0.02)
    again = GPPLPosterior.from_arrays(sparse.to_arrays())
    assert_allclose(again.utilities(), sparse.utilities())
    warm = GPPL(kernel="identity").fit(data, start=sparse)
    assert warm.diagnostics.n_iterations < sparse.diagnostics.n_iterations


def test_few_compared_items_among_many_are_fitted_exactly_and_the_others_keep_the_learned_prior(monkeypatch):
    """30 of 400 items, with a matrix for no more than 40."""
    rng = np.random.default_rng(2)
    data = simulate_crowd(rng, 30, 10, utility_sd=1.0).pairs(400, rng)
    among_many = replace(data, n_items=400)
    dense = GPPL(kernel="identity").fit(among_many)
    monkeypatch.setattr("models_engine.estimators.gppl.MAX_ITEMS", 1)
    for module in ("inference.pairwise_gp.graph", "covariance.cores"):
        monkeypatch.setattr(f"models_engine.{module}.MAX_DENSE_CORE", 40)
    sparse = GPPL(kernel="identity").fit(among_many)
    assert sparse.diagnostics.converged
    error = np.abs(sparse.utilities() - dense.utilities()) / dense.standard_deviations()
    assert error.max() < 0.01
    assert_allclose(sparse.standard_deviations(), dense.standard_deviations(), rtol=0.005)
    assert sparse.prior_sd == pytest.approx(dense.prior_sd, rel=0.002)
    alone = GPPL(kernel="identity").fit(data)
    assert sparse.prior_sd == pytest.approx(alone.prior_sd, rel=1e-9), "items in no pair tell nothing of the scale"
    assert sparse.diagnostics.n_iterations == alone.diagnostics.n_iterations


def test_grades_that_do_not_count_are_told(monkeypatch):
    monkeypatch.setattr("models_engine.estimators.gppl.MAX_ITEMS", 1)
    data = Comparisons.from_pairs([0, 1, 2, 0], [1, 2, 0, 2], [1, 1, 0, 1], grades=[1, 2, 1, 2])
    assert "grades did not count" in str(GPPL().fit(data).diagnostics.message)


OTHER_SETTINGS = [
    {"inference": "ep", "length_scale": 1.0},  # one of each share, as EP is slow
    {"inference": "linearised"},
    {"batch_size": 2, "epochs": 3},
    {"share": 1.0, "n_inducing": 2},
    {"kernel": "matern32-product"},
    {"kernel": "rbf", "share": 1.0},
]


@pytest.mark.slow
@pytest.mark.parametrize("others", OTHER_SETTINGS, ids=str)
@settings(deadline=None, max_examples=examples(8), suppress_health_check=list(HealthCheck))
@given(data=comparisons())
def test_any_labels_give_finite_results_in_other_settings(others, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        posterior = GPPL(**others).fit(data, rng=np.random.default_rng(0))
    assert np.isfinite(posterior.utilities()).all()
    assert np.isfinite(posterior.standard_deviations()).all()
    assert np.isfinite(posterior.diagnostics.objective).all()
    assert (posterior.log_predictive(data) <= 0).all()
