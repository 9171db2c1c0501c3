"""Caches figures that took long to compute, in proportion to the time they took."""

import math
import time
from collections.abc import Callable
from typing import TypeVar

from django.core.cache import cache

Value = TypeVar("Value")
MIN_SLOW_SECONDS = 0.2
LIFETIME_FACTOR = 10


def cached_if_slow(key: str, make: Callable[[], Value]) -> Value:
    """Return what `make` returns; if that took longer than MIN_SLOW_SECONDS, cache it for ten times as long.

    However many people watch a project of a million labels, its totals then take a tenth of a processor. Below that
    every answer is fresh.
    """
    kept = cache.get(key)
    if kept is not None:
        return kept
    started = time.perf_counter()
    value = make()
    seconds = time.perf_counter() - started
    if seconds > MIN_SLOW_SECONDS:
        cache.set(key, value, math.ceil(LIFETIME_FACTOR * seconds))
    return value
