"""EP over all annotators in process and on a cluster, side by side; bytes of an iteration; a projection to 100 workers.

Needs the extra crowdrank[cluster], and OPENBLAS_NUM_THREADS=1, as the workers have it. Bytes on the network are those
of the loopback device; so that nothing else is counted, run it in a network of its own:
unshare --net sh -c 'ip link set lo up; python -m models_engine.benchmarks cluster'.
"""

import argparse
import math
import statistics
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models_engine.benchmarks.local_cluster import local_cluster
from models_engine.benchmarks.machine import describe_machine
from models_engine.executor import Executor, connect, use_executor
from models_engine.inference.probit_ep.annotator_blocks import Blocks, build_blocks
from models_engine.inference.probit_ep.batched_ep import CrowdPrior, EPResult, run_ep
from models_engine.inference.probit_ep.pair_sites import PairSites, build_sites
from models_engine.simulate import simulate_crowd

__all__ = ["Figures", "Traffic", "main", "project", "traffic_of_iteration"]

Floats = NDArray[np.float64]
NUMBER = 8  # bytes
SITE_NUMBERS = 2  # precision and shift of a site, kept twice
LOOPBACK = Path("/proc/net/dev")
MAPS = 3  # of each shard and iteration: move, solve, refresh; and two sums
SUMS = 2


@dataclass(frozen=True)
class Traffic:
    """Bytes of one iteration: out to all workers, back, between workers, and second copies of the sites."""

    out: int
    back: int
    between: int
    copies: int

    @property
    def total(self) -> int:
        return self.out + self.back + self.between + self.copies


def traffic_of_iteration(n_items: int, n_sites: int, n_workers: int) -> Traffic:
    """Compute what an iteration has to move, from the sizes of its arrays.

    Out goes the consensus (mean and covariance), back the sum of its information; each other worker hands its part of
    that sum on to its neighbour, and where there are two workers each site's two numbers go to a second one.
    """
    moments = NUMBER * (n_items**2 + n_items)
    copies = NUMBER * SITE_NUMBERS * n_sites if n_workers > 1 else 0
    return Traffic(moments * n_workers, moments, moments * (n_workers - 1), copies)


@dataclass(frozen=True)
class Figures:
    """What was measured: seconds of one operation of `Block.cost` on a worker, of one task beside what it computes, and
    of one operation n^3 of the consensus."""

    seconds_per_cost: float
    seconds_per_task: float
    seconds_per_cube: float


@dataclass(frozen=True)
class Plan:
    """The crowd that is asked about, and the network."""

    n_workers: int = 100
    n_annotators: int = 10_000_000
    n_answers: int = 1_000_000_000
    n_items: int = 2_000
    n_shards: int = 1024
    n_passes: int = 180  # of everybody, as in a fit of 600 items, 300 annotators and 30,000 answers
    bytes_per_second: float = 1.25e9


def project(figures: Figures, plan: Plan) -> list[tuple[str, float, str]]:
    """Project one iteration and the whole: (what, value, unit), times in seconds, memory in GB."""
    width = plan.n_answers / plan.n_annotators
    moments = NUMBER * plan.n_items**2
    rounds = math.ceil(math.log2(plan.n_workers))
    solving = figures.seconds_per_cost * plan.n_annotators * width**3 / plan.n_workers
    network = 2 * rounds * moments / plan.bytes_per_second
    copies = NUMBER * SITE_NUMBERS * plan.n_answers / plan.n_workers / plan.bytes_per_second
    tasks = figures.seconds_per_task * plan.n_shards * (MAPS + 2 * SUMS)
    consensus = figures.seconds_per_cube * float(plan.n_items) ** 3
    iteration = solving + network + copies + tasks + consensus
    held = NUMBER * plan.n_annotators * 3 * width**2 / plan.n_workers / 1e9
    sites = NUMBER * 14 * plan.n_answers / 1e9
    return [
        ("an iteration: solving, on each worker", solving, "s"),
        ("  the consensus to and fro", network, "s"),
        ("  second copies of sites", copies, "s"),
        ("  tasks, at the scheduler", tasks, "s"),
        ("  the consensus itself, at the caller", consensus, "s"),
        (f"a fit of {plan.n_passes} iterations", plan.n_passes * iteration / 3600, "h"),
        ("solutions that a worker holds", held, "GB"),
        ("sites and blocks at the caller, sent once", sites, "GB"),
        ("  to send them", sites * 1e9 / plan.bytes_per_second, "s"),
    ]


def simulate(n_items: int, n_annotators: int, n_labels: int, seed: int) -> tuple[PairSites, CrowdPrior]:
    """Simulate a crowd's sites and a prior of its size."""
    rng = np.random.default_rng(seed)
    data = simulate_crowd(rng, n_items, n_annotators, utility_sd=1.0).pairs(n_labels, rng)
    loadings = rng.standard_normal((n_items, 3)) / 3
    taste = loadings @ loadings.T + 0.3 * np.eye(n_items)
    return build_sites(data.pairs(), data.weights), CrowdPrior(taste, np.eye(n_items), np.zeros(n_items))


@dataclass(frozen=True, eq=False)
class Runner:
    """Runs a fixed number of iterations of EP."""

    sites: PairSites
    blocks: Blocks
    crowd: CrowdPrior
    n_iterations: int

    def run(self) -> tuple[EPResult, float, int]:
        """Return the result, and of one iteration, the first and the sending left out, seconds and bytes."""
        marks: list[tuple[float, int]] = []
        found = run_ep(
            self.sites,
            self.blocks,
            self.crowd,
            max_iterations=self.n_iterations,
            tolerance=0.0,
            on_iteration=lambda change: marks.append((time.perf_counter(), loopback_bytes())),
        )
        (began, before), (ended, after) = marks[0], marks[-1]
        n = len(marks) - 1
        return found, (ended - began) / n, (after - before) // n

    def run_in_one_thread(self) -> tuple[EPResult, float, int]:
        found: list[tuple[EPResult, float, int]] = []
        one = threading.Thread(target=lambda: found.append(self.run()))
        one.start()
        one.join()
        return found[0]

    def run_on(self, executor: Executor) -> tuple[EPResult, float, int]:
        with use_executor(executor):
            return self.run()


def loopback_bytes() -> int:
    """Return the bytes that went through the loopback device, 0 where /proc does not say."""
    if not LOOPBACK.exists():
        return 0
    rows = (line.split() for line in LOOPBACK.read_text().splitlines())
    return next((int(row[1]) for row in rows if row and row[0] == "lo:"), 0)


def name_of(n_workers: int) -> str:
    return "1 worker" if n_workers == 1 else f"{n_workers} workers"


def measure(runner: Runner, workers: Sequence[int], n_rounds: int) -> dict[str, list[tuple[float, int]]]:
    """Measure both ways in turn, `n_rounds` times: seconds and bytes of an iteration. Prints differences of results."""
    here, _, _ = runner.run_in_one_thread()
    found: dict[str, list[tuple[float, int]]] = {}
    with local_cluster(0) as cluster:
        for n_workers in workers:
            while len(cluster.workers) < n_workers:
                cluster.start_worker()
            cluster.wait_for_workers(n_workers)
            name = name_of(n_workers)
            with closing(connect(cluster.address, seconds=60)) as executor:
                for _ in range(n_rounds):
                    beside, there = runner.run_in_one_thread(), runner.run_on(executor)
                    found.setdefault(f"in process beside {name}", []).append(beside[1:])
                    found.setdefault(name, []).append(there[1:])
                    worst = np.abs(there[0].covariance - here.covariance).max()
                    print(f"{name}: the largest difference of a covariance is {worst:.1e}", flush=True)
    return found


def main(arguments: Sequence[str]) -> int:
    """Run python -m models_engine.benchmarks cluster [--items N --annotators U --labels L --workers 1,2 --rounds R]"""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks cluster", description=__doc__)
    parser.add_argument("--items", type=int, default=300)
    parser.add_argument("--annotators", type=int, default=600)
    parser.add_argument("--labels", type=int, default=60_000)
    parser.add_argument("--workers", default="1,2", help="numbers of workers, separated by commas, rising")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured, in turn")
    parser.add_argument("--iterations", type=int, default=4, help="of EP in each")
    options = parser.parse_args(arguments)
    sites, crowd = simulate(options.items, options.annotators, options.labels, seed=1)
    runner = Runner(sites, build_blocks(sites), crowd, options.iterations)
    workers = [int(one) for one in options.workers.split(",")]
    print(describe_machine())
    print(f"{options.items:,} items, {options.annotators:,} annotators, {options.labels:,} answers")
    found = measure(runner, workers, options.rounds)
    print_table(found, sites, workers)
    print_projection(estimate_figures(runner, found))
    return 0


def print_table(found: dict[str, list[tuple[float, int]]], sites: PairSites, workers: Sequence[int]) -> None:
    print(f"{'':<12}{'s/iteration':>12}{'in process':>12}{'speed-up':>10}{'MB/iteration':>14}{'from sizes':>12}")
    for n_workers in workers:
        name = name_of(n_workers)
        own, beside = ([one[0] for one in found[key]] for key in (name, f"in process beside {name}"))
        ratio = statistics.median(there / here for here, there in zip(own, beside, strict=True))
        moved = statistics.median(one[1] for one in found[name]) / 1e6
        computed = traffic_of_iteration(sites.n_items, len(sites), n_workers).total / 1e6
        times = f"{statistics.median(own):>12.2f}{statistics.median(beside):>12.2f}"
        print(f"{name:<12}{times}{ratio:>10.2f}{moved:>14.1f}{computed:>12.1f}")


def estimate_figures(runner: Runner, found: dict[str, list[tuple[float, int]]]) -> Figures:
    """Estimate what the projection needs from what was measured with the least disturbance."""
    kept = runner.blocks.kept
    n_shards, n = len(kept.shards), runner.sites.n_items
    began = time.perf_counter()
    np.linalg.inv(np.eye(n) + runner.crowd.taste)
    cube = (time.perf_counter() - began) / n**3
    here = min(seconds for name, rows in found.items() if name.startswith("in process") for seconds, _ in rows)
    there = min(seconds for seconds, _ in next(rows for name, rows in found.items() if not name.startswith("in ")))
    tasks = n_shards * (MAPS + 2 * SUMS)
    cost = sum(block.cost for block in runner.blocks)
    return Figures(here / cost, max(there - here, 0.0) / tasks, cube)


def print_projection(figures: Figures) -> None:
    plan = Plan()
    print(
        f"\nProjection to {plan.n_workers} workers, {plan.n_annotators:,} annotators, {plan.n_answers:,} answers, "
        f"{plan.n_items:,} items, 10 Gbit/s, from {figures.seconds_per_cost:.1e} s an operation, "
        f"{1e3 * figures.seconds_per_task:.1f} ms a task, {figures.seconds_per_cube:.1e} s an n^3 of the consensus:"
    )
    for what, value, unit in project(figures, plan):
        print(f"{what:<44}{value:>10.1f} {unit}")
    longest = max(project(figures, plan)[:5], key=lambda row: row[1])[0].strip()
    print(f"Most of an iteration's time: {longest}. The first limit: the caller's memory, which holds all labels.")
