"""CrowdBTOnline's graded answers: moment matching against a fine grid over margin and gaps; near the batch."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from models_engine.analysis.metrics import coverage, mean_width
from models_engine.benchmarks.grades import grade_shares
from models_engine.data import Comparisons
from models_engine.errors import InvalidData
from models_engine.estimators.choosing import assign_folds
from models_engine.estimators.crowd_bt import CrowdBT
from models_engine.estimators.crowd_bt_online import CrowdBTOnline
from models_engine.inference.crowd_bt.graded_matching import GapBeliefs, match_grade
from models_engine.simulate import simulate_crowd

GAPS = GapBeliefs(np.log([0.4, 1.1]), np.array([0.05, 0.15]))


def graded(seed: int = 0, n_labels: int = 400, cuts=(0.3, 1.2), n_items: int = 20):
    rng = np.random.default_rng(seed)
    crowd = simulate_crowd(rng, n_items, 8, utility_sd=1.5, reliability=(8.5, 1.5))
    return crowd, crowd.graded(n_labels, cuts, rng)


@pytest.mark.parametrize(
    ("grade", "tie", "weight", "can_tie"),
    [
        (1, False, 1.0, True),
        (2, False, 1.0, True),
        (0, False, 1.0, True),
        (0, True, 1.0, True),
        (1, False, 0.4, True),
        (0, False, 0.4, False),
    ],
)
@pytest.mark.parametrize(("mean", "sd", "reliability"), [(0.0, 1.0, 0.9), (2.0, 0.3, 0.9), (-2.0, 2.0, 0.7)])
def test_matched_moments_against_a_fine_grid(mean, sd, reliability, grade, tie, weight, can_tie):
    """Over the margin and both gaps at once, of which match_grade integrates one at a time."""
    found = match_grade(mean, sd**2, reliability, GAPS, grade=grade, tie=tie, weight=weight, can_tie=can_tie)
    unit, few = np.linspace(-8, 8, 801), np.linspace(-6, 6, 61)
    density = [np.exp(-(one**2) / 2) / np.exp(-(one**2) / 2).sum() for one in (few, few, unit)]
    gaps = [np.exp(GAPS.log_gaps[k] + np.sqrt(GAPS.variances[k]) * few) for k in (0, 1)]
    first = gaps[0][:, None, None]
    second = first + gaps[1][None, :, None]
    low, high = {0: (first, np.inf), 1: (first, second), 2: (second, np.inf)}[grade] if not tie else (-first, first)
    low = low if can_tie else 0 * first
    d = mean + sd * unit

    def chance(z):
        return expit(z - low) - expit(z - high)

    prior = density[0][:, None, None] * density[1][None, :, None] * density[2]
    joint = prior * (reliability * chance(d) + (1 - reliability) * chance(-d)) ** weight
    assert found.log_probability == pytest.approx(np.log(joint.sum()), abs=0.02)
    joint /= joint.sum()
    of_d = joint.sum(axis=(0, 1))
    assert found.mean == pytest.approx(of_d @ d, abs=0.02 * sd)
    assert found.variance == pytest.approx(of_d @ (d - of_d @ d) ** 2, rel=0.02)
    for k, axes in ((0, (1, 2)), (1, (0, 2))):
        own, values = joint.sum(axis=axes), GAPS.log_gaps[k] + np.sqrt(GAPS.variances[k]) * few
        deviation = np.sqrt(GAPS.variances[k])
        assert found.gaps.log_gaps[k] == pytest.approx(own @ values, abs=0.05 * deviation)
        assert found.gaps.variances[k] == pytest.approx(own @ (values - own @ values) ** 2, rel=0.06)
    right, wrong = (prior * chance(d)).sum(), (prior * chance(-d)).sum()
    share = reliability if tie else reliability * right / (reliability * right + (1 - reliability) * wrong)
    assert found.right == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize("cuts", [(0.3, 1.2), (0.0, 1.0, 2.5), (0.5,)])
def test_cut_points_are_found_and_near_those_of_the_batch(cuts):
    _, data = graded(1, 1_200, cuts)
    found, batch = CrowdBTOnline().fit(data).likelihood, CrowdBT().fit(data).likelihood
    assert (np.abs(np.array(found.cuts) - cuts) <= 3 * np.array(found.cut_sds) + 0.1 * np.array(cuts)).all()
    assert_allclose(found.cuts, batch.cuts, rtol=0.25)
    assert found.tie is None


def test_one_grade_without_ties_and_ignored_grades_are_as_none():
    _, data = graded(2, cuts=(0.0,))
    plain = CrowdBTOnline().fit(data.without_grades())
    assert_allclose(CrowdBTOnline().fit(data).utilities(), plain.utilities(), atol=1e-9)
    _, data = graded(2)
    ignored, without = CrowdBTOnline(grades="ignore").fit(data), CrowdBTOnline().fit(data.without_grades())
    assert (ignored.utilities() == without.utilities()).all()
    assert ignored.likelihood == without.likelihood


def test_labels_added_later_count_the_same_as_at_the_start():
    _, data = graded(3)
    first, later = data.subset(np.arange(150)), data.subset(np.arange(150, 400))
    estimator = CrowdBTOnline()
    once, twice = estimator.fit(data), estimator.update(estimator.fit(first), later)
    assert_allclose(twice.utilities(), once.utilities(), atol=1e-9)
    assert_allclose(twice.likelihood.cuts, once.likelihood.cuts, atol=1e-9)
    assert_allclose(twice.likelihood.cut_sds, once.likelihood.cut_sds, atol=1e-9)


def test_grades_after_a_fit_of_winners_take_its_ties_over():
    _, data = graded(4)
    estimator, first = CrowdBTOnline(), data.subset(np.arange(200)).without_grades()
    before = estimator.fit(first)
    none = Comparisons.from_pairs([], [], [], n_items=20, n_grades=2)
    started = estimator.update(before, none).likelihood
    assert np.tanh(started.cuts[0] / 2) == pytest.approx(before.likelihood.tie / (2 + before.likelihood.tie))
    after = estimator.update(before, data.subset(np.arange(200, 400))).likelihood
    assert after.tie is None
    assert after.cuts[1] == pytest.approx(1.2, abs=0.4)
    ungraded = estimator.update(estimator.fit(data), first)
    assert ungraded.likelihood.cuts is not None


def test_a_batch_posterior_is_taken_up_and_other_grades_are_refused():
    _, data = graded(5)
    batch = CrowdBT().fit(data.subset(np.arange(300)))
    found = CrowdBTOnline().update(batch, data.subset(np.arange(300, 400)))
    assert_allclose(found.likelihood.cuts, batch.likelihood.cuts, rtol=0.25)
    asked = Comparisons.from_pairs([0], [1], [1.0], grades=[3], n_items=20)
    with pytest.raises(InvalidData, match="3 grades and the posterior 2"):
        CrowdBTOnline().update(batch, asked)


@pytest.mark.parametrize("ties", ["half", "ignore"])
def test_ties_as_halves_or_ignored_leave_the_first_cut_point_at_0(ties):
    _, data = graded(6)
    found = CrowdBTOnline(ties=ties).fit(data).likelihood
    assert found.cuts[0] == 0
    assert found.cuts[1] > 0.5


@pytest.mark.slow
def test_grades_narrow_intervals_at_equal_coverage_and_predict_better():
    width, covered, losses = {}, {}, {}
    for seed in range(10):
        crowd, data = graded(seed, 600, n_items=40)
        out = assign_folds(data, 0) == 0
        train, test = data.subset(~out), data.subset(out)
        for how in ("ordered", "ignore"):
            found = CrowdBTOnline(grades=how).fit(data)
            width.setdefault(how, []).append(mean_width(found) / found.utilities().std())
            covered.setdefault(how, []).append(coverage(found, crowd.utilities))
            own = -CrowdBTOnline(grades=how).fit(train).log_predictive(test)
            losses.setdefault(how, []).append((own - (how == "ignore") * grade_shares(train)[test.grades]).mean())
    assert np.mean(width["ordered"]) < 0.9 * np.mean(width["ignore"])
    assert 0.84 < np.mean(covered["ordered"]) < 0.96
    assert np.mean(losses["ordered"]) < np.mean(losses["ignore"])
