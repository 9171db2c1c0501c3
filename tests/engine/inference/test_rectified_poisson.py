"""Moments of the rectified Poisson likelihood against integrals in 40-digit decimals, which share no formula."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import poisson

from models_engine.errors import InvalidData
from models_engine.inference.rectified_poisson import hazard, log_poisson, read_counts, tilted_moments

TAIL = Decimal(10) ** -30
STEP = Decimal("0.07")  # the integrand is analytic in a strip of pi/4, so that the rule errs by exp(-70)
STEPS_PER_WIDTH = 2  # of a narrow peak, nearly a normal density: the rule errs by exp(-2 pi^2 2^2), exp(-79)
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")


def integrals(power: int, slope: Decimal, mean: Decimal, variance: Decimal) -> list[Decimal]:
    """Return int_0^inf f^(power + r) exp(-slope f) N(f | mean, variance) df for r = 0, 1, 2: trapezoid in log f."""

    def height(u: Decimal, f: Decimal) -> Decimal:
        return ((power + 1) * u - slope * f - (f - mean) ** 2 / (2 * variance)).exp()

    m, c = mean - slope * variance, (power + 1) * variance
    mode = (m + (m * m + 4 * c).sqrt()) / 2
    width = 1 / (power + 1 + mode * mode / variance).sqrt()
    step, peak = min(STEP, width / STEPS_PER_WIDTH), height(mode.ln(), mode)
    totals = [Decimal(0)] * 3
    for direction in (1, -1):
        factor = (direction * step).exp()
        u, f = (mode.ln(), mode) if direction > 0 else (mode.ln() - step, mode * factor)
        while True:
            weight = height(u, f)
            for r in range(3):
                totals[r] += weight * f**r
            if weight * max(f, 1) ** 2 < TAIL * peak * min(mode, 1) ** 2:
                break
            u, f = u + direction * step, f * factor
    return [total * step / (2 * PI * variance).sqrt() for total in totals]


def exact_moments(y: int, exposure: float, mean: float, variance: float) -> tuple[float, float, float]:
    """Return (log Z, alpha, beta) by integrating over f > 0 and, for y = 0, over f <= 0."""
    with localcontext(prec=40):
        e, mu, v = Decimal(exposure), Decimal(mean), Decimal(variance)
        moments = integrals(y, e, mu, v)
        if y == 0:
            below = integrals(0, Decimal(0), -mu, v)
            moments = [one + (-1) ** r * other for r, (one, other) in enumerate(zip(moments, below, strict=True))]
        first = moments[1] / moments[0]
        spread = moments[2] / moments[0] - first * first
        log_factorial = sum((Decimal(r).ln() for r in range(2, y + 1)), Decimal(0))
        log_z = moments[0].ln() + y * e.ln() - log_factorial
        return float(log_z), float((first - mu) / v), float((1 - spread / v) / v)


def random_cavity(rng: np.random.Generator) -> tuple[int, float, float, float]:
    y = int(rng.choice([0, 1, 2, 5, 40, 41, int(rng.integers(0, 401))]))
    variance, exposure = np.exp(rng.uniform(np.log(1e-3), np.log(3e3))), np.exp(rng.uniform(np.log(0.1), np.log(30)))
    return y, float(exposure), float(rng.normal(y / exposure, 1 + 2 * np.sqrt(variance))), float(variance)


def assert_exact(cavities: list[tuple[int, float, float, float]]) -> None:
    columns = [np.array(column, dtype=float) for column in zip(*cavities, strict=True)]
    found = np.array(tilted_moments(*columns)).T
    expected = np.array([exact_moments(*cavity) for cavity in cavities])
    error = np.abs(found - expected) / np.maximum(1, np.abs(expected))
    worst = int(error.max(axis=1).argmax())
    assert error.max() < 1e-9, f"{cavities[worst]}: {found[worst]} for {expected[worst]}"


def test_moments_of_a_few_cavities_to_nine_digits():
    assert_exact([(0, 1.0, 0.5, 1.0), (3, 2.0, 1.0, 0.5), (7, 3.0, -2.0, 4.0), (60, 20.0, 2.0, 0.3)])


@pytest.mark.slow
def test_moments_of_random_cavities_to_nine_digits():
    rng = np.random.default_rng(0)
    assert_exact([random_cavity(rng) for _ in range(150)])


@pytest.mark.slow
def test_moments_at_the_corners_to_nine_digits():
    corners = [
        (y, e, mean, variance)
        for y in (0, 1, 40, 400)
        for e in (0.1, 30.0)
        for mean in (-5.0, 0.0, 20.0)
        for variance in (1e-3, 1.0, 3e3)
        if abs(mean - y / e) < 40 * np.sqrt(variance) + 5
    ]
    assert_exact(corners)


def test_probabilities_of_all_counts_add_up_to_one():
    counts = np.arange(400.0)
    same = [np.full(400, value) for value in (2.0, 3.0, 25.0)]
    assert_allclose(np.exp(tilted_moments(counts, *same)[0]).sum(), 1, atol=1e-9)


def test_alpha_and_beta_are_derivatives():
    rng = np.random.default_rng(1)
    n, step = 200, 1e-4
    counts = rng.choice([0.0, 1.0, 3.0, 45.0, 200.0], n)
    exposure, variance = rng.uniform(0.2, 5, n), rng.uniform(0.1, 50, n)
    mean = counts / exposure + rng.normal(0, 2, n)
    _, alpha, beta = tilted_moments(counts, exposure, mean, variance)
    above, below = (tilted_moments(counts, exposure, mean + sign * step, variance) for sign in (1, -1))
    assert_allclose((above[0] - below[0]) / (2 * step), alpha, atol=1e-5)
    assert_allclose((below[1] - above[1]) / (2 * step), beta, atol=1e-5)
    assert (beta >= 0).all()


def test_huge_counts_and_far_cavities_stay_finite():
    counts = np.array([1e9, 1e9, 0.0, 0.0, 0.0, 1.0])
    exposure = np.array([1e9, 1.0, 1e9, 1.0, 1.0, 1e-6])
    mean = np.array([1.0, 1e9, 1.0, -1e6, 1e6, -300.0])
    moments = np.array(tilted_moments(counts, exposure, mean, np.array([0.5, 1e9, 2.0, 1.0, 1.0, 1.0])))
    assert np.isfinite(moments).all()
    assert_allclose(moments[1, 0], 0, atol=1e-6)  # the cavity has its mean where the count is
    assert_allclose(moments[0, 3], 0, atol=1e-12)  # no rate, no count


def test_log_poisson_against_scipy_and_for_a_billion():
    counts = np.array([1.0, 29, 30, 31, 300])
    assert_allclose(log_poisson(counts, counts * 1.1), poisson.logpmf(counts, counts * 1.1), rtol=1e-11)
    assert_allclose(log_poisson(np.array([1e9]), np.array([1e9])), -0.5 * np.log(2 * np.pi * 1e9), atol=1e-9)


def test_hazard_joins_its_continued_fraction():
    k = np.array([6 - 1e-9, 6 + 1e-9, 1e8])
    h, excess = hazard(k)
    assert_allclose(excess[0], excess[1], rtol=1e-8)
    assert_allclose(excess[2], 1e-8, rtol=1e-12)
    assert_allclose(h - k, excess, atol=1e-7)


@pytest.mark.parametrize("bad", [[-1], [0.5], [np.nan], [1e16], [[1, 2]], ["many"]])
def test_what_is_no_count_is_refused(bad):
    with pytest.raises(InvalidData):
        read_counts(bad)
