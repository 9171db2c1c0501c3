"""When to say that a goal is reached: how far below the goal what is expected to be wrong must be, in two fits.

A fit is looked at after every few answers and its posterior is not perfect, so that "done" at the first time that the
expected error is at the goal would be said too early. The factors were chosen by simulation:
`python -m models_engine.benchmarks stopping` prints them and the error on other seeds.
"""

from collections.abc import Iterable
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from models_engine.acquisition import Aim, expected_loss
from models_engine.acquisition.aims import AimKind, check_aim, read_margin
from models_engine.acquisition.loss import draw_utilities, draw_wrong_best
from models_engine.analysis.reliability import compute_separation
from models_engine.arrays import (
    raising,
    read_count,
    read_covariance,
    read_deviations,
    read_floats,
    read_number,
    read_values,
)
from models_engine.constants import Z90
from models_engine.errors import InvalidData, InvalidSetting
from models_engine.summaries import rank_draws
from models_engine.validation import check_boundaries, check_rows

__all__ = [
    "FACTORS",
    "LEVELS",
    "MIN_APART",
    "PLAIN",
    "PLAIN_FACTORS",
    "Wrong",
    "expected_wrong",
    "is_done",
    "threshold",
]

Floats = NDArray[np.float64]
Wrong = Literal["best", "top", "classes", "boundary", "width", "widest", "reliability", "places"]
LEVELS = (0.1, 0.05)  # share of the times that "done" is said at which the truth is worse than the goal, at most
MIN_APART = 50  # labels between two fits that both have to be under the threshold
MAX_CELLS, MAX_DRAWS, MIN_DRAWS = 400_000, 400, 40  # of draws of places: draws times items, draws
# The kinds of aim that a measure is of, where not of any.
AIMS_OF: dict[Wrong, tuple[AimKind, ...]] = {
    "best": ("best",),
    "top": ("best",),
    "classes": ("classes",),
    "boundary": ("classes",),
    "width": ("whole",),
}
# What is expected to be wrong, as a multiple of what the goal allows, at which to stop; for each of LEVELS.
FACTORS: dict[Wrong, tuple[float, float]] = {
    "best": (0.6, 0.5),
    "top": (0.75, 0.6),
    "classes": (0.45, 0.35),
    "boundary": (0.35, 0.3),
    "width": (0.65, 0.6),
    "widest": (0.65, 0.6),
    "reliability": (0.6, 0.5),
    "places": (0.65, 0.55),
}
PLAIN = ("BradleyTerry", "PlackettLuce")  # estimators that take everybody for equally careful
# The same of estimators that take everybody for equally careful: with careless people utilities are too flat, and sure
# of it, which shows most in widths and classes.
PLAIN_FACTORS: dict[Wrong, tuple[float, float]] = FACTORS | {
    "best": (0.5, 0.4),
    "classes": (0.2, 0.15),
    "boundary": (0.2, 0.15),
    "width": (0.2, 0.15),
    "widest": (0.2, 0.15),
    "reliability": (0.55, 0.45),
}


def expected_wrong(what: Wrong, mean: ArrayLike, covariance: ArrayLike, aim: Aim, *, margin: float = 0.0) -> float:
    """Return what is expected to be wrong if the collection stops now, in the measure of the goal.

    best: share of the best k that is wrong; top: P(any of the best k is wrong); classes: share of the items in a wrong
    class; boundary: share of the items on the wrong side of a boundary, the largest over the boundaries; width, widest:
    mean and largest width of 90% intervals in logits; reliability: 1 - scale-separation reliability; places: mean
    difference between an item's place and its true one.
    covariance: (n_items, n_items), or the standard deviations (n_items,).   margin: the difference up to which items
    count as tied; for best, top and classes.   reliability is nan for fewer than two items or none apart.   Raises
    InvalidSetting for another measure, InvalidAim for an aim that does not have it (best and top take best, classes
    and boundary classes, width whole; the others any), else as acquisition.expected_loss.
    """
    _check_measure(what)
    check_aim(aim, *AIMS_OF.get(what, ()))
    means, (sd, spread) = read_values(mean, "mean"), _read_spread(covariance)
    check_rows({"mean": means, "covariance": sd}, "item")
    if not len(means):
        raise InvalidData("there are no items; give the mean and the standard deviation of one or more.")
    margin = read_margin(margin)
    if what == "reliability":
        return 1 - compute_separation(means, sd)
    if what == "widest":
        return float(2 * Z90 * sd.max())
    if what == "boundary":
        return _most_misplaced(means, sd, check_boundaries(aim.boundaries))
    if what == "places":
        return _place_error(means, sd, spread if spread.ndim == 2 else None)
    if what == "top":
        return float((draw_wrong_best(means, spread, aim, margin=margin) > 0).mean())
    loss = expected_loss(means, spread, aim, margin=margin)
    if what == "width":
        return loss
    return loss / (aim.k or 1 if what == "best" else len(means))


def _check_measure(what: Wrong) -> None:
    if not isinstance(what, str) or what not in get_args(Wrong):
        raise InvalidSetting(f"{what!r} is no measure; choose one of {', '.join(get_args(Wrong))}.", value=what)


def _read_spread(covariance: ArrayLike) -> tuple[Floats, Floats]:
    """Return the standard deviations (n,), and what was given: these or the covariance (n, n)."""
    spread = read_floats(covariance, "covariance")
    if spread.ndim == 1:
        return read_deviations(spread, "covariance"), spread
    return np.sqrt(np.diagonal(read_covariance(spread, "covariance"))), spread


def _most_misplaced(mean: Floats, sd: Floats, cuts: Floats) -> float:
    """Return the largest share over boundaries; an item known exactly is on the side of its mean."""
    distance = np.abs(mean[:, None] - cuts)
    certain = np.full(distance.shape, np.inf)
    return float(ndtr(-np.divide(distance, sd[:, None], out=certain, where=sd[:, None] > 0)).mean(axis=0).max())


def _place_error(mean: Floats, sd: Floats, covariance: Floats | None) -> float:
    n_draws = int(np.clip(MAX_CELLS // len(mean), MIN_DRAWS, MAX_DRAWS))
    draws = draw_utilities(mean, sd, covariance, n_draws)
    return float(np.abs(rank_draws(draws) - rank_draws(mean[None, :])).mean())


def threshold(what: Wrong, goal: float, *, level: float = LEVELS[0], plain: bool = False) -> float:
    """Return the expected_wrong at which "done" may be said for a goal (what may be wrong at most; for top, level).

    level: one of LEVELS.   plain: of an estimator that takes everybody for equally careful. Raises InvalidSetting.
    """
    for value, known in ((what, get_args(Wrong)), (level, LEVELS)):
        if not isinstance(value, str | float) or value not in known:
            message = f"no threshold for {what!r} at {level!r}; levels are {LEVELS}, measures {get_args(Wrong)}."
            raise InvalidSetting(message, value=value)
    with raising(InvalidSetting):
        goal = read_number(goal, "goal", least=0.0)
    return goal * (PLAIN_FACTORS if plain else FACTORS)[what][LEVELS.index(level)]


def is_done(history: Iterable[tuple[int, float]], limit: float) -> bool:
    """Return whether the last fit and one at least MIN_APART labels before it, and all between, are within the limit.

    history: (labels, expected_wrong) of the fits so far, oldest first. Raises InvalidData; what is nan is not within.
    """
    limit, looks = read_number(limit, "limit"), _read_history(history)
    if not looks or not looks[-1][1] <= limit:
        return False
    for n_labels, wrong in reversed(looks):
        if not wrong <= limit:
            return False
        if n_labels <= looks[-1][0] - MIN_APART:
            return True
    return False


def _read_history(history: Iterable[tuple[int, float]]) -> list[tuple[int, float]]:
    looks = []
    for row, look in enumerate(history if isinstance(history, Iterable) else [history]):
        pair = read_floats(look, "a fit of the history")
        if pair.shape != (2,) or not 0 <= pair[0] < np.inf:
            raise InvalidData(f"row {row}: give (labels, expected_wrong) of each fit.", row=row, value=look)
        looks.append((read_count(pair[0], "labels"), float(pair[1])))
    return looks
