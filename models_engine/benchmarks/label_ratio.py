"""How many labels one rule needs for what another reaches, as a ratio, with a standard error over crowds."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["labels_ratio"]

Floats = NDArray[np.float64]
WINDOW = 4  # looks on either side that smooth a curve
N_RESAMPLES = 100


def labels_ratio(looks: NDArray[np.int64], ours: Floats, other: Floats, *, place: int) -> tuple[float, float]:
    """Return (labels the other needs for what ours reaches at looks[place]) / looks[place], and its standard error.

    ours, other: (n_crowds, n_looks), larger being better, of the same crowds. Curves are means over crowds, smoothed by
    local lines in log(labels). Standard error by resampling crowds; infinite: not reached.
    """
    matrix = smoother(looks)
    goals, curves = (ours @ matrix.T)[:, place], other @ matrix.T
    middle = _ratio(looks, goals.mean(), curves.mean(axis=0), place)
    rng, drawn = np.random.default_rng(0), []
    for _ in range(N_RESAMPLES):
        picked = rng.integers(len(ours), size=len(ours))
        drawn.append(_ratio(looks, goals[picked].mean(), curves[picked].mean(axis=0), place))
    reached = np.minimum(drawn, looks[-1] / looks[place])
    return middle, float(np.std(reached, ddof=1))


def _ratio(looks: NDArray[np.int64], goal: float, curve: Floats, place: int) -> float:
    reached = np.flatnonzero(curve >= goal)
    if not len(reached):
        return float("inf")
    first = int(reached[0])
    if first == 0:
        return float(looks[0] / looks[place])
    share = (goal - curve[first - 1]) / (curve[first] - curve[first - 1])
    return float((looks[first - 1] + share * (looks[first] - looks[first - 1])) / looks[place])


def smoother(looks: NDArray[np.int64]) -> Floats:
    """Return the matrix (n_looks, n_looks) that smooths a curve by a weighted line in log(labels) around each look."""
    x, n = np.log(looks), len(looks)
    matrix = np.zeros((n, n))
    for place in range(n):
        near = slice(max(0, place - WINDOW), place + WINDOW + 1)
        weight = 1 - (np.abs(np.arange(n)[near] - place) / (WINDOW + 1)) ** 2
        line = np.column_stack([np.ones(len(weight)), x[near] - x[place]])
        matrix[place, near] = np.linalg.solve((line.T * weight) @ line, line.T * weight)[0]
    return matrix
