"""Limits of time that a slower or busier machine may exceed by as much as it is slower.

The yardstick is a computation that never changes. On the usual machine it takes a tenth of a second, so that limits are
what they say there; elsewhere they are ratios to it. It is asked only where a limit is exceeded.
"""

import time
from collections.abc import Callable

N_ADDITIONS = 2_000_000
USUAL_SECONDS = 0.1

Clock = Callable[[], float]


def slowness(clock: Clock = time.process_time) -> float:
    """How many times as long as usual the yardstick takes now by this clock: of CPU, or of the wall."""
    began, total = clock(), 0
    for number in range(N_ADDITIONS):
        total += number
    return (clock() - began) / USUAL_SECONDS


def is_within(seconds: float, limit: float, clock: Clock = time.process_time) -> bool:
    """Whether these seconds, counted by the clock, are less than the limit."""
    return seconds < limit or seconds < limit * slowness(clock)
