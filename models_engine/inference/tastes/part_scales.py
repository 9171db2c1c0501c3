"""Draws a standard deviation of the consensus for each unconnected part of the items, pooled towards a common one."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

__all__ = ["SPREADS", "PartScales", "log_spread_prior"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SPREADS = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0, 1.25, 1.6])  # of log tau_p, among which it is drawn
SPREAD_SCALE = 0.5


def log_spread_prior(spread: Floats) -> Floats:
    """Return the log density of the half-normal prior of the spread of log tau_p, times the widths of its cells."""
    ends = np.r_[0.0, (spread[1:] + spread[:-1]) / 2, 2 * spread[-1] - (spread[-1] + spread[-2]) / 2]
    return np.asarray(np.log(np.diff(ends)) - (spread / SPREAD_SCALE) ** 2 / 2)


class PartScales:
    """log tau_p ~ N(log tau, spread^2) for each part p of two items or more, among points of a grid of scales; items of
    other parts have tau.

    tau and the spread are drawn with all tau_p summed out: otherwise a small spread would hold all tau_p at tau, and
    these the spread.

    parts (n_items,): numbers of the connected parts.   grid (g,): evenly spaced in the logarithm.
    places (n_parts,), at: where tau_p and tau are on the grid.
    """

    def __init__(self, parts: Ints, grid: Floats, first: float) -> None:
        size = np.bincount(parts)
        self._several = np.flatnonzero(size > 1)
        self._parts, self._size, self._log_grid, self._squares = parts, size[self._several], np.log(grid), grid**2
        self._of_item = np.full(len(size), -1)
        self._of_item[self._several] = np.arange(len(self._several))
        self._of_item = self._of_item[parts]
        away = np.subtract.outer(self._log_grid, self._log_grid)
        width = np.maximum(SPREADS, 1e-3)[:, None, None]  # far less than the grid's steps: tau itself
        logs = -((away / width) ** 2) / 2
        self._log_prior = logs - logsumexp(logs, axis=2, keepdims=True)  # (spread, tau, tau_p)
        self._prior = np.exp(self._log_prior)
        self.at = int(np.abs(grid - first).argmin())
        self.places, self._spread = np.full(len(self._several), self.at), 0

    @staticmethod
    def several(parts: Ints) -> bool:
        """Return whether there are two parts or more of two items or more."""
        return int((np.bincount(parts) > 1).sum()) > 1

    @property
    def spread(self) -> float:
        return float(SPREADS[self._spread])

    def item_places(self) -> Ints:
        """Return where each item's standard deviation is on the grid, (n_items,)."""
        return np.where(self._of_item < 0, self.at, self.places[self._of_item])

    def draw(self, values: Floats, log_density: Floats, rng: np.random.Generator) -> None:
        """Draw all anew, given the consensus (n_items,) and the log prior density (g,) of tau on the grid."""
        squares = np.bincount(self._parts, values**2)
        alone = np.bincount(self._parts)[:, None] == 1
        logs = -self._size[:, None] * self._log_grid - squares[self._several, None] / (2 * self._squares)
        largest = logs.max(axis=1, keepdims=True)
        likelihood = np.exp(logs - largest)
        n_alone, rest = int(alone.sum()), float(squares[alone[:, 0]].sum())
        of_tau = log_density - n_alone * self._log_grid - rest / (2 * self._squares)
        by_spread = _log_sums(likelihood, self._prior[:, self.at].T) + log_spread_prior(SPREADS)
        self._spread = _pick(by_spread, rng)
        of_tau += _log_sums(likelihood, self._prior[self._spread].T)
        self.at = _pick(of_tau, rng)
        told = np.log(likelihood + np.finfo(np.float64).tiny) + self._log_prior[self._spread, self.at]
        self.places = (told + rng.gumbel(size=told.shape)).argmax(axis=1)

    def gain(self, steps: int) -> float:
        """Return by how much the log density of all tau_p given tau grows as both move by this many points, which must
        be on the grid."""
        prior = self._log_prior[self._spread]
        return float((prior[self.at + steps, self.places + steps] - prior[self.at, self.places]).sum())

    def can_move(self, steps: int) -> bool:
        """Return whether tau and all tau_p stay on the grid as they move by so many points."""
        ends = min(self.at, self.places.min()) + steps, max(self.at, self.places.max()) + steps
        return bool(ends[0] >= 0 and ends[1] < len(self._log_grid))

    def move(self, steps: int) -> None:
        self.at += steps
        self.places = self.places + steps


def _log_sums(likelihood: Floats, prior: Floats) -> Floats:
    """Return the log probability of all parts given each column of prior (g, m), (m,)."""
    return np.asarray(np.log(np.maximum(likelihood @ prior, np.finfo(np.float64).tiny)).sum(axis=0))


def _pick(log_density: Floats, rng: np.random.Generator) -> int:
    return int((log_density + rng.gumbel(size=len(log_density))).argmax())
