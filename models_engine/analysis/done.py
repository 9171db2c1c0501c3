"""When to say that a goal is reached: how far below the goal what is expected to be wrong must be, in two fits.

A fit is looked at after every few answers and its posterior is not perfect, so that "done" at the first time that the
expected error is at the goal would be said too early. The factors were chosen by simulation:
`python -m models_engine.benchmarks stopping` prints them and the error on other seeds.
"""

from collections.abc import Iterable
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.acquisition import Aim, expected_loss
from models_engine.analysis.reliability import compute_separation
from models_engine.errors import InvalidSetting

__all__ = ["FACTORS", "LEVELS", "MIN_APART", "Wrong", "expected_wrong", "is_done", "threshold"]

Floats = NDArray[np.float64]
Wrong = Literal["best", "classes", "width", "reliability"]
LEVELS = (0.1, 0.05)  # share of the times that "done" is said at which the truth is worse than the goal, at most
MIN_APART = 50  # labels between two fits that both have to be under the threshold
# What is expected to be wrong, as a multiple of what the goal allows, at which to stop; for each of LEVELS.
FACTORS: dict[Wrong, tuple[float, float]] = {
    "best": (0.75, 0.6),
    "classes": (0.45, 0.35),
    "width": (0.65, 0.6),
    "reliability": (0.65, 0.55),
}


def expected_wrong(what: Wrong, mean: ArrayLike, covariance: ArrayLike, aim: Aim, *, margin: float = 0.0) -> float:
    """Return what is expected to be wrong if the collection stops now, in the measure of the goal.

    best: share of the best k that is wrong; classes: share of the items in a wrong class; width: mean width of 90%
    intervals in logits; reliability: 1 - scale-separation reliability.   covariance: (n_items, n_items), or the
    standard deviations (n_items,).   Errors as for acquisition.expected_loss.
    """
    if what == "reliability":
        spread = np.asarray(covariance, dtype=np.float64)
        sd = spread if spread.ndim == 1 else np.sqrt(np.diagonal(spread))
        return 1 - compute_separation(np.asarray(mean, dtype=np.float64), sd)
    loss = expected_loss(mean, covariance, aim, margin=margin)
    if what == "width":
        return loss
    return loss / (aim.k or 1 if what == "best" else len(np.asarray(mean)))


def threshold(what: Wrong, goal: float, *, level: float = LEVELS[0]) -> float:
    """Return the expected_wrong at which "done" may be said for a goal (what may be wrong at most).

    level: one of LEVELS. Raises InvalidSetting.
    """
    if what not in get_args(Wrong) or level not in LEVELS:
        raise InvalidSetting(f"no threshold for {what!r} at {level}; levels are {LEVELS}, measures {get_args(Wrong)}.")
    return goal * FACTORS[what][LEVELS.index(level)]


def is_done(history: Iterable[tuple[int, float]], limit: float) -> bool:
    """Return whether the last fit and one at least MIN_APART labels before it, and all between, are within the limit.

    history: (labels, expected_wrong) of the fits so far, oldest first.
    """
    looks = list(history)
    if not looks or not looks[-1][1] <= limit:
        return False
    for n_labels, wrong in reversed(looks):
        if not wrong <= limit:
            return False
        if n_labels <= looks[-1][0] - MIN_APART:
            return True
    return False
