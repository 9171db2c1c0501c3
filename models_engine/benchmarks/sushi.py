"""Personal preferences on the Sushi data: crowd_gppl's section 5.3 and Table 2, with paired differences.

Protocol thesis, with its models MF, GPfull, GPitem, VU and GPVU and errors in bits, is that of Ko's thesis, Tables 3.5
and 3.6; protocol B with VU and GPVU that of its Table 3.7.
"""

import argparse
import json
import multiprocessing
import sys
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.analysis.metrics import accuracy, cross_entropy, kendall_tau_mean, kendall_tau_pooled
from models_engine.benchmarks.baselines import BASELINES
from models_engine.benchmarks.machine import describe_machine
from models_engine.benchmarks.peak import peak_mib
from models_engine.benchmarks.sushi_data import PROTOCOLS, Split, make_split, read_sushi
from models_engine.errors import InvalidSetting, NotConverged
from models_engine.estimators.settings import build_estimator
from models_engine.estimators.table import ESTIMATORS

__all__ = ["SushiScore", "main", "mean_difference", "score_fit"]

Floats = NDArray[np.float64]
THESIS: dict[str, tuple[str, dict[str, Any]]] = {  # names of the thesis: an estimator or a baseline, and its settings
    "MF": ("MapFactorisation", {}),
    "GPfull": ("JointGP-t", {}),
    "GPitem": ("IndependentGPs", {}),
    "VU": ("CollaborativeGP", {"features": False, "covariance": "low-rank"}),
    "GPVU": ("CollaborativeGP", {}),
}
# Of crowd_gppl's Table 2: without the consensus (a prior of its size that leaves nothing), and C = 50.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "CrowdGPPL-t": ("CrowdGPPL", {"consensus_sd": 1e-3}),
    "CrowdGPPL-50": ("CrowdGPPL", {"n_components": 50}),
}
METRICS = ("accuracy", "cee", "tau", "tau_pooled", "seconds", "mib")


class PersonalPredictor(Protocol):
    """Methods of a fit that are needed for scores."""

    def pairwise_probabilities(self, left: ArrayLike, right: ArrayLike, annotator: int) -> Floats: ...


@dataclass(frozen=True)
class SushiScore:
    """One fit on one split. cee in nats; tau: mean over annotators of tau-b with the own ranking of ten; tau_pooled:
    one tau-b over all their cells; seconds of wall time of the fit; mib: peak resident memory of its process."""

    estimator: str
    repeat: int
    accuracy: float
    cee: float
    tau: float
    tau_pooled: float
    seconds: float
    mib: float
    converged: bool


def build_named_estimator(name: str, settings: dict[str, Any]) -> Any:
    """Build an estimator of ESTIMATORS with these settings, a baseline, or a model of the thesis by its name there.

    Raises InvalidSetting with all names.
    """
    if name in THESIS or name in VARIANTS:
        known, own = {**THESIS, **VARIANTS}[name]
        return build_named_estimator(known, {**own, **settings})
    if name in ESTIMATORS:
        return build_estimator(ESTIMATORS[name].estimator, settings)
    if name in BASELINES:
        return BASELINES[name]()
    raise InvalidSetting(
        f"there is no estimator {name!r}; choose from {', '.join([*ESTIMATORS, *BASELINES, *THESIS, *VARIANTS])}."
    )


def score_fit(posterior: PersonalPredictor, test: Split) -> tuple[float, float, float, float]:
    """Compute (accuracy, CEE, mean tau, pooled tau). Gold utilities are 10 for the best of an annotator's ten to 1."""
    probability = np.empty(len(test.left))
    order = np.argsort(test.annotator, kind="stable")
    bounds = np.searchsorted(test.annotator[order], np.arange(len(test.gold) + 1))
    own = np.empty(test.gold.shape)
    for j, gold in enumerate(test.gold):
        rows = order[bounds[j] : bounds[j + 1]]
        against = np.column_stack([test.left[rows], test.right[rows]])
        probability[rows] = posterior.pairwise_probabilities(against[:, 0], against[:, 1], j)
        own[j] = _utilities(posterior, j)[gold]
    ranked = np.broadcast_to(np.arange(10.0, 0.0, -1.0), own.shape)
    return (
        accuracy(probability, test.outcome),
        cross_entropy(probability, test.outcome),
        kendall_tau_mean(own, ranked),
        kendall_tau_pooled(own, ranked),
    )


def _utilities(posterior: Any, annotator: int) -> Floats:
    if hasattr(posterior, "personal_utilities"):
        return np.asarray(posterior.personal_utilities(annotator))
    return np.asarray(posterior.for_annotator(annotator).utilities())


def run_one(task: dict[str, Any]) -> SushiScore:
    """Run one fit, in its own process so that its peak memory is measured alone."""
    data = read_sushi(Path(task["data"]))
    test = make_split(data, task["protocol"], task["seed"], task["repeat"], features=task["features"])
    estimator = build_named_estimator(task["estimator"], task["settings"])
    begun = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NotConverged)
        posterior = estimator.fit(test.train)
    seconds = time.perf_counter() - begun
    converged = not any(issubclass(one.category, NotConverged) for one in caught)
    return SushiScore(task["estimator"], task["repeat"], *score_fit(posterior, test), seconds, peak_mib(), converged)


def mean_difference(scores: Sequence[SushiScore], estimator: str, baseline: str, metric: str) -> tuple[float, float]:
    """Return the mean difference of a metric over common splits, and its standard error (nan for one split)."""
    own = {one.repeat: getattr(one, metric) for one in scores if one.estimator == estimator}
    other = {one.repeat: getattr(one, metric) for one in scores if one.estimator == baseline}
    differences = np.array([own[repeat] - other[repeat] for repeat in sorted(own.keys() & other.keys())])
    error = float(differences.std(ddof=1) / np.sqrt(len(differences))) if len(differences) > 1 else float("nan")
    return float(differences.mean()), error


def format_table(scores: Sequence[SushiScore]) -> str:
    """Format means with standard deviations over splits, then differences from baselines with standard errors."""
    names = list(dict.fromkeys(one.estimator for one in scores))
    lines = [f"{'':<20}" + "".join(f"{metric:>16}" for metric in METRICS)]
    for name in names:
        values = np.array([[getattr(one, metric) for metric in METRICS] for one in scores if one.estimator == name])
        spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.full(len(METRICS), np.nan)
        cells = [f"{mean:>9.4f} ±{sd:>5.3f}" for mean, sd in zip(values.mean(axis=0)[:4], spread[:4], strict=True)]
        cells += [f"{values[:, 4].mean():>16.2f}", f"{values[:, 5].max():>16.0f}"]
        failed = sum(not one.converged for one in scores if one.estimator == name)
        lines.append(f"{name:<20}" + "".join(cells) + (f"  not converged: {failed}" if failed else ""))
    for name in (name for name in names if name in THESIS):
        bits = np.array([one.cee for one in scores if one.estimator == name]) / np.log(2)
        error = bits.std(ddof=1) / np.sqrt(len(bits)) if len(bits) > 1 else float("nan")
        lines.append(f"{name:<20}{bits.mean():>9.4f} bits (± {error:.4f} standard error)")
    for baseline in (name for name in names if name in BASELINES):
        for name in (name for name in names if name != baseline):
            found = [mean_difference(scores, name, baseline, metric) for metric in METRICS[:4]]
            cells = [f"{difference:>+9.4f} ±{error:>5.4f}" for difference, error in found]
            lines.append(f"{name} minus {baseline}: " + " ".join(cells) + "  (± standard error)")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; progress on stderr, the table on stdout."""
    options = _parser().parse_args(arguments)
    read_sushi(options.data)  # reports a missing file before any work
    names = options.estimators.split(",")
    for name in names:
        build_named_estimator(name, options.settings)
    shared = {"data": str(options.data), "protocol": options.protocol, "seed": options.seed}
    shared |= {"features": options.features, "settings": options.settings}
    tasks = [shared | {"estimator": name, "repeat": repeat} for repeat in range(options.repeats) for name in names]
    scores = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context, max_tasks_per_child=1) as pool:
        for done, one in enumerate(pool.map(run_one, tasks), 1):
            scores.append(one)
            print(f"{done}/{len(tasks)} {one}", file=sys.stderr, flush=True)
    known = {
        "protocol": options.protocol,
        "repeats": options.repeats,
        "seed": options.seed,
        "features": options.features,
        "settings": options.settings,
        "measured": describe_machine(),
    }
    print(", ".join(f"{key} {value}" for key, value in known.items()))
    print(format_table(scores))
    if options.json:
        options.json.write_text(json.dumps({"facts": known, "scores": [asdict(one) for one in scores]}, indent=1))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks sushi", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the original files")
    parser.add_argument("--protocol", choices=list(PROTOCOLS), default="A-small")
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--estimators", default="CollaborativeGP,IndependentGPs,MapFactorisation", help="names, separated by commas"
    )
    parser.add_argument("--settings", type=json.loads, default={}, help='of estimators, as JSON: {"n_components": 5}')
    parser.add_argument("--features", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--jobs", type=int, default=1, help="number of parallel fits, each in its own process")
    parser.add_argument("--json", type=Path, help="also write every score to this file")
    return parser
