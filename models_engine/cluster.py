"""The executor on a Dask cluster. Needs the extra crowdrank[cluster]; `executor.connect` imports it by name.

Parts are sent once, each to two workers, and stay; what is computed of a part stays on its worker. Everything that a
worker held is computed again by others when it dies: from the second copy of the part, and what was shared with all.
The cluster should be the engine's own: second copies are kept on it, whoever's they are.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import scipy
from distributed import Client, Future, wait
from distributed.client import FutureCancelledError, FuturesCancelledError
from distributed.scheduler import KilledWorker
from distributed.security import Security
from distributed.sizeof import sizeof

from models_engine import __version__
from models_engine.executor import ClusterLost, ClusterUnreachable, Executor, Kept, sum_in_pairs
from models_engine.messages import Message, gettext_noop

__all__ = ["Cluster"]

LOOK_SECONDS = 2.0  # between two looks at whether the cluster is still there
ATTEMPTS = 3  # to send something while workers come and go
MAX_INLINE = 2**16  # bytes
NO_SCHEDULER = gettext_noop("the cluster's scheduler does not answer")
NO_CERTIFICATE = gettext_noop("the cluster wants TLS, and Dask's settings name no certificate for this process")
NO_WORKERS = gettext_noop("the cluster has no workers")
OTHER_VERSIONS = gettext_noop("a worker of the cluster has %(there)s, and here it is %(here)s")
NONE_LEFT = gettext_noop("the cluster has no worker left")
LOST = gettext_noop("the cluster was lost in the middle")
COPIES = 2  # of what could not be computed again


@dataclass(frozen=True, eq=False)
class OnWorkers(Sequence[Any]):
    """One future for each part.

    homes: the workers they belong to.   held: what there are two copies of and from which they are computed again; the
    scheduler forgets what nobody holds.
    """

    futures: list[Future]
    homes: list[str]
    held: tuple[Future, ...]

    @classmethod
    def rooted(cls, futures: list[Future], homes: list[str]) -> "OnWorkers":
        return cls(futures, homes, tuple(futures))

    def __len__(self) -> int:
        return len(self.futures)

    def __getitem__(self, place: Any) -> Any:
        return self.futures[place]


class Cluster:
    """An Executor on the workers of one Dask scheduler.

    The parts are divided among the workers as neighbours, so that most sums of two are of one worker.
    """

    def __init__(self, address: str, *, seconds: float) -> None:
        """Connect. seconds: how long to wait for an answer, and for workers to come back. Raises ClusterUnreachable."""
        self.address, self.seconds = address, seconds
        self._number = count()
        if address.startswith("tls://") and Security().get_connection_args("client")["ssl_context"] is None:
            raise ClusterUnreachable(Message.of(NO_CERTIFICATE))
        try:
            # Data goes to workers straight from here, not through the scheduler.
            self.client = Client(address, timeout=seconds, set_as_default=False, direct_to_workers=True)
        except (OSError, TimeoutError, ValueError) as error:  # the last: of an address
            raise ClusterUnreachable(Message.of(NO_SCHEDULER)) from error
        try:
            self._check_workers()
            self.client.amm.stop()  # Dask's memory manager removes second copies, of all clients
        except BaseException:
            self.close()
            raise

    def _check_workers(self) -> None:
        """Raise ClusterUnreachable where there are no workers, or some that would compute otherwise."""
        if not self.workers():
            raise ClusterUnreachable(Message.of(NO_WORKERS))
        here = describe_versions()
        for there in self.client.run(describe_versions, on_error="return").values():
            if there != here:
                raise ClusterUnreachable(Message.of(OTHER_VERSIONS, there=str(there), here=here))

    def workers(self) -> list[str]:
        """Return the addresses of all workers, in order."""
        return sorted(self.client.scheduler_info(n_workers=-1)["workers"])

    def suited(self, cost: float) -> Executor:
        return self

    def close(self) -> None:
        self.client.close()

    def keep(self, parts: Sequence[Any]) -> Kept:
        def send() -> OnWorkers:
            workers, sent, homes = self.workers(), list[Future](), list[str]()
            for place, own in enumerate(np.array_split(np.arange(len(parts)), len(workers))):
                two = sorted({workers[place], workers[(place + 1) % len(workers)]})
                some = [parts[number] for number in own]
                sent += self.client.scatter(some, workers=two, broadcast=True, hash=False) if some else []
                homes += [workers[place]] * len(some)
            return OnWorkers.rooted(sent, homes)

        return self._attempt(send)

    def share(self, value: Any) -> Any:
        if sizeof(value) <= MAX_INLINE:
            return value  # it goes with each task
        return self._attempt(lambda: self.client.scatter([value], broadcast=True, hash=False))[0]

    def map(self, function: Callable[..., Any], *kept: Kept, shared: Sequence[Any] = ()) -> Kept:
        name, first = self._name(function), as_on_workers(kept[0])
        futures = [
            self.client.submit(
                function, *parts, *shared, key=(name, place), workers=[home], allow_other_workers=True, pure=False
            )
            for place, (home, *parts) in enumerate(zip(first.homes, *kept, strict=True))
        ]
        held = [*(one for values in kept for one in as_on_workers(values).held), *shared]
        needed = {id(one): one for one in held if isinstance(one, Future)}
        return OnWorkers(futures, first.homes, tuple(needed.values()))

    def map_reduce(
        self, function: Callable[..., Any], add: Callable[[Any, Any], Any], *kept: Kept, shared: Sequence[Any] = ()
    ) -> Any:
        several, name, number = self.map(function, *kept, shared=shared), self._name(add), count()

        def plus(one: Future, other: Future) -> Future:
            return self.client.submit(add, one, other, key=(name, next(number)), pure=False)

        return self._results([sum_in_pairs(iter(several), plus)])[0]

    def secure(self, kept: Kept) -> Kept:
        self._wait(list(kept))
        self._attempt(lambda: self.client.replicate(list(kept), n=min(COPIES, len(self.workers()))))
        return OnWorkers.rooted(list(kept), as_on_workers(kept).homes)

    def gather(self, kept: Kept) -> list[Any]:
        return self._results(list(kept))

    def _name(self, function: Callable[..., Any]) -> str:
        return f"{function.__name__}-{self.client.id}-{next(self._number)}"

    def _attempt(self, send: Callable[[], Any]) -> Any:
        """Return what `send` does, once more where a worker was lost while it did. Raises ClusterLost."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return send()
            except (OSError, TimeoutError, KeyError, ValueError) as error:  # the last: there are no workers
                if attempt == ATTEMPTS:
                    raise ClusterLost(Message.of(LOST)) from error
                time.sleep(self.seconds / ATTEMPTS)

    def _results(self, futures: list[Future]) -> list[Any]:
        """Return the results, or raise what a task raised. Raises ClusterLost."""
        self._wait(futures)
        try:
            return list(self.client.gather(futures))
        except (FutureCancelledError, FuturesCancelledError, KilledWorker, OSError, TimeoutError) as error:
            raise ClusterLost(Message.of(LOST)) from error

    def _wait(self, futures: list[Future]) -> None:
        """Wait for the futures as long as there are workers. Raises ClusterLost."""
        seen = time.monotonic()
        while True:
            try:
                with self.client.as_current():
                    wait(futures, timeout=LOOK_SECONDS)
                return
            except TimeoutError:
                if self._is_there():
                    seen = time.monotonic()
                elif time.monotonic() - seen > self.seconds:
                    raise ClusterLost(Message.of(NONE_LEFT)) from None
            except (FutureCancelledError, FuturesCancelledError) as error:
                raise ClusterLost(Message.of(LOST)) from error

    def _is_there(self) -> bool:
        try:
            return self.client.status == "running" and bool(self.workers())
        except OSError:
            return False


def as_on_workers(kept: Kept) -> OnWorkers:
    if not isinstance(kept, OnWorkers):
        raise TypeError("these values are kept elsewhere; bring them to this cluster with `keep` first.")
    return kept


def describe_versions() -> str:
    """Return what results depend on, of this process or of a worker."""
    return f"crowdrank {__version__}, numpy {np.__version__}, scipy {scipy.__version__}"
