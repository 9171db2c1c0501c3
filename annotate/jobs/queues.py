"""What a worker asks of every queue of leased jobs.

A queue names the function that does its work and does not import it: the worker's main process, which claims, renews
and settles rows, so holds no numpy, no scipy and no estimator. The processes that work on rows import them.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from django.utils.module_loading import import_string

Progress = Callable[[int, int, float], bool]


def load_work(name: str) -> Callable[..., Any]:
    """Return the function of this dotted name. Only a process that does the work calls this."""
    work: Callable[..., Any] = import_string(name)
    return work


class JobQueue(Protocol):
    """Rows of one table that workers claim, work on, and complete, release or fail."""

    @property
    def run(self) -> str:
        """The dotted name of the function that does a row's work, given the row and `progress`."""
        ...

    def claim_next(self, *, owner: str, now: datetime) -> Any: ...
    def work(self, row: Any, *, progress: Progress) -> None: ...
    def release(self, row: Any) -> None: ...
    def record_failure(self, row: Any, *, message: str, now: datetime) -> None: ...

    def record_crossing(self, row: Any, *, message: str, now: datetime, killed: bool) -> bool:
        """End a job that crossed a limit, or whose process was killed; tell whether that belongs in the log."""
        ...

    def n_rows(self, row: Any) -> int:
        """Return how many rows of a file the work reads, besides what the project holds already."""
        ...

    def may_yield(self, row: Any) -> bool:
        """Tells whether the row's work is given up while a fit is pending."""
        ...


class IdleQueue(JobQueue, Protocol):
    """A queue that workers look at when no fit is pending, and now and then for what has waited too long."""

    def claim_overdue(self, *, owner: str, now: datetime) -> Any: ...
