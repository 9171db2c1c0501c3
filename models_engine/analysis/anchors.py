"""Anchors: items of known value that link the scales of two rounds of comparisons.

Needs numpy only, so that a web process may call it with a published fit's stored means and standard deviations.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.arrays import (
    MAX_SIZE,
    raising,
    read_covariance,
    read_deviations,
    read_floats,
    read_number,
    read_values,
)
from models_engine.errors import InvalidAnchors, InvalidData
from models_engine.validation import check_rows

__all__ = ["Link", "link_to_anchors", "link_to_spread"]

Floats = NDArray[np.float64]
MAX_STEPS = 1_000
LEAST_SETTLED = 1e-6  # of a slope: by how much its line may differ in the end
JITTER = 1e-10
MAX_SLOPE = 1e50  # values per unit of utility
SAME = 1e-12  # spread of utilities, as a share of their size, that is rounding
TOO_DIFFERENT = (
    "the anchors' utilities, values and deviations differ too much in size for a line; use another unit, or fix the "
    "slope."
)


@dataclass(frozen=True, eq=False)
class Link:
    """Linear link, value = intercept + slope * utility.

    covariance (2, 2): of (intercept, slope).   residuals (n_anchors,): how far each anchor's value is from its place
    on the line, in standard deviations of that difference; beyond 2 or 3 it has moved.   misfit: their squares summed
    with their correlations, chi squared with `degrees` degrees of freedom where none has moved.
    """

    intercept: float
    slope: float
    covariance: Floats
    residuals: Floats
    misfit: float
    degrees: int

    def values(self, means: ArrayLike, deviations: ArrayLike) -> tuple[Floats, Floats]:
        """Return (values, standard deviations), both (n_items,), of items with these utilities.

        The variance is slope^2 sd^2, the item's own, plus (1, mean) covariance (1, mean)', the line's, plus the slope's
        variance times sd^2; an item's error is taken as independent of the line's. Raises InvalidData.
        """
        mean, deviation = read_values(means, "means"), read_deviations(deviations, "deviations")
        check_rows({"means": mean, "deviations": deviation}, "item")
        (constant, cross), (_, steepness) = self.covariance
        line = constant + 2 * cross * mean + steepness * mean**2
        own = (self.slope**2 + steepness) * deviation**2
        return self.intercept + self.slope * mean, np.sqrt(np.maximum(line + own, 0.0))

    def utility(self, value: float) -> float:
        """Return the utility of this value, for a boundary that is given as a value."""
        return (value - self.intercept) / self.slope


def link_to_anchors(
    means: ArrayLike,
    spread: ArrayLike,
    values: ArrayLike,
    value_deviations: ArrayLike | None = None,
    *,
    slope: float | None = None,
) -> Link:
    """Fit the line from this round's utilities to the scale of the anchors' values.

    means (n_anchors,): posterior means of the anchors' utilities.   spread: their standard deviations (n_anchors,), or
    their covariance (n_anchors, n_anchors).   values, value_deviations (n_anchors,): what is known of them; without
    deviations they are fixed.   slope: keep it at this figure (1 where both rounds are in logits), so that one anchor
    is enough.

    Generalised least squares of the values on the posterior means, with covariance
    diag(value_deviations^2) + slope^2 spread, found by iteration. As the truth scatters around a posterior mean, and
    not the mean around the truth, this is free of the attenuation that regression on noisy estimates suffers from
    (regression calibration: Carroll, Ruppert, Stefanski & Crainiceanu 2006, ch. 4).

    Raises InvalidAnchors: too few, no finite numbers, not one of each per anchor, all of one utility, too different in
    size for a line, or values that fall where utilities rise.
    """
    mean, value = _check_numbers(means, "utility"), _check_numbers(values, "value")
    noise = np.zeros(len(value)) if value_deviations is None else _check_numbers(value_deviations, "standard deviation")
    with raising(InvalidAnchors):
        slope = None if slope is None else read_number(slope, "slope", least=-MAX_SLOPE, most=MAX_SLOPE)
        _check_enough(mean, value, slope)
        check_rows({"values": value, "value_deviations": noise}, "anchor")
        covariance = _read_spread(spread, len(mean))
    try:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # what is not finite is refused
            found = _find_line(mean, value, noise, covariance, slope)
    except np.linalg.LinAlgError as error:
        raise InvalidAnchors(TOO_DIFFERENT) from error
    figures = [found.intercept, found.slope, found.misfit, *found.covariance.flat, *found.residuals]
    if not np.isfinite(figures).all():
        raise InvalidAnchors(TOO_DIFFERENT)
    return found


def _find_line(mean: Floats, value: Floats, noise: Floats, covariance: Floats, slope: float | None) -> Link:
    if slope is not None:
        return _fit_line(mean, value, _weights(noise, covariance, slope), slope)
    if np.ptp(mean) == 0:
        raise InvalidAnchors(
            f"all {len(mean)} anchors have the utility {mean[0]:g}; choose anchors far apart, or fix the slope.",
            value=float(mean[0]),
        )
    apart = mean - mean.mean()
    steep = float(apart @ value / (apart @ apart))
    found = _settle(lambda one: _fit_line(mean, value, _weights(noise, covariance, one), None), steep)
    if found.slope <= 0:
        raise InvalidAnchors(
            f"the anchors' values fall by {-found.slope:.3g} for each step in utility; check that higher values are "
            "better and that no anchor's value is another's.",
            value=found.slope,
        )
    return found


def _settle(fit: Callable[[float], Link], steep: float) -> Link:
    """Return the line that comes out at the slope that its weights were made with, from this slope on.

    Where weights and slope drive each other to and fro, a slope whose line is steeper and one whose line is less steep
    have one between them that stays: their interval is halved. Raises InvalidAnchors where no slope settles.
    """
    below, above, last = -np.inf, np.inf, np.inf  # slopes whose lines are steeper, and less steep
    for _ in range(MAX_STEPS):
        found = fit(steep)
        move = found.slope - steep
        if abs(move) <= 1e-12 * abs(steep):
            break
        below, above = (steep, above) if move > 0 else (below, steep)
        is_quick = abs(move) < last / 2 and min(below, above) < found.slope < max(below, above)
        last = abs(move)
        steep = found.slope if is_quick or not np.isfinite([below, above]).all() else (below + above) / 2
        if steep in (below, above):
            break
    if abs(move) > LEAST_SETTLED * abs(found.slope):
        raise InvalidAnchors(TOO_DIFFERENT)
    return found


def link_to_spread(means: ArrayLike, *, mean: float = 50.0, deviation: float = 15.0) -> Link:
    """Fit the line that gives the items' posterior means this mean and standard deviation: scaled scores, no anchors.

    Raises InvalidAnchors under two different means, and for means or settings that are no finite numbers.
    """
    utilities = _check_numbers(means, "utility")
    with raising(InvalidAnchors):
        mean, deviation = read_number(mean, "mean"), read_number(deviation, "deviation", least=0.0, most=MAX_SLOPE)
    spread = float(utilities.std(ddof=1)) if len(utilities) > 1 else 0.0
    if spread <= SAME * float(np.abs(utilities).max(initial=1e-50)):
        raise InvalidAnchors(f"{len(utilities)} items with no difference between them have no scale; compare more.")
    slope = deviation / spread
    return Link(mean - slope * float(utilities.mean()), slope, np.zeros((2, 2)), np.zeros(0), 0.0, 0)


def _check_numbers(numbers: ArrayLike, name: str) -> Floats:
    with raising(InvalidAnchors):
        array = np.atleast_1d(read_floats(numbers, name))
    if array.ndim != 1:
        raise InvalidAnchors(f"{name} has shape {array.shape}; give one per anchor, shape (n_anchors,).")
    bad = ~(np.abs(array) <= MAX_SIZE) | (array < 0 if name == "standard deviation" else False)
    for row in np.flatnonzero(bad)[:1]:
        wanted = "a finite number of 0 or more" if name == "standard deviation" else "a finite number"
        wanted += "" if not np.isfinite(array[row]) or array[row] < 0 else f", at most {MAX_SIZE:g} in size"
        raise InvalidAnchors(
            f"anchor {row + 1}: the {name} is {array[row]}; give {wanted}.", row=int(row), value=float(array[row])
        )
    return array


def _read_spread(spread: ArrayLike, n: int) -> Floats:
    """Read standard deviations (n,) or a covariance (n, n) as a covariance."""
    array = np.atleast_1d(read_floats(spread, "spread"))
    if array.ndim != 1:
        return read_covariance(array, "spread", n)
    deviations = read_deviations(array, "spread")
    if len(deviations) != n:
        raise InvalidData(f"spread has {len(deviations)} rows and means {n}; give one standard deviation per anchor.")
    return np.diag(deviations**2)


def _check_enough(mean: Floats, value: Floats, slope: float | None) -> None:
    if len(mean) != len(value):
        raise InvalidAnchors(f"{len(mean)} utilities and {len(value)} values; give one of each per anchor.")
    fewest = 2 if slope is None else 1
    if len(mean) < fewest:
        raise InvalidAnchors(
            f"{len(mean)} anchors are too few to fix a scale; name {fewest} or more"
            + (", or fix the slope and name one." if slope is None else "."),
            value=len(mean),
        )


def _weights(noise: Floats, covariance: Floats, slope: float) -> Floats:
    """Return the inverse of the values' covariance around the line; with tiny noise if all values are fixed."""
    total = np.diag(noise**2) + slope**2 * covariance
    scale = float(np.diag(total).mean()) or 1.0
    return np.asarray(np.linalg.inv(total + JITTER * scale * np.eye(len(total))), np.float64)


def _fit_line(mean: Floats, value: Floats, weights: Floats, slope: float | None) -> Link:
    """Fit by generalised least squares with these weights; only the intercept if the slope is given."""
    columns = np.ones((len(mean), 1)) if slope is not None else np.column_stack([np.ones(len(mean)), mean])
    target = value - slope * mean if slope is not None else value
    inner = np.linalg.inv(columns.T @ weights @ columns)
    found = inner @ (columns.T @ weights @ target)
    covariance = np.zeros((2, 2))
    covariance[: len(found), : len(found)] = inner
    left = target - columns @ found
    around = np.linalg.inv(weights) - columns @ inner @ columns.T  # covariance of the residuals
    deviation = np.sqrt(np.maximum(np.diag(around), 0.0))
    known = deviation > 1e-6 * np.sqrt(np.diag(np.linalg.inv(weights)))
    residuals = np.divide(left, deviation, out=np.zeros(len(left)), where=known)
    steep = slope if slope is not None else float(found[1])
    misfit = float(left @ weights @ left)
    return Link(float(found[0]), steep, covariance, residuals, misfit, len(mean) - len(found))
