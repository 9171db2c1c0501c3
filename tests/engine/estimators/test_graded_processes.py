"""GPPL's graded answers: an ordered likelihood under normal noise, against definitions, finite differences, quadrature,
and its two ways of inference, which share no formula, against each other."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm

from models_engine.analysis.metrics import coverage, mean_width
from models_engine.data import Comparisons
from models_engine.estimators.choosing import assign_folds
from models_engine.estimators.gppl import GPPL
from models_engine.inference.pairwise_gp.ep import pool_sites
from models_engine.inference.pairwise_gp.graded import GradedFactors, cut_coupling
from models_engine.inference.pairwise_gp.graded_ep import GradedEP
from models_engine.inference.pairwise_gp.inducing import build_item_prior
from models_engine.inference.pairwise_gp.model import GammaPrior, PairwiseGP
from models_engine.inference.pairwise_gp.variational import maximise_bound
from models_engine.inference.probit_ep.expected_probit import expected_interval
from models_engine.inference.probit_ep.interval_sites import interval_moments
from models_engine.kernels import ItemKernel
from models_engine.simulate import Crowd, simulate_crowd

CUTS = [(0.4, 1.5), (0.0, 1.2, 2.5), (0.5,)]  # a tie and two grades; three grades, no tie; a tie and one grade
ENDS = [(-0.4, 0.4), (0.4, 1.5), (1.5, np.inf), (0.2, 0.2 + 1e-3), (0.0, np.inf)]


def crowd_of(seed: int = 0, n_items: int = 12) -> Crowd:
    return simulate_crowd(np.random.default_rng(seed), n_items, 8, link="probit")


def graded(cuts, n_labels: int = 120, seed: int = 0) -> Comparisons:
    return crowd_of(seed).graded(n_labels, cuts, np.random.default_rng(seed + 50))


def beside_sets(cuts) -> Comparisons:
    """Graded pairs, which may be tied, beside best of four and rankings of five, which may not."""
    rng = np.random.default_rng(7)
    return Comparisons.concatenate([graded(cuts), crowd_of().choices(20, 4, rng), crowd_of().rankings(20, 5, rng)])


LABELS = [*(graded(cuts) for cuts in CUTS), beside_sets(CUTS[0])]


def between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return Phi(high) - Phi(low), from the nearer tail."""
    return np.where(low > 0, norm.sf(low) - norm.sf(high), norm.cdf(high) - norm.cdf(low))


def problem_of(data: Comparisons, scale: GammaPrior) -> PairwiseGP:
    factors = GradedFactors.of_grades(data.pairs(), data.n_grades, 1.0)
    kernel = ItemKernel(None, data.n_items)
    return PairwiseGP(factors, build_item_prior(kernel, data.n_items, np.random.default_rng(0)), scale)


@pytest.mark.parametrize("sd", [0.0, 0.2, 1.0, 3.0, 8.0])
@pytest.mark.parametrize(("low", "high"), ENDS)
def test_expectations_over_margins_against_a_fine_grid(sd, low, high):
    mean = np.linspace(-6.0, 6.0, 9)
    found = expected_interval(mean, np.full(9, sd**2), np.full(9, low), np.full(9, high))
    unit = np.linspace(-9.0, 9.0, 2_001)
    weights = norm.pdf(unit) / norm.pdf(unit).sum()

    def average(down: float = 0.0, up: float = 0.0) -> np.ndarray:
        z = mean[:, None] + sd * unit
        a, b = low + down - z, high + up - z
        turned = a > 0
        a, b = np.where(turned, -b, a), np.where(turned, -a, b)
        return (norm.logcdf(b) + np.log1p(-np.exp(norm.logcdf(a) - norm.logcdf(b)))) @ weights

    step = 1e-5
    up = step if np.isfinite(high) else 0.0
    assert_allclose(found[0], average(), rtol=1e-6)
    assert_allclose(found[1], (average(step) - average(-step)) / (2 * step), rtol=1e-4, atol=1e-6)
    assert_allclose(found[2], (average(0, up) - average(0, -up)) / (2 * step), rtol=1e-4, atol=1e-6)
    h = 1e-4 if high - low > 0.1 else 1e-5
    up = h if np.isfinite(high) else 0.0
    twice = (average(h) - 2 * average() + average(-h)) / h**2
    assert_allclose(found[3], twice, rtol=1e-3, atol=1e-3)
    mixed = (average(h, up) - average(h, -up) - average(-h, up) + average(-h, -up)) / (4 * h**2)
    assert_allclose(found[4], mixed, rtol=1e-3, atol=1e-3)
    assert_allclose(found[5], (average(0, up) - 2 * average() + average(0, -up)) / h**2, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("lapse", [None, 0.15])
@pytest.mark.parametrize("exponent", [1.0, 0.4, 1.7])
@pytest.mark.parametrize(("low", "high"), [(-0.4, 0.4), (0.4, 1.5), (1.5, np.inf)])
@pytest.mark.parametrize(("mean", "variance"), [(0.3, 0.5), (-3.0, 6.0)])
def test_moments_of_sites_against_a_fine_grid(mean, variance, low, high, exponent, lapse):
    share, sd = lapse or 0.0, variance**0.5

    unit = np.linspace(-12.0, 12.0, 6_001)

    def log_z(shift: float = 0.0, down: float = 0.0, up: float = 0.0) -> float:
        z = mean + shift + sd * unit
        chance = (1 - share) * between(low + down - z, high + up - z) + share * between(low + down + z, high + up + z)
        return float(np.log(np.maximum(chance, 0.0) ** exponent @ norm.pdf(unit) * (unit[1] - unit[0])))

    one = (np.array([value]) for value in (mean, variance, low, high, exponent))
    found = interval_moments(*one, lapse=None if lapse is None else np.array([lapse]))
    h = 1e-3
    up = h if np.isfinite(high) else 0.0
    assert_allclose(found.log_normaliser, log_z(), rtol=1e-6, atol=1e-7)
    assert_allclose(found.first, (log_z(h) - log_z(-h)) / (2 * h), atol=1e-5)
    bend = (log_z(h) - 2 * log_z() + log_z(-h)) / h**2
    assert_allclose(found.second, min(bend, 0.0), atol=1e-4)
    assert_allclose(found.by_low, (log_z(0, h) - log_z(0, -h)) / (2 * h), atol=1e-5)
    assert_allclose(found.by_high, (log_z(0, 0, up) - log_z(0, 0, -up)) / (2 * h), atol=1e-5)


@pytest.mark.parametrize("data", LABELS)
def test_the_derivatives_in_cut_points_are_those_of_the_bound(data):
    problem = problem_of(data, GammaPrior(2.0, 2.0))
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.2, 1.0, len(problem.factors))
    mean = rng.standard_normal(problem.prior.n_points)

    def at(step: np.ndarray, shift: np.ndarray | float = 0.0):
        factors, share = problem.factors.moved(step)
        assert share == 1
        return replace(problem, factors=factors).at(weights, 1.3, mean + shift)

    k, n, h = problem.factors.n_learned, len(mean), 1e-4
    still = np.zeros(k)
    terms, coupling = cut_coupling(at(still))
    for place in range(k):
        step = h * np.eye(k)[place]
        ends = [at(step), at(-step)]
        # E log p(labels) and the prior alone: q(s) of the state depends on its mean and covariance only
        assert terms.gradient[place] == pytest.approx((ends[0].bound - ends[1].bound) / (2 * h), rel=1e-5)
        slopes = [cut_coupling(end)[0].gradient for end in ends]
        assert_allclose(terms.curvature[place], (slopes[1] - slopes[0]) / (2 * h), rtol=1e-4, atol=1e-4)
        for item in range(0, n, 5):
            move = h * np.eye(n)[item]
            found = [cut_coupling(at(still, way * move))[0].gradient[place] for way in (1, -1)]
            assert coupling[place, item] == pytest.approx((found[1] - found[0]) / (2 * h), rel=1e-4, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("cuts", CUTS)
def test_the_fixed_point_is_a_maximum_of_the_bound(cuts):
    state = maximise_bound(
        problem_of(graded(cuts), GammaPrior(2.0, 2.0)).start(), tolerance=1e-9, limit=300, on_step=lambda _: None
    ).state
    rng = np.random.default_rng(0)
    for _ in range(20):
        factors, _ = state.problem.factors.moved(0.02 * rng.standard_normal(state.problem.factors.n_learned))
        shift = 0.02 * rng.standard_normal(len(state.mean))
        other = replace(state.problem, factors=factors).at(state.weights, state.inverse_scale, state.mean + shift)
        assert other.bound < state.bound


@pytest.mark.slow
@pytest.mark.parametrize(("data", "cuts"), list(zip(LABELS, [*CUTS, CUTS[0]], strict=True)))
def test_the_slope_of_eps_evidence_is_that_of_finite_differences(data, cuts):
    prior = build_item_prior(ItemKernel(None, data.n_items), data.n_items, np.random.default_rng(0))
    sites = pool_sites(data.pairs(), data.weights, graded=True)
    ep = GradedEP(sites, prior.kernel, prior.precision, GammaPrior(2.0, 2.0), 1e-9, data.n_grades)
    x = np.append(0.2, np.log(np.diff(cuts, prepend=0.0)[np.diff(cuts, prepend=0.0) > 0]) + 0.1)
    _, slope = ep.value_and_slope(x, 300)
    for place, step in enumerate(1e-3 * np.eye(len(x))):
        ends = [ep.value_and_slope(x + way * step, 300)[0] for way in (1, -1)]
        assert slope[place] == pytest.approx((ends[0] - ends[1]) / 2e-3, abs=1e-4)


def test_ep_of_one_pair_is_numerical_integration():
    """Forty answers to one pair: the margin's posterior is one-dimensional."""
    counts = {(1.0, 1): 9, (1.0, 2): 12, (0.0, 1): 5, (0.0, 2): 2, (0.5, 0): 12}
    rows = [key for key, n in counts.items() for _ in range(n)]
    data = Comparisons.from_pairs(
        [0] * 40, [1] * 40, [won for won, _ in rows], [0] * 40, grades=[grade for _, grade in rows], n_grades=2
    )
    sites = pool_sites(data.pairs(), data.weights, graded=True)
    ep = GradedEP(sites, np.eye(2), np.eye(2), GammaPrior(2.0, 2.0), 1e-9, 2)
    found = ep.at(1.0, 300, np.array([0.4, 1.3]))
    mean, covariance = ep.moments(1.0, found)
    edges = {
        (1, 1): (0.4, 1.3),
        (1, 2): (1.3, np.inf),
        (0, 1): (-1.3, -0.4),
        (0, 2): (-np.inf, -1.3),
        (0.5, 0): (-0.4, 0.4),
    }

    def density(z: float) -> float:
        chances = [norm.cdf(high - z) - norm.cdf(low - z) for low, high in edges.values()]
        return float(np.exp(np.log(chances) @ list(counts.values()) + 55)) * norm.pdf(z, 0, 2**0.5)

    totals = [quad(lambda z, power=power: z**power * density(z), -4, 4, epsabs=1e-12)[0] for power in range(3)]
    first, second = totals[1] / totals[0], totals[2] / totals[0]
    assert found.log_evidence == pytest.approx(np.log(totals[0]) - 55, abs=2e-3)
    assert mean[0] - mean[1] == pytest.approx(first, abs=1e-3)
    spread = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    assert spread == pytest.approx(second - first**2, rel=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("cuts", CUTS)
def test_both_ways_of_inference_agree(cuts):
    data = graded(cuts, 300)
    fits = [GPPL(inference=how).fit(data) for how in ("vg", "ep")]
    assert all(one.diagnostics.converged for one in fits)
    assert_allclose(*(one.utilities() for one in fits), atol=0.02)
    assert_allclose(*(one.likelihood.cuts for one in fits), atol=0.01)
    assert_allclose(*(one.likelihood.cut_sds for one in fits), rtol=0.1)
    assert_allclose(*(one.standard_deviations() for one in fits), rtol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["vg", "ep"])
def test_one_grade_without_ties_is_the_model_of_choices(how):
    data = graded((0.0,))
    ordered, ignored = (GPPL(inference=how, grades=one).fit(data) for one in ("ordered", "ignore"))
    assert ordered.likelihood.cuts == (0.0,)
    assert_allclose(ordered.utilities(), ignored.utilities(), atol=1e-4)
    assert_allclose(ordered.standard_deviations(), ignored.standard_deviations(), rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["vg", "ep"])
@pytest.mark.parametrize("cuts", CUTS)
def test_the_predictions_of_all_grades_add_up_to_one(cuts, how):
    fitted = GPPL(inference=how).fit(graded(cuts))
    grades = [0, *range(1, len(cuts) + 1), *range(1, len(cuts) + 1)]
    outcome = [0.5] + [1.0] * len(cuts) + [0.0] * len(cuts)
    ends = (np.zeros(len(grades), int), np.ones(len(grades), int))
    asked = Comparisons.from_pairs(*ends, outcome, np.zeros(len(grades), int), grades=grades, n_items=12)
    chance = np.exp(fitted.log_predictive(asked))
    assert (chance[0] if cuts[0] > 0 else 0.0) + chance[1:].sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.slow
def test_minibatches_and_inducing_points_learn_the_same_cut_points():
    rng = np.random.default_rng(0)
    features = rng.uniform(-1, 1, size=(60, 2))
    worth = 1.5 * np.sin(2 * features[:, 0]) + features[:, 1]
    plain = crowd_of(0, 60)
    crowd = replace(plain, own=np.tile(worth - worth.mean(), (8, 1)), utilities=worth - worth.mean())
    data = crowd.graded(2_000, (0.4, 1.5), rng)
    known = Comparisons.from_pairs([], [], [], [], n_items=60, n_annotators=8, n_grades=2, item_features=features)
    data = Comparisons.concatenate([data, known])
    whole = GPPL().fit(data)
    for other in (GPPL(batch_size=200), GPPL(n_inducing=30)):
        found = other.fit(data)
        assert_allclose(found.likelihood.cuts, whole.likelihood.cuts, atol=0.05)
        assert np.corrcoef(found.utilities(), whole.utilities())[0, 1] > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("how", ["vg", "ep"])
def test_ties_between_other_items_leave_choices_as_they_are(how):
    """At a known scale, with graded ties of two other items, choices have the likelihood that they have without."""
    rng = np.random.default_rng(3)
    choices = simulate_crowd(rng, 8, 3, link="probit").choices(60, 4, rng)
    outcome, grades = [0.5] * 6 + [1.0, 0.0, 1.0], [0] * 6 + [1, 2, 1]
    apart = Comparisons.from_pairs([8] * 9, [9] * 9, outcome, n_items=10, grades=grades)
    estimator = GPPL(how, prior_shape=1e9, prior_rate=1e9)
    both, alone = (estimator.fit(one) for one in (Comparisons.concatenate([choices, apart]), choices))
    assert both.likelihood.cuts[0] > 0.2
    kept = both.restrict(np.arange(8))
    assert_allclose(kept.utilities(), alone.utilities(), atol=1e-5)
    assert_allclose(kept.covariance(), alone.covariance(), atol=1e-5)


def test_the_linearised_scheme_says_that_it_takes_winners_alone():
    data = graded((0.4, 1.5))
    fitted = GPPL(inference="linearised").fit(data)
    assert "grades did not count" in fitted.diagnostics.message
    assert fitted.likelihood.cuts is None
    assert "grades" not in GPPL(inference="linearised").fit(data.without_grades()).diagnostics.message


@pytest.mark.parametrize("how", ["vg", "ep"])
def test_ignored_grades_are_as_none(how):
    data = graded((0.4, 1.5))
    ignored, without = GPPL(inference=how, grades="ignore").fit(data), GPPL(inference=how).fit(data.without_grades())
    assert (ignored.utilities() == without.utilities()).all()
    assert ignored.likelihood == without.likelihood


@pytest.mark.slow
def test_grades_narrow_intervals_at_equal_coverage_and_predict_better():
    width, covered, inside, gain = {}, {}, 0, []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        crowd = simulate_crowd(rng, 60, 20, link="probit")
        data = crowd.graded(600, (0.3, 1.2), rng)
        out = assign_folds(data, 0) == 0
        tested, losses = data.subset(out).without_grades(), {}
        for how in ("ordered", "ignore"):
            fitted = GPPL(grades=how).fit(data)
            width.setdefault(how, []).append(mean_width(fitted) / fitted.utilities().std())
            covered.setdefault(how, []).append(coverage(fitted, crowd.utilities))
            losses[how] = -GPPL(grades=how).fit(data.subset(~out)).log_predictive(tested).mean()
            if how == "ordered":
                apart = np.abs(np.array(fitted.likelihood.cuts) - (0.3, 1.2))
                inside += int((apart < 1.645 * np.array(fitted.likelihood.cut_sds)).sum())
        gain.append(losses["ignore"] - losses["ordered"])
    assert 18 <= inside <= 24  # of 24 at 90%
    assert np.mean(width["ordered"]) < 0.8 * np.mean(width["ignore"])
    assert 0.85 < np.mean(covered["ordered"]) < 0.95
    assert np.mean(gain) > 0
