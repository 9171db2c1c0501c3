"""Draws a standard deviation of the consensus for each unconnected part of the items, pooled towards a common one."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

__all__ = ["SPREADS", "PartScales", "has_part_scales", "log_spread_prior"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SPREADS = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0, 1.25, 1.6, 2.0])  # of log tau_p
MIN_PARTS, MIN_ITEMS = 5, 3  # of fewer groups the prior decides how they spread (Gelman 2006); two items are one number
TINY = np.finfo(np.float64).tiny


def has_part_scales(parts: Ints) -> bool:
    """Return whether there are parts enough, of items enough, to tell how their scales spread; parts (n_items,)."""
    return int((np.bincount(parts) >= MIN_ITEMS).sum()) >= MIN_PARTS


def log_spread_prior(spread: Floats, scale: float) -> Floats:
    """Return the log density of a half-normal prior of this scale of the spread of log tau_p, times the widths of its
    cells."""
    ends = np.r_[0.0, (spread[1:] + spread[:-1]) / 2, 2 * spread[-1] - (spread[-1] + spread[-2]) / 2]
    return np.asarray(np.log(np.diff(ends)) - (spread / scale) ** 2 / 2)


class PartScales:
    """log tau_p ~ N(log tau, s^2), s half-normal, for each part p of two items or more, among points of a grid of
    scales; items of other parts have tau.

    tau and s are drawn with all tau_p summed out: otherwise a small s would hold all tau_p at tau, and these s.

    parts (n_items,): numbers of the connected parts.   grid (g,): evenly spaced in the logarithm.   first: initial
    value of all scales.   spread_scale: of the prior of s, whose values are SPREADS.   places (n_parts,), at: where the
    tau_p and tau are on the grid.
    """

    def __init__(self, parts: Ints, grid: Floats, first: float, spread_scale: float) -> None:
        size = np.bincount(parts)
        self._several = np.flatnonzero(size > 1)
        self._parts, self._size, self._log_grid, self._squares = parts, size[self._several], np.log(grid), grid**2
        of_part = np.full(len(size), -1)
        of_part[self._several] = np.arange(len(self._several))
        self._of_item = of_part[parts]
        away = np.subtract.outer(self._log_grid, self._log_grid)
        width = np.maximum(SPREADS, 1e-3)[:, None, None]  # far less than the grid's steps: tau itself
        logs = -((away / width) ** 2) / 2
        self._log_prior = logs - logsumexp(logs, axis=2, keepdims=True)  # (spread, tau, tau_p)
        self._prior = np.exp(self._log_prior)
        self.at = int(np.abs(grid - first).argmin())
        self._log_spread_prior = log_spread_prior(SPREADS, spread_scale)
        self.places, self._spread = np.full(len(self._several), self.at), 0

    @property
    def spread(self) -> float:
        """Return s."""
        return float(SPREADS[self._spread])

    def item_places(self) -> Ints:
        """Return where each item's standard deviation is on the grid, (n_items,)."""
        return np.where(self._of_item < 0, self.at, self.places[self._of_item])

    def draw(self, values: Floats, log_density: Floats, rng: np.random.Generator) -> None:
        """Draw all anew, given the consensus (n_items,) and the log prior density (g,) of log tau on the grid."""
        squares = np.bincount(self._parts, values**2)
        logs = -self._size[:, None] * self._log_grid - squares[self._several, None] / (2 * self._squares)
        likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
        alone = self._of_item < 0
        of_tau = log_density - alone.sum() * self._log_grid - (values[alone] ** 2).sum() / (2 * self._squares)
        self._spread = _pick(_log_sums(likelihood, self._prior[:, self.at].T) + self._log_spread_prior, rng)
        self.at = _pick(of_tau + _log_sums(likelihood, self._prior[self._spread].T), rng)
        log_posterior = np.log(np.maximum(likelihood, TINY)) + self._log_prior[self._spread, self.at]
        self.places = (log_posterior + rng.gumbel(size=log_posterior.shape)).argmax(axis=1)

    def of_items(self, items: Ints) -> Ints:
        """Return the place among `places` of each of these items' part, -1 of parts of one item."""
        return self._of_item[items]

    def propose(self, sizes: Sequence[int], rng: np.random.Generator) -> tuple[Ints, Floats, Floats]:
        """Return by how many points of the grid each tau_p might move (n_parts,), up or down by one of these `sizes`;
        by how much the log density of tau_p given tau grows (n_parts,), -inf where the grid ends; and the factor of
        each item's consensus that would move with it (n_items,)."""
        steps = rng.choice(sizes, len(self.places)) * np.where(rng.random(len(self.places)) < 0.5, 1, -1)
        last, prior = len(self._log_grid) - 1, self._log_prior[self._spread, self.at]
        then = np.clip(self.places + steps, 0, last)
        gain = np.where(then == self.places + steps, prior[then] - prior[self.places], -np.inf)
        factors = np.exp(self._log_grid[then] - self._log_grid[self.places])
        return then - self.places, gain, np.where(self._of_item < 0, 1.0, factors[self._of_item])

    def can_move(self, steps: int) -> bool:
        """Return whether tau and all tau_p stay on the grid as they move by so many points."""
        ends = min(self.at, self.places.min()) + steps, max(self.at, self.places.max()) + steps
        return bool(ends[0] >= 0 and ends[1] < len(self._log_grid))

    def gain(self, steps: int) -> float:
        """Return by how much the log density of all tau_p given tau grows as all move by so many points, which must be
        on the grid: only near its ends, where less of the normal is left out."""
        prior = self._log_prior[self._spread]
        return float((prior[self.at + steps, self.places + steps] - prior[self.at, self.places]).sum())

    def move(self, steps: int) -> None:
        self.at += steps
        self.places = self.places + steps


def _log_sums(likelihood: Floats, prior: Floats) -> Floats:
    """Return the log probability of all parts given each column of prior (g, m), (m,)."""
    return np.asarray(np.log(np.maximum(likelihood @ prior, TINY)).sum(axis=0))


def _pick(log_density: Floats, rng: np.random.Generator) -> int:
    return int((log_density + rng.gumbel(size=len(log_density))).argmax())
