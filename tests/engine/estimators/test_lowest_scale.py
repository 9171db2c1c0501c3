"""The least of learned scales: chains against the exact posterior, and items that hardly differ."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, log_expit
from scipy.stats import norm

from models_engine.data import Comparisons
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.inference.davidson.learned_scale import AGREED_SD, CENTRAL_SD, HIGHEST_SD, LOWEST_SD
from models_engine.posterior import GaussianPosterior
from models_engine.simulate import simulate_crowd

LEARNED = BradleyTerry(prior_sd=None, inference="auto")


def chain(n_items: int, wins: int, losses: int = 0) -> Comparisons:
    """Each item is compared with the next alone, and preferred to it in `wins` answers."""
    left = np.repeat(np.arange(n_items - 1), wins + losses)
    won = np.tile([1.0] * wins + [0.0] * losses, n_items - 1)
    return Comparisons.from_pairs(left, left + 1, won, n_items=n_items)


def is_above(posterior: GaussianPosterior, one: int, other: int) -> float:
    deviation = np.sqrt(posterior.difference_variance(np.array([one]), np.array([other]))[0])
    return float(norm.cdf((posterior.utilities()[one] - posterior.utilities()[other]) / deviation))


def exact(n_items: int, wins: int, losses: int, sd: float, n_points: int = 300) -> tuple[float, float]:
    """Return the log evidence and P(first above last), both integrated along the chain, on a grid of utilities."""
    grid = np.linspace(-6, 6, n_points) * sd
    prior = norm.pdf(grid, scale=sd) * (grid[1] - grid[0])
    margin = grid[:, None] - grid
    likelihood = np.exp(wins * log_expit(margin) + losses * log_expit(-margin))
    joint, log_evidence = np.diag(prior), 0.0  # of the first item and the one reached
    for _ in range(n_items - 1):
        joint = (joint @ likelihood) * prior
        log_evidence += np.log(joint.sum())
        joint /= joint.sum()
    return log_evidence, float(np.tril(joint, -1).sum() + np.trace(joint) / 2)


@pytest.mark.parametrize("n_items", [20, 40, 100])
def test_the_first_of_a_chain_is_above_the_last(n_items):
    """Five answers a step that all agree. Before, the scale of 40 items was .17, and the probability .71. Of 20 items a
    wide scale has the greater evidence, by exact integration too (test_learned_scale.py).
    """
    found = LEARNED.fit(chain(n_items, 5))
    assert found.diagnostics.converged
    assert is_above(found, 0, n_items - 1) > 0.95
    assert found.prior_sd == (HIGHEST_SD if n_items == 20 else AGREED_SD)


def test_of_a_chain_the_exact_evidence_prefers_a_scale_that_says_nothing():
    """So no better approximation would do: at any scale the nearest Gaussian is as sure as the exact posterior."""
    below, lowest, central = (exact(40, 5, 0, sd) for sd in (0.17, AGREED_SD, CENTRAL_SD))
    assert below[0] > lowest[0] + 10 > central[0] + 20
    assert below[1] < 0.75
    for sd, probability in ((AGREED_SD, lowest[1]), (CENTRAL_SD, central[1])):
        fixed = BradleyTerry(prior_sd=sd, inference="variational").fit(chain(40, 5))
        assert is_above(fixed, 0, 39) == pytest.approx(probability, abs=2e-3)
    assert is_above(LEARNED.fit(chain(40, 5)), 0, 39) == pytest.approx(lowest[1], abs=2e-3)


@pytest.mark.parametrize(("wins", "losses"), [(4, 1), (6, 2)])
def test_where_a_chains_answers_do_not_all_agree_it_is_as_sure_as_the_exact_posterior(wins, losses):
    found = LEARNED.fit(chain(40, wins, losses))
    assert found.diagnostics.converged
    assert found.prior_sd == AGREED_SD
    assert is_above(found, 0, 39) == pytest.approx(exact(40, wins, losses, AGREED_SD)[1], abs=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("sd", "least"), [(0.1, 0.9), (0.75, 0.85), (1.5, 0.85), (3.0, 0.8)])
def test_intervals_of_chains_cover(sd, least):
    """Twenty chains of 40 items with ten answers a step; that of the margin of the ends, too."""
    held, ends = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        utilities, left = sd * rng.normal(size=40), np.repeat(np.arange(39), 10)
        won = rng.random(len(left)) < expit(utilities[left] - utilities[left + 1])
        found = LEARNED.fit(Comparisons.from_pairs(left, left + 1, won.astype(float), n_items=40))
        off = found.utilities() - (utilities - utilities.mean())
        held.append(np.abs(off) < 1.645 * found.standard_deviations())
        deviation = np.sqrt(found.difference_variance(np.array([0]), np.array([39]))[0])
        ends.append(abs(off[0] - off[39]) < 1.645 * deviation)
    print(f"sd {sd}: {np.mean(held):.3f}, of ends {np.mean(ends):.2f}")
    assert least < np.mean(held)
    assert np.mean(ends) >= 0.75  # of 20 at .9, fewer once in 25


@pytest.mark.slow
@pytest.mark.parametrize(("utility_sd", "widest"), [(0.0, 1.0), (0.375, 1.0), (0.75, 0.95)])
def test_intervals_of_items_that_are_alike_are_not_too_narrow(utility_sd, widest):
    held = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        people = simulate_crowd(rng, 30, 20, utility_sd=utility_sd)
        found = LEARNED.fit(people.pairs(300, rng))
        off = found.utilities() - (people.utilities - people.utilities.mean())
        held.append((np.abs(off) < 1.645 * found.standard_deviations()).mean())
    print(f"sd {utility_sd}: {np.mean(held):.3f}")
    assert 0.87 < np.mean(held) <= widest


def test_a_chain_whose_answers_agree_no_more_than_by_chance_has_the_scale_that_its_evidence_has():
    """Of three to two at each step, two answers agree in four of ten cases."""
    found = LEARNED.fit(chain(40, 3, 2))
    assert found.prior_sd < AGREED_SD
    scales = np.geomspace(LOWEST_SD, HIGHEST_SD, 30)
    evidence, above = np.array([exact(40, 3, 2, sd) for sd in scales]).T
    density = np.exp(evidence - evidence.max() - np.log(scales / CENTRAL_SD) ** 2 / 2)
    assert is_above(found, 0, 39) == pytest.approx(float(above @ density / density.sum()), abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("utility_sd", [0.1, 0.3])
def test_of_items_that_hardly_differ_hardly_any_are_called_apart(utility_sd):
    """P(one is better) of .95 or more is said of pairs, and wrong. With AGREED_SD it was said of .075 and .124 of the
    pairs, and wrong of .021 and .013 of all; ranks' 90% intervals held .79 and .85.
    """
    wrong, said, held = [], [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        people = simulate_crowd(rng, 30, 12, utility_sd=utility_sd)
        found = LEARNED.fit(people.pairs(300, rng))
        left, right = np.triu_indices(30, 1)
        better = found.superiority(left, right)
        apart = np.maximum(better, 1 - better) >= 0.95
        wrong.append(apart & ((better > 0.5) != (people.utilities[left] > people.utilities[right])))
        said.append(apart)
        ranks, true = found.rank_summary(0.9, 3, rng=rng), np.argsort(np.argsort(-people.utilities)) + 1
        held.append((ranks.low <= true) & (true <= ranks.high))
    print(f"sd {utility_sd}: apart {np.mean(said):.4f}, of all wrongly {np.mean(wrong):.4f}, ranks {np.mean(held):.3f}")
    assert np.mean(wrong) < 0.003
    assert np.mean(held) > 0.88


def test_of_equal_items_nothing_is_said_however_many_answers_there_are():
    rng = np.random.default_rng(0)
    data = simulate_crowd(rng, 40, 20, utility_sd=0.01).pairs(2_000, rng)
    found = LEARNED.fit(data)
    assert found.prior_sd < 0.2
    assert found.superiority(*np.triu_indices(40, 1)).max() < 0.9
    again = LEARNED.fit(data, start=found)
    assert_allclose(again.utilities(), found.utilities(), atol=1e-5)
