"""Fits on a Dask cluster: a scheduler and workers in processes of their own on 127.0.0.1."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from models_engine.analysis.evaluation import evaluate_estimators
from models_engine.benchmarks.local_cluster import LocalCluster, local_cluster
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.estimators.choosing import choose_estimator
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.estimators.crowd_bt import CrowdBT
from models_engine.estimators.several import fit_each
from models_engine.executor import ClusterLost, ClusterUnreachable, connect, use_executor
from models_engine.inference.crowd_bt import wins
from models_engine.inference.probit_ep import annotator_blocks, batched_ep, shards
from models_engine.inference.probit_ep.annotator_blocks import build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, run_ep
from models_engine.inference.probit_ep.known_consensus import KnownConsensus
from models_engine.inference.probit_ep.pair_sites import PairSites, build_sites
from models_engine.inference.probit_ep.site_updates import Sites
from models_engine.inference.tastes.covariance import learn_taste
from models_engine.simulate import simulate_crowd

pytest.importorskip("distributed", reason="the extra crowdrank[cluster] is not installed")
pytestmark = [pytest.mark.process, pytest.mark.slow]

N_ITEMS, N_ANNOTATORS = 15, 24
SECONDS = 60.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(1) as found:
        yield found


@pytest.fixture(autouse=True)
def _many_shards(monkeypatch):
    monkeypatch.setattr(annotator_blocks, "MAX_BLOCK_NUMBERS", 900)
    monkeypatch.setattr(shards, "MIN_SHARD_COST", 1.0)
    monkeypatch.setattr(shards, "MIN_COST_PER_CELL", 0.0)


def connected(cluster: LocalCluster, n_workers: int) -> Any:
    """Connect once there are just so many workers, whatever the tests before have left."""
    while len(cluster.workers) < n_workers:
        cluster.start_worker()
    for process in cluster.workers[n_workers:]:
        process.kill()
        process.wait()
    del cluster.workers[n_workers:]
    cluster.wait_for_workers(n_workers)
    return connect(cluster.address, seconds=SECONDS)


def some_sites() -> PairSites:
    rng = np.random.default_rng(3)
    data = simulate_crowd(rng, N_ITEMS, N_ANNOTATORS, utility_sd=1.0).pairs(500, rng)
    return build_sites(data.pairs(), data.weights)


def run(sites: PairSites, on_iteration: Callable[[float], None] | None = None) -> EPResult:
    """Six iterations: what is the same to the last bit after these is so after more, of which each takes as long."""
    taste = 0.4 * np.eye(N_ITEMS) + 0.1
    crowd = CrowdPrior(taste, 1.5 * np.eye(N_ITEMS), np.zeros(N_ITEMS))
    return run_ep(sites, build_blocks(sites), crowd, tolerance=1e-3, on_iteration=on_iteration)


def assert_same(one: EPResult, other: EPResult) -> None:
    """Compare to the last bit."""
    assert one.n_iterations == other.n_iterations
    assert one.log_evidence == other.log_evidence
    for name in ("mean", "covariance", "by_annotator"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    assert_array_equal(one.sites.precision, other.sites.precision)
    assert_array_equal(one.update.shift, other.update.shift)


def test_a_worker_gives_the_same_to_the_last_bit(cluster):
    executor, sites = connected(cluster, 1), some_sites()
    here = run(sites)
    assert len(here.kept.shards) > 8
    with use_executor(executor):
        assert_same(run(sites), here)
    executor.close()


def test_a_few_people_alone_are_the_same_there(cluster, monkeypatch):
    """Their sites go to the worker and back while everybody's stay."""
    monkeypatch.setattr(batched_ep, "MAX_SHARE_APART", 1.0)
    executor, sites = connected(cluster, 1), some_sites()
    everybody = run(sites)
    monkeypatch.setattr(batched_ep, "MIN_COST_APART", 0.0)
    here = run(sites)
    assert (here.mean != everybody.mean).any()  # by what EP leaves open, as some went on alone
    assert len(here.kept.shards) > 8
    with use_executor(executor):
        assert_same(run(sites), here)
    executor.close()


@pytest.mark.filterwarnings("ignore::models_engine.errors.NotConverged")
def test_a_whole_fit_is_the_same_there(cluster):
    """Components and distances of annotators are computed beside their solutions."""
    executor, rng = connected(cluster, 1), np.random.default_rng(7)
    data = simulate_crowd(rng, 8, 12, utility_sd=1.0).pairs(240, rng)
    estimator = CollaborativeGP(log_scale_sd=0.0, reliability=False, covariance="prior", max_iterations=3)
    here = estimator.fit(data).to_arrays()
    with use_executor(executor):
        there = estimator.fit(data).to_arrays()
    executor.close()
    for name in here.keys() - {"meta"}:  # which says how long it took
        assert_array_equal(there[name], here[name], err_msg=name)


def test_a_taste_covariance_is_learned_the_same_there(cluster):
    executor, sites = connected(cluster, 1), some_sites()
    crowd = CrowdPrior(0.4 * np.eye(N_ITEMS), np.eye(N_ITEMS), np.zeros(N_ITEMS))

    def learned() -> np.ndarray:
        return learn_taste(sites, build_blocks(sites), crowd, 20.0, max_steps=2).taste

    here = learned()
    with use_executor(executor):
        assert_array_equal(learned(), here)
    executor.close()


def test_reliabilities_given_the_consensus_are_the_same_there(cluster):
    executor, sites = connected(cluster, 1), some_sites()
    answering = CrowdPrior(np.eye(N_ITEMS), None, np.zeros(N_ITEMS), lapse=np.linspace(0, 0.3, N_ANNOTATORS))

    def evidence() -> np.ndarray:
        known = KnownConsensus(sites, build_blocks(sites), answering.taste, answering.mean, Sites.empty(len(sites)))
        return known.evidence(answering)

    here = evidence()
    with use_executor(executor):
        assert_array_equal(evidence(), here)
    executor.close()


def test_folds_of_an_evaluation_are_the_same_there_and_a_task_is_told_as_it_is_done(cluster):
    executor, rng, heard = connected(cluster, 1), np.random.default_rng(5), []
    data = simulate_crowd(rng, 8, 6, utility_sd=1.0).pairs(150, rng)
    candidates = {"BradleyTerry": BradleyTerry(), "wide": BradleyTerry(prior_sd=5.0)}

    def tell(step: int, total: int, objective: float) -> None:
        heard.append((step, total))

    here = evaluate_estimators(data, candidates, reference="BradleyTerry")
    with use_executor(executor):
        there = evaluate_estimators(data, candidates, reference="BradleyTerry", progress=tell)
    executor.close()
    assert [replace(one, seconds=0.0) for one in there] == [replace(one, seconds=0.0) for one in here]
    assert heard == [(step, 10) for step in range(1, 11)]


def test_an_automatic_choice_is_the_same_there_with_why_a_candidate_could_not_be_fitted(cluster):
    executor, rng = connected(cluster, 1), np.random.default_rng(5)
    data = simulate_crowd(rng, 8, 6, utility_sd=1.0).pairs(150, rng)
    scales = {"plain": 1.5, "impossible": -1.0, "wide": 5.0}
    candidates = {name: BradleyTerry(prior_sd=scale) for name, scale in scales.items()}
    here = choose_estimator(data, candidates)
    with use_executor(executor):
        there = choose_estimator(data, candidates)
    executor.close()
    assert [bool(one.failed) for one in here.trials] == [False, True, False]
    assert repr(there) == repr(here)  # to the last bit; nan is not equal to itself


def test_fits_to_several_crowds_are_the_same_there(cluster):
    executor, rng = connected(cluster, 1), np.random.default_rng(5)
    crowds = [simulate_crowd(rng, 8, 6, utility_sd=1.0).pairs(150, rng) for _ in range(2)]
    here = fit_each(CollaborativeGP(), crowds, seed=3)
    with use_executor(executor):
        there = fit_each(CollaborativeGP(), crowds, seed=3)
    executor.close()
    for one, other in zip(there, here, strict=True):
        assert_array_equal(one.utilities(), other.utilities())
        assert_array_equal(one.standard_deviations(), other.standard_deviations())
    assert (here[0].utilities() != here[1].utilities()).any()


def test_what_a_task_raises_is_raised_here(cluster):
    executor = connected(cluster, 1)
    kept = executor.keep([np.zeros((2, 2))])
    with pytest.raises(np.linalg.LinAlgError):
        executor.gather(executor.map(np.linalg.inv, kept))
    executor.close()


def test_all_its_processes_listen_on_this_machine_alone(cluster):
    connected(cluster, 1).close()
    own = {process.pid for process in [cluster.scheduler, *cluster.workers]}
    found = [host for pid in own for host in listening(pid)]
    assert found
    assert set(found) == {"0100007F"}


def listening(pid: int) -> list[str]:
    """Return the addresses, as /proc writes them, where a process listens."""
    links = [os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd")]
    sockets = {link[8:-1] for link in links if link.startswith("socket:")}
    rows = []
    for name in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{name}") as file:
            rows += [line.split() for line in list(file)[1:]]
    return [row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[9] in sockets]


def test_tls_without_a_certificate_is_told_before_anything_is_sent():
    with pytest.raises(ClusterUnreachable, match="no certificate"):
        connect("tls://127.0.0.1:1", seconds=0.5)


def test_nobody_at_the_address_is_told_as_unreachable():
    with pytest.raises(ClusterUnreachable, match="scheduler does not answer"):
        connect("tcp://127.0.0.1:1", seconds=0.5)


def test_wins_of_a_crowd_are_swept_the_same_there(cluster, monkeypatch):
    """A whole fit of CrowdBT, to the last bit."""
    monkeypatch.setattr(wins, "SHARD_WINS", 50)
    executor, rng = connected(cluster, 2), np.random.default_rng(6)
    data = simulate_crowd(rng, 8, 16, utility_sd=1.0).pairs(320, rng)
    here = CrowdBT().fit(data).to_arrays()
    with use_executor(executor):
        there = CrowdBT().fit(data).to_arrays()
    executor.close()
    for name in here.keys() - {"meta"}:
        assert_array_equal(there[name], here[name], err_msg=name)


def test_two_workers_do_too_and_a_killed_one_costs_its_share(cluster):
    executor, sites = connected(cluster, 2), some_sites()
    here = run(sites)
    killed: list[subprocess.Popen] = []

    def kill_one(change: float) -> None:
        if not killed and change < 0.1:
            killed.append(cluster.workers.pop())
            killed[0].send_signal(signal.SIGKILL)
            killed[0].wait()

    with use_executor(executor):
        assert_same(run(sites, kill_one), here)
    assert killed
    assert len(executor.workers()) == 1
    executor.close()


def test_a_cluster_that_is_gone_is_told_as_lost(cluster):
    """The last test of this module: it stops the others' cluster."""
    executor = connected(cluster, 1)
    executor.seconds = 0.5
    kept = executor.keep([np.ones(3), np.ones(4)])
    cluster.stop()
    with pytest.raises(ClusterLost):
        executor.map_reduce(np.sum, max, kept)
    executor.close()
