"""Runs a step again and again in a thread of the worker, until told to stop."""

import logging
import threading
from collections.abc import Callable

from django.db import DatabaseError, connections

logger = logging.getLogger(__name__)


def repeat_until(stopping: threading.Event, step: Callable[[], bool], pause: float) -> None:
    """Call `step` at once again while it says that it did something, else after `pause` seconds.

    A thread of its own, so that slow receivers block nothing; it outlives a database that is away.
    """
    try:
        while not stopping.is_set():
            try:
                busy = step()
            except DatabaseError:
                logger.exception("The database did not answer; trying again.")
                connections.close_all()
                busy = False
            if not busy:
                stopping.wait(pause)
    finally:
        connections.close_all()
