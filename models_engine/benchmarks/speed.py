"""Time and memory of fits: large cold fits, and warm refits after 100 new labels."""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from models_engine.benchmarks.machine import describe_machine
from models_engine.benchmarks.peak import peak_mib
from models_engine.data import Comparisons
from models_engine.errors import NotConverged
from models_engine.estimators.table import ESTIMATORS
from models_engine.simulate import simulate_crowd

__all__ = ["SIZES", "FitTiming", "main", "measure"]


@dataclass(frozen=True)
class SpeedSize:
    """A simulated crowd; new: labels that come in before the warm refit."""

    n_items: int
    n_annotators: int
    n_labels: int
    new: int = 100


SIZES = {
    "site": SpeedSize(1_000, 200, 50_000),
    "large": SpeedSize(10_000, 1_000, 1_000_000),
    "many": SpeedSize(10_000, 500, 100_000),
    "tastes": SpeedSize(2_000, 2_000, 200_000),
}
DEFAULT_RUNS = [
    ("BradleyTerry", "site"),
    ("CrowdBT", "site"),
    ("CollaborativeGP", "site"),
    ("BradleyTerry", "large"),
    ("CollaborativeGP", "tastes"),
]


@dataclass(frozen=True)
class FitTiming:
    """Wall and processor seconds; peak_mib is that of the whole process so far."""

    estimator: str
    size: str
    cold_s: float
    cold_cpu_s: float
    warm_s: float
    warm_cpu_s: float
    peak_mib: float
    converged: bool


def measure(estimator: str, size: str, seed: int) -> FitTiming:
    """Measure one cold fit with standard deviations, then one warm refit with the new labels."""
    wanted, rng = SIZES[size], np.random.default_rng(seed)
    people = simulate_crowd(rng, wanted.n_items, wanted.n_annotators, utility_sd=1.0)
    data = people.pairs(wanted.n_labels, rng)
    more = Comparisons.concatenate([data, people.pairs(wanted.new, rng)])
    fit = ESTIMATORS[estimator].estimator().fit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # reported in the table
        began, cpu = time.perf_counter(), time.process_time()
        cold = fit(data)
        cold.standard_deviations()
        middle, cpu_middle = time.perf_counter(), time.process_time()
        warm = fit(more, start=cold)
        warm.standard_deviations()
        end, cpu_end = time.perf_counter(), time.process_time()
    converged = cold.diagnostics.converged and warm.diagnostics.converged
    return FitTiming(
        estimator, size, middle - began, cpu_middle - cpu, end - middle, cpu_end - cpu_middle, peak_mib(), converged
    )


def main(arguments: Sequence[str]) -> int:
    """Run python -m models_engine.benchmarks speed [--estimators a,b --size NAME] [--seed S] [--json FILE]"""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks speed", description=__doc__)
    parser.add_argument("--estimators", help=f"names separated by commas: {', '.join(ESTIMATORS)}")
    parser.add_argument("--size", choices=list(SIZES), default="site", help="with --estimators")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    plan = [(name, options.size) for name in options.estimators.split(",")] if options.estimators else DEFAULT_RUNS
    print(describe_machine())
    print(f"{'estimator':<18}{'size':<8}{'cold s':>8}{'(CPU)':>8}{'warm s':>8}{'(CPU)':>8}{'peak MiB':>10}")
    found = []
    for name, size in plan:
        print(f"{name:<18}{size:<8}", end="", flush=True)
        one = measure(name, size, options.seed)
        found.append(one)
        note = "" if one.converged else "  not converged"
        figures = f"{one.cold_s:8.2f}{one.cold_cpu_s:8.2f}{one.warm_s:8.2f}{one.warm_cpu_s:8.2f}{one.peak_mib:10.0f}"
        print(figures + note, flush=True)
    if options.json:
        options.json.write_text(
            json.dumps({"facts": describe_machine(), "rows": [asdict(one) for one in found]}, indent=2)
        )
        print(f"written to {options.json}", file=sys.stderr)
    return 0
