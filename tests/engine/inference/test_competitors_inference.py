"""The model of competitors over arrays: gradients, elimination and annotators' part against dense algebra by hand."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from models_engine.implied_pairs import PairTable
from models_engine.inference.competitors.annotators import expected_scores, taste_covariance
from models_engine.inference.competitors.answers import average_answers
from models_engine.inference.competitors.blocks import Blocks
from models_engine.inference.competitors.fit import first_state
from models_engine.inference.competitors.problem import CompetitorProblem, CompetitorState, Elimination, Rows

N, CONTEXTS, TAGS = 5, 12, 2


def random_problem(seed: int) -> tuple[CompetitorProblem, PairTable]:
    """Twelve contexts of 2 to 11 items (so that blocks are padded), one tag missing, features, sides, ties."""
    rng = np.random.default_rng(seed)
    context = np.repeat(np.arange(CONTEXTS), np.r_[2, 3, 9, rng.integers(2, 12, size=CONTEXTS - 3)])
    left, right = [], []
    for one in range(CONTEXTS):
        own = np.flatnonzero(context == one)
        for _ in range(2 * len(own)):
            a, b = rng.choice(own, 2, replace=False)
            left.append(a)
            right.append(b)
    left, right = np.array(left), np.array(right)
    outcome = rng.choice([0.0, 0.5, 1.0], size=len(left))
    weight = rng.uniform(0.3, 2.0, size=len(left))
    blocks = Blocks.of(left, right, context)
    padding = blocks.item < 0
    competitor = rng.integers(N, size=len(context))
    tag = rng.integers(-1, TAGS, size=CONTEXTS)
    features = np.where(padding[:, None], 0.0, rng.standard_normal((len(context), 2))[blocks.item])
    rows = Rows(
        weight * (outcome == 1), weight * (outcome == 0), weight * (outcome == 0.5), rng.integers(2, size=len(left))
    )
    whose = np.where(padding, N, competitor[blocks.item])
    problem = CompetitorProblem(blocks, rows, whose, tag[blocks.context], features, N, TAGS, 1.0, 0.8, 2.0)
    annotator = rng.integers(4, size=len(left))
    return problem, PairTable(left, right, outcome, annotator, weight, np.arange(len(left)), len(context), 4)


def random_state(seed: int) -> tuple[CompetitorState, PairTable]:
    problem, pairs = random_problem(seed)
    rng = np.random.default_rng(seed + 100)
    state = first_state(problem)
    f = rng.standard_normal(problem.blocks.n_slots) * (problem.blocks.item >= 0)
    u = 0.5 * rng.standard_normal(problem.n_unknowns)
    return CompetitorState.at(problem, state.spreads, f, u, rng.uniform(0.1, 0.5, size=len(pairs))), pairs


def dense(problem: CompetitorProblem, cells: np.ndarray) -> np.ndarray:
    """The block-diagonal matrix of the cells, written out."""
    whole = np.zeros((problem.blocks.n_slots,) * 2)
    for slot, cell, count, width in problem.blocks.stacks:
        for block in range(count):
            at = slice(slot + block * width, slot + (block + 1) * width)
            start = cell + block * width**2
            whole[at, at] = cells[start : start + width**2].reshape(width, width)
    return whole


def design(problem: CompetitorProblem) -> np.ndarray:
    """(n_slots, n_effects) X, written out."""
    x = np.zeros((problem.blocks.n_slots, problem.n_effects))
    for slot, (competitor, tag) in enumerate(zip(problem.competitor, problem.tag, strict=True)):
        if competitor < N:
            x[slot, competitor] = 1
            if tag >= 0:
                x[slot, N * (1 + tag) + competitor] = 1
    x[:, problem.n_levels :] = problem.features
    return x


def differences(problem: CompetitorProblem) -> np.ndarray:
    d = np.zeros((len(problem.blocks.left), problem.blocks.n_slots))
    d[np.arange(len(d)), problem.blocks.left] = 1
    d[np.arange(len(d)), problem.blocks.right] = -1
    return d


@pytest.mark.parametrize("log_nu", [-np.inf, 0.3])
def test_averages_are_those_of_a_fine_sum(log_nu):
    mean, variance = np.array([-3.0, 0.0, 0.7, 5.0]), np.array([0.0, 4.0, 1.5, 2.0])
    found = average_answers(mean, variance, log_nu)
    nodes = np.linspace(-9, 9, 4001)
    weights = np.exp(-(nodes**2) / 2) / np.exp(-(nodes**2) / 2).sum()

    def total(z, tie=log_nu):
        return logsumexp(np.stack([z / 2, -z / 2, np.full_like(z, tie)]), axis=0)

    z, h = mean + np.sqrt(variance) * nodes[:, None], 1e-4
    assert_allclose(found.total, weights @ total(z), atol=2e-4)
    assert_allclose(found.slope, weights @ (total(z + h) - total(z - h)) / (2 * h), atol=2e-3)
    assert_allclose(found.curvature, weights @ (total(z + h) - 2 * total(z) + total(z - h)) / h**2, atol=2e-3)
    tie = (total(z, log_nu + h) - total(z, log_nu - h)) / (2 * h) if np.isfinite(log_nu) else np.zeros_like(z)
    assert_allclose(found.tie, weights @ tie, atol=2e-3)
    assert_allclose(found.tie_slope, weights @ (-tie * (total(z + h) - total(z - h)) / (2 * h)), atol=2e-3)
    assert_allclose(found.tie_curvature, weights @ (tie * (1 - tie)), atol=2e-3)


def test_the_gradient_is_that_of_the_bound():
    state, _ = random_state(0)
    problem = state.problem

    def bound(f, u):
        return replace(state, f=f, u=u, averages=problem.averages(f, u, state.cells)).bound

    by_f, by_u = state.slopes
    h = 1e-5
    for slot in np.flatnonzero(problem.blocks.item >= 0)[::7]:
        step = h * (np.arange(len(state.f)) == slot)
        assert by_f[slot] == pytest.approx(
            (bound(state.f + step, state.u) - bound(state.f - step, state.u)) / (2 * h), abs=1e-4
        )
    for one in range(problem.n_unknowns):
        step = h * (np.arange(problem.n_unknowns) == one)
        assert by_u[one] == pytest.approx(
            (bound(state.f, state.u + step) - bound(state.f, state.u - step)) / (2 * h), abs=1e-4
        )


def curvature(elimination: Elimination) -> np.ndarray:
    """The whole curvature in (f, u), written out."""
    problem, found = elimination.problem, elimination.averages
    d, x, total = differences(problem), design(problem), problem.rows.total
    outer = [(total * found.curvature * problem.rows.sided) @ d, (total * found.tie_slope) @ d]
    across = np.column_stack([-x * elimination.ridge, *outer])
    effects = x.T @ x * elimination.ridge
    corner = np.zeros((2, 2))
    corner[0, 0] = (total * found.curvature) @ problem.rows.sided**2
    corner[0, 1] = corner[1, 0] = (total * found.tie_slope) @ problem.rows.sided
    corner[1, 1] = total @ found.tie_curvature
    zero = np.zeros((problem.n_effects, 2))
    own = np.block([[effects, zero], [zero.T, corner]]) + np.diag(problem.prior(elimination.spreads))
    return np.block([[np.linalg.inv(dense(problem, elimination.cells)), across], [across.T, own]])


def test_eliminating_the_items_solves_the_whole_system():
    state, _ = random_state(1)
    problem, rng = state.problem, np.random.default_rng(5)
    d = differences(problem)
    precision = d.T @ np.diag(state.weights) @ d + np.eye(problem.blocks.n_slots) * state.spreads.items**-2
    assert_allclose(dense(problem, state.cells), np.linalg.inv(precision), atol=1e-10)
    assert state.log_determinant == pytest.approx(np.linalg.slogdet(precision)[1])
    elimination = Elimination(problem, state.spreads, state.cells, state.averages)
    whole = curvature(elimination)
    n = problem.blocks.n_slots
    assert_allclose(elimination.covariance, np.linalg.inv(whole)[n:, n:], atol=1e-10)
    right = rng.standard_normal(len(whole)) * np.r_[problem.blocks.item >= 0, np.ones(problem.n_unknowns)]
    step_f, step_u = elimination.solve(right[:n], right[n:])
    assert_allclose(np.r_[step_f, step_u], np.linalg.solve(whole, right), atol=1e-9)


def test_tastes_widen_the_covariance_by_what_they_do_to_the_gradient():
    start, pairs = random_state(2)
    state = start.stepped(1.0)
    problem, elimination = state.problem, state.elimination
    d, x = differences(problem), design(problem)
    n = problem.blocks.n_slots
    whole = curvature(elimination)
    curved = state.averages.curvature
    total = np.zeros((problem.n_unknowns, problem.n_unknowns))
    for annotator in range(4):
        mine = pairs.annotator == annotator
        moved = d[mine] @ x[:, :N]  # how a taste shifts the margins
        shift = (pairs.weight * state.averages.curvature)[mine, None] * moved
        own = np.zeros((len(curved[mine]), problem.n_unknowns))
        own[:, -2] = problem.rows.sided[mine]
        own[:, -1] = (elimination.averages.tie_slope / elimination.averages.curvature)[mine]
        gradient = np.concatenate([d[mine].T @ shift, own.T @ shift])
        answer = np.linalg.solve(whole, gradient)[n:]
        total += answer @ answer.T
    assert_allclose(taste_covariance(state, pairs, np.arange(len(pairs))), total, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("log_nu", [-np.inf, 0.3])
def test_scores_average_to_zero_and_their_variance_is_the_information(log_nu):
    rng = np.random.default_rng(0)
    n, mean, variance = 400_000, 0.8, 1.3
    z = mean + np.sqrt(variance) * rng.standard_normal(n)
    nu = np.exp(log_nu)
    total = np.exp(z / 2) + np.exp(-z / 2) + nu
    drawn = rng.random(n) * total
    outcome = np.where(drawn < np.exp(z / 2), 1.0, np.where(drawn < np.exp(z / 2) + nu, 0.5, 0.0))
    zero = np.zeros(n, np.int64)
    pairs = PairTable(zero, zero + 1, outcome, zero, np.ones(n), np.arange(n), 2, 1)
    score, information = expected_scores(pairs, np.full(n, mean), variance, log_nu)
    assert abs(score.mean()) < 4 * score.std() / np.sqrt(n)
    assert information[0] == pytest.approx(score.var(), rel=0.02)
