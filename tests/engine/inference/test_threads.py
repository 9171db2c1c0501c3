"""Work on blocks goes to threads only where there is enough of it."""

import threading

import numpy as np

from models_engine.inference.probit_ep.annotator_blocks import Block
from models_engine.inference.probit_ep.threads import MIN_COST, map_in_threads


def blocks_of(n: int, cost: float) -> list[Block]:
    """n blocks of one annotator each, of at least this cost together."""
    width = int(np.ceil((cost / n) ** (1 / 3)))
    numbers = np.zeros((1, width), dtype=np.int64)
    return [Block(np.array([one]), numbers, numbers >= 0, numbers, None, None, None, None) for one in range(n)]


def test_little_work_stays_in_the_caller_s_thread():
    found = map_in_threads(lambda block: threading.get_ident(), blocks_of(4, MIN_COST / 2))
    assert found == [threading.get_ident()] * 4


def test_two_blocks_stay_in_the_caller_s_thread():
    found = map_in_threads(lambda block: threading.get_ident(), blocks_of(2, 2 * MIN_COST))
    assert found == [threading.get_ident()] * 2


def test_much_work_goes_to_other_threads_and_comes_back_in_order():
    def look(block: Block, other: str) -> tuple[int, str, bool]:
        return int(block.annotators[0]), other, threading.get_ident() == here

    here = threading.get_ident()
    found = map_in_threads(look, blocks_of(4, 2 * MIN_COST), list("abcd"))
    assert found == [(0, "a", False), (1, "b", False), (2, "c", False), (3, "d", False)]
