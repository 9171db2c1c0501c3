"""EP over all annotators at once against quadrature, finite differences, and a slow EP over one big Gaussian."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_ndtr, ndtr

from models_engine.data import Comparisons
from models_engine.inference.probit_ep import annotator_blocks
from models_engine.inference.probit_ep.annotator_blocks import Block, build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, run_ep, taste_statistic
from models_engine.inference.probit_ep.pair_sites import PairSites, build_sites, cap_sites
from models_engine.inference.probit_ep.probit_sites import log_lapsed_factor, log_lapsed_win, probit_site
from models_engine.inference.probit_ep.site_updates import Sites
from models_engine.linalg import MAX_FEW_MATRICES, MAX_SMALL_WIDTH, SMALL_NUMBERS, inverse_and_log_determinant

N = 4


def sites_from(data: Comparisons) -> PairSites:
    return build_sites(data.pairs(), data.weights)


def simulated_labels(seed: int = 0, n_labels: int = 14, n_annotators: int = 3) -> Comparisons:
    rng = np.random.default_rng(seed)
    left = rng.integers(N, size=n_labels)
    right = (left + rng.integers(1, N, size=n_labels)) % N
    outcome = rng.choice([0.0, 0.5, 1.0], size=n_labels, p=[0.4, 0.2, 0.4])
    who = rng.integers(n_annotators, size=n_labels)
    return Comparisons.from_pairs(left, right, outcome, who, n_items=N, n_annotators=n_annotators)


def random_prior(seed: int = 0, n: int = N) -> CrowdPrior:
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((n, 2))
    return CrowdPrior(0.5 * loadings @ loadings.T + 0.3 * np.eye(n), 1.5 * np.eye(n), np.zeros(n))


def moments(log_factor: Callable[[np.ndarray], np.ndarray], mean: float, variance: float) -> np.ndarray:
    """The integrals of z^k exp(log_factor(z)) N(z; mean, variance), k = 0, 1, 2, by the trapezoidal rule.

    For an analytic integrand that vanishes at both ends, twelve deviations away, it errs by less than rounding does.
    """
    z, step = np.linspace(mean - 12 * np.sqrt(variance), mean + 12 * np.sqrt(variance), 4_001, retstep=True)
    density = np.exp(log_factor(z) - (z - mean) ** 2 / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    return np.array([(z**k * density).sum() * step for k in range(3)])


@pytest.mark.parametrize("variance", [0.01, 0.5, 3.9, 30.0, 300.0])
@pytest.mark.parametrize(("wins", "losses"), [(1, 0), (0, 1), (0.5, 0.5), (0.27, 0), (0, 0.5), (0.1, 0.1)])
@pytest.mark.parametrize("mean", [-3.0, 0.4, 6.0])
def test_site_has_the_moments_of_the_tilted_density(mean, variance, wins, losses):
    total, first, second = moments(lambda z: wins * log_ndtr(z) + losses * log_ndtr(-z), mean, variance)
    arrays = [np.array([float(value)]) for value in (mean, variance, wins, losses)]
    log_normaliser, precision, shift = (float(value[0]) for value in probit_site(*arrays))
    posterior_variance = 1 / (1 / variance + precision)
    assert log_normaliser == pytest.approx(np.log(total), abs=1e-7)
    assert posterior_variance * (mean / variance + shift) == pytest.approx(first / total, abs=1e-6 * np.sqrt(variance))
    assert posterior_variance == pytest.approx(second / total - (first / total) ** 2, rel=1e-5)


@pytest.mark.parametrize("lapse", [0.02, 0.5, 0.9])
@pytest.mark.parametrize("variance", [0.5, 30.0])
@pytest.mark.parametrize(("wins", "losses"), [(1, 0), (0, 1), (0.5, 0.5), (0.27, 0)])
@pytest.mark.parametrize("mean", [-2.0, 0.4])
def test_a_site_with_lapses_has_the_mean_of_the_tilted_density(mean, variance, wins, losses, lapse):
    """And its variance, unless that is larger than the cavity's: then the site has no precision."""

    def log_factor(z: np.ndarray) -> np.ndarray:
        chance = lapse + (1 - 2 * lapse) * ndtr(z)
        return wins * np.log(chance) + losses * np.log(1 - chance)

    total, first, second = moments(log_factor, mean, variance)
    arrays = [np.array([float(value)]) for value in (mean, variance, wins, losses)]
    found = probit_site(*arrays, lapse=np.array([lapse]))
    log_normaliser, precision, shift = (float(value[0]) for value in found)
    posterior_variance = 1 / (1 / variance + precision)
    assert log_normaliser == pytest.approx(np.log(total), abs=1e-6)
    assert posterior_variance * (mean / variance + shift) == pytest.approx(first / total, abs=1e-5 * np.sqrt(variance))
    expected = min(variance, second / total - (first / total) ** 2)
    assert posterior_variance == pytest.approx(expected, rel=1e-4)


def test_extreme_margins_stay_finite():
    mean = np.array([-1e4, -60.0, 60.0, 1e4])
    for found in probit_site(mean, np.full(4, 2.0), np.ones(4), np.zeros(4)):
        assert np.isfinite(found).all()


def joint_prior(sites: PairSites, crowd: CrowdPrior) -> np.ndarray:
    """Covariance of all margins: the consensus is common, tastes belong to one annotator."""
    difference = np.eye(sites.n_items)[sites.low] - np.eye(sites.n_items)[sites.high]
    same = sites.annotator[:, None] == sites.annotator[None, :]
    return difference @ crowd.consensus @ difference.T + same * (difference @ crowd.taste @ difference.T)


def slow_ep(sites: PairSites, crowd: CrowdPrior) -> tuple[np.ndarray, np.ndarray, float]:
    """(margin means, covariance, log evidence) by sequential EP, one copy at a time, on one dense Gaussian."""
    rows = np.repeat(np.arange(len(sites)), sites.copies.astype(int))
    prior = joint_prior(sites, crowd)[np.ix_(rows, rows)]
    precision, shift = np.zeros(len(rows)), np.zeros(len(rows))
    for _ in range(200):
        before = precision.copy()
        for i in range(len(rows)):
            covariance = np.linalg.inv(np.eye(len(rows)) + prior * precision) @ prior
            mean = covariance @ shift
            cavity_precision = 1 / covariance[i, i] - precision[i]
            cavity_mean = (mean[i] / covariance[i, i] - shift[i]) / cavity_precision
            found = probit_site(
                *(
                    np.array([value])
                    for value in (cavity_mean, 1 / cavity_precision, sites.wins[rows[i]], sites.losses[rows[i]])
                )
            )
            precision[i], shift[i] = found[1][0], found[2][0]
        if np.abs(precision - before).max() < 1e-12:
            break
    covariance = np.linalg.inv(np.eye(len(rows)) + prior * precision) @ prior
    mean = covariance @ shift
    evidence = shift @ mean / 2 - np.linalg.slogdet(np.eye(len(rows)) + prior * precision)[1] / 2
    cavity_precision = 1 / np.diagonal(covariance) - precision
    cavity_shift = mean / np.diagonal(covariance) - shift
    log_normaliser = probit_site(
        cavity_shift / cavity_precision, 1 / cavity_precision, sites.wins[rows], sites.losses[rows]
    )[0]
    marginal = mean**2 / np.diagonal(covariance) / 2 + np.log(np.diagonal(covariance)) / 2
    cavity = cavity_shift**2 / cavity_precision / 2 - np.log(cavity_precision) / 2
    return mean, covariance, float(evidence + (log_normaliser + cavity - marginal).sum())


def fitted(data: Comparisons, crowd: CrowdPrior, **options) -> EPResult:
    sites = sites_from(data)
    result = run_ep(sites, build_blocks(sites), crowd, tolerance=1e-10, max_iterations=500, **options)
    assert result.converged
    return result


@pytest.mark.parametrize("seed", range(4))
def test_batched_ep_agrees_with_slow_ep_on_one_gaussian(seed):
    data, crowd = simulated_labels(seed), random_prior(seed)
    sites = sites_from(data)
    result = fitted(data, crowd)
    mean, covariance, evidence = slow_ep(sites, crowd)
    assert result.log_evidence == pytest.approx(evidence, abs=1e-7)
    rows = np.repeat(np.arange(len(sites)), sites.copies.astype(int))
    difference = (np.eye(N)[sites.low] - np.eye(N)[sites.high])[rows]
    shared = crowd.consensus @ difference.T  # Cov(t, margins)
    prior = joint_prior(sites, crowd)[np.ix_(rows, rows)]
    gain = np.linalg.solve(prior, shared.T).T if np.linalg.cond(prior) < 1e10 else shared @ np.linalg.pinv(prior)
    assert_allclose(result.mean, gain @ mean, atol=1e-6)
    assert_allclose(result.covariance, crowd.consensus - gain @ (prior - covariance) @ gain.T, atol=1e-6)


def test_batched_ep_agrees_with_quadrature_for_three_items():
    """Two free differences: EP's moments are within 2% of the exact ones, its log evidence within 0.02."""
    data = Comparisons.from_pairs([0, 0, 1, 0], [1, 2, 2, 2], [1, 1, 0, 1], n_items=3)
    crowd = CrowdPrior(0.4 * np.eye(3), 1.1 * np.eye(3), np.zeros(3))
    covariance = 1.5 * (np.eye(2) + 1)  # of (f0 - f1, f0 - f2)
    grid = np.linspace(-12, 12, 801)
    first, second = np.meshgrid(grid, grid, indexing="ij")
    inverse = np.linalg.inv(covariance)
    quadratic = inverse[0, 0] * first**2 + 2 * inverse[0, 1] * first * second + inverse[1, 1] * second**2
    log_joint = log_ndtr(first) + 2 * log_ndtr(second) + log_ndtr(first - second) - quadratic / 2
    mass = np.exp(log_joint) * (grid[1] - grid[0]) ** 2 / (2 * np.pi * np.sqrt(np.linalg.det(covariance)))
    evidence = mass.sum()
    exact = np.array([(mass * first).sum(), (mass * second).sum()]) / evidence * 1.1 / 1.5  # the consensus's share
    result = fitted(data, crowd)
    assert result.log_evidence == pytest.approx(np.log(evidence), abs=0.02)
    assert_allclose([result.mean[0] - result.mean[1], result.mean[0] - result.mean[2]], exact, rtol=0.02)


@pytest.mark.slow
def test_gradient_of_the_evidence_by_the_taste_covariance():
    data, crowd = simulated_labels(5, 30, 5), random_prior(5)
    result, rng = fitted(data, crowd), np.random.default_rng(0)
    statistic = taste_statistic(result)
    for _ in range(5):
        direction = rng.standard_normal((N, N))
        direction += direction.T
        h = 1e-5
        up, down = (fitted(data, replace(crowd, taste=crowd.taste + s * h * direction)).log_evidence for s in (1, -1))
        assert (up - down) / (2 * h) == pytest.approx(-(statistic * direction).sum() / 2, rel=1e-4, abs=1e-6)


def as_pair_space(sites: PairSites) -> list[Block]:
    """One block per annotator with its margins as coordinates, whatever is smaller."""
    found = []
    for annotator in np.unique(sites.annotator):
        rows = np.flatnonzero(sites.annotator == annotator)[None, :]
        real = np.ones(rows.shape, dtype=bool)
        found.append(Block(np.array([annotator]), rows, real, sites.low[rows], sites.high[rows], None, None))
    return found


@pytest.mark.parametrize("how", ["in items", "in pairs", "small"])
def test_every_kind_of_block_gives_the_same(monkeypatch, how):
    data, crowd = simulated_labels(6, 40, 4), random_prior(6)
    sites = sites_from(data)
    expected = run_ep(sites, as_pair_space(sites), crowd, tolerance=1e-10)
    statistic = taste_statistic(expected)
    if how != "small":
        monkeypatch.setattr(annotator_blocks, "MAX_SMALL_WIDTH", 0)
    blocks = as_pair_space(sites) if how == "in pairs" else build_blocks(sites)
    assert any(block.in_items for block in blocks) == (how == "in items")
    assert all(block.is_small for block in blocks) == (how == "small")
    found = run_ep(sites, blocks, crowd, tolerance=1e-10)
    assert found.log_evidence == pytest.approx(expected.log_evidence, abs=1e-8)
    for name in ("mean", "covariance"):
        assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-7)
    assert_allclose(taste_statistic(found), statistic, atol=1e-7)


def test_arrays_of_small_blocks_have_their_annotators_last_in_memory():
    """Else all is right, but takes twice as long."""
    sites = sites_from(simulated_labels(6, 40, 4))
    (block,) = build_blocks(sites)
    result = run_ep(sites, [block], random_prior(6), tolerance=1e-3)
    ((local,),) = (state.solved for state in result.kept.executor.gather(result.state))
    of_sites = np.ones(len(sites))[block.site]
    for one in (block.items, of_sites, block.gather(np.eye(N)), local.mean, local.transfer, local.information):
        assert one.strides[0] == one.itemsize


@pytest.mark.parametrize("n_matrices", [0, 1, MAX_FEW_MATRICES, MAX_FEW_MATRICES + 1])
def test_the_inverse_of_few_and_of_many_is_the_inverse(n_matrices):
    rng = np.random.default_rng(0)
    for d in (1, 3, 10, 16, 17, 40, 101):
        half = rng.standard_normal((n_matrices, d, d))
        stack = half @ half.transpose(0, 2, 1) + 0.1 * np.eye(d)
        inverse, log_determinant = inverse_and_log_determinant(stack)
        assert_allclose(inverse @ stack, np.broadcast_to(np.eye(d), stack.shape), atol=1e-7)
        assert_allclose(log_determinant, np.linalg.slogdet(stack)[1], rtol=1e-10)
        assert_allclose(stack, half @ half.transpose(0, 2, 1) + 0.1 * np.eye(d))


@pytest.mark.parametrize("n_matrices", [1, MAX_FEW_MATRICES, MAX_FEW_MATRICES + 1])
def test_the_inverse_of_what_is_no_covariance_is_nan(n_matrices):
    stack = np.full((n_matrices, 3, 3), np.nan)
    inverse, log_determinant = inverse_and_log_determinant(stack)
    assert np.isnan(inverse).all()
    assert np.isnan(log_determinant).all()


@pytest.mark.parametrize("d", [2, 3, MAX_SMALL_WIDTH])
@pytest.mark.parametrize("last", [True, False])
def test_many_small_matrices_are_inverted_each_by_itself(d, last):
    """last: the matrices are last in memory, as are then their inverses."""
    half = np.random.default_rng(1).standard_normal((SMALL_NUMBERS // d**2 + 2, d, d))
    stack = half @ half.transpose(0, 2, 1) + np.eye(d)
    if last:
        stack = np.array(stack.transpose(1, 2, 0), order="C").transpose(2, 0, 1)
    given = stack.copy()
    inverse, log_determinant = inverse_and_log_determinant(stack)
    assert_allclose(inverse, np.linalg.inv(stack), atol=1e-12)
    assert_allclose(log_determinant, np.linalg.slogdet(stack)[1], atol=1e-12)
    assert_array_equal(stack, given)
    assert inverse.strides == stack.strides


def test_one_answer_with_lapses_is_the_general_factor_to_the_last_bit():
    z, lapse = np.linspace(-40.0, 40.0, 999), np.linspace(0.0, 1.0, 999)
    for found, expected in zip(log_lapsed_win(z, lapse), log_lapsed_factor(z, 1.0, 0.0, lapse), strict=True):
        assert_array_equal(found, expected)


def test_known_consensus_gives_each_annotator_the_evidence_of_a_fit_alone():
    data, crowd = simulated_labels(7, 20, 3), random_prior(7)
    known = CrowdPrior(crowd.taste, None, np.array([0.3, -0.2, 0.0, 0.9]))
    together = fitted(data, known)
    alone = [fitted(data.annotator_subset([j]), known).log_evidence for j in range(3)]
    assert_allclose(together.by_annotator, alone, atol=1e-8)
    assert together.log_evidence == pytest.approx(sum(alone), abs=1e-8)


def test_integer_weights_are_tied_sites():
    data, crowd = simulated_labels(8, 10, 2), random_prior(8)
    twice = Comparisons.concatenate([data, data.subset([2, 5])])
    weights = np.ones(10)
    weights[[2, 5]] = 2.0
    weighted, repeated = fitted(data.with_weights(weights), crowd), fitted(twice, crowd)
    assert weighted.log_evidence == pytest.approx(repeated.log_evidence, abs=1e-8)
    assert_allclose(weighted.mean, repeated.mean, atol=1e-8)
    assert np.abs(weighted.mean - fitted(data, crowd).mean).max() > 1e-3


def test_steepness_scales_the_margin():
    """Everybody twice as steep is the same as utilities twice as large."""
    data, crowd = simulated_labels(9, 20, 3), random_prior(9)
    steep = fitted(data, replace(crowd, steepness=np.full(3, 2.0)))
    large = fitted(data, CrowdPrior(4 * crowd.taste, 4 * crowd.consensus, crowd.mean))
    assert steep.log_evidence == pytest.approx(large.log_evidence, abs=1e-7)
    assert_allclose(2 * steep.mean, large.mean, atol=1e-7)


def test_a_singular_taste_covariance_is_handled():
    data = simulated_labels(10, 30, 3)
    ones = np.outer([1.0, -1.0, 0.5, 0.0], [1.0, -1.0, 0.5, 0.0])
    result = fitted(data, CrowdPrior(ones, np.eye(N), np.zeros(N)))
    assert np.isfinite(result.log_evidence)
    assert fitted(data, CrowdPrior(np.zeros((N, N)), np.eye(N), np.zeros(N))).log_evidence < 0


def test_the_start_does_not_change_the_fixed_point():
    data, crowd = simulated_labels(11, 40, 4), random_prior(11)
    cold = fitted(data, crowd)
    sites = sites_from(data)
    warm = run_ep(sites, build_blocks(sites), crowd, Sites(cold.sites.precision, cold.sites.shift), cold.mean)
    assert warm.n_iterations <= 2 < cold.n_iterations
    assert_allclose(warm.mean, cold.mean, atol=1e-6)


def test_capping_limits_the_pairs_of_each_annotator():
    sites = sites_from(simulated_labels(12, 60, 4))
    few = cap_sites(sites, 3, np.random.default_rng(0))
    assert np.bincount(few.annotator).max() == 3
    assert_allclose(np.unique(few.keys, axis=0), few.keys)
    assert cap_sites(sites, None, np.random.default_rng(0)) is sites
