"""Ends what takes more CPU than it may, so that a test of a budget takes no longer than the budget."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.pace import slowness


class TooLongError(BaseException):
    """Not an Exception: what reads anything and forgives it would go on."""


@contextmanager
def limited_cpu(seconds: float) -> Iterator[None]:
    """Raises TooLongError once this process has computed for so long; on a slower machine, for as much longer."""

    def stop(number, frame):
        spent = time.process_time() - began
        left = seconds * slowness() - spent
        if left <= 0:
            raise TooLongError
        signal.setitimer(signal.ITIMER_VIRTUAL, left)

    began = time.process_time()
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
