"""CrowdBT's mode with graded answers: the likelihood against quadrature, derivatives against finite differences."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import betaln, expit

from models_engine.analysis.metrics import coverage, mean_width
from models_engine.benchmarks.grades import grade_shares
from models_engine.data import Comparisons
from models_engine.estimators.choosing import assign_folds
from models_engine.estimators.crowd_bt import CrowdBT
from models_engine.inference.crowd_bt.log_posterior import Point, TargetDensity
from models_engine.inference.crowd_bt.mode import gains_of_flips
from models_engine.inference.crowd_bt.pairs import NoisyPairs
from models_engine.inference.crowd_bt.reliability import BetaPrior
from models_engine.inference.graded.cut_points import log_cut_prior
from models_engine.simulate import simulate_crowd

SCALES = [(0.4, 1.5), (0.0, 1.2, 2.5), (0.5,)]  # a tie and two grades; three grades, no tie; a tie and one grade
PRIOR = BetaPrior(6.0, 2.0)


def graded(cuts, n_labels: int = 70, n_items: int = 7, seed: int = 0, *, orders: bool = False) -> Comparisons:
    """A fifth of the answers without grade; with orders also some of three items, a weight of 1 for each pair."""
    rng = np.random.default_rng(seed)
    data = simulate_crowd(rng, n_items, 4, utility_sd=1.5, reliability=(8.5, 1.5)).graded(n_labels, cuts, rng)
    data = replace(data, grades=np.where(np.arange(n_labels) % 5 == 0, 0, data.grades))
    sets = [rng.permutation(n_items)[:3] for _ in range(12)]
    ranked = Comparisons.from_rankings(sets, np.arange(12) % 4, n_items=n_items, weights=np.full(12, 4 / 3))
    return Comparisons.concatenate([data, ranked]) if orders else data


def point(data: Comparisons, cuts, scale: float = 1.0) -> Point:
    pairs = NoisyPairs.of(data.pairs(), np.ones(len(data.pairs()), bool), graded=True)
    target = TargetDensity(pairs, 1.3, PRIOR, 1.0, None, np.array(cuts))
    return target.at(scale * np.random.default_rng(0).normal(size=len(target.precision)))


def slow_log_likelihood(data: Comparisons, f, side: float, cuts) -> float:
    """One label and one annotator at a time, from the definition, the reliability integrated by adaptive quadrature."""
    pairs, edges, total = data.pairs(), [*cuts, np.inf], 0.0

    def chance(z: float, outcome: float, grade: int, size: int) -> float:
        if size > 2:
            return expit(z if outcome else -z)
        if outcome == 0.5:
            return expit(z + cuts[0]) - expit(z - cuts[0])
        way = 1 if outcome else -1
        high = edges[grade] if grade else np.inf
        return expit(way * z - edges[max(grade - 1, 0)]) - expit(way * z - high)

    for annotator in range(data.n_annotators):
        own = np.flatnonzero(pairs.annotator == annotator)
        z = f[pairs.left[own]] - f[pairs.right[own]] + side
        labels = list(zip(z, pairs.outcome[own], pairs.grade[own], data.sizes[pairs.label[own]], strict=True))

        def log_joint(eta: float, labels=labels) -> float:
            answers = sum(np.log(eta * chance(z, *said) + (1 - eta) * chance(-z, *said)) for z, *said in labels)
            return float((PRIOR.alpha - 1) * np.log(eta) + (PRIOR.beta - 1) * np.log1p(-eta) + answers)

        peak = max(log_joint(eta) for eta in np.linspace(0.01, 0.99, 99))
        area = quad(lambda eta, peak=peak, g=log_joint: np.exp(g(eta) - peak), 0, 1, epsabs=0, epsrel=1e-9, limit=200)
        total += np.log(area[0]) + peak - betaln(PRIOR.alpha, PRIOR.beta)
    return float(total)


@pytest.mark.parametrize("orders", [False, True])
@pytest.mark.parametrize("cuts", SCALES)
def test_the_value_matches_a_sum_over_labels(cuts, orders):
    data = graded(cuts, orders=orders)
    here = point(data, cuts)
    assert here.evaluation.value == pytest.approx(slow_log_likelihood(data, here.x[:-1], here.x[-1], cuts), abs=1e-4)


@pytest.mark.parametrize("cuts", SCALES)
@pytest.mark.parametrize(("scale", "orders"), [(0.1, False), (1.0, False), (4.0, False), (1.0, True)])
def test_gradient_and_curvature_against_finite_differences(cuts, scale, orders):
    here = point(graded(cuts, orders=orders), cuts, scale)
    steps = 1e-3 * np.eye(len(here.x))
    ahead, behind = [here.target.at(here.x + h) for h in steps], [here.target.at(here.x - h) for h in steps]
    slopes = [(a.objective - b.objective) / 2e-3 for a, b in zip(ahead, behind, strict=True)]
    assert_allclose(here.gradient, slopes, atol=2e-4)
    differences = np.array([(b.gradient - a.gradient) / 2e-3 for a, b in zip(ahead, behind, strict=True)])
    assert_allclose(here.dense(), differences, atol=3e-3 * np.abs(differences).max())
    for place in np.flatnonzero(np.array(cuts) > 0):
        step = 1e-4 * np.eye(len(cuts))[place]
        ends = [replace(here.target, cuts=np.array(cuts) + way * step).at(here.x).objective for way in (1, -1)]
        assert here.evaluation.score_cuts[place] == pytest.approx((ends[0] - ends[1]) / 2e-4, abs=2e-4)


@pytest.mark.parametrize("orders", [False, True])
@pytest.mark.parametrize("cuts", SCALES)
def test_the_gain_of_a_flip_is_the_difference_of_two_values(cuts, orders):
    here = point(graded(cuts, orders=orders), cuts)
    turned = here.x.copy()
    turned[:7] *= -1
    assert gains_of_flips(here).sum() == pytest.approx(here.target.at(turned).objective - here.objective, abs=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("cuts", SCALES)
def test_the_mode_is_that_of_a_plain_optimiser_over_utilities_and_gaps(cuts):
    data = graded(cuts, 120)
    found = CrowdBT(prior_sd=1.3, reliability=(6.0, 2.0), inference="map", side=True, tolerance=1e-4).fit(data)
    known = np.array(cuts) > 0
    n = data.n_items + 1

    def loss(x: np.ndarray) -> float:
        gaps = np.full(len(cuts), -np.inf)
        gaps[known] = x[n:]
        at = replace(point(data, cuts).target, cuts=np.cumsum(np.exp(gaps))).at(x[:n])
        return -at.objective - log_cut_prior(gaps)[0]

    start = np.concatenate([found.utilities(), [0.0], np.zeros(known.sum())])
    best = minimize(loss, start, method="BFGS", options={"gtol": 1e-3}).x
    assert_allclose(found.utilities(), best[: n - 1] - best[: n - 1].mean(), atol=0.01)
    assert found.likelihood.side == pytest.approx(best[n - 1], abs=0.01)
    cuts_found = np.cumsum(
        np.exp(np.where(known, 0.0, -np.inf) + np.concatenate([np.zeros(len(cuts) - known.sum()), best[n:]]))
    )
    assert_allclose(found.likelihood.cuts, cuts_found, atol=0.01)


def test_deviations_are_those_of_the_whole_curvature():
    """Laplace's of utilities and gaps together, by differences of the objective's gradient."""
    data, cuts = graded((0.4, 1.5), 300), (0.4, 1.5)
    found = CrowdBT(prior_sd=1.3, reliability=(6.0, 2.0), inference="map", side=True, tolerance=1e-4).fit(data)
    gaps = np.log(np.diff(found.likelihood.cuts, prepend=0.0))
    n = data.n_items + 1

    def gradient(x: np.ndarray) -> np.ndarray:
        at = replace(point(data, cuts).target, cuts=np.cumsum(np.exp(x[n:]))).at(x[:n])
        by_gap = np.tril(np.ones((2, 2))) * np.exp(x[n:])
        own = by_gap.T @ (at.evaluation.score_cuts + log_cut_prior(x[n:])[1].score)
        return np.concatenate([at.gradient, own])

    uncentred = point(data, cuts).target
    start = np.concatenate([found.utilities(), [found.likelihood.side]])
    assert np.abs(replace(uncentred, cuts=np.array(found.likelihood.cuts)).at(start).gradient).max() < 0.05
    x = np.concatenate([start, gaps])
    whole = np.array([(gradient(x - h) - gradient(x + h)) / 2e-3 for h in 1e-3 * np.eye(len(x))])
    inverse = np.linalg.inv((whole + whole.T) / 2)
    spread = inverse[: n - 1, : n - 1]
    centred = spread - spread.mean(axis=0) - spread.mean(axis=1)[:, None] + spread.mean()
    assert_allclose(found.standard_deviations(), np.sqrt(np.diagonal(centred)), rtol=0.03)
    assert found.likelihood.side_sd == pytest.approx(np.sqrt(inverse[n - 1, n - 1]), rel=0.03)
    by_gap = np.tril(np.ones((2, 2))) * np.exp(gaps)
    assert_allclose(found.likelihood.cut_sds, np.sqrt(np.diag(by_gap @ inverse[n:, n:] @ by_gap.T)), rtol=0.05)


def test_one_grade_without_ties_and_ignored_grades_are_as_none():
    data = graded((0.0,))
    plain = CrowdBT(inference="map").fit(data.without_grades())
    assert_allclose(CrowdBT(inference="map").fit(data).utilities(), plain.utilities(), atol=1e-4)
    data = graded((0.4, 1.5))
    ignored, without = (
        CrowdBT(inference="map", grades="ignore").fit(data),
        CrowdBT(inference="map").fit(data.without_grades()),
    )
    assert (ignored.utilities() == without.utilities()).all()
    assert ignored.likelihood == without.likelihood


@pytest.mark.slow
def test_grades_narrow_intervals_and_predict_better():
    """At the coverage that the mode has without grades (its documented fault: intervals too narrow)."""
    width, covered, losses = {}, {}, {}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        crowd = simulate_crowd(rng, 40, 8, utility_sd=1.5, reliability=(8.5, 1.5))
        data = crowd.graded(600, (0.3, 1.2), rng)
        out = assign_folds(data, 0) == 0
        train, test = data.subset(~out), data.subset(out)
        for how in ("ordered", "ignore"):
            estimator = CrowdBT(inference="map", grades=how)
            found = estimator.fit(data)
            width.setdefault(how, []).append(mean_width(found) / found.utilities().std())
            covered.setdefault(how, []).append(coverage(found, crowd.utilities))
            own = -estimator.fit(train).log_predictive(test)
            losses.setdefault(how, []).append((own - (how == "ignore") * grade_shares(train)[test.grades]).mean())
    assert np.mean(width["ordered"]) < 0.95 * np.mean(width["ignore"])
    assert np.mean(covered["ordered"]) > np.mean(covered["ignore"]) - 0.04
    assert np.mean(losses["ordered"]) < np.mean(losses["ignore"])
