"""Counts, for each item of a fit, the duels it was in and those it won: what the public is told beside the score."""

from numpy import bincount, float32, int32
from numpy.typing import NDArray

from models_engine.data import Comparisons


def count_duels(data: Comparisons) -> dict[str, NDArray]:
    """Return `duels` and `won` (n_items,), to be kept with the published fit.

    A duel is an implied pair: a pair of items that one answer puts in order, or that it calls equal where it is about
    two alone; a tie is half won. Each counts once, whatever weight the estimator gives it.
    """
    pairs = data.pairs()
    counts = {"minlength": data.n_items}
    n = bincount(pairs.left, **counts) + bincount(pairs.right, **counts)
    won = bincount(pairs.left, pairs.outcome, **counts) + bincount(pairs.right, 1 - pairs.outcome, **counts)
    return {"duels": n.astype(int32), "won": won.astype(float32)}
