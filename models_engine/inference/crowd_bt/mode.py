"""The mode of the noisy-pairs posterior: safeguarded Newton steps, and attempts with reversed utilities."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from models_engine.implied_pairs import nu_by_row
from models_engine.inference.crowd_bt.graded_likelihood import graded_parts
from models_engine.inference.crowd_bt.likelihood import log_scale
from models_engine.inference.crowd_bt.log_posterior import Point
from models_engine.linalg import sum_by_group

__all__ = ["em_step", "find_mode", "flip_best_parts", "gains_of_flips", "negate_utilities", "newton_step"]

Floats = NDArray[np.float64]


def find_mode(
    point: Point,
    *,
    tolerance: float,
    limit: int,
    on_step: Callable[[float], None],
    give_up_below: float = -np.inf,
) -> tuple[Point, bool]:
    """Ascend until no unknown changes by more than tolerance; (the last point, whether it converged).

    The objective never decreases by more than rounding; on_step receives it after every step. Stops early where four
    times the predicted gain of a Newton step would leave it below give_up_below.
    """
    for _ in range(limit):
        step = newton_step(point)
        if point.objective + 2 * float(point.gradient @ step) < give_up_below:
            return point, False
        new = _along(point, step) or _along(point, em_step(point))
        if new is None:  # neither direction increases the objective: a mode, to the precision of the quadrature
            return point, bool(np.abs(step).max(initial=0.0) < 100 * tolerance)
        moved = float(np.abs(new.x - point.x).max(initial=0.0))
        point = new
        on_step(point.objective)
        if moved < tolerance:
            return point, True
    return point, False


def newton_step(point: Point, limit: int = 300) -> Floats:
    """Solve curvature step = gradient by conjugate gradients, more precisely as the gradient shrinks (Steihaug 1983).

    Stops at the first direction of negative curvature, where Newton's step would lead to a saddle.
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
        curvature = float(direction @ image)
        if curvature <= 0:
            return x if x.any() else scaled
        x += power / curvature * direction
        residual -= power / curvature * image
        scaled = scale * residual
        power, previous = float(residual @ scaled), power
        direction = scaled + power / previous * direction
    return x


def em_step(point: Point) -> Floats:
    """Return the first step of EM's M-step, scaled by the diagonal of its curvature.

    If it were known which answers are reversed, the log posterior would be Davidson's with fractional wins,
    jointly concave in all unknowns; its gradient is that of the objective (Fisher's identity).
    """
    return point.gradient / point.diagonal(known=True)


def _along(point: Point, step: Floats) -> Point | None:
    """Return the first of point + step, + step/2, ... with no lower objective; None if 2^-20 is not short enough."""
    allowed = 1e-9 * (1 + abs(point.objective))
    for halvings in range(21):
        new = point.target.at(point.x + step / 2**halvings, point)
        if new.objective >= point.objective - allowed:
            return new
    return None


def negate_utilities(point: Point) -> Point:
    """Return the point with all utilities negated: reliable annotators become unreliable ones."""
    x = point.x.copy()
    x[: point.target.n_items] *= -1
    return point.target.at(x)


def flip_best_parts(point: Point) -> Point:
    """Negate the utilities of connected parts, one part after another, while that raises the objective.

    Parts are linked only by their annotators, so that each of them can converge to reversed utilities on its own.
    """
    part = point.target.pairs.parts
    for _ in range(point.target.pairs.n_parts):
        gains = gains_of_flips(point)
        best = int(np.argmax(gains))
        if gains[best] <= 1e-3:
            break
        x = point.x.copy()
        x[: point.target.n_items][part == best] *= -1
        point = point.target.at(x)
    return point


def gains_of_flips(point: Point) -> Floats:
    """Return the exact change of the objective if the utilities of one connected part were negated, (n_parts,)."""
    pairs, crowd = point.target.pairs, point.evaluation.crowd
    part, (f, side, log_nu) = pairs.parts, point.target.split(point.x)
    row_part = part[pairs.graph.low[pairs.pair]]
    plain = pairs.graph.differences(f)[pairs.pair]
    now, then = side * pairs.orientation + plain, side * pairs.orientation - plain
    (d, *before_rest), (flipped, *after_rest) = (_parts(point, z, log_nu) for z in (now, then))
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
    gains = sum_by_group(keys % len(part), logsumexp(mass + change, axis=1), n_parts)
    by_win, by_row = (after - before for after, before in zip(after_rest, before_rest, strict=True))
    return gains + sum_by_group(row_part[pairs.row], by_win, n_parts) + sum_by_group(row_part, by_row, n_parts)


def _parts(point: Point, margins: Floats, log_nu: float) -> tuple[Floats, Floats, Floats]:
    """Return each win's log ratio of its probability to that reversed, and what wins and rows add to log P besides."""
    pairs, cuts = point.target.pairs, point.target.cuts
    if cuts is not None:
        return graded_parts(pairs, margins, cuts)
    d = pairs.sign * margins[pairs.row]
    return d, pairs.weight * log_scale(d, -np.inf), -pairs.total * log_scale(margins, nu_by_row(log_nu, pairs.can_tie))
