"""Runs a function over blocks of arrays in threads; numpy releases the interpreter lock while it computes."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from models_engine.inference.probit_ep.annotator_blocks import Block

__all__ = ["map_in_threads"]

Result = TypeVar("Result")
MAX_THREADS = 4
MIN_COST = 3e6  # of all blocks: with less, starting threads takes longer than the work


def map_in_threads(function: Callable[..., Result], blocks: Sequence[Block], *others: Sequence[Any]) -> list[Result]:
    """Return `list(map(function, blocks, *others))`, in order and repeatable to the last bit.

    In threads where there are three blocks or more and they are worth it.
    """
    if len(blocks) < 3 or sum(block.cost for block in blocks) < MIN_COST:
        return list(map(function, blocks, *others))
    with ThreadPoolExecutor(min(MAX_THREADS, os.cpu_count() or 1)) as pool:
        return list(pool.map(function, blocks, *others))
