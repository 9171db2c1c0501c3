"""Where work on parts of the data is done: in this process, or on the machines of a cluster.

A sum over people is written once, as a function of a part and as an addition. Parts and the order of addition depend on
the data alone, so that results are the same to the last bit wherever they are computed.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Protocol, TypeVar

from models_engine.errors import Cancelled, EngineError
from models_engine.messages import Message, gettext_noop

__all__ = [
    "ClusterLost",
    "ClusterOrHere",
    "ClusterUnreachable",
    "Executor",
    "InProcess",
    "Kept",
    "active_executor",
    "connect",
    "map_in_threads",
    "map_tasks",
    "run_on",
    "sum_in_pairs",
    "use_executor",
]

Result = TypeVar("Result")
Kept = Sequence[Any]
"""One value for each part, where the executor keeps it: in process the value itself, on a cluster a handle."""
MAX_THREADS = 4
MIN_THREADED = 3  # parts; with fewer, threads gain nothing
CONNECT_SECONDS = 5.0  # to wait for a cluster's answer
MIN_CLUSTER_COST = 3e8  # operations of one pass; less is done here before it is sent


class ClusterUnreachable(EngineError):
    """The cluster can't be used from here: nobody answers, the extra is missing, or versions differ."""


class ClusterLost(EngineError):
    """The cluster was lost in the middle, and with it what it kept; the same work can be done in process."""


class Executor(Protocol):
    """Runs functions over parts. They must be importable by name, and neither change their arguments nor draw numbers.

    All raise ClusterLost.
    """

    def suited(self, cost: float) -> "Executor":
        """Return who should do work of so many operations: this one, or this process where that is quicker."""

    def keep(self, parts: Sequence[Any]) -> Kept:
        """Bring each part to where it is worked on, where it stays as long as the result is held."""

    def share(self, value: Any) -> Any:
        """Bring a value to all places; the result is given as one of `shared`."""

    def map(self, function: Callable[..., Any], *kept: Kept, shared: Sequence[Any] = ()) -> Kept:
        """Keep `function(part, ..., *shared)` of the parts that stand at the same place of each of `kept`."""

    def map_reduce(
        self, function: Callable[..., Any], add: Callable[[Any, Any], Any], *kept: Kept, shared: Sequence[Any] = ()
    ) -> Any:
        """Return the sum of `function(part, ..., *shared)`, in the order of `sum_in_pairs`. There must be parts."""

    def secure(self, kept: Kept) -> Kept:
        """Return the same, safe: where a place is lost, what follows from it is computed again from here."""

    def gather(self, kept: Kept) -> list[Any]:
        """Return the values kept, in the order of their parts."""


class InProcess:
    """Does everything here, several parts in threads; numpy releases the interpreter lock while it computes."""

    def suited(self, cost: float) -> Executor:
        return self

    def keep(self, parts: Sequence[Any]) -> Kept:
        return list(parts)

    def share(self, value: Any) -> Any:
        return value

    def map(self, function: Callable[..., Any], *kept: Kept, shared: Sequence[Any] = ()) -> Kept:
        return list(map_in_threads(lambda *parts: function(*parts, *shared), *kept))

    def map_reduce(
        self, function: Callable[..., Any], add: Callable[[Any, Any], Any], *kept: Kept, shared: Sequence[Any] = ()
    ) -> Any:
        return sum_in_pairs(map_in_threads(lambda *parts: function(*parts, *shared), *kept), add)

    def secure(self, kept: Kept) -> Kept:
        return kept

    def gather(self, kept: Kept) -> list[Any]:
        return list(kept)


def map_in_threads(function: Callable[..., Result], *parts: Sequence[Any]) -> Iterator[Result]:
    """Yield `function` of the parts at each place, in order, computed in threads.

    Only from the main thread: where others compute, as on a worker of a cluster, the processors are in use already.
    """
    if len(parts[0]) < MIN_THREADED or threading.current_thread() is not threading.main_thread():
        yield from map(function, *parts)
        return
    with ThreadPoolExecutor(min(MAX_THREADS, os.cpu_count() or 1)) as pool:
        yield from pool.map(function, *parts)


def map_tasks(
    function: Callable[..., Result],
    tasks: Sequence[Any],
    *,
    shared: Sequence[Any] = (),
    progress: Callable[[int, int, float], bool | None] | None = None,
) -> Iterator[Result]:
    """Yield `function(task, *shared, progress)` of tasks that take long and need nothing of each other, in order.

    On the cluster where there is one, whose tasks get None in place of progress, which is then called as each is done;
    here one after another otherwise. Raises Cancelled, ClusterLost.
    """
    executor = active_executor().suited(float("inf"))
    if executor is IN_PROCESS:
        yield from (function(task, *shared, progress) for task in tasks)
        return
    kept, sent = executor.keep(tasks), [executor.share(value) for value in shared]
    for place, one in enumerate(executor.map(function, kept, shared=[*sent, None]), start=1):
        yield executor.gather([one])[0]
        if progress is not None and progress(place, len(tasks), float("nan")) is False:
            raise Cancelled(f"cancelled after {place} of {len(tasks)} tasks.")


def sum_in_pairs(values: Iterator[Result], add: Callable[[Result, Result], Result]) -> Result:
    """Sum by twos, fours and so on: ((a + b) + (c + d)) + e. At most log2(n) + 1 sums are held at a time.

    Raises ValueError where there is nothing.
    """
    held: list[tuple[int, Result]] = []  # (how many it is the sum of, sum)
    for value in values:
        count = 1
        while held and held[-1][0] == count:
            value, count = add(held.pop()[1], value), 2 * count
        held.append((count, value))
    if not held:
        raise ValueError("there is nothing to sum; give at least one part.")
    total = held.pop()[1]
    while held:
        total = add(held.pop()[1], total)
    return total


ACTIVE: ContextVar[Executor] = ContextVar("executor")
IN_PROCESS = InProcess()


def active_executor() -> Executor:
    """Return the executor of the innermost `use_executor`; by default this process."""
    return ACTIVE.get(IN_PROCESS)


@contextmanager
def use_executor(executor: Executor) -> Iterator[Executor]:
    """Run the fits in the block on this executor."""
    token = ACTIVE.set(executor)
    try:
        yield executor
    finally:
        ACTIVE.reset(token)


class ClusterOrHere(InProcess):
    """The cluster at an address for large work; this process for the rest, and where the cluster can't be reached.

    It is connected to once large work comes.   failure: why it can't be used; None as long as it can.   n_workers: how
    many it had, 0 before.
    """

    def __init__(self, address: str, *, seconds: float | None = None) -> None:
        self.address, self._seconds = address, CONNECT_SECONDS if seconds is None else seconds
        self.failure: ClusterUnreachable | ClusterLost | None = None
        self.n_workers = 0
        self._cluster: Any = None

    def suited(self, cost: float) -> Executor:
        if cost < MIN_CLUSTER_COST or self.failure is not None:
            return IN_PROCESS
        if self._cluster is None:
            try:
                self._cluster = connect(self.address, seconds=self._seconds)
            except ClusterUnreachable as error:
                self.failure = error
                return IN_PROCESS
            self.n_workers = len(self._cluster.workers())
        return self._cluster

    def close(self, failure: ClusterLost | None = None) -> None:
        """Leave the cluster; because of a failure, for good."""
        cluster, self._cluster = self._cluster, None
        self.failure = failure or self.failure
        if cluster is not None:
            cluster.close()


def run_on(executor: ClusterOrHere, work: Callable[[], Result]) -> Result:
    """Return what `work` returns with large sums on the cluster; once more in this process where that was lost in the
    middle, so that `work` begins anew with the same random numbers each time it is called.
    """
    with use_executor(executor):
        try:
            return work()
        except ClusterLost as error:
            executor.close(error)
            return work()
        finally:
            executor.close()


def connect(address: str, *, seconds: float) -> Any:
    """Return the executor of the cluster whose scheduler is at `address` (tcp://host:port or tls://host:port), to be
    closed after use. seconds: how long to wait for an answer. Raises ClusterUnreachable.

    It is imported by name here and nowhere else, so that the engine doesn't need Dask.
    """
    try:
        module = import_module("models_engine.cluster")
    except ModuleNotFoundError as error:
        text = gettext_noop("a cluster needs the extra crowdrank[cluster], and %(name)s is not installed")
        raise ClusterUnreachable(Message.of(text, name=str(error.name))) from error
    return module.Cluster(address, seconds=seconds)
