"""Figures that took long to compute, kept as long as that makes worth while."""

import math
import time
from collections.abc import Callable
from typing import TypeVar

from django.core.cache import cache

Value = TypeVar("Value")
SLOW_SECONDS = 0.2
TIMES = 10


def remembered(key: str, make: Callable[[], Value]) -> Value:
    """What `make` returns; if that took longer than SLOW_SECONDS, the same again for ten times as long.

    However many people watch a project of a million labels, its totals then take a tenth of a processor. Below that
    every answer is fresh.
    """
    kept = cache.get(key)
    if kept is not None:
        return kept
    started = time.perf_counter()
    value = make()
    seconds = time.perf_counter() - started
    if seconds > SLOW_SECONDS:
        cache.set(key, value, math.ceil(TIMES * seconds))
    return value
