"""EP that goes on with a few people alone ends where EP over everybody does, after fewer updates of everybody."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from models_engine.executor import use_executor
from models_engine.inference.probit_ep import annotator_blocks, batched_ep, shards
from models_engine.inference.probit_ep.annotator_blocks import build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, run_ep, taste_statistic
from models_engine.inference.probit_ep.pair_sites import PairSites, build_sites
from models_engine.simulate import simulate_crowd
from tests.engine.inference.counting import Counting

pytestmark = pytest.mark.slow

N_ITEMS, N_PEOPLE, TOLERANCE = 15, 700, 1e-4
FEW = np.array([3, 40, 41, 600])


def some_sites() -> PairSites:
    rng = np.random.default_rng(0)
    data = simulate_crowd(rng, N_ITEMS, N_PEOPLE, utility_sd=1.0, taste_sd=0.5).pairs(12 * N_PEOPLE, rng)
    return build_sites(data.pairs(), data.weights)


def a_prior() -> CrowdPrior:
    return CrowdPrior(0.3 * np.eye(N_ITEMS), np.eye(N_ITEMS), np.zeros(N_ITEMS), lapse=np.zeros(N_PEOPLE))


def run(sites: PairSites) -> tuple[EPResult, list[int]]:
    """Return EP from where all were reliable to where a few are careless; and how many people were solved each time."""
    prior = a_prior()
    first = run_ep(sites, build_blocks(sites), prior, tolerance=TOLERANCE)
    lapse = np.zeros(N_PEOPLE)
    lapse[FEW] = 0.95
    with use_executor(Counting()) as counting:
        start = first.sites, first.mean
        found = run_ep(sites, build_blocks(sites), replace(prior, lapse=lapse), *start, tolerance=TOLERANCE)
    assert found.converged
    return found, counting.solved


def assert_alike(found: EPResult, expected: EPResult, *, within: float) -> None:
    assert found.log_evidence == pytest.approx(expected.log_evidence, abs=within)
    for name in ("mean", "covariance"):
        assert_allclose(getattr(found, name), getattr(expected, name), atol=within)
    assert_allclose(found.sites.precision, expected.sites.precision, atol=3 * TOLERANCE)
    assert_allclose(found.sites.shift, expected.sites.shift, atol=3 * TOLERANCE)
    assert_allclose(taste_statistic(found), taste_statistic(expected), atol=N_PEOPLE * TOLERANCE)


def test_a_few_people_alone_come_to_the_fixed_point_of_all(monkeypatch):
    sites = some_sites()
    found, solved = run(sites)
    assert 0 < min(solved) < 0.1 * N_PEOPLE
    monkeypatch.setattr(batched_ep, "MIN_COST_APART", np.inf)
    expected, all_solved = run(sites)
    assert set(all_solved) == {N_PEOPLE}
    assert solved.count(N_PEOPLE) <= len(all_solved) - 2
    assert_alike(found, expected, within=1e-4)


def test_nobody_is_solved_alone_once_that_has_not_converged(monkeypatch):
    sites = some_sites()
    monkeypatch.setattr(batched_ep, "MAX_ITERATIONS_APART", 1)
    found, solved = run(sites)
    assert sum(n < N_PEOPLE for n in solved) == 3  # what they had said, where they begin, and one update
    monkeypatch.setattr(batched_ep, "MIN_COST_APART", np.inf)
    assert_alike(found, run(sites)[0], within=1e-4)


def test_a_few_people_of_several_shards(monkeypatch):
    sites = some_sites()
    whole, solved = run(sites)
    monkeypatch.setattr(annotator_blocks, "MAX_BLOCK_NUMBERS", 20_000)
    monkeypatch.setattr(shards, "MIN_SHARD_COST", 1.0)
    monkeypatch.setattr(shards, "MIN_COST_PER_CELL", 0.0)
    parts, of_parts = run(sites)
    assert len(parts.kept.shards) > 4
    assert of_parts == solved
    assert_alike(parts, whole, within=1e-9)
