"""Notices a PostgreSQL that answers nobody, though its machine is there, and ends the waiting of requests for it.

What is slow may take its time, as long as the server answers somebody: it is asked over a connection of its own while
anybody waits. Its errors are answers too. Without one for as long as a request waits for a connection, the breaker
opens and all waiting ends.
"""

import logging
import queue
import threading

from django.db import DatabaseError, connection

from annotate.core.clocks import pause
from annotate.core.database_outages import AWAY, BREAKER, Breaker, outage_of
from annotate.core.server_waits import WAITS, Waits

logger = logging.getLogger("annotate.database")
LOOK_SECONDS = 0.1
SLOW_SECONDS = 0.3  # who waits so long for an answer makes the watch ask
ASK_AGAIN_SECONDS = 0.5


class SilenceWatch:
    """Looks at who waits, in a thread of its own."""

    def __init__(self, waits: Waits, breaker: Breaker, limit: float) -> None:
        self.waits, self.breaker, self.limit = waits, breaker, limit
        self.silent = False

    def start(self) -> None:
        threading.Thread(target=self._watch, name="database silence", daemon=True).start()

    def _watch(self) -> None:
        while True:
            pause(self.look())

    def look(self) -> float:
        """End all waiting for a server that is silent; return for how many seconds to pause before the next look."""
        if self.silent:
            self.silent = self.breaker.is_open()
        elif self.waits.longest() > SLOW_SECONDS:
            self.silent = not self._answers()
            if not self.silent:
                return ASK_AGAIN_SECONDS
            self.breaker.open()
        if self.silent and (ended := self.waits.give_up()):
            logger.error("The database is silent: %d requests no longer wait for its answer.", ended)
        return LOOK_SECONDS

    def _answers(self) -> bool:
        """Return whether the server answers within the limit; the thread that asks is left to its own time-out."""
        reply: queue.SimpleQueue[bool] = queue.SimpleQueue()
        threading.Thread(target=self._ask, args=[reply], name="database silence probe", daemon=True).start()
        try:
            return reply.get(timeout=self.limit)
        except queue.Empty:
            return False

    def _ask(self, reply: queue.SimpleQueue[bool]) -> None:
        try:
            self.breaker.probe()
        except DatabaseError as error:
            reply.put(outage_of(error) is not AWAY)
        except Exception:
            logger.exception("The probe failed, but not for the database's silence.")
            reply.put(True)
        else:
            reply.put(True)


def watch_for_silence() -> None:
    """Start the watch in a process that answers requests; with SQLite there is no server to be silent."""
    if connection.vendor == "postgresql":
        SilenceWatch(WAITS, BREAKER, connection.settings_dict["OPTIONS"]["pool"]["timeout"]).start()
