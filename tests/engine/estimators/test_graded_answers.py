"""Graded answers (how much better): BradleyTerry's ordered likelihood against its definition and finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm

from models_engine.analysis.metrics import coverage, mean_width
from models_engine.data import Comparisons
from models_engine.errors import InvalidData
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.estimators.choosing import assign_folds
from models_engine.inference.graded.counts import GradedCounts
from models_engine.inference.graded.gaps import PRIOR_WEIGHT
from models_engine.inference.graded.problem import GradedProblem
from models_engine.simulate import simulate_crowd

SCALES = [(0.4, 1.5), (0.0, 1.2, 2.5), (0.5,)]  # a tie and two grades; three grades, no tie; a tie and one grade


def graded(cuts, n_items: int = 12, n_labels: int = 90, seed: int = 0, *, orders: bool = False) -> Comparisons:
    rng = np.random.default_rng(seed)
    crowd = simulate_crowd(rng, n_items, 3)
    pairs = crowd.graded(n_labels, cuts, rng)
    return Comparisons.concatenate([pairs, crowd.rankings(20, 3, rng)]) if orders else pairs


def problem_of(data: Comparisons) -> GradedProblem:
    sided = np.arange(len(data.pairs())) % 2 == 0
    counts = GradedCounts.of(data.pairs(), sided, data.n_grades, halve_ties=False)
    n_cuts = counts.gaps.n_cuts
    return GradedProblem(counts, True, np.concatenate([np.full(data.n_items, 0.5), [1.0], np.zeros(n_cuts)]))


def log_probability(z: float, outcome: float, grade: int, cuts) -> float:
    """The definition: the logistic distribution between two cut points."""
    edges = [*cuts, np.inf]
    towards = z if outcome >= 0.5 else -z
    if outcome == 0.5:
        return np.log(expit(z + cuts[0]) - expit(z - cuts[0]))
    low, high = edges[max(grade - 1, 0)], edges[grade] if grade else np.inf
    return np.log(expit(towards - low) - expit(towards - high))


@pytest.mark.parametrize("orders", [False, True])
@pytest.mark.parametrize("cuts", SCALES)
def test_the_log_posterior_is_that_of_intervals_of_the_logistic_distribution(cuts, orders):
    data = graded(cuts, orders=orders)
    problem, pairs = problem_of(data), data.pairs()
    rng = np.random.default_rng(1)
    f, side = rng.normal(size=data.n_items), 0.3
    x = np.concatenate([f, [side], [cut for cut in cuts if cut > 0]])
    z = f[pairs.left] - f[pairs.right] + side * (np.arange(len(pairs)) % 2 == 0)
    labels = zip(z, pairs.outcome, pairs.grade, data.sizes[pairs.label], strict=True)
    each = [log_probability(*label, cuts if size == 2 else (0.0,)) for *label, size in labels]
    expected = pairs.weight @ np.array(each)
    kinds = [(0.5, 0)] * (cuts[0] > 0) + [(1.0, grade) for grade in range(1, len(cuts) + 1)]
    expected += PRIOR_WEIGHT * sum(log_probability(0.0, *kind, cuts) for kind in kinds)
    assert_allclose(problem.objective(x), expected - 0.5 * f @ f / 2 - side**2 / 2, rtol=1e-10)


@pytest.mark.parametrize("orders", [False, True])
@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("cuts", SCALES)
def test_gradient_and_curvature_are_those_of_finite_differences(cuts, averaged, orders):
    data = graded(cuts, orders=orders)
    problem, rng = problem_of(data), np.random.default_rng(2)
    if averaged:
        problem = problem.with_variance(rng.random(len(problem.counts.pair)))
    n_cuts = problem.n_cuts
    x = np.concatenate([rng.normal(size=data.n_items), [0.3], np.cumsum(0.3 + rng.random(n_cuts))])
    state, steps = problem.at(x), 1e-5 * np.eye(len(x))
    slope = [(problem.objective(x + step) - problem.objective(x - step)) / 2e-5 for step in steps]
    assert_allclose(state.gradient, slope, atol=1e-6)
    bend = np.array([(problem.at(x + step).gradient - problem.at(x - step).gradient) / 2e-5 for step in steps])
    found = state.curvature
    inner = found.precision.graph.dense(found.precision.weights, found.precision.ridge)
    assert_allclose(np.block([[inner, found.border], [found.border.T, found.corner]]), -bend, atol=1e-5)


def test_the_mode_is_that_of_a_plain_optimiser():
    data = graded((0.4, 1.5))
    problem, n = problem_of(data), data.n_items
    fitted = BradleyTerry(prior_sd=2**0.5, inference="map", side=True, side_sd=1.0).fit(data)
    everywhere = GradedCounts.of(data.pairs(), np.ones(data.n_labels, bool), 2, halve_ties=False)
    problem = GradedProblem(everywhere, True, problem.prior)
    start = np.concatenate([np.zeros(n + 1), [0.5, 1.0]])
    found = minimize(lambda x: min(-problem.objective(x), 1e9), start, method="BFGS", options={"gtol": 1e-7})
    assert_allclose(fitted.utilities(), found.x[:n] - found.x[:n].mean(), atol=1e-4)
    assert_allclose(fitted.likelihood.cuts, found.x[-2:], atol=1e-4)
    assert_allclose(fitted.likelihood.side, found.x[n], atol=1e-4)


def test_ungraded_answers_beside_graded_ones_say_which_is_better_alone():
    data = graded((0.0, 1.0))
    plain = Comparisons.from_pairs(
        data.items[::2], data.items[1::2], data.pairs().outcome, data.annotators, n_items=data.n_items
    )
    both = Comparisons.concatenate([data, plain])
    assert both.n_grades == 2
    assert (both.grades[data.n_labels :] == 0).all()
    alone = BradleyTerry().fit(plain)
    ungraded = Comparisons.concatenate([plain, graded((0.0, 1.0)).subset([])])
    assert ungraded.n_grades == 2
    assert_allclose(BradleyTerry().fit(ungraded).utilities(), alone.utilities(), atol=1e-6)


@pytest.mark.parametrize("cuts", SCALES)
def test_the_predictions_of_all_grades_add_up_to_one_and_to_that_of_the_winner(cuts):
    data = graded(cuts)
    fitted = BradleyTerry(side=True).fit(data)
    grades = [0, *range(1, len(cuts) + 1), *range(1, len(cuts) + 1)]
    outcome = [0.5] + [1.0] * len(cuts) + [0.0] * len(cuts)
    ends = (np.zeros(len(grades), int), np.ones(len(grades), int))
    asked = Comparisons.from_pairs(*ends, outcome, grades=grades, n_items=data.n_items)
    chance = np.exp(fitted.log_predictive(asked))
    tie = chance[0] if cuts[0] > 0 else 0.0
    assert_allclose(tie + chance[1:].sum(), 1, atol=1e-8)
    plain = np.exp(fitted.log_predictive(asked.without_grades()))
    assert_allclose(plain[1], chance[1 : 1 + len(cuts)].sum(), atol=1e-8)


def test_a_prediction_is_the_integral_over_the_margin():
    fitted = BradleyTerry().fit(graded((0.4, 1.5)))
    asked = Comparisons.from_pairs([0], [1], [1.0], grades=[1], n_grades=2, n_items=12)
    mean = float(fitted.mean[0] - fitted.mean[1])
    sd = float(np.sqrt(fitted.difference_variance(0, 1)))
    low, high = fitted.likelihood.cuts

    def density(z):
        return norm.pdf(z, mean, sd) * (expit(z - low) - expit(z - high))

    expected = quad(density, mean - 9 * sd, mean + 9 * sd)[0]
    assert_allclose(np.exp(fitted.log_predictive(asked)), expected, rtol=1e-7)


@pytest.mark.slow
def test_known_cut_points_are_found_and_grades_narrow_intervals_at_equal_coverage():
    width, covered, inside = {}, {}, 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        crowd = simulate_crowd(rng, 40, 5, utility_sd=1.5)
        data = crowd.graded(500, (0.3, 1.2), rng)
        for how in ("ordered", "ignore"):
            fitted = BradleyTerry(prior_sd=None, inference="auto", grades=how).fit(data)
            assert fitted.diagnostics.converged
            width.setdefault(how, []).append(mean_width(fitted))
            covered.setdefault(how, []).append(coverage(fitted, crowd.utilities))
            if how == "ordered":
                apart = np.abs(np.array(fitted.likelihood.cuts) - (0.3, 1.2))
                inside += int((apart < 3 * np.array(fitted.likelihood.cut_sds)).sum())
    assert inside >= 7
    assert np.mean(width["ordered"]) < 0.85 * np.mean(width["ignore"])
    assert np.mean(covered["ordered"]) > 0.83


@pytest.mark.slow
def test_grades_predict_who_wins_better_than_winners_alone():
    rng = np.random.default_rng(3)
    data = simulate_crowd(rng, 40, 5, utility_sd=1.5).graded(1500, (0.3, 1.2), rng)
    out = assign_folds(data, 0) == 0
    tested = data.subset(out).without_grades()
    losses = [
        -BradleyTerry(grades=how).fit(data.subset(~out)).log_predictive(tested).mean() for how in ("ordered", "ignore")
    ]
    assert losses[0] < losses[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grades": [1, 0]}, "shape"),
        ({"grades": [1, 1, 1]}, "a tie has no grade"),
        ({"grades": [3, 0, 0], "n_grades": 2}, "grades run from 0 to 2"),
        ({"grades": [51, 0, 0]}, "grades"),
        ({"n_grades": 51}, "n_grades is 51"),
    ],
)
def test_a_bad_grade_is_refused(options, message):
    with pytest.raises(InvalidData, match=message):
        Comparisons.from_pairs([0, 1, 2], [1, 2, 0], [1, 0, 0.5], **options)


def test_only_a_pair_has_a_grade_and_grades_above_the_fitted_ones_are_refused():
    with pytest.raises(InvalidData, match="only a pair has a grade"):
        Comparisons.from_rankings([[0, 1, 2]], grades=[1])
    fitted = BradleyTerry().fit(graded((0.4, 1.5)))
    asked = Comparisons.from_pairs([0], [1], [1.0], grades=[3], n_items=12)
    with pytest.raises(InvalidData, match="grade 3 is above the 2"):
        fitted.log_predictive(asked)
