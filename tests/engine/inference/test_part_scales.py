"""A standard deviation of the consensus for each unconnected part: draws against sums over all scales, pooling."""

import itertools

import numpy as np
import pytest
from scipy.stats import beta, norm

from models_engine.inference.tastes.part_scales import (
    SPREADS,
    PartScales,
    has_part_scales,
    log_spread_prior,
)
from models_engine.inference.tastes.perception import AnswerGroup, Perception
from models_engine.inference.tastes.reliability import MEANS, SIZES
from models_engine.inference.tastes.sampling import GRID, ScaleDensities, _Chain, sample_tastes

SPREAD_SCALE = 0.6
COARSE = np.exp(np.linspace(np.log(0.2), np.log(3.0), 9))


def test_the_spread_has_a_half_normal_prior():
    masses = np.exp(log_spread_prior(SPREADS, SPREAD_SCALE))
    masses /= masses.sum()
    assert masses @ SPREADS == pytest.approx(SPREAD_SCALE * np.sqrt(2 / np.pi), abs=0.02)


@pytest.mark.slow
def test_scales_of_parts_are_drawn_as_often_as_the_sum_over_all_of_them_says():
    """Three parts of 2, 3 and 1 items: tau, the spread and both tau_p enumerated, given a consensus."""
    rng, n = np.random.default_rng(0), 8_000
    parts, t = np.array([0, 0, 1, 1, 1, 2]), np.array([0.3, -0.2, 1.5, -1.0, 0.4, 0.8])
    log_density = norm.logpdf(np.log(COARSE), 0.0, 0.75)
    scales = PartScales(parts, COARSE, 1.0, SPREAD_SCALE)
    drawn = np.zeros((4, n))
    for place in range(n):
        scales.draw(t, log_density, rng)
        drawn[:, place] = np.log(COARSE[scales.at]), scales.spread, *np.log(COARSE[scales.places])
    log_grid, total, expected = np.log(COARSE), 0.0, np.zeros(4)
    for at, spread in itertools.product(range(len(COARSE)), range(len(SPREADS))):
        pooled = np.exp(-(((log_grid - log_grid[at]) / max(SPREADS[spread], 1e-3)) ** 2) / 2)
        pooled /= pooled.sum()
        prior = np.exp(log_density[at] + log_spread_prior(SPREADS, SPREAD_SCALE)[spread]) * norm.pdf(
            t[5], scale=COARSE[at]
        )
        first, second = (pooled * norm.pdf(t[rows], scale=COARSE[:, None]).prod(axis=1) for rows in ([0, 1], [2, 3, 4]))
        mass = prior * first.sum() * second.sum()
        total += mass
        means = first @ log_grid / first.sum(), second @ log_grid / second.sum()
        expected += mass * np.array([log_grid[at], SPREADS[spread], *means])
    np.testing.assert_allclose(drawn.mean(axis=1), expected / total, atol=0.03)


def test_moving_all_scales_together_changes_their_density_only_at_the_ends_of_the_grid():
    scales = PartScales(np.array([0, 0, 1, 1]), GRID, 1.0, SPREAD_SCALE)
    scales.draw(np.array([0.3, -0.2, 1.5, -1.0]), np.zeros(len(GRID)), np.random.default_rng(3))
    before, places = scales.at, scales.places.copy()
    assert scales.can_move(2)
    assert scales.gain(2) == pytest.approx(0.0, abs=1e-3)
    scales.move(2)
    assert scales.at == before + 2
    assert (scales.places == places + 2).all()
    assert not scales.can_move(len(GRID))


def test_scales_of_parts_need_enough_parts_of_enough_items():
    assert has_part_scales(np.repeat(np.arange(5), 3))
    assert not has_part_scales(np.repeat(np.arange(4), 30))
    assert not has_part_scales(np.r_[np.zeros(30, np.int64), np.repeat(np.arange(1, 20), 2)])


def only_at(sd: float) -> np.ndarray:
    """A prior density with all its weight at the grid point nearest to sd."""
    return np.where(np.arange(len(GRID)) == np.abs(GRID - sd).argmin(), 0.0, -1e9)


@pytest.mark.slow
@pytest.mark.parametrize("reliability", [False, True])
def test_draws_with_scales_of_parts_have_the_moments_of_quadrature(reliability):
    """One person, three unconnected pairs, answered so often each way; no tastes. The sum over the reliability, the
    spread, tau and all tau_p, with each pair's margin integrated: only the given answers and priors enter.

    Over three chains each, log scales differed by .03 and margins by .08 (standard deviations).
    """
    outcomes = np.array([[6, 0], [2, 2], [4, 1]])
    items = np.concatenate([np.tile([2 * p, 2 * p + 1], (outcomes[p].sum(), 1)) for p in range(3)])
    ranks = np.concatenate([[[0, 1]] * right + [[1, 0]] * wrong for right, wrong in outcomes])
    log_tau = norm.logpdf(np.log(GRID), np.log(0.7), 0.4)
    densities = ScaleDensities(log_tau, only_at(0.01), only_at(0.01), lambda sd: np.zeros_like(sd), SPREAD_SCALE)
    found = sample_tastes(
        [AnswerGroup(np.zeros(len(items), np.int64), items, ranks)],
        6,
        1,
        1,
        densities,
        np.random.default_rng(9),
        parts=np.repeat(np.arange(3), 2),
        part_scales=True,
        reliability=reliability,
        n_draws=2_500,
        on_step=lambda _: None,
    )
    eta, share = np.ones(1), np.ones(1)
    if reliability:
        edges = 1 - np.r_[1.0, np.geomspace(0.8, 1e-12, 200), 0.0]
        a, b = (SIZES * MEANS[:, None]).ravel(), (SIZES * (1 - MEANS[:, None])).ravel()
        eta, share = (edges[1:] + edges[:-1]) / 2, np.diff(beta.cdf(edges[:, None], a, b), axis=0).mean(axis=1)
    z = np.linspace(-60, 60, 2401)
    chance = norm.cdf(z) * eta[:, None] + norm.cdf(-z) * (1 - eta[:, None])
    by_margin = [chance**right * (1 - chance) ** wrong for right, wrong in outcomes]
    width = np.sqrt(2) * GRID
    margins = norm.pdf(z, scale=width[:, None])
    likelihood = np.array([margins @ one.T for one in by_margin])  # (part, tau_p, eta)
    first = np.array([margins @ (z * one).T for one in by_margin])
    edges = np.r_[0.0, (SPREADS[1:] + SPREADS[:-1]) / 2, 2.2]
    of_spread = np.diff(norm.cdf(edges / SPREAD_SCALE))
    total, expected, log_grid = 0.0, np.zeros((2, 3)), np.log(GRID)
    for spread, prior in zip(SPREADS, of_spread, strict=True):
        pooled = norm.pdf(log_grid, log_grid[:, None], max(spread, 1e-3))
        pooled = pooled / pooled.sum(axis=1, keepdims=True)
        by_part = pooled @ likelihood  # (part, tau, eta)
        mass = prior * np.exp(log_tau)[:, None] * share * by_part.prod(axis=0)
        total += mass.sum()
        for p in range(3):
            others = mass / by_part[p]
            expected[0, p] += (others * (pooled @ (log_grid[:, None] * likelihood[p]))).sum()
            expected[1, p] += (others * (pooled @ first[p])).sum()
    assert found.item_sds is not None
    np.testing.assert_allclose(np.log(found.item_sds[::2]), expected[0] / total, atol=0.12)
    np.testing.assert_allclose(2 * found.consensus[::2], expected[1] / total, atol=0.3)


def answers(utilities: np.ndarray, parts: np.ndarray, n: int, rng: np.random.Generator) -> AnswerGroup:
    """Answers of 10 people to random pairs within parts, all by these utilities."""
    first = rng.integers(len(parts), size=n)
    items = np.array([[one, rng.choice(np.setdiff1d(np.flatnonzero(parts == parts[one]), one))] for one in first])
    margin = utilities[items[:, 0]] - utilities[items[:, 1]] + rng.standard_normal(n)
    return AnswerGroup(np.arange(n) % 10, items, np.where(margin[:, None] > 0, [0, 1], [1, 0]))


@pytest.mark.slow
def test_parts_that_spread_more_have_larger_scales():
    rng, parts = np.random.default_rng(4), np.repeat(np.arange(6), 5)
    spread = np.where(parts % 2, 2.5, 0.3)
    group = answers(spread * rng.standard_normal(30), parts, 900, rng)
    given = ScaleDensities(
        norm.logpdf(np.log(GRID), 0.0, 0.75), only_at(0.07), only_at(0.07), lambda sd: np.zeros_like(sd)
    )
    found = sample_tastes(
        [group], 30, 10, 1, given, rng, parts=parts, part_scales=True, n_draws=200, on_step=lambda _: None
    ).item_sds
    assert found is not None
    assert found[parts % 2 == 1].min() > 1.5 * found[parts % 2 == 0].max()


def test_parts_move_alone_by_their_own_density():
    """The ratio of the density of tau_p given tau and of the factor of the consensus, at both ends of the grid too."""
    rng, parts = np.random.default_rng(3), np.array([0, 0, 1, 2, 2, 2])
    scales = PartScales(parts, COARSE, 1.0, SPREAD_SCALE)
    scales.draw(np.array([0.3, -0.2, 0.8, 1.5, -1.0, 0.4]), np.zeros(len(COARSE)), rng)
    log_grid, seen = np.log(COARSE), set()
    for _ in range(40):
        steps, gain, factors = scales.propose((2, 8), rng)
        for part, items in ((0, [0, 1]), (1, [3, 4, 5])):
            place = scales.places[part] + steps[part]
            seen.add(bool(np.isfinite(gain[part])))
            if np.isfinite(gain[part]):
                away = (log_grid[[place, scales.places[part]]] - log_grid[scales.at]) / max(scales.spread, 1e-3)
                assert gain[part] == pytest.approx((away[1] ** 2 - away[0] ** 2) / 2)
                np.testing.assert_allclose(factors[items], COARSE[place] / COARSE[scales.places[part]])
        assert factors[2] == 1.0
    assert seen == {True, False}


def chain_of_parts(parts: np.ndarray, *, reliability: bool) -> _Chain:
    """A chain after some sweeps, of 6 people with 90 answers within these parts of items."""
    rng = np.random.default_rng(10)
    group = answers(rng.standard_normal(len(parts)), parts, 90, rng)
    densities = ScaleDensities(
        norm.logpdf(np.log(GRID), 0.0, 0.75), only_at(0.2), only_at(0.2), lambda sd: np.zeros_like(sd)
    )
    scales = PartScales(parts, GRID, 1.0, SPREAD_SCALE)
    chain = _Chain([group], len(parts), 10, 1, densities, rng, None, reliability, 0, scales)
    chain.reliabilities.release()
    for _ in range(40):
        chain.sweep()
    return chain


@pytest.mark.slow
@pytest.mark.parametrize("reliability", [False, True])
def test_a_part_that_moves_alone_is_where_its_density_says(reliability):
    """All points of the grid that the part may come to, what is a person's alone kept: by the prior of tau_p and the
    probability of all answers, reversed ones and reliabilities summed out."""
    chain = chain_of_parts(np.zeros(4, np.int64), reliability=reliability)
    scales, n = chain.by_part, 3_000
    assert scales is not None
    scales._spread = int(np.flatnonzero(SPREADS == 0.5)[0])
    apart, unit = chain.f - chain.t[chain.item], chain.t / chain.item_sds
    logs = np.empty(len(GRID))
    for place, sd in enumerate(GRID):
        f = apart + (sd * unit)[chain.item]
        margin = f[chain.cells[0]].reshape(chain.answers[0].level.shape)
        chance = norm.cdf(chain.answers[0].towards_first * (margin[:, 0] - margin[:, 1]))
        of_answers = chain.reliabilities.table(chance, 1 - chance).log_marginal if reliability else np.log(chance).sum()
        logs[place] = of_answers - (np.log(sd / GRID[scales.at]) / 0.5) ** 2 / 2
    mass = np.exp(logs - logs.max())
    mass /= mass.sum()
    table, found = chain._table(chain.f) if reliability else None, np.zeros((2, n))
    for draw in range(n):
        table = chain._rescale_parts(scales, table)
        found[:, draw] = np.log(GRID[scales.places[0]]), chain.t[0] / unit[0]
    np.testing.assert_allclose(chain.f - chain.t[chain.item], apart, atol=1e-12)
    np.testing.assert_allclose(found[1], np.exp(found[0]))
    mean = mass @ np.log(GRID)
    assert found[0].mean() == pytest.approx(mean, abs=0.02)
    assert found[0].std() == pytest.approx(np.sqrt(mass @ (np.log(GRID) - mean) ** 2), rel=0.1)


def test_where_the_consensus_moves_so_do_the_scales_of_all_parts():
    chain = chain_of_parts(np.repeat([0, 1, 2], 3), reliability=True)
    table, unit, seen = chain._table(chain.f), chain.t / chain.item_sds, set()
    for _ in range(30):
        table = chain._rescale(table)
        np.testing.assert_allclose(chain.t / chain.item_sds, unit)
        seen.add(chain.tau)
    assert len(seen) > 5


def test_what_was_perceived_in_sets_counts_where_utilities_change():
    rng, sd = np.random.default_rng(11), np.sqrt(0.5)
    items, ranks = np.tile([0, 1, 2], (4, 1)), np.tile([1, 0, 2], (4, 1))
    sets = Perception(AnswerGroup(np.arange(4), items, ranks), may_reverse=True)
    before, after = rng.normal(size=(2, 4, 3))
    sets.draw(before, np.full(4, 0.9), rng)
    expected = norm.logpdf(sets.perceived, after, sd) - norm.logpdf(sets.perceived, before, sd)
    np.testing.assert_allclose(sets.gains_by_set(before, after), expected.sum(axis=1))
    pairs = Perception(AnswerGroup(np.arange(4), items[:, :2], ranks[:, :2]), may_reverse=True)
    assert not pairs.gains_by_set(before[:, :2], after[:, :2]).any(), "of pairs it is summed out"
