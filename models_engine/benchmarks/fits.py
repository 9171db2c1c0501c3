"""Fits for tables: estimators by name, each fit in its own process so that its peak memory is measured alone."""

import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from models_engine.benchmarks.peak import peak_mib
from models_engine.data import Comparisons
from models_engine.errors import InvalidSetting, NotConverged
from models_engine.estimators.base import Estimator
from models_engine.estimators.table import ESTIMATORS
from models_engine.posterior import BasePosterior

__all__ = ["Cost", "format_differences", "map_in_processes", "measure_fit", "parse_estimator_names"]

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Cost:
    """Cost of one fit: wall and processor seconds, and the peak resident memory of the whole process in MiB."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    converged: bool

    def columns(self) -> str:
        """Format wall s, CPU s and peak MiB for a table row, 9, 8 and 10 wide, and whether the fit did not converge."""
        figures = f"{self.wall_s:>9.2f}{self.cpu_s:>8.2f}{self.peak_mib:>10.0f}"
        return figures if self.converged else f"{figures}  not converged"


def format_differences(found: Mapping[str, tuple[float, float]], others: Sequence[str]) -> str:
    """Format a column of 20 for each of the others: the difference ± its standard error, blank if there is none."""
    cells = (f"{found[other][0]:>+11.4f} ± {found[other][1]:.4f}" if other in found else "" for other in others)
    return "".join(f"{cell:<20}" for cell in cells)


def parse_estimator_names(text: str) -> list[str]:
    """Parse names of estimators, separated by commas. Raises InvalidSetting with all names."""
    names = text.split(",")
    for name in names:
        if name not in ESTIMATORS:
            raise InvalidSetting(f"there is no estimator {name!r}; choose from {', '.join(ESTIMATORS)}.")
    return names


def measure_fit(estimator: Estimator, data: Comparisons) -> tuple[BasePosterior, Cost]:
    """Fit, compute standard deviations as a ranking needs them, and return the posterior and the cost."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverged)  # reported in the table
        wall, cpu = time.perf_counter(), time.process_time()
        posterior = estimator.fit(data)
        posterior.standard_deviations()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return posterior, Cost(wall, cpu, peak_mib(), posterior.diagnostics.converged)


def map_in_processes(work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
    """Yield work(task) for each task in turn, each in a new process; progress on stderr."""
    context: Any = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as pool:
        for done, result in enumerate(pool.map(work, tasks), 1):
            print(f"fit {done} of {len(tasks)}", file=sys.stderr, flush=True)
            yield result
