"""EP for crowds against a slow EP and against the exact posterior; learning and acceleration against slow forms."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp, roots_jacobi

from models_engine.data import Comparisons
from models_engine.inference.crowd_bt import beliefs
from models_engine.inference.crowd_bt.anderson import Anderson
from models_engine.inference.crowd_bt.ep import WinSites, sweep_sites
from models_engine.inference.crowd_bt.ep_with_scales import (
    MAX_SCALE_MOVE,
    EPState,
    evaluate_state,
    limit_scale_move,
    mean_reliability,
    propagate_scale_uncertainty,
    run_crowd_ep,
)
from models_engine.inference.crowd_bt.pairs import NoisyPairs
from models_engine.inference.crowd_bt.reliability import BetaPrior
from models_engine.inference.crowd_bt.scales import DEFAULT_SCALES, ScaleLearner, Scales
from models_engine.inference.davidson.moments import average_answers
from models_engine.simulate import simulate_crowd

SCALES = Scales(1.5, BetaPrior(6.0, 2.0), np.log(0.8))
LEARN_NOTHING = ScaleLearner(False, False, False, 3.0)
LEARN_ALL = ScaleLearner(True, True, True, 3.0)


@pytest.mark.parametrize("log_nu", [-np.inf, -1.0, 0.7])
@pytest.mark.parametrize("sd", [1e-6, 0.2, 0.49, 1.0, 1.59, 3.0, 8.0])
def test_answer_moments_against_a_fine_grid(log_nu, sd):
    mean = np.linspace(-7.0, 7.0, 29)
    found = average_answers(mean, np.full(29, sd**2), log_nu)
    unit = np.linspace(-9.0, 9.0, 20_001)
    weights = np.exp(-(unit**2) / 2) / np.exp(-(unit**2) / 2).sum()

    def averages(shift: float) -> np.ndarray:
        d = mean[:, None] + shift + sd * unit
        scale = np.exp(d / 2) + np.exp(-d / 2) + np.exp(log_nu)
        right, wrong, tie = np.exp(d / 2) / scale, np.exp(-d / 2) / scale, np.exp(log_nu) / scale
        return np.stack([row @ weights for row in (right, wrong, tie, right * tie, wrong * tie, tie * tie)])

    exact, ahead, behind = averages(0.0), averages(1e-3), averages(-1e-3)
    rows = np.stack([found.right[0], found.wrong[0], found.tie[0], found.tied_right, found.tied_wrong, found.tied_tie])
    assert_allclose(rows, exact, atol=3e-6)
    first, second = (ahead - behind) / 2e-3, (ahead - 2 * exact + behind) / 1e-6
    for index, name in enumerate(("right", "wrong", "tie")):
        assert_allclose(getattr(found, name)[1], first[index], atol=1e-5)
        assert_allclose(getattr(found, name)[2], second[index], atol=5e-5)


SOME = "pairs, and choices that cannot be tied"


def labels(tie: bool | str = True, seed: int = 3, n_labels: int = 14) -> Comparisons:
    """Three items, two annotators."""
    rng = np.random.default_rng(seed)
    left = rng.integers(3, size=n_labels)
    right = (left + rng.integers(1, 3, n_labels)) % 3
    outcome = rng.choice([1.0, 0.0, 0.5], n_labels, p=[0.6, 0.2, 0.2] if tie else [0.7, 0.3, 0.0])
    swap = left > right  # so that item 0 tends to win
    outcome = np.where(swap, 1 - outcome, outcome)
    pairs = Comparisons.from_pairs(left, right, outcome, rng.integers(2, size=n_labels), n_items=3, n_annotators=2)
    chosen = [0, 0, 1, 0, 2]
    choices = Comparisons.from_choices(chosen, [[0, 1, 2]] * 5, [0, 1, 0, 1, 1], weights=[1.5] * 5)  # 1 a pair
    return Comparisons.concatenate([pairs, choices]) if tie == SOME else pairs


def noisy_pairs(data: Comparisons, *, sided: bool = False) -> NoisyPairs:
    return NoisyPairs.of(data.pairs(), np.full(len(data.pairs()), sided))


def integrate_exactly(data: Comparisons, scales: Scales) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """(log evidence, mean, covariance of the centred utilities, mean reliabilities), all on one fine grid."""
    pairs, n_eta = data.pairs(), 120
    f = np.linspace(-9, 9, 91) * scales.prior_sd / 1.5
    first, second = np.meshgrid(f, f, indexing="ij")  # f0 - f2 and f1 - f2: N(0, sd^2 [[2, 1], [1, 2]])
    precision = np.linalg.inv(scales.prior_sd**2 * np.array([[2.0, 1.0], [1.0, 2.0]]))
    quadratic = precision[0, 0] * first**2 + 2 * precision[0, 1] * first * second + precision[1, 1] * second**2
    log_prior = np.log(np.linalg.det(precision)) / 2 - np.log(2 * np.pi) - quadratic / 2 + 2 * np.log(f[1] - f[0])
    utilities = np.stack([first, second, np.zeros_like(first)])
    # Gauss-Jacobi: labels of weight 1 are polynomials in eta, so that the sum is exact whatever the Beta prior.
    nodes, weights = roots_jacobi(n_eta, scales.reliability.beta - 1, scales.reliability.alpha - 1)
    eta, log_eta = (nodes + 1) / 2, np.log(weights / weights.sum())
    by_annotator, weighted = [], []
    for annotator in range(2):
        log_joint = np.broadcast_to(log_eta, (*first.shape, n_eta)).copy()
        for row in np.flatnonzero(pairs.annotator == annotator):
            z = (utilities[pairs.left[row]] - utilities[pairs.right[row]])[..., None]
            scale = np.exp(z / 2) + np.exp(-z / 2) + np.exp(scales.log_nu)
            towards = {1.0: z, 0.0: -z, 0.5: None}[pairs.outcome[row]]
            if towards is None:
                answer = np.exp(scales.log_nu) / scale
            else:
                answer = (eta * np.exp(towards / 2) + (1 - eta) * np.exp(-towards / 2)) / scale
            log_joint += pairs.weight[row] * np.log(answer)
        by_annotator.append(logsumexp(log_joint, axis=2))
        weighted.append((np.exp(log_joint - by_annotator[-1][..., None]) * eta).sum(axis=2))
    log_joint = log_prior + by_annotator[0] + by_annotator[1]
    log_evidence = logsumexp(log_joint)
    mass = np.exp(log_joint - log_evidence).ravel()
    centred = (utilities - utilities.mean(axis=0)).reshape(3, -1)
    mean = centred @ mass
    covariance = (centred * mass) @ centred.T - np.outer(mean, mean)
    return float(log_evidence), mean, covariance, np.array([w.ravel() @ mass for w in weighted])


def converge(data: Comparisons, scales: Scales = SCALES, learner: ScaleLearner = LEARN_NOTHING, **options) -> EPState:
    pairs = noisy_pairs(data, **options)
    start = evaluate_state(pairs, WinSites.uniform(pairs), scales, 1.0 if options else None, learner)
    assert start is not None
    state, converged = run_crowd_ep(start, tolerance=1e-7, limit=300, on_step=lambda _: None)
    assert converged
    return state


def slow_ep(data: Comparisons, scales: Scales) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """(log evidence, mean, covariance, mean reliabilities): one label after the other, each integral a fine sum."""
    pairs = data.pairs()
    nus = np.where(data.sizes[pairs.label] == 2, np.exp(scales.log_nu), 0.0)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    eta = (nodes + 1) / 2
    alpha, beta = scales.reliability.alpha, scales.reliability.beta
    prior = weights * eta ** (alpha - 1) * (1 - eta) ** (beta - 1)
    prior /= prior.sum()
    unit = np.linspace(-8, 8, 801)
    normal = np.exp(-(unit**2) / 2) / np.exp(-(unit**2) / 2).sum()
    rows = range(len(pairs))
    towards = np.zeros((len(pairs), 3))
    towards[rows, pairs.left], towards[rows, pairs.right] = 1.0, -1.0
    towards[pairs.outcome == 0] *= -1
    precisions, shifts, message = np.zeros(len(pairs)), np.zeros(len(pairs)), np.ones((len(pairs), 200))
    log_scale, before = np.zeros(len(pairs)), np.ones(len(pairs))
    own = [pairs.annotator == annotator for annotator in range(2)]
    while np.abs(precisions - before).max() > 1e-8:
        before = precisions.copy()
        for row in rows:
            covariance = np.linalg.inv(np.eye(3) / scales.prior_sd**2 + (towards.T * precisions) @ towards)
            variance = towards[row] @ covariance @ towards[row]
            mean = towards[row] @ covariance @ (towards.T @ shifts)
            free = 1 / (1 / variance - precisions[row])
            centre = free * (mean / variance - shifts[row])
            d = centre + np.sqrt(free) * unit
            nu = nus[row]
            scale = np.exp(d / 2) + np.exp(-d / 2) + nu
            right, wrong = np.exp(d / 2) / scale, np.exp(-d / 2) / scale
            others = own[pairs.annotator[row]] & (np.arange(len(pairs)) != row)
            density = prior * message[others].prod(axis=0)
            density /= density.sum()
            if pairs.outcome[row] == 0.5:
                factor, message[row] = nu / scale, normal @ (nu / scale)
            else:
                factor = (density @ eta) * right + (1 - density @ eta) * wrong
                message[row] = eta * (normal @ right) + (1 - eta) * (normal @ wrong)
            z = normal @ factor
            new_mean = normal @ (factor * d) / z
            new_variance = normal @ (factor * (d - new_mean) ** 2) / z
            precisions[row] = 1 / new_variance - 1 / free
            shifts[row] = new_mean / new_variance - centre / free
            site = np.log(new_variance / free) / 2 + (new_mean**2 / new_variance - centre**2 / free) / 2
            log_scale[row] = np.log(z) - site - np.log(density @ message[row])
    precision = np.eye(3) / scales.prior_sd**2 + (towards.T * precisions) @ towards
    covariance = np.linalg.inv(precision)
    linear = towards.T @ shifts
    densities = [prior * message[who].prod(axis=0) for who in own]
    log_evidence = log_scale.sum() + linear @ covariance @ linear / 2 + sum(np.log(p.sum()) for p in densities)
    log_evidence -= np.linalg.slogdet(precision)[1] / 2 + 3 * np.log(scales.prior_sd)
    reliabilities = np.array([p @ eta / p.sum() for p in densities])
    return float(log_evidence), covariance @ linear, covariance, reliabilities


def with_or_without_ties(tie: bool | str, **changes) -> Scales:
    return replace(SCALES, log_nu=SCALES.log_nu if tie else -np.inf, **changes)


@pytest.mark.parametrize("tie", [True, False, SOME])
@pytest.mark.parametrize("n_labels", [14, 40])
def test_the_fixed_point_matches_sequential_ep(tie, n_labels):
    data, scales = labels(tie, n_labels=n_labels), with_or_without_ties(tie)
    state = converge(data, scales)
    log_evidence, mean, covariance, reliabilities = slow_ep(data, scales)
    assert state.last.log_evidence == pytest.approx(log_evidence, abs=1e-3)
    assert_allclose(state.belief.mean, mean, atol=1e-4)
    assert_allclose(state.belief.inverse, covariance, atol=5e-4)
    assert_allclose(mean_reliability(state), reliabilities, atol=1e-4)


# EP takes utilities and reliabilities as independent, and one Gaussian stands for the ranking and its mirror image:
# little is lost where annotators are known to be careful, more where 14 labels leave the mirrored one some weight.
CAREFUL = (BetaPrior(28.0, 2.0), {"evidence": 0.04, "mean": 0.04, "sd": 0.07, "reliability": 1e-3})
DOUBTFUL = (BetaPrior(6.0, 2.0), {"evidence": 0.13, "mean": 0.05, "sd": 0.12, "reliability": 0.01})


@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize(("reliability", "within"), [CAREFUL, DOUBTFUL], ids=["careful", "doubtful"])
@pytest.mark.parametrize("seed", [3, 4])
def test_ep_is_close_to_the_exact_posterior(tie, reliability, within, seed):
    data, scales = labels(tie, seed), with_or_without_ties(tie, reliability=reliability)
    state = converge(data, scales)
    log_evidence, mean, covariance, reliabilities = integrate_exactly(data, scales)
    sd = np.sqrt(np.diagonal(covariance))
    assert state.last.log_evidence == pytest.approx(log_evidence, abs=within["evidence"])
    assert_allclose(state.belief.mean - state.belief.mean.mean(), mean, atol=within["mean"] * sd.mean())
    found = np.sqrt(state.belief.covariance(np.zeros((3, 0))).variances())
    assert_allclose(found, sd, rtol=within["sd"])
    assert_allclose(mean_reliability(state), reliabilities, atol=within["reliability"])


def test_an_integer_weight_is_that_many_copies():
    data = labels()
    twice = Comparisons.concatenate([data, data])
    exact = converge(twice)
    assert_allclose(converge(data.with_weights(np.full(data.n_labels, 2.0))).belief.mean, exact.belief.mean, atol=1e-6)
    assert_allclose(integrate_exactly(twice, SCALES)[1], exact.belief.mean - exact.belief.mean.mean(), atol=0.05)


def test_the_side_effect_is_inferred():
    rng = np.random.default_rng(0)
    people = simulate_crowd(rng, 12, 20, utility_sd=1.0, reliability=(9, 1))
    shifted = replace(people, side=np.full(20, 0.6))
    state = converge(shifted.pairs(3_000, rng), Scales(1.0, BetaPrior(9.0, 1.0)), sided=True)
    sd = float(np.sqrt(state.belief.side_variance))
    assert 0.02 < sd < 0.2
    assert abs(state.belief.mean[-1] - 0.6) < 3 * sd


@pytest.mark.parametrize("tie", [True, SOME])
def test_the_score_is_the_derivative_of_the_evidence_in_the_scales(tie):
    data, scales = labels(tie, n_labels=30), SCALES
    state = converge(data, scales)
    for index, slope in enumerate(replace(state, learner=LEARN_ALL).score()):
        ends = []
        for step in (1e-3, -1e-3):
            vector = scales.vector()
            vector[index] += step
            moved = Scales.of(vector)
            ends.append(converge(data, moved).last.log_evidence + LEARN_ALL.log_prior(moved))
        assert slope == pytest.approx((ends[0] - ends[1]) / 2e-3, abs=2e-3)


def test_learned_scales_maximise_the_evidence():
    data = simulate_crowd(np.random.default_rng(0), 12, 15, utility_sd=1.0, reliability=(8, 2), tie=0.6).pairs(
        500, np.random.default_rng(1)
    )
    start = replace(DEFAULT_SCALES, log_nu=0.0)
    state = converge(data, start, LEARN_ALL)
    assert np.abs(state.score()).max() < 1e-2
    for index in range(4):
        for step in (0.3, -0.3):
            vector = state.scales.vector()
            vector[index] += step
            other = replace(converge(data, Scales.of(vector)), learner=LEARN_ALL)
            assert other.objective < state.objective


@pytest.mark.slow
def test_acceleration_reaches_the_same_point_in_fewer_sweeps():
    data = simulate_crowd(np.random.default_rng(0), 20, 10, utility_sd=2.5, reliability=(8, 2)).pairs(
        600, np.random.default_rng(1)
    )
    pairs, learner = noisy_pairs(data), ScaleLearner(True, True, False, 3.0)
    state = evaluate_state(pairs, WinSites.uniform(pairs), DEFAULT_SCALES, None, learner)
    count = 0
    while state.margin_change > 1e-7 or state.scale_change > 1e-7:
        state = evaluate_state(pairs, state.last.sites, state.next_scales(), None, learner, state)
        count += 1
        assert count < 2_000
    steps = []
    start = evaluate_state(pairs, WinSites.uniform(pairs), DEFAULT_SCALES, None, learner)
    quick, converged = run_crowd_ep(start, tolerance=1e-7, limit=300, on_step=steps.append)
    assert converged
    assert_allclose(quick.belief.mean, state.belief.mean, atol=1e-4)
    assert_allclose(quick.scales.vector()[:3], state.scales.vector()[:3], atol=1e-4)
    assert len(steps) < count / 2


def test_anderson_solves_a_linear_iteration_in_as_many_steps_as_it_has_unknowns():
    rng = np.random.default_rng(0)
    matrix = 0.99 * np.linalg.qr(rng.normal(size=(4, 4)))[0]
    shift, x, anderson = rng.normal(size=4), np.zeros(4), Anderson(depth=5)
    for _ in range(6):
        x = anderson.propose(x, matrix @ x + shift, np.ones(4))
    assert_allclose(x, np.linalg.solve(np.eye(4) - matrix, shift), atol=1e-5)


def test_anderson_mixes_the_last_points_so_that_the_residual_is_smallest():
    rng = np.random.default_rng(1)
    metric, anderson, points, images = rng.uniform(0.5, 2.0, 30), Anderson(depth=3), [], []
    for step in range(9):
        point, image = rng.normal(size=(2, 30))
        points, images = [*points, point][-4:], [*images, image][-4:]
        if step == 5:
            anderson.reset()
            points, images = [point], [image]
        found = anderson.propose(point, image, metric)
        # Weights that sum to 1: the last is 1 less the others; least squares by numpy.
        residuals = [(b - a) * metric for a, b in zip(points, images, strict=True)]
        differences = np.reshape([one - residuals[-1] for one in residuals[:-1]], (-1, 30)).T
        weights = np.linalg.lstsq(differences, -residuals[-1], rcond=None)[0]
        assert_allclose(found, np.append(weights, 1 - weights.sum()) @ images, atol=1e-7)


def test_scale_uncertainty_matches_refits_at_shifted_scales():
    data = simulate_crowd(np.random.default_rng(3), 10, 8, utility_sd=1.0).pairs(150, np.random.default_rng(1))
    learner = ScaleLearner(True, False, False, 3.0)
    state = converge(data, replace(DEFAULT_SCALES, reliability=BetaPrior(9.0, 1.0)), learner)
    items, annotators, scales = propagate_scale_uncertainty(state, tolerance=1e-6, limit=200, step=0.01)
    ends, objectives = [], []
    for step in (-0.1, 0.0, 0.1):
        moved = replace(state.scales, prior_sd=state.scales.prior_sd * np.exp(step))
        there = converge(data, moved)
        ends.append(there.belief.mean)
        objectives.append(there.last.log_evidence + learner.log_prior(moved))
    sd = (-(objectives[0] - 2 * objectives[1] + objectives[2]) / 0.01) ** -0.5
    assert items.shape == (10, 1)
    assert annotators.shape == (8, 1)
    assert np.abs(scales[:, 0]) == pytest.approx([sd, 0, 0, 0], rel=0.1)
    assert_allclose(np.abs(items[:, 0]), np.abs(ends[2] - ends[0]) / 0.2 * sd, rtol=0.1, atol=0.01)


@pytest.mark.parametrize("sided", [False, True])
def test_the_sparse_belief_agrees_with_the_dense_one(sided, monkeypatch):
    rng = np.random.default_rng(0)
    people = simulate_crowd(rng, 60, 40, utility_sd=1.5, reliability=(8, 2), tie=0.4)
    data = replace(people, side=np.full(40, 0.5)).pairs(1_500, rng)
    pairs, scales = noisy_pairs(data, sided=sided), replace(SCALES, log_nu=-1.0)
    side_sd = 1.0 if sided else None

    def fitted() -> EPState:
        start = evaluate_state(pairs, WinSites.uniform(pairs), scales, side_sd, LEARN_NOTHING)
        state, converged = run_crowd_ep(start, tolerance=1e-3, limit=100, on_step=lambda _: None)
        assert converged
        return state

    dense = fitted()
    monkeypatch.setattr(beliefs, "MAX_DENSE_ITEMS", 10)
    sparse = fitted()
    assert isinstance(sparse.belief, beliefs.GraphBelief)
    nothing = np.zeros((60, 0))
    sd = np.sqrt(dense.belief.covariance(nothing).variances())
    assert_allclose(np.sqrt(sparse.belief.covariance(nothing).variances()), sd, rtol=0.03)
    assert_allclose(sparse.belief.mean, dense.belief.mean, atol=0.03 * sd.mean())
    off = np.abs(sparse.belief.row_variances / dense.belief.row_variances - 1)
    assert np.quantile(off, 0.9) < 0.05, "weights without negative ones are right per item, and roughly per pair"
    assert off.max() < 0.2
    if sided:
        assert sparse.belief.side_variance == pytest.approx(dense.belief.side_variance, rel=0.02)


def test_a_sweep_does_not_change_the_fixed_point():
    state = converge(labels())
    again = sweep_sites(state.pairs, state.belief, state.sites, SCALES.reliability, SCALES.log_nu)
    assert_allclose(again.sites.vector(), state.sites.vector(), atol=1e-5)
    flat = sweep_sites(state.pairs, state.belief, WinSites.uniform(state.pairs), SCALES.reliability, SCALES.log_nu)
    assert np.abs(flat.sites.vector() - state.sites.vector()).max() > 1e-2


def test_an_accelerated_step_moves_no_scale_far():
    point, image = np.array([0.0, 1.0, 2.0]), np.array([0.5, 1.2, 1.9])
    far = np.array([4.0, 2.0, -1.0])
    found = limit_scale_move(point, image, far, 2)
    assert np.abs(found - point)[1:].max() <= MAX_SCALE_MOVE + 1e-12
    share = (found - image) / (far - image)
    assert_allclose(share, share[0])
    assert 0 < share[0] < 1
    near = np.array([40.0, 1.1, 2.1])
    assert_allclose(limit_scale_move(point, image, near, 2), near)
    assert_allclose(limit_scale_move(point, image, far, 0), far)
