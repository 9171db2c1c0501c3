"""Runs a step again and again in a thread of the worker, until told to stop."""

import logging
import threading
from collections.abc import Callable

from django.db import DatabaseError, connections

from annotate.core.database_outages import log_database_error

logger = logging.getLogger(__name__)


def repeat_until(stopping: threading.Event, step: Callable[[], bool], pause: float) -> None:
    """Call `step` at once again while it says that it did something, else after `pause` seconds.

    A thread of its own, so that slow receivers block nothing; it outlives a database that is away.
    """
    try:
        while not stopping.is_set():
            try:
                busy = step()
            except DatabaseError as error:
                log_database_error(error, logger, "trying again")
                connections.close_all()
                busy = False
            except Exception:  # it must not end the thread: nothing would be sent until the worker is started again
                logger.exception("A step failed that was not foreseen; trying again.")
                busy = False
            if not busy:
                stopping.wait(pause)
    finally:
        connections.close_all()
