"""CollaborativeGP and CrowdGPPL past the size of a matrix over items: time, memory, coverage, held-out log loss."""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from models_engine.benchmarks.machine import describe_machine
from models_engine.benchmarks.peak import peak_mib
from models_engine.data import Comparisons
from models_engine.errors import NotConverged
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.estimators.collaborative.large_fit import LargeFit
from models_engine.estimators.collaborative.steps import Steps
from models_engine.estimators.table import ESTIMATORS
from models_engine.inference.probit_ep.pair_sites import build_sites_with_rankings, cap_sites, sided_labels
from models_engine.kernels import ItemKernel
from models_engine.linalg import MAX_MATRIX_ITEMS, centre
from models_engine.posterior import BasePosterior
from models_engine.progress import Progress

__all__ = [
    "LargeCrowd",
    "LargeResult",
    "LargeTask",
    "fit_without_matrix",
    "judge",
    "main",
    "measure",
    "print_both",
    "simulate",
]

Floats = NDArray[np.float64]
Z = 1.6448536
N_PEOPLE = 200  # whose own utilities are looked at, and answers held out


@dataclass(frozen=True, eq=False)
class LargeCrowd:
    """Utilities (n_items,) ~ N(0, 1), tastes of standard deviation .7 along directions (n_items, k), scores
    (n_annotators, k); P(first preferred) = Phi(margin), but of the careless (n_annotators,) a half. No matrix of
    annotators by items.   features (n_items, d): of the items, None for none."""

    utilities: Floats
    directions: Floats
    scores: Floats
    careless: NDArray[np.bool_]
    features: Floats | None = None

    def own(self, annotator: int) -> Floats:
        return centre(self.utilities + self.directions @ self.scores[annotator])

    def pairs(self, annotators: NDArray[np.int64], rng: np.random.Generator) -> Comparisons:
        """Draw one pair of random items for each of these annotators."""
        n, m = len(self.utilities), len(annotators)
        left = rng.integers(n, size=m)
        right = (left + rng.integers(1, n, size=m)) % n
        outcome = (self.margins(left, right, annotators) + rng.standard_normal(m) > 0).astype(np.float64)
        return Comparisons.from_pairs(
            left, right, outcome, annotators, n_items=n, n_annotators=len(self.scores), item_features=self.features
        )

    def margins(self, left: NDArray[np.int64], right: NDArray[np.int64], annotators: NDArray[np.int64]) -> Floats:
        """Return the margins (m,) of these pairs: 0 of the careless."""
        margin = self.utilities[left] - self.utilities[right]
        for k in range(self.directions.shape[1]):
            margin += (self.directions[left, k] - self.directions[right, k]) * self.scores[annotators, k]
        return np.where(self.careless[annotators], 0.0, margin)


def simulate(
    n_items: int, n_annotators: int, rng: np.random.Generator, tastes: str = "2", *, careless: float = 0.0
) -> LargeCrowd:
    """Draw a crowd, of which this share is careless.

    tastes: along how many directions of equal size; "decaying": along all, the c-th of variance 1/c in proportion;
    "own": of each item by itself; "features": along two smooth functions of three features, as the utilities are.
    """
    features, utilities = None, rng.standard_normal(n_items)
    if tastes == "own":
        directions, k = 0.7 * np.eye(n_items), n_items
    elif tastes == "features":
        features, k = rng.uniform(size=(n_items, 3)), 2
        root = np.linalg.cholesky(ItemKernel(features, n_items, 0.8, 1.0).matrix())
        utilities = root @ utilities
        directions = 0.7 / np.sqrt(k) * root @ rng.standard_normal((n_items, k))
    else:
        k = n_items if tastes == "decaying" else int(tastes)
        shares = 1.0 / np.arange(1, k + 1) if tastes == "decaying" else np.ones(k)
        directions = 0.7 * np.sqrt(shares / max(shares.sum(), 1.0)) * rng.standard_normal((n_items, k))
    scores = rng.standard_normal((n_annotators, k))
    return LargeCrowd(centre(utilities), directions, scores, rng.random(n_annotators) < careless, features)


@dataclass(frozen=True)
class LargeResult:
    """Coverage of 90% intervals of the consensus and of own utilities (of 200 people), held-out log loss (of these) and
    that of the truth; CPU seconds, peak MiB of the process; whether it converged, and the last change."""

    coverage: float
    own_coverage: float
    log_loss: float
    true_log_loss: float
    cpu_s: float
    peak_mib: float
    converged: bool
    message: str


@dataclass(frozen=True, eq=False)
class LargeTask:
    """One crowd's labels, and what is looked at: people, and their answers held out."""

    crowd: LargeCrowd
    data: Comparisons
    people: NDArray[np.int64]
    held_out: Comparisons

    @classmethod
    def of(
        cls,
        n_items: int,
        n_annotators: int,
        n_labels: int,
        seed: int,
        tastes: str = "2",
        *,
        careless: float = 0.0,
    ) -> "LargeTask":
        """Draw a crowd and its labels, see simulate."""
        rng = np.random.default_rng(seed)
        crowd = simulate(n_items, n_annotators, rng, tastes, careless=careless)
        data = crowd.pairs(rng.integers(n_annotators, size=n_labels), rng)
        people = rng.choice(n_annotators, min(N_PEOPLE, n_annotators), replace=False)
        return cls(crowd, data, people, crowd.pairs(np.repeat(np.sort(people), 50), rng))

    def true_log_loss(self) -> float:
        pairs = self.held_out.pairs()
        margin = self.crowd.margins(pairs.left, pairs.right, self.held_out.annotators)
        return -float(log_ndtr(np.where(pairs.outcome > 0.5, margin, -margin)).mean())


Fit = Callable[[Comparisons, Progress], BasePosterior]


def measure(estimator: str, task: LargeTask) -> LargeResult:
    """Fit one crowd by this estimator; each step is told on stderr."""
    return judge(task, lambda data, report: ESTIMATORS[estimator].estimator().fit(data, progress=report))


def fit_without_matrix(data: Comparisons, report: Progress) -> BasePosterior:
    """Fit CollaborativeGP to any number of items as it is past its limit, see LargeFit."""
    settings, rng = CollaborativeGP(), np.random.default_rng(0)
    named = build_sites_with_rankings(data, graded=False, sided=sided_labels(data, side=False))
    sites = cap_sites(named, settings.max_pairs, rng)
    return LargeFit(settings, data, sites, rng, Steps(settings.max_iterations, report)).run(None)


def judge(task: LargeTask, fit: Fit) -> LargeResult:
    """Fit one crowd and compare with the truth; each step is told on stderr."""
    began = time.process_time()

    def report(step: int, total: int, objective: float) -> None:
        seconds = time.process_time() - began
        print(f"{seconds:8.0f} s {peak_mib():6.0f} MiB step {step}: {objective:.4g}", file=sys.stderr, flush=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)
        posterior = fit(task.data, report)
    seconds, peak = time.process_time() - began, peak_mib()
    error = np.abs(posterior.utilities() - task.crowd.utilities)
    return LargeResult(
        float((error < Z * posterior.standard_deviations()).mean()),
        float(np.mean([_own_coverage(posterior, task.crowd, int(annotator)) for annotator in task.people])),
        -float(posterior.log_predictive(task.held_out).mean()),
        task.true_log_loss(),
        seconds,
        peak,
        posterior.diagnostics.converged,
        str(posterior.diagnostics.message),
    )


def _own_coverage(posterior: BasePosterior, crowd: LargeCrowd, annotator: int) -> float:
    own = posterior.for_annotator(annotator)
    return float((np.abs(own.utilities() - crowd.own(annotator)) < Z * own.standard_deviations()).mean())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run python -m models_engine.benchmarks large [--items N --annotators U --labels M --estimators a,b --seed S]

    --tastes, --careless: other crowds, see simulate.
    --beside-dense: the same crowd by CollaborativeGP with a matrix over items and without, and their differences.
    """
    parser = argparse.ArgumentParser(prog="python -m models_engine.benchmarks large", description=__doc__)
    parser.add_argument("--estimators", default="CollaborativeGP", help="CollaborativeGP, CrowdGPPL, or both")
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--annotators", type=int, default=2_000)
    parser.add_argument("--labels", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tastes", default="2", help="number of directions, decaying, own, or features")
    parser.add_argument("--careless", type=float, default=0.0, help="share of annotators who answer at random")
    parser.add_argument("--beside-dense", action="store_true", help="both ways, for at most 5,000 items")
    options = parser.parse_args(arguments)
    if options.beside_dense and options.items > MAX_MATRIX_ITEMS:
        parser.error(f"--beside-dense takes at most {MAX_MATRIX_ITEMS:,} items")
    print(describe_machine())
    print(
        f"{options.items:,} items, {options.annotators:,} annotators, {options.labels:,} labels, seed {options.seed}, "
        f"tastes {options.tastes}, careless {options.careless:g}"
    )
    size = options.items, options.annotators, options.labels, options.seed, options.tastes
    task = LargeTask.of(*size, careless=options.careless)
    if options.beside_dense:
        print_both(task)
        return 0
    for name in options.estimators.split(","):
        print_result(name, measure(name, task))
    return 0


def print_both(task: LargeTask) -> None:
    dense = judge(task, lambda data, report: CollaborativeGP(covariance="low-rank").fit(data, progress=report))
    print_result("with a matrix", dense)
    sparse = judge(task, fit_without_matrix)
    print_result("without", sparse)
    print(
        f"without less with: consensus {sparse.coverage - dense.coverage:+.3f}, "
        f"own {sparse.own_coverage - dense.own_coverage:+.3f}, log loss {sparse.log_loss - dense.log_loss:+.4f}"
    )


def print_result(name: str, found: LargeResult) -> None:
    print(
        f"{name:<16} 90% intervals: consensus {found.coverage:.3f}, own {found.own_coverage:.3f}; "
        f"held-out log loss {found.log_loss:.4f} (truth {found.true_log_loss:.4f}); "
        f"{found.cpu_s:.0f} CPU s, peak {found.peak_mib:.0f} MiB; "
        f"{'converged' if found.converged else 'NOT converged'}: {found.message}",
        flush=True,
    )
