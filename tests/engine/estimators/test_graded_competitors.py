"""Grades in the competitors' board: quadrature, known cut points, coverage, held-out answers, cohorts."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_expit

from models_engine.benchmarks.competitors import GRADED_CUTS, WINNERS, measure_grades
from models_engine.data import Comparisons
from models_engine.estimators.cohort_boards import fit_cohorts
from models_engine.estimators.competitor_posterior import CompetitorPosterior
from models_engine.estimators.competitor_table import CompetitorTable
from models_engine.estimators.competitors import Competitors
from models_engine.simulate import competition
from tests.engine.competitor_quadrature import assert_is_quadrature


@cache
def contest(seed: int = 0, cuts=(0.4, 1.5), contexts: int = 30, labels: int = 900, **keywords):
    """(truth, labels, table)."""
    rng = np.random.default_rng(seed)
    truth = competition(rng, 6, contexts, 15, **{"item_sd": 0.7, "side": 0.3, **keywords})
    tag = np.repeat(truth.tag, 6) if keywords.get("n_tags") else None
    table = CompetitorTable.of(truth.competitor, context=truth.context, tag=tag)
    return truth, truth.graded(labels, cuts, rng), table


def test_the_posterior_is_that_of_quadrature_at_the_cut_points_found():
    """Two competitors: the items' difference in each context, their spread and the competitors' difference summed over
    grids; an answer's probability from the definition."""
    rng, cuts = np.random.default_rng(1), (0.3, 1.2)
    truth = competition(rng, 2, 40, 5, item_sd=0.8)
    data = truth.graded(400, cuts, rng)
    table = CompetitorTable.of(truth.competitor, context=truth.context)
    found = Competitors(tastes=False, careless=False, side=False, tolerance=1e-6).fit(data, table)
    pairs, edges = data.pairs(), [*found.likelihood.cuts, np.inf]
    first_won = np.where(pairs.left % 2 == 0, pairs.outcome, 1 - pairs.outcome)
    context = truth.context[pairs.left]

    def answers(z: np.ndarray) -> np.ndarray:
        total = np.zeros((40, *z.shape))
        for share, grade in {(0.5, 0), (1.0, 1), (1.0, 2), (0.0, 1), (0.0, 2)}:
            low, high = (-edges[0], edges[0]) if share == 0.5 else (edges[grade - 1], edges[grade])
            way = 1 if share >= 0.5 else -1
            count = np.bincount(context[(first_won == share) & (pairs.grade == grade)], minlength=40)
            gap = np.log(-np.expm1(low - high))  # s(a) - s(b) = s(a) s(-b) (1 - exp(b - a)) loses no digits
            total += count[:, None, None] * (log_expit(way * z - low) + log_expit(high - way * z) + gap)
        return total

    assert_is_quadrature(found, answers, 161, 40, 31)


@pytest.mark.parametrize("cuts", [(0.4, 1.5), (0.0, 1.2, 2.5), (0.5,)])
def test_known_cut_points_and_the_side_are_recovered(cuts):
    _, data, table = contest(6, cuts, contexts=100, labels=4_000)
    found = Competitors().fit(data, table).likelihood
    apart = np.abs(np.array(found.cuts) - cuts)
    assert (apart <= 3 * np.array(found.cut_sds)).all()
    assert (np.array(found.cut_sds) > 0).tolist() == [cut > 0 for cut in cuts]
    assert abs(found.side - 0.3) < 3 * found.side_sd
    assert found.tie is None


def test_without_grades_nothing_changes_and_ignored_ones_are_as_none():
    _, data, table = contest()
    plain = data.without_grades()
    ignored, without = Competitors(grades="ignore").fit(data, table), Competitors().fit(plain, table)
    ordered = Competitors(grades="ignore").fit(plain, table)
    for one in (ignored, ordered):
        assert_array_equal(one.utilities(), without.utilities())
        assert_array_equal(one.covariance(), without.covariance())
        assert one.likelihood == without.likelihood


def test_one_grade_without_ties_is_the_model_of_winners():
    _, data, table = contest(2, (0.0,))
    graded = Competitors(tolerance=1e-6).fit(data, table)
    winners = Competitors(tolerance=1e-6, grades="ignore").fit(data, table)
    assert_allclose(graded.utilities(), winners.utilities(), atol=1e-6)
    assert_allclose(graded.covariance(), winners.covariance(), atol=1e-6)
    assert_allclose(graded.effects.attentive, winners.effects.attentive, atol=1e-6)
    assert_allclose(graded.effects.taste, winners.effects.taste, atol=1e-6)


def test_weight_2_is_the_row_twice():
    _, data, table = contest()
    fit = Competitors(tolerance=1e-6, tastes=False).fit
    doubled = fit(data.with_weights(np.full(data.n_labels, 2.0)), table)
    twice = fit(Comparisons.concatenate([data, data]), table)
    assert_allclose(doubled.utilities(), twice.utilities(), atol=1e-5)
    assert_allclose(doubled.covariance(), twice.covariance(), atol=1e-5)
    assert_allclose(doubled.likelihood.cuts, twice.likelihood.cuts, atol=1e-5)


def test_the_predictions_of_all_grades_add_up_to_one():
    _, data, table = contest()
    found = Competitors().fit(data, table)
    grades, outcome = [0, 1, 2, 1, 2], [0.5, 1.0, 1.0, 0.0, 0.0]
    asked = Comparisons.from_pairs([0] * 5, [1] * 5, outcome, grades=grades, n_items=6)
    assert np.exp(found.log_predictive(asked)).sum() == pytest.approx(1, abs=1e-8)


def test_halved_and_ignored_ties_leave_the_first_cut_point_at_0():
    _, data, table = contest()
    for ties in ("half", "ignore"):
        found = Competitors(ties=ties).fit(data, table)
        assert found.diagnostics.converged
        assert found.likelihood.cuts[0] == 0
        assert found.likelihood.cuts[1] > 0.5


def test_a_grade_that_nobody_gave_leaves_cut_points_in_order():
    table = CompetitorTable.of([0, 1, 2], context=[0, 0, 0])
    data = Comparisons.from_pairs([0, 1, 2], [1, 2, 0], [1, 1, 1], grades=[1, 1, 3], n_grades=4)
    found = Competitors().fit(data, table)
    assert found.diagnostics.converged
    assert (np.diff(found.likelihood.cuts) > 0).all()
    assert np.isfinite(found.covariance()).all()


def test_grades_count_beside_rankings_with_ties():
    _, data, table = contest()
    rankings = Comparisons.from_ranks([[0, 0, 1]], [[0, 1, 2]], [0], n_items=data.n_items)
    both = Comparisons.concatenate([data, rankings])
    found, alone = Competitors(tied_ranks=True).fit(both, table), Competitors(tied_ranks=True).fit(data, table)
    assert_allclose(alone.utilities(), Competitors().fit(data, table).utilities())
    assert_allclose(found.likelihood.cuts, alone.likelihood.cuts, atol=0.1)


def test_who_grades_at_random_loses_their_weight():
    _, data, table = contest(labels=3_000, n_careless=3)
    attentive = Competitors().fit(data, table).effects.attentive
    assert attentive[:3].max() < 0.2
    assert attentive[3:].min() > 0.9


def test_tags_cohorts_and_stored_posteriors_know_of_grades():
    _, data, table = contest(7, n_tags=2, tag_sd=0.5)
    found = Competitors().fit(data, table)
    again = CompetitorPosterior.from_arrays(found.to_arrays())
    assert again.likelihood == found.likelihood
    assert found.for_tag(1).likelihood.cuts == found.likelihood.cuts
    boards = fit_cohorts(Competitors(), data, table, np.arange(15) % 2)
    assert_allclose(boards.likelihood.cuts, found.likelihood.cuts, atol=0.3)
    winners = fit_cohorts(Competitors(grades="ignore"), data, table, np.arange(15) % 2)
    for cohort in (0, 1):
        assert np.corrcoef(boards.for_tag(cohort).utilities(), winners.for_tag(cohort).utilities())[0, 1] > 0.9


def test_a_win_matrix_leaves_ties_out_by_the_cut_points():
    _, data, table = contest()
    found = Competitors(side=False).fit(data, table)
    rng = np.random.default_rng(0)
    variance = found.difference_variance(0, 1) + 2 * found.effects.item_variance
    z = found.utilities()[0] - found.utilities()[1] + np.sqrt(variance) * rng.standard_normal(200_000)
    cut = found.likelihood.cuts[0]
    wins = np.exp(log_expit(z - cut)) / (np.exp(log_expit(z - cut)) + np.exp(log_expit(-z - cut)))
    assert found.expected_wins()[0, 1] == pytest.approx(wins.mean(), abs=0.005)


@pytest.mark.slow
def test_grades_narrow_intervals_at_equal_coverage_and_predict_better():
    """20 crowds with lucky items and differing tastes; held out are answers about contexts left out."""
    found = {row.estimator: row for row in measure_grades(20, seed=5)}
    graded, winners = found["Competitors"], found[WINNERS]
    assert 0.84 <= graded.coverage <= 0.96, found
    assert graded.width < 0.95 * winners.width, found
    assert graded.loss < winners.loss, found
    assert GRADED_CUTS[0] > 0, "with ties"
