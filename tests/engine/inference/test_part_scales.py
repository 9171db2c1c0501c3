"""A standard deviation of the consensus for each unconnected part: draws against the sum over all scales, pooling."""

import itertools

import numpy as np
import pytest
from scipy.stats import norm

from models_engine.inference.tastes.part_scales import SPREAD_SCALE, SPREADS, PartScales, log_spread_prior
from models_engine.inference.tastes.perception import AnswerGroup
from models_engine.inference.tastes.sampling import GRID, ScaleDensities, sample_tastes

COARSE = np.exp(np.linspace(np.log(0.2), np.log(3.0), 9))


def test_the_spread_has_a_half_normal_prior():
    masses = np.exp(log_spread_prior(SPREADS))
    masses /= masses.sum()
    assert masses @ SPREADS == pytest.approx(SPREAD_SCALE * np.sqrt(2 / np.pi), abs=0.02)


def test_scales_of_parts_are_drawn_as_often_as_the_sum_over_all_of_them_says():
    """Three parts of 2, 3 and 1 items: tau, the spread and both tau_p enumerated, given a consensus."""
    rng, n = np.random.default_rng(0), 8_000
    parts, t = np.array([0, 0, 1, 1, 1, 2]), np.array([0.3, -0.2, 1.5, -1.0, 0.4, 0.8])
    log_density = norm.logpdf(np.log(COARSE), 0.0, 0.75)
    scales = PartScales(parts, COARSE, 1.0)
    drawn = np.zeros((4, n))
    for place in range(n):
        scales.draw(t, log_density, rng)
        drawn[:, place] = np.log(COARSE[scales.at]), scales.spread, *np.log(COARSE[scales.places])
    log_grid, total, expected = np.log(COARSE), 0.0, np.zeros(4)
    for at, spread in itertools.product(range(len(COARSE)), range(len(SPREADS))):
        pooled = np.exp(-(((log_grid - log_grid[at]) / max(SPREADS[spread], 1e-3)) ** 2) / 2)
        pooled /= pooled.sum()
        prior = np.exp(log_density[at] + log_spread_prior(SPREADS)[spread]) * norm.pdf(t[5], scale=COARSE[at])
        first, second = (pooled * norm.pdf(t[rows], scale=COARSE[:, None]).prod(axis=1) for rows in ([0, 1], [2, 3, 4]))
        mass = prior * first.sum() * second.sum()
        total += mass
        means = first @ log_grid / first.sum(), second @ log_grid / second.sum()
        expected += mass * np.array([log_grid[at], SPREADS[spread], *means])
    np.testing.assert_allclose(drawn.mean(axis=1), expected / total, atol=0.03)


def test_moving_all_scales_together_changes_their_density_only_at_the_ends_of_the_grid():
    scales = PartScales(np.array([0, 0, 1, 1]), GRID, 1.0)
    scales.draw(np.array([0.3, -0.2, 1.5, -1.0]), np.zeros(len(GRID)), np.random.default_rng(3))
    before, places = scales.at, scales.places.copy()
    assert scales.can_move(2)
    assert scales.gain(2) == pytest.approx(0.0, abs=1e-3)
    scales.move(2)
    assert scales.at == before + 2
    assert (scales.places == places + 2).all()
    assert not scales.can_move(len(GRID))


def answers(utilities: np.ndarray, parts: np.ndarray, n: int, rng: np.random.Generator) -> AnswerGroup:
    """Answers of 10 people to random pairs within parts, all by these utilities."""
    first = rng.integers(len(parts), size=n)
    items = np.array([[one, rng.choice(np.setdiff1d(np.flatnonzero(parts == parts[one]), one))] for one in first])
    margin = utilities[items[:, 0]] - utilities[items[:, 1]] + rng.standard_normal(n)
    return AnswerGroup(np.arange(n) % 10, items, np.where(margin[:, None] > 0, [0, 1], [1, 0]))


def draws(group: AnswerGroup, parts: np.ndarray, *, part_scales: bool, n_draws: int) -> np.ndarray | None:
    densities = np.where(np.arange(len(GRID)) == 40, 0.0, -1e9)
    wide = norm.logpdf(np.log(GRID), 0.0, 0.75)
    given = ScaleDensities(wide, densities, densities, lambda sd: np.zeros_like(sd))
    rng, n = np.random.default_rng(1), len(parts)
    found = sample_tastes(
        [group],
        n,
        10,
        1,
        given,
        rng,
        parts=parts,
        part_scales=part_scales,
        n_warm_up=100,
        n_draws=n_draws,
        on_step=lambda _: None,
    )
    return np.r_[found.consensus, found.consensus_sd] if found.item_sds is None else found.item_sds


def test_one_connected_part_is_drawn_as_without_scales_of_parts():
    rng, parts = np.random.default_rng(2), np.zeros(6, np.int64)
    group = answers(rng.standard_normal(6), parts, 60, rng)
    found = (draws(group, parts, part_scales=one, n_draws=20) for one in (True, False))
    np.testing.assert_array_equal(*found)


def test_parts_that_spread_more_have_larger_scales():
    rng, parts = np.random.default_rng(4), np.repeat(np.arange(6), 5)
    spread = np.where(parts % 2, 2.5, 0.3)
    group = answers(spread * rng.standard_normal(30), parts, 900, rng)
    found = draws(group, parts, part_scales=True, n_draws=200)
    assert found is not None
    assert found[parts % 2 == 1].min() > 1.5 * found[parts % 2 == 0].max()
