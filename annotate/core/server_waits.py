"""Knows which connections of this process wait for PostgreSQL, and can end their waiting.

The kernel notices a server that vanished: nobody acknowledges its packets. Where a server is stopped and its machine is
not, every byte is acknowledged: only somebody who looks at the clock notices.
"""

import os
import socket
import threading
import time
from typing import Protocol


class Connection(Protocol):
    """What is needed of psycopg's, which is not imported where the database is SQLite."""

    @property
    def closed(self) -> bool: ...

    def fileno(self) -> int: ...


class Waits:
    """Which connections wait, and since when by the monotonic clock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: dict[Connection, float] = {}

    def begin(self, connection: Connection) -> None:
        with self._lock:
            self._since[connection] = time.monotonic()

    def end(self, connection: Connection) -> None:
        with self._lock:
            self._since.pop(connection, None)

    def longest(self) -> float:
        """Return for how many seconds somebody has waited; 0.0 where nobody does."""
        with self._lock:
            return time.monotonic() - min(self._since.values()) if self._since else 0.0

    def give_up(self) -> int:
        """Shuts what anybody waits on, which fails there with an OperationalError; returns how many waits it ended."""
        # Under the lock nobody closes a connection, after which its number could be another file's.
        with self._lock:
            open_ones = [connection for connection in self._since if not connection.closed]
            for connection in open_ones:
                shut(connection.fileno())
        return len(open_ones)


def shut(number: int) -> None:
    """End the socket of this number for whoever reads it, as if the other side had closed it."""
    with socket.socket(fileno=os.dup(number)) as one:
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other side was quicker


WAITS = Waits()
