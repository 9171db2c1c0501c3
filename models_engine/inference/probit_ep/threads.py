"""Runs a function over blocks of arrays in threads; numpy releases the interpreter lock while it computes."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["map_in_threads"]

Result = TypeVar("Result")
MAX_THREADS = 4


def map_in_threads(function: Callable[..., Result], *sequences: Sequence[Any]) -> list[Result]:
    """Return `list(map(function, *sequences))`, in order and repeatable to the last bit; in threads above two
    entries.
    """
    if len(sequences[0]) < 3:
        return list(map(function, *sequences))
    with ThreadPoolExecutor(min(MAX_THREADS, os.cpu_count() or 1)) as pool:
        return list(pool.map(function, *sequences))
