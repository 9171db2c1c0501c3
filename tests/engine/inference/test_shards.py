"""Shards: the same result as all annotators together, divided by the data alone."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from models_engine.executor import InProcess, Kept, use_executor
from models_engine.inference.probit_ep import annotator_blocks, shards
from models_engine.inference.probit_ep.annotator_blocks import build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, run_ep, taste_statistic
from models_engine.inference.probit_ep.known_consensus import KnownConsensus
from models_engine.inference.probit_ep.pair_sites import PairSites, build_sites
from models_engine.inference.probit_ep.shards import Shard, build_shards
from models_engine.inference.probit_ep.site_updates import Sites
from models_engine.simulate import simulate_crowd

N_ITEMS, N_ANNOTATORS = 12, 30


def some_sites() -> PairSites:
    rng = np.random.default_rng(3)
    data = simulate_crowd(rng, N_ITEMS, N_ANNOTATORS, utility_sd=1.0).pairs(600, rng)
    return build_sites(data.pairs(), data.weights)


def a_crowd(rng: np.random.Generator) -> CrowdPrior:
    loadings = rng.standard_normal((N_ITEMS, 2))
    taste = 0.3 * loadings @ loadings.T + 0.4 * np.eye(N_ITEMS)
    lapse = rng.uniform(0, 0.2, N_ANNOTATORS)
    return CrowdPrior(taste, 1.5 * np.eye(N_ITEMS), np.zeros(N_ITEMS), lapse=lapse)


@pytest.fixture
def many_shards(monkeypatch):
    divide(monkeypatch)


def divide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this small problem divided as a large one is."""
    monkeypatch.setattr(annotator_blocks, "MAX_BLOCK_NUMBERS", 1_000)
    monkeypatch.setattr(shards, "MIN_SHARD_COST", 1.0)
    monkeypatch.setattr(shards, "MIN_COST_PER_CELL", 0.0)


def run(sites: PairSites) -> EPResult:
    return run_ep(sites, build_blocks(sites), a_crowd(np.random.default_rng(0)), tolerance=1e-8)


@pytest.mark.usefixtures("many_shards")
def test_every_site_and_annotator_is_in_one_shard():
    sites = some_sites()
    found = build_shards(sites, build_blocks(sites))
    assert len(found) > 4
    assert_array_equal(np.sort(np.concatenate([one.rows for one in found])), np.arange(len(sites)))
    assert_array_equal(np.sort(np.concatenate([one.annotators for one in found])), np.unique(sites.annotator))
    for shard in found:
        assert_array_equal(shard.annotators[shard.sites.annotator], sites.annotator[shard.rows])
        assert_array_equal(shard.sites.low, sites.low[shard.rows])
        for block in shard.blocks:
            real = block.site[block.real]
            assert_array_equal(shard.sites.annotator[real], np.repeat(block.annotators, block.real.sum(axis=1)))


def test_a_small_problem_is_one_shard_that_copies_nothing():
    sites = some_sites()
    (only,) = build_shards(sites, build_blocks(sites))
    assert only.sites is sites
    assert only.rows is None


def test_shards_are_alike_in_cost(monkeypatch):
    rng = np.random.default_rng(4)
    data = simulate_crowd(rng, 60, 400, utility_sd=1.0).pairs(8_000, rng)
    sites = build_sites(data.pairs(), data.weights)
    monkeypatch.setattr(annotator_blocks, "MAX_BLOCK_NUMBERS", 2_000)
    monkeypatch.setattr(shards, "MIN_SHARD_COST", 1e5)
    monkeypatch.setattr(shards, "MIN_COST_PER_CELL", 0.0)
    found = build_shards(sites, build_blocks(sites))
    costs = [sum(block.cost for block in shard.blocks) for shard in found]
    assert len(costs) > 20
    assert max(costs) < 2.5 * np.mean(costs)


def test_many_shards_give_what_one_gives(monkeypatch):
    sites = some_sites()
    whole = run(sites)
    divide(monkeypatch)
    parts = run(sites)
    assert parts.n_iterations == whole.n_iterations
    assert len(parts.kept.shards) > 4
    for name in ("mean", "covariance", "by_annotator", "log_evidence"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(parts.sites.precision, whole.sites.precision, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(parts.update.shift, whole.update.shift, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(taste_statistic(parts), taste_statistic(whole), rtol=1e-9, atol=1e-10)


def test_many_shards_give_the_same_evidence_where_the_consensus_is_known(monkeypatch):
    sites, crowd = some_sites(), a_crowd(np.random.default_rng(0))
    mean = np.linspace(-1, 1, N_ITEMS)

    def evidence() -> np.ndarray:
        return KnownConsensus(sites, build_blocks(sites), crowd.taste, mean, Sites.empty(len(sites))).evidence(crowd)

    whole = evidence()
    divide(monkeypatch)
    np.testing.assert_allclose(evidence(), whole, rtol=1e-12)


class Counting(InProcess):
    """Counts how often parts are brought to where they are worked on."""

    def __init__(self) -> None:
        self.kept: list[type] = []

    def keep(self, parts: list) -> Kept:
        self.kept.append(type(parts[0]))
        return super().keep(parts)


@pytest.mark.usefixtures("many_shards")
def test_shards_stay_between_runs_and_sites_too():
    sites, crowd = some_sites(), a_crowd(np.random.default_rng(0))
    blocks, executor = build_blocks(sites), Counting()
    with use_executor(executor):
        first = run_ep(sites, blocks, crowd, tolerance=1e-4)
        run_ep(sites, blocks, crowd, first.kept_sites(1.0), first.mean, max_iterations=0)
    assert executor.kept.count(Shard) == 1
    assert executor.kept.count(Sites) == 1
