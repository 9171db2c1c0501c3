"""Opens transactions that write: on SQLite, threads and processes take turns."""

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from annotate.core.clocks import pause

MAX_PAUSE = 0.05  # seconds
_turn = threading.Lock()


@contextmanager
def write_transaction() -> Iterator[None]:
    """Open a transaction for which, on SQLite, the threads and processes that write queue.

    SQLite lets one write at a time, and who waits for it looks again after pauses of up to a tenth of a second: sixteen
    threads would spend most of their time so. The kernel wakes the next in a queue at once, and frees the place of a
    process that was killed.
    """
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        with _turn, _lock_among_processes(), transaction.atomic():
            yield
    else:
        with transaction.atomic():
            yield


@contextmanager
def _lock_among_processes() -> Iterator[None]:
    """Hold the lock of a file beside the database: never of the database's own, which SQLite locks in its way."""
    name = str(connection.settings_dict["NAME"])
    if ":memory:" in name or "mode=memory" in name:  # seen by this process alone
        yield
        return
    try:
        turn = os.open(f"{name}-turn", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:  # the disk is full or read-only: SQLite says so itself, and that is answered in words
        yield
        return
    try:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield
    finally:
        os.close(turn)


@contextmanager
def yielding_write_transaction() -> Iterator[None]:
    """Open one of the many transactions of a long job; on SQLite it pauses afterwards for as long as it took.

    Whoever writes out of turn then finds the lock free.
    """
    with write_transaction():
        started = time.perf_counter()
        yield
    if connection.vendor == "sqlite":
        pause(min(time.perf_counter() - started, MAX_PAUSE))
