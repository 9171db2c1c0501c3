"""Selection of differences whose sign is certain, with a bound on the expected share of wrong signs."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.arrays import read_number, read_values

__all__ = ["MAX_WRONG", "surely_differs"]

MAX_WRONG = 0.025  # expected share of wrong signs for one annotator; for simulations see `benchmarks personal`


def surely_differs(wrong: ArrayLike, *, most_wrong: float = MAX_WRONG) -> NDArray[np.bool_]:
    """Select as many differences as possible with an expected share of wrong signs of at most `most_wrong`, (n,).

    wrong (n,): the probability that each has the other sign, its local false sign rate; its mean over the selected ones
    is the expected share of wrong signs (Stephens 2017). Unlike an interval per item, the rule covers all statements
    about an annotator together. Raises InvalidData for what is no probability.
    """
    wrong, most_wrong = read_values(wrong, "wrong", least=0.0, most=1.0), read_number(most_wrong, "most_wrong", least=0)
    order = np.argsort(wrong, kind="stable")
    average = np.cumsum(wrong[order]) / np.arange(1, len(order) + 1)
    differs = np.zeros(len(order), dtype=bool)
    differs[order[average <= most_wrong]] = True
    return differs
