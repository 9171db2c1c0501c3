"""The log posterior of an angle-based model of more than eight items, where some labels are incomplete rankings."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from models_engine.inference.angle.likelihood import MAX_LENGTH, AngleLabels, Mode, root_of_inverse
from models_engine.inference.angle.orders import DrawnRankings, Orders
from models_engine.inference.angle.permutations import log_constant
from models_engine.inference.angle.von_mises_fisher import mean_length

__all__ = ["OrderTarget"]

Floats = NDArray[np.float64]
MAX_REDRAWS = 200
MAX_RANKINGS = 3_200
SMALL_GAIN = 0.01  # to each parameter: a step of a seventh of its standard deviation, for which none are drawn anew


@dataclass(frozen=True, eq=False)
class OrderTarget:
    """As AngleTarget: complete rankings by the von Mises-Fisher constant, the others by Orders over drawn rankings."""

    labels: AngleLabels
    orders: Orders
    prior_sd: float

    @cached_property
    def basis(self) -> Floats:
        return scipy.linalg.helmert(self.labels.t).T

    def log_density(self, z: Floats, rankings: DrawnRankings) -> float:
        """Return the log density at z (t-1,), over these rankings."""
        labels, eta = self.labels, self.basis @ z
        value = float(eta @ labels.resultant) - labels.total * float(log_constant(eta[None])[0])
        value += float(labels.weight @ self.orders.log_probabilities(eta, rankings))
        return value - float(z @ z) / (2 * self.prior_sd**2)

    def mode(
        self,
        rankings: DrawnRankings,
        rng: np.random.Generator,
        start: Floats | None = None,
        on_iteration: Callable[[], None] | None = None,
        *,
        max_iterations: int = 100,
        tolerance: float = 1e-9,
    ) -> tuple[Mode, DrawnRankings]:
        """Find the mode by Newton's method, with the rankings that it is the mode over.

        While the mode lies beyond the radius in which rankings serve, others are drawn there: more, where that leads no
        further up. A mode that is beyond it only within its own uncertainty is kept at the radius. An earlier mode with
        its rankings is a start from which nothing has to be drawn. Converged where the next step would raise the log
        density by less than `tolerance`, or by its rounding error; not where the mode diverges.
        """
        z, n, best = np.zeros(self.labels.t - 1) if start is None else start, len(rankings.y), -np.inf
        for _ in range(MAX_REDRAWS):
            middle = self.basis.T @ rankings.base
            if np.linalg.norm(z - middle) > 1.001 * rankings.radius:
                rankings = DrawnRankings.at(self.basis @ z, rng, n)
                middle = z
            mode, is_inside = self._mode_within(z, middle, rankings, max_iterations, tolerance, on_iteration)
            if is_inside or np.linalg.norm(mode.mean) > MAX_LENGTH:
                return mode, rankings
            n = min(2 * n, MAX_RANKINGS) if mode.value <= best else n
            z, best = mode.mean, max(best, mode.value)
        return replace(mode, converged=False), rankings

    def _mode_within(
        self,
        z: Floats,
        middle: Floats,
        rankings: DrawnRankings,
        max_iterations: int,
        tolerance: float,
        on_iteration: Callable[[], None] | None,
    ) -> tuple[Mode, bool]:
        """Find the mode over these rankings; or, and False, a better point just beyond the radius around `middle`."""
        here = self._derivatives(z, rankings)
        for _ in range(max_iterations):
            if on_iteration is not None:
                on_iteration()
            value, gradient, curvature = here
            root = root_of_inverse(curvature)
            step, size = root @ (root.T @ gradient), 1.0
            error = max(1e-9, 1e-13 * abs(value))
            gain = float(gradient @ step) / 2  # half the squared length of the step in posterior standard deviations
            if gain < max(tolerance, error):
                return Mode(z, root, value, True), True
            step *= min(1.0, 1.5 * rankings.radius / float(np.linalg.norm(step)))
            while True:  # a step inside is mostly taken: its derivatives, which the next one needs, say the density too
                moved = z + size * step
                beyond = float(np.linalg.norm(moved - middle)) / rankings.radius
                if beyond > 1:
                    reached = self.log_density(moved, rankings)
                else:
                    here = self._derivatives(moved, rankings)
                    reached = here[0]
                if reached >= value - error or size <= 1e-6:
                    break
                size /= 2
            if beyond > 1:
                if gain > SMALL_GAIN * len(z):
                    return Mode(moved, root, value, False), False
                moved = middle + (moved - middle) / beyond
                here = self._derivatives(moved, rankings)
                if here[0] <= value + tolerance:
                    return Mode(z, root, value, True), True
            z = moved
        return Mode(z, root, here[0], False), True

    def with_exact_root(self, mode: Mode, rankings: DrawnRankings) -> Mode:
        """Return the mode with the root of the inverse of its exact curvature, where that of the search is rougher."""
        return replace(mode, root=root_of_inverse(self._derivatives(mode.mean, rankings, exact=True)[2]))

    def _derivatives(self, z: Floats, rankings: DrawnRankings, *, exact: bool = False) -> tuple[float, Floats, Floats]:
        """Return the log density at z, gradient and minus the Hessian; nowhere flatter than the prior alone.

        The likelihood of an incomplete ranking is not concave everywhere: directions in which it curves upwards count
        as flat, so that each step goes up.
        """
        labels, basis, eta, slack = self.labels, self.basis, self.basis @ z, self.prior_sd**-2
        value, slope, curvature = self.orders.derivatives(eta, labels.weight, rankings, exact=exact)
        p, kappa = len(z), float(np.linalg.norm(z))
        along = z / kappa if kappa else z
        length = float(mean_length(kappa, p))
        across = length / kappa if kappa > 1e-9 else 1 / p
        outward = 1 - length**2 - (p - 1) * across
        spread = across * np.eye(p) + (outward - across) * np.outer(along, along)
        value += float(eta @ labels.resultant) - labels.total * float(log_constant(eta[None])[0])
        gradient = basis.T @ (slope + labels.resultant) - labels.total * length * along - slack * z
        values, vectors = np.linalg.eigh(basis.T @ curvature @ basis + labels.total * spread)
        bent = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return value - slack * float(z @ z) / 2, gradient, bent + slack * np.eye(p)
