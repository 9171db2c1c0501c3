"""Ends what takes more CPU than it may, so that a test of a budget takes no longer than the budget."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class TooLongError(BaseException):
    """Not an Exception: what reads anything and forgives it would go on."""


@contextmanager
def limited_cpu(seconds: float) -> Iterator[None]:
    """Raises TooLongError once this process has computed for so long."""

    def stop(number, frame):
        raise TooLongError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
