"""Transactions that write, in turn."""

import fcntl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

LONGEST_REST = 0.05  # seconds
_turn = threading.Lock()


@contextmanager
def writing() -> Iterator[None]:
    """A transaction; on SQLite the threads and processes that write queue for it.

    SQLite lets one write at a time, and who waits for it looks again after pauses of up to a tenth of a second: sixteen
    threads would spend most of their time so. The kernel wakes the next in a queue at once, and frees the place of a
    process that was killed.
    """
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        with _turn, _turn_among_processes(), transaction.atomic():
            yield
    else:
        with transaction.atomic():
            yield


@contextmanager
def _turn_among_processes() -> Iterator[None]:
    """Holds the lock of a file beside the database: never of the database's own, which SQLite locks in its way."""
    name = str(connection.settings_dict["NAME"])
    if ":memory:" in name or "mode=memory" in name:  # seen by this process alone
        yield
        return
    with open(f"{name}-turn", "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


@contextmanager
def room_for_others() -> Iterator[None]:
    """A transaction in turn, one of many of long work: on SQLite it rests afterwards for as long as it took, so that
    whoever writes out of turn finds the lock free."""
    with writing():
        started = time.perf_counter()
        yield
    if connection.vendor == "sqlite":
        time.sleep(min(time.perf_counter() - started, LONGEST_REST))
