"""A process of a fork server that sums on a cluster, as a job of the worker does (ADR 0018).

`python -m tests.site.cluster_process tcp://host:port` prints the sum and the number of workers.
"""

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import django
import numpy as np

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotate.settings")
django.setup()

from annotate.jobs.limits import BASE_MB, CLUSTER_MB, JobLimits, limited  # noqa: E402
from models_engine.executor import ClusterOrHere, active_executor, run_on  # noqa: E402


def sum_on(address: str) -> tuple[float, int]:
    """Sum under the limits of a job; returns the sum and how many workers there were."""
    executor = ClusterOrHere(address, seconds=60)

    def work() -> float:
        found = active_executor().suited(np.inf)
        kept = found.keep([np.full((300, 300), float(part)) for part in range(5)])
        return float(found.map_reduce(np.sum, np.add, kept))

    with limited(JobLimits(memory_mb=BASE_MB + CLUSTER_MB, cpu_seconds=60, seconds=60)):
        total = run_on(executor, work)
    return total, executor.n_workers


if __name__ == "__main__":
    with ProcessPoolExecutor(1, get_context("forkserver")) as pool:
        print(*pool.submit(sum_on, sys.argv[1]).result())
