"""Limits of one job's memory, processor time and wall time: from the settings, else from the project's size."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext_noop

from annotate.core.stored_messages import store_message
from annotate.models import Count, Item, Label
from models_engine.errors import EngineError

try:
    import resource
except ImportError:  # Windows has none: there wall time alone is limited
    resource = None  # type: ignore[assignment]

# CollaborativeGP with 200,000 labels of 2,000 items takes 90 s and 2 GB, and an evaluation fits five times.
BASE_MB, MB_PER_LABEL, MB_PER_ITEM = 1024, 0.012, 0.3
# What Dask's client maps: its code and threads.
CLUSTER_MB = 1024
BASE_SECONDS, SECONDS_PER_LABEL, SECONDS_PER_ITEM = 120, 0.004, 0.05
# A job shares the processor with others, and waits for the database.
WALL_FACTOR = 3
# Of the machine's memory, unless the operator says otherwise.
MAX_SHARE = 0.75

MEMORY = gettext_noop(
    "It was stopped because it needed more than %(limit)d MB of memory, the limit for one job of this project. "
    "What helps: fewer items, or another estimator. Whoever runs this site can allow more (WORKER_JOB_MEMORY_MB)."
)
CPU = gettext_noop(
    "It was stopped after %(limit)d seconds of computing, the limit for one job of this project. "
    "What helps: fewer items, or another estimator. Whoever runs this site can allow more (WORKER_JOB_CPU_SECONDS)."
)
SECONDS = gettext_noop(
    "It was stopped after %(limit)d seconds, the limit for one job of this project. "
    "What helps: fewer items, or another estimator. Whoever runs this site can allow more (WORKER_JOB_SECONDS)."
)
KILLED = gettext_noop(
    "The process that worked on this was killed (signal %(number)d). Often the machine has run out of memory then. "
    "What helps: fewer items, or another estimator. If it happens again, ask whoever runs this site."
)


class LimitCrossed(EngineError):
    """A job needed more than it may have; its text is a stored message."""


@dataclass(frozen=True)
class JobLimits:
    """What one job may use: megabytes of memory, seconds of processor time, seconds by the clock."""

    memory_mb: int
    cpu_seconds: int
    seconds: int

    # The limits that hold in this process while it works on a job.
    active: ClassVar["JobLimits | None"] = None

    def memory_message(self) -> str:
        return store_message(MEMORY, limit=self.memory_mb)

    def cpu_message(self) -> str:
        return store_message(CPU, limit=self.cpu_seconds)

    def seconds_message(self) -> str:
        return store_message(SECONDS, limit=self.seconds)


def job_limits(project_id: UUID, n_rows: int = 0) -> JobLimits:
    """Return the limits of a job of this project that also reads `n_rows` rows of a file."""
    n_items = Item.objects.filter(project=project_id).count() + n_rows
    n_counts = Count.objects.filter(project=project_id).count()  # a project has either labels or counts
    n_labels = Label.objects.filter(project=project_id).count() + n_counts + n_rows
    cpu_seconds = round(BASE_SECONDS + SECONDS_PER_LABEL * n_labels + SECONDS_PER_ITEM * n_items)
    base_mb = BASE_MB + (CLUSTER_MB if settings.ENGINE_CLUSTER else 0)
    memory_mb = round(min(base_mb + MB_PER_LABEL * n_labels + MB_PER_ITEM * n_items, MAX_SHARE * machine_mb()))
    cpu_seconds = settings.WORKER_JOB_CPU_SECONDS or cpu_seconds
    return JobLimits(
        settings.WORKER_JOB_MEMORY_MB or memory_mb,
        cpu_seconds,
        settings.WORKER_JOB_SECONDS or WALL_FACTOR * cpu_seconds,
    )


def machine_mb() -> float:
    """Return the memory of the machine, or of the container, in megabytes; infinity where it is not known."""
    try:
        found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20]
    except (AttributeError, OSError, ValueError):
        found = []
    group = Path("/sys/fs/cgroup/memory.max")
    if group.exists() and (text := group.read_text().strip()).isdecimal():
        found.append(int(text) / 2**20)
    return min(found, default=float("inf"))


@contextmanager
def limited(limits: JobLimits) -> Iterator[None]:
    """Hold this process to the limits of memory and processor time, counted from now on.

    Too large an allocation raises MemoryError; when the processor time is used up, the kernel kills the process.
    """
    JobLimits.active = limits
    set_limits(limits)
    try:
        yield
    finally:
        JobLimits.active = None
        lift_limits()


def set_limits(limits: JobLimits) -> None:
    if resource is not None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        set_soft_limit(resource.RLIMIT_CPU, int(usage.ru_utime + usage.ru_stime) + limits.cpu_seconds + 1)
        if mapped := mapped_bytes():
            set_soft_limit(resource.RLIMIT_AS, mapped + limits.memory_mb * 2**20)


def lift_limits() -> None:
    if resource is not None:
        for kind in (resource.RLIMIT_CPU, resource.RLIMIT_AS):
            set_soft_limit(kind, resource.RLIM_INFINITY)


def set_soft_limit(kind: int, value: int) -> None:
    """Set the soft limit, up to the hard one that the operator has set for the process."""
    hard = resource.getrlimit(kind)[1]
    unlimited = resource.RLIM_INFINITY
    allowed = hard if value == unlimited else value if hard == unlimited else min(value, hard)
    resource.setrlimit(kind, (allowed, hard))


def mapped_bytes() -> int:
    """Return how much address space this process has mapped; 0 where /proc does not say."""
    return _pages(0)


def resident_bytes() -> int:
    """Return how much memory this process holds; 0 where /proc does not say."""
    return _pages(1)


def _pages(column: int) -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[column]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def named_error(error: Exception) -> Exception:
    """Return the crossed limit of memory in words in place of a MemoryError; any other error as it is."""
    limits = JobLimits.active
    out_of_memory = isinstance(error, MemoryError) and not isinstance(error, EngineError)
    return LimitCrossed(limits.memory_message()) if out_of_memory and limits else error
