"""Chances of intervals under the normal distribution, against many digits, finite differences and quadrature."""

from decimal import Decimal, getcontext
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm

from models_engine.normal_intervals import interval_densities, log_interval
from models_engine.predictive import Likelihood
from models_engine.simulate import simulate_crowd

ENDS = [(-0.3, 0.4), (0.0, 1e-4), (-1e-3, 1e-3), (2.0, 2.5), (-40.0, -39.0), (37.0, 38.5)]
ENDS += [(-np.inf, 0.7), (9.0, np.inf)]


def of_many_digits(low: float, high: float) -> float:
    """Return log of the integral by Simpson's rule in 50 digits; an infinite end is 12 beyond the other."""
    getcontext().prec = 50
    a = Decimal(low if np.isfinite(low) else high - 12)
    b = Decimal(high if np.isfinite(high) else low + 12)
    n = 4_000
    step = (b - a) / n
    total = sum((1 if k in (0, n) else 4 if k % 2 else 2) * (-((a + k * step) ** 2) / 2).exp() for k in range(n + 1))
    return float((total * step / 3).ln()) - np.log(2 * np.pi) / 2


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high"), ENDS)
def test_the_chance_of_an_interval_against_fifty_digits(low, high):
    assert_allclose(log_interval(low, high), of_many_digits(low, high), rtol=1e-9)


@pytest.mark.parametrize(("low", "high"), [(-0.3, 0.4), (1.0, 2.5), (-6.0, -5.0), (7.0, 9.0), (0.2, np.inf)])
def test_densities_are_the_derivatives_in_the_ends(low, high):
    value, at_low, at_high = interval_densities(low, high)
    step = 1e-5

    def slope(which: int, down: float = 0.0, up: float = 0.0) -> float:
        """Return the derivative of the value, or of a density, by moving the ends this way."""
        ends = [interval_densities(low + way * down, high + way * up)[which] for way in (1, -1)]
        return float(ends[0] - ends[1]) / (2 * step)

    assert value == log_interval(low, high)
    assert_allclose(-at_low, slope(0, down=step), rtol=1e-6)
    assert_allclose(at_low**2 - low * at_low, slope(1, down=step), rtol=1e-5)
    if np.isinf(high):
        assert at_high == 0
        return
    assert_allclose(at_high, slope(0, up=step), rtol=1e-6, atol=1e-9)
    assert_allclose(at_low * at_high, slope(2, down=step), rtol=1e-5, atol=1e-9)
    assert_allclose(-high * at_high - at_high**2, slope(2, up=step), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("lapse", [0.0, 0.1])
@pytest.mark.parametrize(("mean", "variance"), [(0.4, 0.7), (-3.0, 5.0), (20.0, 0.1)])
def test_probit_grades_against_adaptive_quadrature_and_their_sum(mean, variance, lapse):
    likelihood = Likelihood("probit", cuts=(0.4, 1.5), lapse=lapse)
    edges, sd, total = [0.4, 1.5, np.inf], variance**0.5, 0.0
    for outcome, sign in ((1.0, 1), (0.0, -1)):
        for grade, (low, high) in enumerate(pairwise(edges), 1):

            def chance(z: float, sign: int = sign, low: float = low, high: float = high) -> float:
                one = norm.sf(low - sign * z) - norm.sf(high - sign * z)
                other = norm.sf(low + sign * z) - norm.sf(high + sign * z)
                return ((1 - lapse) * one + lapse * other) * norm.pdf(z, mean, sd)

            truth = quad(chance, mean - 12 * sd, mean + 12 * sd, limit=300, epsabs=1e-14)[0]
            found = float(np.exp(likelihood.log_outcome(outcome, mean, variance, grade=grade)))
            assert found == pytest.approx(truth, rel=1e-6, abs=1e-12)
            total += found
    tied = float(np.exp(likelihood.log_outcome(0.5, mean, variance)))
    assert total + tied == pytest.approx(1, abs=1e-12)
    any_grade = [float(np.exp(likelihood.log_outcome(one, mean, variance))) for one in (1.0, 0.0)]
    assert sum(any_grade) + tied == pytest.approx(1, abs=1e-12)


def test_probit_preference_is_among_answers_that_are_no_tie():
    likelihood = Likelihood("probit", cuts=(0.6, 1.5))
    left, right = (norm.sf(0.6 - z) for z in (0.9, -0.9))
    assert float(likelihood.preference(0.9, 0.0)) == pytest.approx(left / (left + right), abs=1e-12)
    narrow, means, variances = Likelihood("probit", cuts=(1e-9, 1.5)), [0.9, -60.0], [1.3, 2.0]
    plain = Likelihood("probit").preference(means, variances)
    assert_allclose(narrow.preference(means, variances), plain, rtol=1e-7, atol=1e-12)


def test_simulated_probit_grades_have_the_shares_of_the_model():
    rng = np.random.default_rng(0)
    crowd = simulate_crowd(rng, 2, 3, link="probit")
    data = crowd.graded(40_000, (0.4, 1.5), rng, shown=np.tile([0, 1], (40_000, 1)))
    likelihood, margin = Likelihood("probit", cuts=(0.4, 1.5)), crowd.utilities[0] - crowd.utilities[1]
    outcome = data.pairs().outcome
    for grade, won in ((1, 1.0), (2, 0.0), (0, 0.5)):
        chance = float(np.exp(likelihood.log_outcome(won, margin, 0.0, grade=grade)))
        assert ((data.grades == grade) & (outcome == won)).mean() == pytest.approx(chance, abs=0.01)
