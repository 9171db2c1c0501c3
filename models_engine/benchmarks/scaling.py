"""How the cost of a fit grows with the data: CPU seconds over three doublings, and the exponent fitted to them."""

import argparse
import time
import warnings
from collections.abc import Sequence

import numpy as np

from models_engine.benchmarks.machine import describe_machine
from models_engine.errors import NotConverged
from models_engine.estimators.table import ESTIMATORS
from models_engine.simulate import simulate_crowd

__all__ = ["ScalingTimes", "fit_exponent", "main", "measure"]

DEFAULT = "BradleyTerry,PlackettLuce,CrowdBT,CollaborativeGP"
LABELS_PER_ITEM, LABELS_PER_ANNOTATOR, DOUBLINGS = 50, 125, 3
ScalingTimes = list[tuple[int, float]]


def measure(estimator: str, n_labels: int, seed: int) -> float:
    """Return the CPU seconds of a cold fit with standard deviations.

    Items and annotators grow with the labels: 50 labels an item, 125 an annotator.
    """
    rng = np.random.default_rng(seed)
    n_items, n_annotators = max(2, n_labels // LABELS_PER_ITEM), max(1, n_labels // LABELS_PER_ANNOTATOR)
    data = simulate_crowd(rng, n_items, n_annotators, utility_sd=1.0).pairs(n_labels, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        began = time.process_time()
        ESTIMATORS[estimator].estimator().fit(data).standard_deviations()
        return time.process_time() - began


def fit_exponent(times: ScalingTimes) -> float:
    """Return b of seconds = a labels^b by least squares in logs."""
    labels, seconds = np.log(np.asarray(times, dtype=np.float64)).T
    centred = labels - labels.mean()
    return float(centred @ seconds / (centred @ centred))


def main(arguments: Sequence[str]) -> int:
    """Run python -m models_engine.benchmarks scaling [--estimators a,b --labels N --seed S]"""
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks scaling", description=__doc__)
    parser.add_argument("--estimators", default=DEFAULT, help=f"names separated by commas: {', '.join(ESTIMATORS)}")
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
