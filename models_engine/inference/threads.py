"""Runs a function over blocks of arrays on every core: numpy lets go of the interpreter while it computes."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["in_threads"]

Result = TypeVar("Result")
MOST_THREADS = 4


def in_threads(function: Callable[..., Result], *sequences: Sequence[Any]) -> list[Result]:
    """`list(map(function, *sequences))`, in order and so repeatable to the last bit; in threads past two entries."""
    if len(sequences[0]) < 3:
        return list(map(function, *sequences))
    with ThreadPoolExecutor(min(MOST_THREADS, os.cpu_count() or 1)) as pool:
        return list(pool.map(function, *sequences))
