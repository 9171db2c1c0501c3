"""CrowdBT's graded answers: an ordered likelihood, mixed with its reversed answer, against definitions and finite
differences; cut points learned with the crowd's other scales."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from scipy.stats import norm

from models_engine.analysis.metrics import coverage, mean_width
from models_engine.data import Comparisons
from models_engine.estimators.choosing import assign_folds
from models_engine.estimators.crowd_bt import CrowdBT
from models_engine.inference.crowd_bt.ep import WinSites
from models_engine.inference.crowd_bt.ep_with_scales import EPState, evaluate_state, run_crowd_ep
from models_engine.inference.crowd_bt.fit import CrowdFitSpec, ascend_objective
from models_engine.inference.crowd_bt.pairs import NoisyPairs
from models_engine.inference.crowd_bt.reliability import BetaPrior
from models_engine.inference.crowd_bt.scales import ScaleLearner, Scales
from models_engine.inference.crowd_bt.start import sites_at_mode
from models_engine.inference.graded.cut_points import cuts_from_gaps, log_cut_prior, starting_log_gaps, thresholds
from models_engine.inference.graded.gaps import PRIOR_WEIGHT
from models_engine.inference.graded.moments import average_between
from models_engine.simulate import Crowd, simulate_crowd

CUTS = [(0.4, 1.5), (0.0, 1.2, 2.5), (0.5,)]  # a tie and two grades; three grades, no tie; a tie and one grade


def crowd_of(seed: int = 0, n_items: int = 12, n_annotators: int = 8) -> Crowd:
    return simulate_crowd(np.random.default_rng(seed), n_items, n_annotators, utility_sd=1.5, reliability=(8.5, 1.5))


def graded(cuts, n_labels: int = 120, seed: int = 0) -> Comparisons:
    return crowd_of(seed).graded(n_labels, cuts, np.random.default_rng(seed + 50))


def log_gaps_of(cuts) -> tuple[float, ...]:
    with np.errstate(divide="ignore"):
        return tuple(np.log(np.diff(cuts, prepend=0.0)).tolist())


def scales_of(cuts) -> Scales:
    return Scales(1.5, BetaPrior(8.5, 1.5), -np.inf, log_gaps_of(cuts))


def learner_of(cuts) -> ScaleLearner:
    return ScaleLearner(True, True, False, 3.0, tuple(cut > 0 for cut in cuts))


def converged(data: Comparisons, scales: Scales, learner: ScaleLearner) -> EPState:
    pairs = NoisyPairs.of(data.pairs(), np.zeros(len(data.pairs()), bool), graded=True)
    start = evaluate_state(pairs, WinSites.uniform(pairs), scales, None, learner)
    state, done = run_crowd_ep(start, tolerance=1e-7, limit=300, on_step=lambda _: None)
    assert done
    return state


@pytest.mark.parametrize("sd", [1e-6, 0.2, 1.0, 3.0, 8.0])
@pytest.mark.parametrize(("low", "high"), [(-0.4, 0.4), (0.4, 1.5), (1.5, np.inf), (0.0, 1e-3)])
def test_moments_of_graded_answers_against_a_fine_grid(sd, low, high):
    mean = np.linspace(-7.0, 7.0, 29)
    ends = np.full(29, low), np.full(29, high)
    found = average_between(mean, np.full(29, sd**2), *ends)
    unit = np.linspace(-9.0, 9.0, 4_001)
    weights = np.exp(-(unit**2) / 2) / np.exp(-(unit**2) / 2).sum()

    def average(shift: float = 0.0, down: float = 0.0, up: float = 0.0) -> np.ndarray:
        d = mean[:, None] + shift + sd * unit
        return (expit(d - low - down) - expit(d - high - up)) @ weights

    assert_allclose(found.between[0], average(), atol=4e-6)
    assert_allclose(found.between[1], (average(1e-4) - average(-1e-4)) / 2e-4, atol=1e-5)
    assert_allclose(found.between[2], (average(1e-3) - 2 * average() + average(-1e-3)) / 1e-6, atol=5e-5)
    assert_allclose(found.by_low, (average(down=1e-4) - average(down=-1e-4)) / 2e-4, atol=1e-5)
    assert_allclose(found.by_high, (average(up=1e-4) - average(up=-1e-4)) / 2e-4, atol=1e-5)
    mirrored = average_between(-mean, np.full(29, sd**2), *ends).reversed
    assert_allclose(mirrored.between[1], -found.between[1][::-1], atol=1e-12)


@pytest.mark.parametrize(("link", "below"), [("logit", expit), ("probit", norm.cdf)])
@pytest.mark.parametrize("cuts", CUTS)
def test_the_prior_of_cut_points_is_half_an_answer_of_each_kind_between_equal_items(cuts, link, below):
    edges = [*cuts, np.inf]
    chances = [below(-low) - below(-high) for low, high in pairwise(edges)]
    chances += [2 * below(cuts[0]) - 1] * (cuts[0] > 0)
    value, derivatives = log_cut_prior(np.array(log_gaps_of(cuts)), link)
    assert value == pytest.approx(PRIOR_WEIGHT * np.log(chances).sum(), abs=1e-12)
    found = derivatives.in_log_gaps(np.array(log_gaps_of(cuts)))
    for index in np.flatnonzero(np.array(cuts) > 0):
        ends = []
        for step in (1e-5, -1e-5):
            moved = np.array(log_gaps_of(cuts))
            moved[index] += step
            ends.append(log_cut_prior(moved, link)[0])
        assert found.score[index] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-6)
    assert (np.linalg.eigvalsh(derivatives.curvature) > -1e-12).all()


def test_thresholds_of_grades_lie_between_the_cut_points():
    low, high = thresholds(np.array([0.4, 1.5]), np.array([0, 1, 2]))
    assert low.tolist() == [0.4, 0.4, 1.5]
    assert high.tolist() == [np.inf, 1.5, np.inf]
    assert_allclose(cuts_from_gaps(starting_log_gaps(np.array([0.0, 30.0, 10.0])))[0], 0)


@pytest.mark.slow
@pytest.mark.parametrize("with_choices", [False, True])
@pytest.mark.parametrize("cuts", CUTS)
def test_the_score_is_the_derivative_of_the_evidence_in_the_cut_points(cuts, with_choices):
    data, scales, learner = graded(cuts), scales_of(cuts), learner_of(cuts)
    if with_choices:
        choices = crowd_of().choices(40, 4, np.random.default_rng(9)).with_weights(np.full(40, 2.0))  # 1 a pair
        data = Comparisons.concatenate([data, choices])
    still = learner.nothing()
    state = converged(data, scales, still)
    slopes = replace(state, learner=learner).score()
    for index in np.flatnonzero(learner.free):
        ends = []
        for step in (1e-3, -1e-3):
            vector = scales.vector()
            vector[index] += step
            moved = Scales.of(vector)
            ends.append(converged(data, moved, still).last.log_evidence + learner.log_prior(moved))
        assert slopes[index] == pytest.approx((ends[0] - ends[1]) / 2e-3, abs=5e-3)


@pytest.mark.slow
def test_one_grade_without_ties_is_the_model_of_choices():
    data = graded((0.0,))
    ordered, ignored = CrowdBT().fit(data), CrowdBT(grades="ignore").fit(data)
    assert ordered.likelihood.cuts == (0.0,)
    assert_allclose(ordered.utilities(), ignored.utilities(), atol=1e-2)
    assert_allclose(ordered.counts, ignored.counts, rtol=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("cuts", CUTS)
def test_the_predictions_of_all_grades_add_up_to_one_for_every_annotator(cuts):
    fitted = CrowdBT().fit(graded(cuts))
    grades = [0, *range(1, len(cuts) + 1), *range(1, len(cuts) + 1)]
    outcome = [0.5] + [1.0] * len(cuts) + [0.0] * len(cuts)
    ends = (np.zeros(len(grades), int), np.ones(len(grades), int))
    for annotator in (0, 3):
        who = np.full(len(grades), annotator)
        asked = Comparisons.from_pairs(*ends, outcome, who, grades=grades, n_items=12)
        chance = np.exp(fitted.log_predictive(asked))
        assert (chance[0] if cuts[0] > 0 else 0.0) + chance[1:].sum() == pytest.approx(1, abs=1e-6)


@pytest.mark.slow
def test_a_reversed_answer_keeps_its_grade():
    crowd = replace(crowd_of(3), reliability=np.array([1.0] * 7 + [0.0]))
    data = crowd.graded(1_200, (0.3, 1.2), np.random.default_rng(1))
    fitted = CrowdBT().fit(data)
    assert fitted.annotators.reliability[7] < 0.2
    assert fitted.annotators.reliability[:7].min() > 0.8
    assert np.corrcoef(fitted.utilities(), crowd.utilities)[0, 1] > 0.97


@pytest.mark.slow
def test_a_warm_start_of_many_answers_skips_the_mode_and_agrees():
    data = crowd_of(2, 20, 40).graded(2_600, (0.4, 1.5), np.random.default_rng(0))
    cold = CrowdBT().fit(data)
    warm = CrowdBT().fit(data, start=cold)
    assert warm.diagnostics.n_iterations < cold.diagnostics.n_iterations
    assert_allclose(warm.utilities(), cold.utilities(), atol=2e-2)
    assert_allclose(warm.likelihood.cuts, cold.likelihood.cuts, atol=1e-2)


@pytest.mark.slow
def test_halved_ties_have_no_cut_point_of_their_own():
    fitted = CrowdBT(ties="half").fit(graded((0.4, 1.5)))
    assert fitted.likelihood.cuts[0] == 0
    assert fitted.likelihood.tie_rate > 0


@pytest.mark.slow
def test_grades_narrow_intervals_at_equal_coverage_and_predict_better():
    width, covered, inside, gain = {}, {}, 0, []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        crowd = simulate_crowd(rng, 40, 20, utility_sd=1.5, reliability=(8.5, 1.5))
        data = crowd.graded(600, (0.3, 1.2), rng)
        out = assign_folds(data, 0) == 0
        tested, losses = data.subset(out).without_grades(), {}
        for how in ("ordered", "ignore"):
            fitted = CrowdBT(grades=how).fit(data)
            assert fitted.diagnostics.converged
            width.setdefault(how, []).append(mean_width(fitted) / fitted.utilities().std())
            covered.setdefault(how, []).append(coverage(fitted, crowd.utilities))
            losses[how] = -CrowdBT(grades=how).fit(data.subset(~out)).log_predictive(tested).mean()
            if how == "ordered":
                apart = np.abs(np.array(fitted.likelihood.cuts) - (0.3, 1.2))
                inside += int((apart < 2.5 * np.array(fitted.likelihood.cut_sds)).sum())
        gain.append(losses["ignore"] - losses["ordered"])
    assert inside >= 5
    assert np.mean(width["ordered"]) < 0.8 * np.mean(width["ignore"])
    assert 0.83 < np.mean(covered["ordered"]) < 0.97
    assert np.mean(gain) > 0


@pytest.mark.parametrize("cuts", [(2.0,), (1.5, 3.0)])
def test_a_ranking_of_answers_of_which_a_third_or_more_are_ties_is_the_right_way_round(cuts):
    """EP that began at a mode with other ties went to the ranking upside down, 37 nats less likely."""
    rng = np.random.default_rng(0)
    people = simulate_crowd(rng, 12, 20, utility_sd=2.0)
    found = CrowdBT().fit(people.graded(800, cuts, rng))
    assert np.corrcoef(found.utilities(), people.utilities)[0, 1] > 0.97
    assert (found.annotator_summary().reliability > 0.8).all()


@pytest.mark.parametrize("cuts", CUTS)
def test_sites_at_the_mode_of_graded_answers_have_their_mode_there(cuts):
    data = graded(cuts)
    pairs = NoisyPairs.of(data.pairs(), np.zeros(len(data.pairs()), bool), graded=True)
    spec = CrowdFitSpec(pairs, scales_of(cuts), learner_of(cuts), None, 1e-3, 200, np.array(cuts))
    point, _, done = ascend_objective(spec, np.zeros(data.n_items), lambda _: None, 1e-8)
    assert done
    state = evaluate_state(pairs, sites_at_mode(point), spec.scales, None, spec.learner)
    assert_allclose(state.belief.mean, point.x, atol=1e-6)
