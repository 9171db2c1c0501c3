"""The mode of the mirrored-pairs posterior: safeguarded Newton steps, and tries of the mirrored solutions."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from models_engine.inference.mirrored_likelihood import log_scale
from models_engine.inference.mirrored_posterior import Point
from models_engine.linalg import sums

__all__ = ["ascend", "em_step", "flip_gains", "mirrored", "newton_step", "with_best_flips"]

Floats = NDArray[np.float64]


def ascend(
    point: Point,
    *,
    tolerance: float,
    limit: int,
    note: Callable[[float], None],
    give_up_below: float = -np.inf,
) -> tuple[Point, bool]:
    """Climb until no unknown moves by more than tolerance; (the end, whether it got there).

    The objective never falls by more than rounding; note is told it after every step. Ends early where four times the
    gain that a Newton step promises would leave it below give_up_below.
    """
    for _ in range(limit):
        step = newton_step(point)
        if point.objective + 2 * float(point.gradient @ step) < give_up_below:
            return point, False
        new = _along(point, step) or _along(point, em_step(point))
        if new is None:  # neither direction leads up: a mode, to the precision of the quadrature
            return point, bool(np.abs(step).max(initial=0.0) < 100 * tolerance)
        moved = float(np.abs(new.x - point.x).max(initial=0.0))
        point = new
        note(point.objective)
        if moved < tolerance:
            return point, True
    return point, False


def newton_step(point: Point, limit: int = 300) -> Floats:
    """Curvature^-1 gradient by conjugate gradients, more precise as the gradient shrinks (Steihaug 1983).

    Ends at the first direction along which the objective bends upwards, where Newton's step would lead to a saddle.
    """
    scale = 1 / point.diagonal(known=True)
    x, residual = np.zeros_like(point.x), point.gradient.copy()
    scaled = scale * residual
    direction, power = scaled.copy(), float(residual @ scaled)
    goal = power * min(1e-2, float(np.sqrt(power))) ** 2
    for _ in range(limit):
        if power <= goal or power == 0:
            break
        image = point.times(direction)
        bend = float(direction @ image)
        if bend <= 0:
            return x if x.any() else scaled
        x += power / bend * direction
        residual -= power / bend * image
        scaled = scale * residual
        power, previous = float(residual @ scaled), power
        direction = scaled + power / previous * direction
    return x


def em_step(point: Point) -> Floats:
    """The first step of EM's M-step, scaled by the diagonal of its curvature.

    Were it known which answers are the wrong way round, the log posterior would be Davidson's with fractional wins,
    jointly concave in all unknowns; its gradient is that of the objective (Fisher's identity).
    """
    return point.gradient / point.diagonal(known=True)


def _along(point: Point, step: Floats) -> Point | None:
    """The first of point + step, + step/2, ... that is no lower than the point; None if 2^-20 is not short enough."""
    allowed = 1e-9 * (1 + abs(point.objective))
    for halvings in range(21):
        new = point.target.at(point.x + step / 2**halvings, point)
        if new.objective >= point.objective - allowed:
            return new
    return None


def mirrored(point: Point) -> Point:
    """The point with all utilities negated: right annotators become wrong ones."""
    x = point.x.copy()
    x[: point.target.n_items] *= -1
    return point.target.at(x)


def with_best_flips(point: Point) -> Point:
    """The point with the utilities of connected parts negated, one part after another, while that raises the objective.

    Parts hang together only by their annotators, so that each of them can get stuck mirrored on its own.
    """
    part = point.target.pairs.parts
    for _ in range(point.target.pairs.n_parts):
        gains = flip_gains(point)
        best = int(np.argmax(gains))
        if gains[best] <= 1e-3:
            break
        x = point.x.copy()
        x[: point.target.n_items][part == best] *= -1
        point = point.target.at(x)
    return point


def flip_gains(point: Point) -> Floats:
    """(n_parts,) exact change of the objective if the utilities of one connected part were negated."""
    pairs, crowd = point.target.pairs, point.evaluation.crowd
    part, (f, side, log_nu) = pairs.parts, point.target.split(point.x)
    row_part = part[pairs.graph.low[pairs.pair]]
    plain = pairs.graph.differences(f)[pairs.pair]
    now, then = side * pairs.orientation + plain, side * pairs.orientation - plain
    d, flipped = pairs.sign * now[pairs.row], pairs.sign * then[pairs.row]
    keys, key = np.unique(pairs.annotator * np.int64(len(part)) + row_part[pairs.row], return_inverse=True)
    change = np.zeros((len(keys), crowd.mass.shape[1]))
    eta = crowd.eta
    for _, wins in pairs.chunks:
        chance = eta[pairs.annotator[wins]]
        before = chance * expit(d[wins, None]) + (1 - chance) * expit(-d[wins, None])
        after = chance * expit(flipped[wins, None]) + (1 - chance) * expit(-flipped[wins, None])
        ratio = np.maximum(after, 1e-300) / np.maximum(before, 1e-300)
        np.add.at(change, key[wins], pairs.weight[wins, None] * np.log(ratio))
    mass = np.log(np.maximum(crowd.mass[keys // len(part)], 1e-300))
    n_parts = pairs.n_parts
    gains = sums(keys % len(part), logsumexp(mass + change, axis=1), n_parts)
    by_win = pairs.weight * (log_scale(flipped, -np.inf) - log_scale(d, -np.inf))
    by_row = pairs.total * (log_scale(then, log_nu) - log_scale(now, log_nu))
    return gains + sums(row_part[pairs.row], by_win, n_parts) - sums(row_part, by_row, n_parts)
