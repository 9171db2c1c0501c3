"""The model of competitors over arrays: gradients, elimination and annotators' part against dense algebra by hand."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, logsumexp

from models_engine.implied_pairs import PairTable
from models_engine.inference.competitors.annotators import expected_scores, taste_covariance
from models_engine.inference.competitors.answers import DavidsonAnswers, GradedAnswers, average_answers
from models_engine.inference.competitors.blocks import Blocks
from models_engine.inference.competitors.careless import attentive_shares
from models_engine.inference.competitors.fit import first_state
from models_engine.inference.competitors.problem import CompetitorProblem, CompetitorState, Elimination
from models_engine.inference.graded.counts import Thresholds

N, CONTEXTS, TAGS = 5, 12, 2
N_GRADES = 3
KINDS = pytest.mark.parametrize("graded", [False, True])


def random_problem(seed: int, graded: bool) -> tuple[CompetitorProblem, PairTable, np.ndarray]:
    """Twelve contexts of 2 to 11 items (so that blocks are padded), one tag missing, features, sides, ties, answers
    that could not be ties and, where asked for, grades; the answers one by one, and the row of each."""
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
    n_items, which = len(context), np.arange(len(left))
    annotator, sided = rng.integers(4, size=len(left)), rng.integers(2, size=len(left)).astype(float)
    grade = np.where(outcome == 0.5, 0, rng.integers(1, N_GRADES + 1, size=len(left))) if graded else None
    can_tie = (outcome == 0.5) | (which % 3 > 0)
    grade = None if grade is None else np.where(can_tie, grade, 0)
    pairs = PairTable(left, right, outcome, annotator, weight, which, n_items, 4, grade, can_tie)
    if graded:
        said = Thresholds.of(pairs, outcome, N_GRADES, halve_ties=False)
        pairs, sided = replace(pairs.select(said.answer), weight=said.weight), sided[said.answer]
        answers = GradedAnswers.of(said, np.arange(len(pairs)), np.arange(len(pairs)), sided, 0.8)
    else:
        answers = DavidsonAnswers.of(pairs, outcome, sided, which, 0.8, 2.0)
    blocks = Blocks.of(pairs.left, pairs.right, context)
    padding = blocks.item < 0
    competitor = rng.integers(N, size=len(context))
    tag = rng.integers(-1, TAGS, size=CONTEXTS)
    features = np.where(padding[:, None], 0.0, rng.standard_normal((len(context), 2))[blocks.item])
    whose = np.where(padding, N, competitor[blocks.item])
    problem = CompetitorProblem(blocks, answers, whose, tag[blocks.context], features, N, TAGS, 1.0)
    return problem, pairs, np.arange(len(pairs))


def random_state(seed: int, graded: bool) -> tuple[CompetitorState, PairTable, np.ndarray]:
    problem, pairs, row = random_problem(seed, graded)
    rng = np.random.default_rng(seed + 100)
    state = first_state(problem)
    f = rng.standard_normal(problem.blocks.n_slots) * (problem.blocks.item >= 0)
    u = 0.5 * rng.standard_normal(problem.n_unknowns)
    u[problem.n_effects + 1 :] = [0.4, 1.1, 2.5] if graded else 0.3  # cut points, or log nu
    return CompetitorState.at(problem, state.spreads, f, u, rng.uniform(0.1, 0.5, size=len(pairs))), pairs, row


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


@KINDS
def test_the_gradient_is_that_of_the_bound(graded):
    state, _, _ = random_state(0, graded)
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


@KINDS
def test_curvature_in_margins_and_nuisances_is_minus_that_of_finite_differences(graded):
    state, _, _ = random_state(3, graded)
    problem, found, h = state.problem, state.averages, 1e-4
    differences_, variance = problem.blocks.differences(state.f), problem.blocks.pair_variance(state.cells)
    v = state.u[problem.n_effects :]

    def terms(shift, moved):
        return problem.answers.terms(differences_ + shift, variance, moved)

    by_margin = (terms(h, v).slope - terms(-h, v).slope) / (2 * h)
    assert_allclose(found.curvature, -by_margin, atol=2e-3)
    for one, step in enumerate(h * np.eye(len(v))):
        up, down = terms(0.0, v + step), terms(0.0, v - step)
        assert_allclose(found.cross[:, one], -(up.slope - down.slope) / (2 * h), atol=2e-3)
        assert_allclose(found.corner[one], -(up.by_nuisance - down.by_nuisance) / (2 * h), rtol=2e-3, atol=5e-2)


def curvature(elimination: Elimination) -> np.ndarray:
    """The whole curvature in (f, u), written out."""
    problem, found = elimination.problem, elimination.averages
    d, x = differences(problem), design(problem)
    across = np.column_stack([-x * elimination.ridge, d.T @ found.cross])
    effects = x.T @ x * elimination.ridge
    zero = np.zeros((problem.n_effects, found.cross.shape[1]))
    own = np.block([[effects, zero], [zero.T, found.corner]]) + np.diag(problem.prior(elimination.spreads))
    return np.block([[np.linalg.inv(dense(problem, elimination.cells)), across], [across.T, own]])


@KINDS
def test_eliminating_the_items_solves_the_whole_system(graded):
    state, _, _ = random_state(1, graded)
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


@KINDS
def test_tastes_widen_the_covariance_by_what_they_do_to_the_gradient(graded):
    start, pairs, row = random_state(2, graded)
    state = start.stepped(1.0)
    problem, elimination = state.problem, state.elimination
    d, x = differences(problem), design(problem)
    n = problem.blocks.n_slots
    whole = curvature(elimination)
    curved = state.averages.curvature  # each answer has a row of its own here
    total = np.zeros((problem.n_unknowns, problem.n_unknowns))
    for annotator in range(4):
        mine = pairs.annotator == annotator
        moved = d[mine] @ x[:, :N]  # how a taste shifts the margins
        shift = curved[mine, None] * moved
        own = np.zeros((mine.sum(), problem.n_unknowns))
        before = elimination.averages
        own[:, problem.n_effects :] = before.cross[mine] / before.curvature[mine, None]
        gradient = np.concatenate([d[mine].T @ shift, own.T @ shift])
        answer = np.linalg.solve(whole, gradient)[n:]
        total += answer @ answer.T
    assert_allclose(taste_covariance(state, pairs, row), total, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("log_nu", [-np.inf, 0.3])
def test_scores_average_to_zero_and_their_variance_is_the_information(log_nu):
    """Of the answers that could be ties, and of a third that could not."""
    rng = np.random.default_rng(0)
    n, mean, variance = 400_000, 0.8, 1.3
    z = mean + np.sqrt(variance) * rng.standard_normal(n)
    can_tie = rng.random(n) > 1 / 3
    nu = np.exp(log_nu) * can_tie
    total = np.exp(z / 2) + np.exp(-z / 2) + nu
    drawn = rng.random(n) * total
    outcome = np.where(drawn < np.exp(z / 2), 1.0, np.where(drawn < np.exp(z / 2) + nu, 0.5, 0.0))
    zero = np.zeros(n, np.int64)
    pairs = PairTable(zero, zero + 1, outcome, zero, np.ones(n), np.arange(n), 2, 1, can_tie=can_tie)
    score, information = expected_scores(pairs, np.full(n, mean), variance, log_nu)
    for kind in (can_tie, ~can_tie):
        assert abs(score[kind].mean()) < 4 * score[kind].std() / np.sqrt(kind.sum())
        assert information[kind][0] == pytest.approx(score[kind].var(), rel=0.02)


@pytest.mark.slow
def test_scores_of_graded_answers_average_to_zero_and_their_variance_is_the_information():
    """An answer in five is without a grade: it says who wins or that it is a tie; one in five who wins alone."""
    rng = np.random.default_rng(0)
    n, mean, variance, cuts = 400_000, 0.8, 1.3, np.array([0.4, 1.5])
    perceived = mean + np.sqrt(variance) * rng.standard_normal(n) + rng.logistic(size=n)
    grade = np.searchsorted(cuts, np.abs(perceived))
    outcome = np.where(grade == 0, 0.5, perceived > 0)
    kinds = rng.choice(5, n)
    plain, forced = kinds == 0, kinds == 1
    outcome = np.where(forced, perceived > 0, outcome)
    zero = np.zeros(n, np.int64)
    pairs = PairTable(
        zero, zero + 1, outcome, zero, np.ones(n), np.arange(n), 2, 1, np.where(plain | forced, 0, grade), ~forced
    )
    score, information = expected_scores(pairs, np.full(n, mean), variance, -np.inf, cuts)
    for kind in (plain, forced, ~plain & ~forced):
        assert abs(score[kind].mean()) < 4 * score[kind].std() / np.sqrt(kind.sum())
        said = information[kind & (outcome != 0.5)]
        assert said[0] == pytest.approx(score[kind].var(), rel=0.03)


def test_the_chance_to_be_attentive_counts_a_clear_answer_more():
    """Two annotators prefer the worse item of one pair, one slightly and one clearly: Bayes' rule by hand."""
    zero, cuts = np.zeros(2, np.int64), np.array([0.0, 1.5])
    pairs = PairTable(zero, zero + 1, np.zeros(2), np.arange(2), np.ones(2), np.arange(2), 2, 2, np.array([1, 2]))
    shares = attentive_shares(pairs, np.full(2, 2.0), np.zeros(2), cuts)
    below = [expit(-2) - expit(-3.5), expit(-3.5)]
    above = [expit(2) - expit(0.5), expit(0.5)]
    ratio = np.array([2 * wrong / (wrong + right) for wrong, right in zip(below, above, strict=True)])
    odds = shares / (1 - shares)
    assert odds[0] / odds[1] == pytest.approx(ratio[0] / ratio[1], rel=1e-3)
    assert odds[1] < odds[0]
