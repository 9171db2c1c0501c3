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
        self._last: tuple[Floats, Floats] | None = None  # point and residual
        self._moves: Floats = np.empty((depth, 0))  # (depth, n) of points, and of residuals
        self._changes: Floats = np.empty((depth, 0))
        self._n_moves = 0

    def propose(self, point: Floats, image: Floats, metric: Floats) -> Floats:
        """Return the next point to try after `point`; metric: a positive weight per number. Plain iteration at
        first.
        """
        residual = image - point
        self._keep(point, residual)
        n_kept = min(self._n_moves, self.depth)
        if n_kept == 0:
            return image
        moves, changes = self._moves[:n_kept], self._changes[:n_kept]
        weighted = changes * metric
        gram = weighted @ weighted.T
        gram[np.diag_indices_from(gram)] += 1e-10 * np.trace(gram) + 1e-300
        mix = np.linalg.solve(gram, weighted @ (metric * residual))
        return image - mix @ moves - mix @ changes

    def _keep(self, point: Floats, residual: Floats) -> None:
        """Keep how far both are from the last ones, in place of the oldest such move; their order does not matter."""
        if self._last is None:
            self._moves, self._changes = np.empty((2, self.depth, len(point)))
        else:
            oldest = self._n_moves % self.depth
            np.subtract(point, self._last[0], out=self._moves[oldest])
            np.subtract(residual, self._last[1], out=self._changes[oldest])
            self._n_moves += 1
        self._last = point, residual

    def reset(self) -> None:
        """Discard the stored points, after a proposal that was rejected."""
        self._last, self._n_moves = None, 0
