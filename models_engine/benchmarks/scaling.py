"""How the cost of a fit grows with the data: CPU seconds over three doublings, and the exponent fitted to them."""

import argparse
import time
import warnings
from collections.abc import Sequence

import numpy as np

from models_engine.benchmarks.machine import describe_machine
from models_engine.data import Comparisons
from models_engine.errors import NotConverged
from models_engine.estimators.table import COUNT_ESTIMATORS, ESTIMATORS, estimator_class
from models_engine.inference.counts.cells import CountCells
from models_engine.simulate import simulate_crowd

__all__ = ["ScalingTimes", "fit_exponent", "main", "measure", "simulate"]

EVERY = [*ESTIMATORS, *COUNT_ESTIMATORS]
LABELS_PER_ITEM, LABELS_PER_ANNOTATOR, DOUBLINGS = 50, 125, 3
FEW_ITEMS = 8  # of which the angle-based estimators, meant for full rankings of the same few items, are given these
ScalingTimes = list[tuple[int, float]]


def simulate(estimator: str, n_labels: int, rng: np.random.Generator) -> Comparisons | CountCells:
    """Draw pairs; full rankings of FEW_ITEMS for the angle-based estimators; for CountFactorization counts of items by
    annotators, as many cells as labels (fewer where a cell is drawn twice, which adds up).

    Items and annotators grow with the labels: 50 labels an item, 125 an annotator.
    """
    n_items, n_annotators = max(2, n_labels // LABELS_PER_ITEM), max(1, n_labels // LABELS_PER_ANNOTATOR)
    if estimator in COUNT_ESTIMATORS:
        item, who = rng.integers(n_items, size=n_labels), rng.integers(n_annotators, size=n_labels)
        effects = rng.normal(scale=0.7, size=n_items)[item] + rng.normal(scale=0.7, size=n_annotators)[who]
        return CountCells.from_rows(
            item, who, rng.poisson(np.exp(1 + effects)), n_items=n_items, n_annotators=n_annotators
        )
    if estimator.startswith("AngleBased"):
        return simulate_crowd(rng, FEW_ITEMS, n_annotators, utility_sd=1.0).rankings(n_labels, FEW_ITEMS, rng)
    return simulate_crowd(rng, n_items, n_annotators, utility_sd=1.0).pairs(n_labels, rng)


def measure(estimator: str, n_labels: int, seed: int) -> float:
    """Return the CPU seconds of a cold fit with standard deviations."""
    data = simulate(estimator, n_labels, np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        began = time.process_time()
        estimator_class(estimator)().fit(data).standard_deviations()
        return time.process_time() - began


def fit_exponent(times: ScalingTimes) -> float:
    """Return b of seconds = a labels^b by least squares in logs."""
    labels, seconds = np.log(np.asarray(times, dtype=np.float64)).T
    centred = labels - labels.mean()
    return float(centred @ seconds / (centred @ centred))


def main(arguments: Sequence[str]) -> int:
    """Run python -m models_engine.benchmarks scaling [--estimators a,b --labels N --seed S]"""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks scaling", description=__doc__)
    parser.add_argument("--estimators", default=",".join(EVERY), help="names separated by commas; all by default")
    parser.add_argument("--labels", type=int, default=6_250, help="of the smallest collection")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    sizes = [options.labels * 2**step for step in range(DOUBLINGS + 1)]
    print(describe_machine())
    print(f"{'estimator':<18}" + "".join(f"{size:>10,}" for size in sizes) + "  exponent   (CPU seconds by labels)")
    for name in options.estimators.split(","):
        print(f"{name:<18}", end="", flush=True)
        times: ScalingTimes = []
        for size in sizes:
            times.append((size, measure(name, size, options.seed)))
            print(f"{times[-1][1]:10.2f}", end="", flush=True)
        print(f"{fit_exponent(times):10.2f}", flush=True)
    return 0
