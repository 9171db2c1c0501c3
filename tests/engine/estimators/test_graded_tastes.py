"""Graded answers of annotators with tastes and reliabilities: EP against Monte Carlo and finite differences, the
sampler against numerical integration, and both estimators on crowds whose utilities are known."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kstest, norm, truncnorm

from models_engine.analysis.metrics import coverage, mean_width
from models_engine.benchmarks.grades import grade_shares
from models_engine.data import Comparisons
from models_engine.estimators.choosing import assign_folds
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.estimators.collaborative.posterior import CollaborativePosterior
from models_engine.estimators.crowd_gppl import CrowdGPPL
from models_engine.inference.graded.cut_points import log_cut_prior
from models_engine.inference.probit_ep.annotator_blocks import build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, run_ep, warm_start
from models_engine.inference.probit_ep.learned_cuts import learn_cuts, log_gaps_of, measure_cuts, starting_cuts
from models_engine.inference.probit_ep.pair_sites import PairSites, build_sites, build_sites_with_rankings
from models_engine.inference.tastes.cut_sampling import CutSampler
from models_engine.inference.tastes.perception import NOISE_SD, AnswerGroup, Perception
from models_engine.inference.tastes.reliability import learn_reliabilities
from models_engine.simulate import simulate_crowd

pytestmark = pytest.mark.usefixtures("quick_draws")

CUTS = [(0.4, 1.5), (0.0, 1.2, 2.5), (0.5,)]  # a tie and two grades; three grades, no tie; a tie and one grade
BOTH = [CollaborativeGP, CrowdGPPL]
FEW_FACTORS = partial(CrowdGPPL, n_components=4, max_steps=20)


def graded(cuts, n_annotators: int = 5, n_labels: int = 120, seed: int = 0, n_items: int = 8) -> Comparisons:
    rng = np.random.default_rng(seed)
    return simulate_crowd(rng, n_items, n_annotators, taste_sd=0.6, link="probit").graded(n_labels, cuts, rng)


def prior_of(data: Comparisons, cuts, seed: int = 0) -> CrowdPrior:
    rng, n = np.random.default_rng(seed), data.n_items
    loadings = rng.standard_normal((n, 2))
    answering = {"steepness": rng.uniform(0.6, 1.4, data.n_annotators), "lapse": rng.uniform(0, 0.2, data.n_annotators)}
    taste = 0.3 * loadings @ loadings.T + 0.2 * np.eye(n)
    return CrowdPrior(taste, 1.1 * np.eye(n), np.zeros(n), cuts=np.array(cuts), **answering)


def sites_of(data: Comparisons) -> PairSites:
    return build_sites(data.pairs(), data.weights, graded=True)


def converged(sites: PairSites, crowd: CrowdPrior, start: EPResult | None = None) -> EPResult:
    found = run_ep(sites, build_blocks(sites), crowd, *warm_start(start), tolerance=1e-9, max_iterations=400)
    assert found.converged
    return found


@pytest.mark.parametrize(("lapses", "within"), [(False, 1e-4), (True, 0.5)])
@pytest.mark.parametrize("cuts", CUTS)
def test_the_evidences_derivatives_in_cut_points_are_those_of_finite_differences(cuts, lapses, within):
    """With lapses only nearly: where an answer against what is known would widen the cavity, its site matches the mean
    alone (see probit_site), and the evidence is not stationary in that."""
    data = graded(cuts)
    sites, crowd = sites_of(data), prior_of(data, cuts)
    crowd = crowd if lapses else replace(crowd, lapse=None)
    found = converged(sites, crowd).by_cuts
    for place in np.flatnonzero(np.array(cuts) > 0):
        step = 1e-4 * np.eye(len(cuts))[place]
        ends = [converged(sites, replace(crowd, cuts=np.array(cuts) + way * step)).log_evidence for way in (1, -1)]
        assert found.score[place] == pytest.approx((ends[0] - ends[1]) / 2e-4, abs=within)


@pytest.mark.slow
@pytest.mark.parametrize("cuts", CUTS)
def test_the_evidence_is_that_of_monte_carlo(cuts):
    """Nine graded answers of three annotators, averaged over draws of the prior, lapses and steepness included."""
    data = graded(cuts, 3, 9, seed=3, n_items=3)
    crowd, rng = prior_of(data, cuts), np.random.default_rng(1)
    n_draws = 400_000
    shared = rng.multivariate_normal(crowd.mean, crowd.consensus, n_draws)
    own = [shared + rng.multivariate_normal(np.zeros(3), crowd.taste, n_draws) for _ in range(3)]
    pairs, edges = data.pairs(), [*cuts, np.inf]
    likelihood = np.ones(n_draws)
    for left, right, won, who, grade in zip(
        pairs.left, pairs.right, pairs.outcome, pairs.annotator, pairs.grade, strict=True
    ):
        z = crowd.steepness[who] * (own[who][:, left] - own[who][:, right]) * (1 if won >= 0.5 else -1)
        low, high = (-cuts[0], cuts[0]) if won == 0.5 else (edges[grade - 1], edges[grade])
        kept, turned = (norm.cdf(high - way * z) - norm.cdf(low - way * z) for way in (1, -1))
        likelihood *= (1 - crowd.lapse[who]) * kept + crowd.lapse[who] * turned
    assert converged(sites_of(data), crowd).log_evidence == pytest.approx(np.log(likelihood.mean()), abs=0.03)


def test_one_grade_without_ties_has_the_sites_of_choices():
    data = graded((0.0,))
    crowd = prior_of(data, (0.0,))
    found = converged(sites_of(data), crowd)
    plain = converged(build_sites(data.pairs(), data.weights), replace(crowd, cuts=None))
    assert found.log_evidence == pytest.approx(plain.log_evidence, abs=1e-9)
    assert_allclose(found.mean, plain.mean, atol=1e-9)


@pytest.mark.slow
def test_learned_cut_points_are_at_the_top_of_the_evidence():
    data = graded((0.4, 1.5), n_labels=300)
    sites = sites_of(data)
    start = replace(prior_of(data, (0.4, 1.5)), cuts=starting_cuts(sites, 2, 1.0))
    crowd, result = learn_cuts(start, lambda prior, last: converged(sites, prior, last), 40)
    gaps = log_gaps_of(crowd.cuts)

    def value(moved: np.ndarray) -> float:
        return (
            converged(sites, replace(crowd, cuts=np.cumsum(np.exp(moved)))).log_evidence
            + log_cut_prior(moved, "probit")[0]
        )

    sds = measure_cuts(crowd, result, lambda prior, last: converged(sites, prior, last)).deviations
    slopes = [(value(gaps + step) - value(gaps - step)) / 2e-3 for step in 1e-3 * np.eye(2)]
    own = np.sqrt(np.diag(np.linalg.inv(-hessian(value, gaps))))
    assert (np.abs(slopes * own) < 0.03).all()
    by_gap = np.tril(np.ones((2, 2))) * np.exp(gaps)
    assert_allclose(sds, np.sqrt(np.diag(by_gap @ np.linalg.inv(-hessian(value, gaps)) @ by_gap.T)), rtol=0.02)


def hessian(value, at: np.ndarray, h: float = 0.02) -> np.ndarray:
    steps = h * np.eye(len(at))
    return np.array(
        [
            [
                (value(at + a + b) - value(at + a - b) - value(at - a + b) + value(at - a - b)) / (4 * h**2)
                for b in steps
            ]
            for a in steps
        ]
    )


def test_other_margins_and_larger_cut_points_change_the_density_as_the_normal_distribution_says():
    before, lapse = np.array([0.5, -0.3, 1.2, 0.1]), np.array([0.1, 0.1, 0.0, 0.3])
    after = np.array([0.8, -0.1, 0.9, 0.3])
    grade, tied = np.array([1, 2, 2, 0]), np.array([False, False, False, True])
    sampler, densities = CutSampler(grade, tied, 2), []
    for margin, factor in ((after, 1.3), (before, 1.0)):
        cuts = factor * sampler.cuts
        low, high = np.array([-cuts[0], *cuts])[grade], np.array([*cuts, np.inf])[grade]
        kept, turned = (norm.cdf(high - way * margin) - norm.cdf(low - way * margin) for way in (1, -1))
        prior = log_cut_prior(np.log([cuts[0], cuts[1] - cuts[0]]), "probit")[0]
        densities.append(np.log((1 - lapse) * kept + lapse * turned).sum() + prior)
    gain = sampler.log_density(after, lapse, 1.3) - sampler.log_density(before, lapse, 1.0)
    assert gain == pytest.approx(densities[0] - densities[1])


@pytest.mark.slow
def test_drawn_cut_points_have_the_density_of_a_grid():
    """Given margins the log gaps have a two-dimensional density."""
    rng = np.random.default_rng(0)
    margin, lapse = np.abs(rng.normal(0.4, 1.0, 80)), np.full(80, 0.1)
    perceived = margin + rng.standard_normal(80)
    perceived *= np.where(rng.random(80) < lapse, -1, 1)
    grade = np.searchsorted([0.4, 1.4], np.abs(perceived))
    margin = np.where(perceived < 0, -margin, margin)
    sampler = CutSampler(grade, grade == 0, 2)
    draws = []
    for sweep in range(2_000):
        sampler.draw(margin, lapse, rng, warming_up=sweep < 200)
        draws.append(sampler.log_gaps)
    axes = [
        np.linspace(at - 5 * sd, at + 5 * sd, 41) for at, sd in zip(np.mean(draws, 0), np.std(draws, 0), strict=True)
    ]
    density = np.empty((41, 41))
    for i, first in enumerate(axes[0]):
        for j, second in enumerate(axes[1]):
            cuts = np.cumsum(np.exp([first, second]))
            low, high = np.array([-cuts[0], *cuts])[grade], np.array([*cuts, np.inf])[grade]
            kept, turned = (norm.cdf(high - way * margin) - norm.cdf(low - way * margin) for way in (1, -1))
            density[i, j] = (
                np.log(0.9 * kept + 0.1 * turned).sum()
                + log_cut_prior(np.log([cuts[0], cuts[1] - cuts[0]]), "probit")[0]
            )
    share = np.exp(density - density.max())
    share /= share.sum()
    for place, axis in enumerate(axes):
        marginal = share.sum(axis=1 - place)
        mean = marginal @ axis
        sd = np.sqrt(marginal @ (axis - mean) ** 2)
        assert np.mean(draws[200:], 0)[place] == pytest.approx(mean, abs=0.15 * sd)
        assert np.std(draws[200:], 0)[place] == pytest.approx(sd, rel=0.12)


@pytest.mark.parametrize("grade", [1, 2])
def test_perceived_margins_of_a_grade_are_truncated_normals_and_reversed_as_often_as_they_should(grade):
    n, rng, margin = 8_000, np.random.default_rng(0), -0.3
    low, high = [(0.4, 1.5), (1.5, np.inf)][grade - 1]
    group = AnswerGroup(np.zeros(n, np.int64), np.tile([0, 1], (n, 1)), np.tile([0, 1], (n, 1)), np.full(n, grade))
    seen = Perception(group, may_reverse=True)
    mean = np.tile([margin, 0.0], (n, 1))
    seen.draw(mean, np.array([0.8]), rng, (np.full(n, low), np.full(n, high)))
    kept, turned = (norm.cdf(high - way * margin) - norm.cdf(low - way * margin) for way in (1, -1))
    expected = 0.2 * turned / (0.8 * kept + 0.2 * turned)
    assert seen.reversed.mean() == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / n))
    difference = seen.perceived[:, 0] - seen.perceived[:, 1]
    for turned_too, way in ((False, 1), (True, -1)):
        one = way * difference[seen.reversed == turned_too]
        limits = truncnorm(low - way * margin, high - way * margin, way * margin, 1)
        assert kstest(one, limits.cdf).pvalue > 1e-3
    assert seen.perceived.sum(axis=1).std() == pytest.approx(2 * NOISE_SD / np.sqrt(2), rel=0.05)


@cache
def fitted_to(kind, cuts, n_annotators: int, n_labels: int) -> CollaborativePosterior:
    return kind().fit(graded(cuts, n_annotators, n_labels))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "cuts", "n_annotators", "n_labels"),
    [(kind, cuts, 3, 120) for kind in BOTH for cuts in CUTS]
    + [(CollaborativeGP, CUTS[0], 9, 400), (CrowdGPPL, CUTS[1], 9, 120)],
)
def test_the_predictions_of_all_grades_add_up_to_one_for_every_annotator(kind, cuts, n_annotators, n_labels):
    """Of three the posterior is by EP, of nine by draws, with the chance of a reversed answer."""
    fitted = fitted_to(kind, cuts, n_annotators, n_labels)
    grades = [0, *range(1, len(cuts) + 1), *range(1, len(cuts) + 1)]
    outcome = [0.5] + [1.0] * len(cuts) + [0.0] * len(cuts)
    ends = (np.zeros(len(grades), int), np.ones(len(grades), int))
    for annotator in (0, n_annotators - 1):
        who = np.full(len(grades), annotator)
        asked = Comparisons.from_pairs(*ends, outcome, who, grades=grades, n_items=8)
        chance = np.exp(fitted.log_predictive(asked))
        assert (chance[0] if cuts[0] > 0 else 0.0) + chance[1:].sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.slow
def test_steepness_multiplies_what_is_compared_with_cut_points():
    fitted = CollaborativeGP(steepness=True).fit(graded((0.4, 1.5), 4))
    own = fitted.for_annotator(1)
    margin = own.steepness * (own.mean[0] - own.mean[1])
    variance = own.steepness**2 * own.difference_variance([0], [1])
    asked = Comparisons.from_pairs([0], [1], [1.0], [1], grades=[2], n_items=8)
    expected = own.likelihood.log_outcome(1.0, margin, variance, grade=2)
    assert_allclose(fitted.log_predictive(asked), expected)


@pytest.mark.slow
def test_a_reversed_answer_keeps_its_grade():
    """Whose answers are all reversed is found by them, and the others are not, where tastes differ little."""
    rng = np.random.default_rng(3)
    crowd = simulate_crowd(rng, 12, 9, utility_sd=1.5, taste_sd=0.2, link="probit")
    data = replace(crowd, reliability=np.array([1.0] * 8 + [0.0])).graded(450, (0.3, 1.2), rng)
    sites = sites_of(data)
    prior = CrowdPrior(0.04 * np.eye(12), 2.25 * np.eye(12), np.zeros(12), cuts=np.array([0.3, 1.2]))
    found, shared = learn_reliabilities(sites, build_blocks(sites), prior, lambda _: None)
    assert found.mean[8] < 0.1
    assert found.mean[:8].min() > 0.9
    assert np.corrcoef(shared.mean, crowd.utilities)[0, 1] > 0.97


@pytest.mark.slow
@pytest.mark.parametrize("n_annotators", [3, 9])
def test_a_stored_posterior_keeps_grades_and_a_refit_starts_from_it(n_annotators):
    data = graded((0.4, 1.5), n_annotators, 400)
    first = CollaborativeGP().fit(data.subset(np.arange(390)))
    stored = CollaborativePosterior.from_arrays(first.to_arrays())
    assert stored.likelihood == first.likelihood
    assert (stored.tastes.pair_sites.keys == first.tastes.pair_sites.keys).all()
    assert {"cut_0", "cut_0_sd", "cut_1", "cut_1_sd"} <= set(first.hyperparameters())
    refit, cold = CollaborativeGP().fit(data, start=stored), fitted_to(CollaborativeGP, (0.4, 1.5), n_annotators, 400)
    assert_allclose(refit.likelihood.cuts, cold.likelihood.cuts, rtol=0.1)
    assert np.corrcoef(refit.utilities(), cold.utilities())[0, 1] > 0.99
    without = {name: values for name, values in first.to_arrays().items() if name != "tastes/grade"}
    assert CollaborativePosterior.from_arrays(without).tastes.pair_sites.grade is None


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "n_annotators"), [(CollaborativeGP, 3), (CrowdGPPL, 3), (CollaborativeGP, 9)])
def test_ignored_grades_are_as_none(kind, n_annotators):
    data = graded((0.4, 1.5), n_annotators)
    ignored, without = kind(grades="ignore").fit(data), kind().fit(data.without_grades())
    assert (ignored.utilities() == without.utilities()).all()
    assert ignored.likelihood == without.likelihood


@pytest.mark.slow
@pytest.mark.parametrize("n_annotators", [3, 9])
def test_a_grade_that_nobody_gave_leaves_cut_points_in_order(n_annotators):
    who = np.arange(27) % n_annotators
    data = Comparisons.from_pairs([0, 1, 2] * 9, [1, 2, 0] * 9, [1] * 27, who, grades=[1, 1, 3] * 9, n_grades=4)
    fitted = CollaborativeGP().fit(data)
    cuts = np.array(fitted.likelihood.cuts)
    assert cuts[0] == 0
    assert np.isfinite(cuts).all()
    assert (np.diff(cuts) > 0).all()
    assert np.isfinite(fitted.likelihood.cut_sds).all()


def test_sites_of_rankings_have_no_grade():
    pairs = graded((0.4, 1.5), 4, 20)
    rankings = Comparisons.from_rankings([[0, 1, 2], [3, 4, 5]], [0, 1], n_items=8, n_annotators=5)
    sites = build_sites_with_rankings(Comparisons.concatenate([pairs, rankings]), graded=True)
    assert (sites.grade[sites.ranked] == 0).all()
    assert sites.ranked.sum() == 4
    assert np.isfinite(converged(sites, replace(prior_of(pairs, (0.4, 1.5)), steepness=None)).log_evidence)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kinds", "n_annotators"),
    [((CollaborativeGP, CollaborativeGP), 6), ((FEW_FACTORS, FEW_FACTORS), 6), ((CollaborativeGP, FEW_FACTORS), 20)],
)
def test_grades_narrow_intervals_at_equal_coverage_and_predict_better(kinds, n_annotators):
    """Two crowds. Of 20 annotators both estimators draw, by the same model but for a prior, and each has one crowd."""
    width, covered, gain = {}, {}, []
    for seed, kind in enumerate(kinds):
        rng = np.random.default_rng(seed)
        crowd = simulate_crowd(rng, 30, n_annotators, taste_sd=0.7, link="probit")
        data = crowd.graded(600, (0.3, 1.2), rng)
        out = assign_folds(data, 0) == 0
        train, tested, losses = data.subset(~out), data.subset(out), {}
        for how in ("ordered", "ignore"):
            fitted = kind(grades=how).fit(train)
            width.setdefault(how, []).append(mean_width(fitted) / fitted.utilities().std())
            covered.setdefault(how, []).append(coverage(fitted, crowd.utilities))
            losses[how] = -fitted.log_predictive(tested)
        losses["ignore"] -= grade_shares(train)[tested.grades]
        gain.append(losses["ignore"].mean() - losses["ordered"].mean())
    assert max(np.divide(width["ordered"], width["ignore"])) < 0.95
    assert 0.8 < np.mean(covered["ordered"]) < 0.98
    assert min(gain) > 0
