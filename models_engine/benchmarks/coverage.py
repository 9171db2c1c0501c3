"""Coverage of the consensus's 90% intervals in simulated crowds, and the slope of the truth on the estimates."""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from models_engine.analysis.metrics import calibration_slope, coverage, mean_width
from models_engine.benchmarks.machine import describe_machine
from models_engine.errors import NotConverged
from models_engine.estimators.plackett_luce import match_gamma_shape
from models_engine.estimators.settings import build_estimator
from models_engine.estimators.table import ESTIMATORS
from models_engine.executor import CONNECT_SECONDS, connect, map_tasks, use_executor
from models_engine.linalg import centre
from models_engine.simulate import Crowd, simulate_crowd

__all__ = ["OWN_MODEL", "SCENARIOS", "CoverageResult", "main", "measure"]

# Crowds of each estimator's own model at its default prior: arguments of `simulate_crowd`. Others: utilities of sd 1.
OWN_MODEL: dict[str, dict[str, Any]] = {
    "BradleyTerry": {"utility_sd": 1.5},
    "CollaborativeGP": {"taste_sd": 0.7, "n_components": 50, "link": "probit"},  # tastes in every direction alike
    "CrowdGPPL": {"taste_sd": 0.7, "link": "probit"},  # along two directions: it looks for a few
    "CrowdBT": {"utility_sd": 1.5, "reliability": (8.5, 1.5)},
    "CrowdBTOnline": {"utility_sd": 1.5, "reliability": (8.5, 1.5)},
    "GPPL": {"link": "probit"},
    "PlackettLuce": {"utility_sd": 1.5},
}
LOG_GAMMA = {"PlackettLuce"}  # whose prior on worths is a Gamma, so that utilities are skewed
DEFAULT_CROWD: dict[str, Any] = {"utility_sd": 1.0}
DIFFERING_TASTE = 1.0
SCENARIOS = {
    "own": "(a) the estimator's own model at its default prior",
    "double": "(b) utilities of twice that scale",
    "half": "(b) utilities of half that scale",
    "tastes": f"(c) tastes of sd {DIFFERING_TASTE} along two directions",
    "rankings": "(d) rankings of 10 instead of pairs",
}
COVERAGE_BAND = (0.85, 0.95)  # accepted coverage of 90% intervals


@dataclass(frozen=True)
class CoverageResult:
    """One fit of one crowd."""

    estimator: str
    scenario: str
    seed: int
    coverage: float
    slope: float
    width: float
    cpu_s: float
    converged: bool


@dataclass(frozen=True)
class CrowdSize:
    """Items, annotators, and labels (pairs) of each crowd; in (d) labels / 10 rankings."""

    n_items: int = 50
    n_annotators: int = 200
    n_labels: int = 3_000


def simulate_scenario(name: str, scenario: str, size: CrowdSize, rng: np.random.Generator) -> Crowd:
    """Simulate the crowd of this scenario for estimator `name`."""
    believed = DEFAULT_CROWD | OWN_MODEL.get(name, {})
    believed = believed | {"utility_sd": believed["utility_sd"] * {"double": 2.0, "half": 0.5}.get(scenario, 1.0)}
    if scenario == "tastes":
        believed |= {"taste_sd": DIFFERING_TASTE, "n_components": 2}
    people = simulate_crowd(rng, size.n_items, size.n_annotators, **believed)
    if name not in LOG_GAMMA:
        return people
    utilities = centre(np.log(rng.gamma(match_gamma_shape(believed["utility_sd"]), size=size.n_items)))
    return replace(people, utilities=utilities, own=people.own - people.utilities + utilities)


def measure_task(
    task: tuple[str, str, int], size: CrowdSize, settings: dict[str, Any], _progress: object
) -> CoverageResult:
    """Do as `measure`, for map_tasks."""
    return measure(*task, size, settings)


def measure(name: str, scenario: str, seed: int, size: CrowdSize, settings: dict[str, Any]) -> CoverageResult:
    """Simulate one crowd and fit it."""
    rng = np.random.default_rng([seed, list(SCENARIOS).index(scenario)])
    people = simulate_scenario(name, scenario, size, rng)
    data = people.rankings(size.n_labels // 10, 10, rng) if scenario == "rankings" else people.pairs(size.n_labels, rng)
    begun = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NotConverged)
        posterior = build_estimator(ESTIMATORS[name].estimator, settings).fit(data)
    converged = not any(issubclass(one.category, NotConverged) for one in caught)
    found = (coverage(posterior, people.utilities), calibration_slope(posterior, people.utilities))
    return CoverageResult(name, scenario, seed, *found, mean_width(posterior), time.process_time() - begun, converged)


def describe_coverage(mean: float, error: float) -> str:
    """Describe a coverage that is outside COVERAGE_BAND by more than two standard errors of its mean over crowds."""
    if mean + 2 * error < COVERAGE_BAND[0]:
        return "  overconfident"
    return "  cautious" if mean - 2 * error > COVERAGE_BAND[1] else ""


def format_table(found: Sequence[CoverageResult]) -> str:
    """Format, by estimator and scenario, means with standard errors over crowds."""
    lines = [f"{'':<18}{'':<52}{'coverage of 90%':>18}{'slope':>17}{'width':>8}{'CPU s':>9}"]
    for name in dict.fromkeys(one.estimator for one in found):
        for scenario in dict.fromkeys(one.scenario for one in found):
            rows = [one for one in found if (one.estimator, one.scenario) == (name, scenario)]
            values = np.array([[one.coverage, one.slope, one.width, one.cpu_s] for one in rows])
            error = values.std(axis=0, ddof=1) / np.sqrt(len(rows)) if len(rows) > 1 else np.full(4, np.nan)
            mean = values.mean(axis=0)
            failed = sum(not one.converged for one in rows)
            lines.append(
                f"{name:<18}{SCENARIOS[scenario]:<52}{mean[0]:>10.3f} ±{error[0]:.3f}{mean[1]:>10.3f} ±{error[1]:.3f}"
                f"{mean[2]:>8.2f}{mean[3]:>9.2f}{describe_coverage(mean[0], error[0])}"
                + (f"  not converged: {failed}" if failed else "")
            )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; progress on stderr, the table on stdout."""
    options = _parser().parse_args(arguments)
    size = CrowdSize(options.items, options.annotators, options.labels)
    seeds = range(options.seed, options.seed + options.crowds)
    tasks = list(product(options.estimators.split(","), options.scenarios.split(","), seeds))
    found = []
    with ExitStack() as stack:
        if options.cluster:
            cluster = stack.enter_context(closing(connect(options.cluster, seconds=CONNECT_SECONDS)))
            stack.enter_context(use_executor(cluster))
        for one in map_tasks(measure_task, tasks, shared=[size, options.settings]):
            found.append(one)
            print(f"{len(found)} {one}", file=sys.stderr, flush=True)
    known = {"crowds": options.crowds, "first seed": options.seed, **asdict(size), "settings": options.settings}
    known["measured"] = describe_machine()
    print(", ".join(f"{key} {value}" for key, value in known.items()))
    print(format_table(found))
    if options.json:
        options.json.write_text(json.dumps({"facts": known, "found": [asdict(one) for one in found]}, indent=1))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks coverage", description=__doc__)
    claiming = [name for name, entry in ESTIMATORS.items() if entry.holds("coverage") != "no"]
    parser.add_argument("--estimators", default=",".join(claiming), help="names, separated by commas")
    parser.add_argument("--scenarios", default=",".join(SCENARIOS), help=f"of {', '.join(SCENARIOS)}")
    parser.add_argument("--crowds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--items", type=int, default=50)
    parser.add_argument("--annotators", type=int, default=200)
    parser.add_argument("--labels", type=int, default=3_000)
    parser.add_argument("--settings", type=json.loads, default={}, help='of the estimators, as JSON: {"max_steps": 20}')
    parser.add_argument("--cluster", metavar="ADDRESS", help="of a Dask scheduler: fit the crowds on its workers")
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    return parser
