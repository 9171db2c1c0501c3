"""The bound of counts: against Monte Carlo, finite differences and an integral over all effects."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import nbinom, norm, poisson

from models_engine.inference.counts.bound import CountBound, Effects, Scales
from models_engine.inference.counts.cells import CountCells


def random_effects(rng: np.random.Generator, n_items: int, n_annotators: int, width: int, dispersion=None) -> Effects:
    return Effects(
        0.3,
        rng.normal(0, 0.5, (n_items, width)),
        rng.uniform(0.05, 0.6, (n_items, width)),
        rng.normal(0, 0.5, (n_annotators, width)),
        rng.uniform(0.05, 0.6, (n_annotators, width)),
        dispersion,
    )


def some_cells(rng: np.random.Generator, n_items: int = 4, n_annotators: int = 3) -> CountCells:
    item, who = np.divmod(np.arange(n_items * n_annotators), n_annotators)
    kept = rng.random(len(item)) < 0.8
    return CountCells.from_rows(
        item[kept],
        who[kept],
        rng.poisson(3, kept.sum()),
        rng.uniform(0.5, 2, kept.sum()),
        n_items=n_items,
        n_annotators=n_annotators,
    )


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("dispersion", [None, 0.7])
def test_the_gradient_is_that_of_finite_differences(width, dispersion):
    rng = np.random.default_rng(1)
    bound, at = CountBound(some_cells(rng)), random_effects(rng, 4, 3, width, dispersion)
    scales, start = Scales(0.7, 0.4, np.full(width - 1, 0.5), 0.1), at.pack()
    gradient = bound.evaluate(at, scales)[1]
    for place in range(len(start)):
        ends = []
        for step in (1e-5, -1e-5):
            moved = start.copy()
            moved[place] += step
            ends.append(bound.evaluate(at.unpack(moved), scales)[0])
        assert gradient[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6, abs=1e-6)


@pytest.mark.slow
def test_the_expected_rate_is_that_of_draws():
    rng = np.random.default_rng(2)
    cells = CountCells.from_rows([0], [0], [1], [2.0])
    at = random_effects(rng, 1, 1, 3)
    n = 2_000_000
    v = at.item_mean + np.sqrt(at.item_variance) * rng.standard_normal((n, 3))
    w = at.annotator_mean + np.sqrt(at.annotator_variance) * rng.standard_normal((n, 3))
    f = at.constant + v[:, 0] + w[:, 0] + (v[:, 1:] * w[:, 1:]).sum(axis=1)
    mean, _ = CountBound(cells).moments(at)
    assert mean[0] == pytest.approx(f.mean(), abs=0.005)
    assert CountBound(cells).rates(at)[0] == pytest.approx(2 * np.exp(f).mean(), rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("dispersion", [None, 0.5])
def test_the_bound_is_below_the_evidence_and_near_it_at_its_best(dispersion):
    """One cell, no factors, the constant known: the evidence is an integral over the sum of two effects.

    What a product of Gaussians cannot reach is -log(1 - r^2)/2 for their correlation r, whose precisions are the
    priors' and, together, the expected count of the cell or less.
    """
    y, constant, scales = 4, 0.8, Scales(0.5, 0.3, np.zeros(0), 0.8)

    def likelihood(f: float) -> float:
        if dispersion is None:
            return float(poisson.pmf(y, np.exp(f)))
        rho = np.exp(dispersion)
        return float(nbinom.pmf(y, rho, rho / (rho + np.exp(f))))

    sd = np.sqrt(scales.items + scales.annotators)  # of the sum of both effects
    evidence = np.log(quad(lambda s: likelihood(constant + s) * norm.pdf(s, 0, sd), -9 * sd, 9 * sd, epsabs=1e-12)[0])
    bound = CountBound(CountCells.from_rows([0], [0], [y]))
    best = -np.inf
    for mean in np.linspace(-0.5, 1, 16):
        for variance in np.linspace(0.05, 0.5, 10):
            column = np.array([[mean]])
            at = Effects(constant, column, column * 0 + variance, 0.6 * column, column * 0 + variance, dispersion)
            value = bound.evaluate(at, scales)[0]
            assert value <= evidence + 1e-9
            best = max(best, value)
    unreachable = -np.log(1 - y**2 / ((1 / 0.5 + y) * (1 / 0.3 + y))) / 2
    if dispersion is None:  # else Jensen's inequality leaves a gap of its own
        assert best > evidence - unreachable - 0.1


def test_packing_and_unpacking_keeps_all():
    at = random_effects(np.random.default_rng(3), 4, 2, 3, 1.5)
    back = at.unpack(at.pack())
    for name in ("item_mean", "item_variance", "annotator_mean", "annotator_variance"):
        np.testing.assert_allclose(getattr(back, name), getattr(at, name))
    assert (back.constant, back.log_dispersion) == (at.constant, at.log_dispersion)
