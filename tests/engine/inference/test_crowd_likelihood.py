"""The likelihood of noisy pairs against quadrature, its derivatives against finite differences, and the search."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import betaln

from models_engine.data import Comparisons
from models_engine.inference.crowd_bt.likelihood import evaluate_likelihood
from models_engine.inference.crowd_bt.log_posterior import Point, TargetDensity
from models_engine.inference.crowd_bt.mode import (
    em_step,
    find_mode,
    flip_best_parts,
    gains_of_flips,
    negate_utilities,
    newton_step,
)
from models_engine.inference.crowd_bt.pairs import NoisyPairs
from models_engine.inference.crowd_bt.reliability import BetaPrior, build_grid, integrate_reliabilities

N_ITEMS, N_ANNOTATORS = 7, 4
PRIOR = BetaPrior(6.0, 2.0)
SOME = "pairs, and orders that cannot be tied"


def labels(seed: int = 1, n_labels: int = 60, *, tie: bool | str = True) -> Comparisons:
    rng = np.random.default_rng(seed)
    left = rng.integers(N_ITEMS, size=n_labels)
    right = (left + rng.integers(1, N_ITEMS, n_labels)) % N_ITEMS
    outcome = rng.choice([0.0, 0.5, 1.0] if tie else [0.0, 1.0], n_labels)
    who, weights = rng.integers(N_ANNOTATORS, size=n_labels), rng.choice([1.0, 2.0, 0.5, 0.0], n_labels)
    pairs = Comparisons.from_pairs(
        left, right, outcome, who, n_items=N_ITEMS, n_annotators=N_ANNOTATORS, weights=weights
    )
    orders = [rng.permutation(N_ITEMS)[:3] for _ in range(20)]
    ranked = Comparisons.from_rankings(orders, np.arange(20) % N_ANNOTATORS)
    return Comparisons.concatenate([pairs, ranked]) if tie == SOME else pairs


def noisy_pairs(data: Comparisons, sided: bool = True) -> NoisyPairs:
    return NoisyPairs.of(data.pairs(), np.full(len(data.pairs()), sided))


def slow_log_likelihood(data: Comparisons, f, side: float, log_nu: float) -> float:
    """One label and one annotator at a time, the reliability integrated by adaptive quadrature."""
    pairs, total = data.pairs(), 0.0
    for annotator in range(N_ANNOTATORS):
        rows = np.flatnonzero(pairs.annotator == annotator)

        def log_joint(eta: float, rows=rows) -> float:
            result = (PRIOR.alpha - 1) * np.log(eta) + (PRIOR.beta - 1) * np.log1p(-eta)
            for row in rows:
                z, y = f[pairs.left[row]] - f[pairs.right[row]] + side, pairs.outcome[row]
                nu = np.exp(log_nu) if data.sizes[pairs.label[row]] == 2 else 0.0
                good = {1.0: np.exp(z / 2), 0.0: np.exp(-z / 2), 0.5: nu}[y]
                wrong = {1.0: np.exp(-z / 2), 0.0: np.exp(z / 2), 0.5: nu}[y]
                scale = np.exp(z / 2) + np.exp(-z / 2) + nu
                result += pairs.weight[row] * np.log((eta * good + (1 - eta) * wrong) / scale)
            return float(result)

        peak = max(log_joint(eta) for eta in np.linspace(0.01, 0.99, 99))
        area = quad(lambda eta, peak=peak, g=log_joint: np.exp(g(eta) - peak), 0, 1, epsabs=0, epsrel=1e-10, limit=200)
        total += np.log(area[0]) + peak - betaln(PRIOR.alpha, PRIOR.beta)
    return float(total)


@pytest.mark.parametrize("tie", [True, False, SOME])
def test_the_value_matches_a_sum_over_labels(tie):
    data, x = labels(tie=tie), np.random.default_rng(0).normal(scale=1.5, size=N_ITEMS + 1)
    log_nu = -0.3 if tie else -np.inf
    pairs = noisy_pairs(data)
    found = evaluate_likelihood(pairs, pairs.margins(x), log_nu, PRIOR).value
    assert found == pytest.approx(slow_log_likelihood(data, x[:-1], x[-1], log_nu), abs=1e-4)
    assert found != pytest.approx(slow_log_likelihood(data, x[:-1], 0.0, log_nu), abs=1e-2), "the side counts"


def point(side: bool, tie: bool | str, seed: int = 0) -> Point:
    target = TargetDensity(noisy_pairs(labels(tie=tie), side), 1.3, PRIOR, 1.0 if side else None, 2.0 if tie else None)
    return target.at(np.random.default_rng(seed).normal(size=len(target.precision)))


CASES = [(True, True), (True, False), (False, True), (False, False), (True, SOME)]


@pytest.mark.parametrize(("side", "tie"), CASES)
@pytest.mark.parametrize("scale", [0.1, 1.0, 4.0])
def test_gradient_and_curvature_against_finite_differences(side, tie, scale):
    here = point(side, tie)
    here = here.target.at(scale * here.x)
    steps = 1e-3 * np.eye(len(here.x))
    ahead, behind = [here.target.at(here.x + h) for h in steps], [here.target.at(here.x - h) for h in steps]
    slopes = [(a.objective - b.objective) / 2e-3 for a, b in zip(ahead, behind, strict=True)]
    assert_allclose(here.gradient, slopes, atol=2e-4)
    differences = np.array([(b.gradient - a.gradient) / 2e-3 for a, b in zip(ahead, behind, strict=True)])
    assert_allclose(here.dense(), differences, atol=3e-3 * np.abs(differences).max())
    assert not np.allclose(here.dense(known=True), differences, atol=1e-2 * np.abs(differences).max())


@pytest.mark.parametrize(("side", "tie"), CASES)
def test_products_and_diagonal_match_the_dense_curvature(side, tie):
    here, v = point(side, tie), np.random.default_rng(5).normal(size=N_ITEMS + side + bool(tie))
    assert_allclose(here.times(v), here.dense() @ v, atol=1e-10)
    assert_allclose(here.diagonal(known=False), np.diagonal(here.dense()), atol=1e-10)
    assert_allclose(here.diagonal(known=True), np.diagonal(here.dense(known=True)), atol=1e-10)


def test_the_low_rank_part_is_exact_with_enough_directions():
    pairs = noisy_pairs(labels())
    margins = pairs.margins(np.random.default_rng(0).normal(scale=2, size=N_ITEMS + 1))

    def covariance(n_directions: int):
        shared = evaluate_likelihood(pairs, margins, 0.0, PRIOR, n_directions=n_directions).shared
        return shared @ shared.T * (pairs.annotator[:, None] == pairs.annotator)

    exact = covariance(12)
    errors = [np.abs(covariance(n) - exact).max() / np.abs(exact).max() for n in (1, 2, 3)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 5e-3


def test_reliabilities_against_numerical_integration():
    pairs = noisy_pairs(labels(tie=False, n_labels=40))
    d = pairs.sign * pairs.margins(np.random.default_rng(2).normal(scale=2, size=N_ITEMS + 1))[pairs.row]
    crowd = integrate_reliabilities(pairs, d, build_grid(PRIOR, pairs, d), PRIOR)
    for annotator in range(N_ANNOTATORS):
        own = pairs.annotator == annotator

        def density(eta: float, power: int = 0, own=own) -> float:
            answer = eta / (1 + np.exp(-d[own])) + (1 - eta) / (1 + np.exp(d[own]))
            prior = eta ** (PRIOR.alpha - 1) * (1 - eta) ** (PRIOR.beta - 1)
            return float(prior * np.prod(answer ** pairs.weight[own]) * eta**power)

        area = quad(density, 0, 1)[0]
        assert crowd.log_annotators[annotator] == pytest.approx(np.log(area) - betaln(6, 2), abs=1e-4)
        mean = (crowd.mass * crowd.eta).sum(axis=1)[annotator]
        assert mean == pytest.approx(quad(density, 0, 1, args=(1,))[0] / area, abs=1e-4)


def test_the_search_never_decreases_and_ends_at_zero_gradient():
    for seed in range(5):
        here, trace = point(True, True, seed), []
        end, reached = find_mode(here, tolerance=1e-6, limit=100, on_step=trace.append)
        assert reached
        assert np.abs(end.gradient).max() < 1e-4
        steps = np.diff([here.objective, *trace])
        assert (steps > -1e-6).all()
        assert trace[-1] > here.objective + 1


def test_both_kinds_of_step_increase_the_objective():
    here = point(True, True)
    for step in (newton_step(here), em_step(here)):
        assert here.target.at(here.x + 1e-3 * step).objective > here.objective


def two_parts() -> TargetDensity:
    """Two parts of three items: annotators 0 and 1 are right in one, as often wrong as right in the other."""
    rows = [(0, 1, 1, 0), (1, 2, 1, 0), (0, 2, 1, 1), (0, 1, 1, 1), (3, 4, 1, 0), (4, 5, 1, 1), (3, 5, 1, 1)] * 4
    left, right, outcome, who = (np.array(column) for column in zip(*rows, strict=True))
    data = Comparisons.from_pairs(left, right, outcome.astype(float), who)
    return TargetDensity(NoisyPairs.of(data.pairs(), np.zeros(len(left), bool)), 1.5, BetaPrior(8.0, 2.0), None, None)


def test_the_gain_of_reversing_a_part_is_exact():
    for here in (point(True, True), point(True, SOME)):
        assert gains_of_flips(here)[0] == pytest.approx(negate_utilities(here).objective - here.objective, abs=1e-4)
    target = two_parts()
    here = target.at(np.array([1.0, 0, -1, 0.5, 0, -0.4]))
    for part in range(2):
        x = np.where(target.pairs.parts == part, -here.x, here.x)
        assert gains_of_flips(here)[part] == pytest.approx(target.at(x).objective - here.objective, abs=1e-3)


def test_a_part_stuck_in_reverse_is_corrected():
    target = two_parts()
    right, _ = find_mode(target.at(np.zeros(6)), tolerance=1e-8, limit=100, on_step=lambda _: None)
    stuck = target.at(np.where(np.arange(6) < 3, right.x, -right.x))
    assert flip_best_parts(stuck).objective == pytest.approx(right.objective, abs=1e-6)
    assert flip_best_parts(right) is right
