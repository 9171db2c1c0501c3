"""Anderson's acceleration of a fixed-point iteration."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Anderson"]

Floats = NDArray[np.float64]


class Anderson:
    """Anderson acceleration of x = g(x) from the last few points and their images (Anderson 1965; Walker & Ni 2011,
    type II): the image of that affine mix of them whose residual g(x) - x is smallest in the metric given."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self._points: list[Floats] = []
        self._residuals: list[Floats] = []

    def propose(self, point: Floats, image: Floats, metric: Floats) -> Floats:
        """Return the next point to try after `point`; metric: a positive weight per number. Plain iteration at
        first.
        """
        self._points = [*self._points, point][-self.depth - 1 :]
        self._residuals = [*self._residuals, image - point][-self.depth - 1 :]
        if len(self._points) == 1:
            return image
        moves, changes = np.diff(self._points, axis=0), np.diff(self._residuals, axis=0)
        weighted = changes * metric
        gram = weighted @ weighted.T
        gram[np.diag_indices_from(gram)] += 1e-10 * np.trace(gram) + 1e-300
        mix = np.linalg.solve(gram, weighted @ (metric * self._residuals[-1]))
        return image - mix @ (moves + changes)

    def reset(self) -> None:
        """Discard the stored points, after a proposal that was rejected."""
        self._points, self._residuals = [], []
