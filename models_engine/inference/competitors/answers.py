"""Answers to pairs averaged over a Gaussian margin, Davidson's and graded ones, and derivatives of the average."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models_engine.implied_pairs import PairTable, nu_by_row
from models_engine.inference.graded.counts import Thresholds
from models_engine.inference.graded.gaps import GapTerms
from models_engine.linalg import chunk_slices, sum_by_group

__all__ = ["Answers", "Averages", "DavidsonAnswers", "GradedAnswers", "RowTerms", "average_answers"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
N_POINTS = 11  # of Gauss-Hermite: at a variance of 4 every figure errs by under 2e-3, the total by under 2e-4
MAX_MARGIN = 400.0  # larger margins are clipped, which does not change probabilities and keeps exp() finite
NARROWER = 0.25  # of a gap between thresholds, at most by one step


@dataclass(frozen=True, eq=False)
class RowTerms:
    """E log P(answers), summed over rows, and its derivatives in the rows' margins and the nuisances.

    slope (n_rows,), by_nuisance (n_nuisances,): first ones.   curvature (n_rows,), cross (n_rows, n_nuisances), corner
    (n_nuisances, n_nuisances): minus the second ones.
    """

    value: float
    slope: Floats
    curvature: Floats
    by_nuisance: Floats
    cross: Floats
    corner: Floats

    @property
    def shares(self) -> Floats:
        """Return (n_rows, n_nuisances) how a nuisance's slope moves with a margin, relative to the margin's own."""
        bend = self.curvature[:, None]
        return np.divide(self.cross, bend, out=np.zeros_like(self.cross), where=bend > 0)


class Answers(Protocol):
    """Answers to pairs by rows, with nuisances v (n_nuisances,) that all share. precision (n_nuisances,): of their
    normal priors around 0, 0 for none. weight (n_rows,): of the answers.
    """

    @property
    def side_sd(self) -> float | None: ...
    @property
    def precision(self) -> Floats: ...
    @property
    def weight(self) -> Floats: ...
    def start(self) -> Floats:
        """Return v before any answer is fitted."""

    def terms(self, differences: Floats, variance: Floats, v: Floats) -> RowTerms:
        """Average over differences of utilities (n_rows,) of these means and variances."""

    def limited(self, v: Floats, before: Floats) -> Floats:
        """Return v, or as near to it as one step may go from before."""


def _precisions(*sds: float | None) -> Floats:
    return np.array([sd**-2 for sd in sds if sd is not None])


@dataclass(frozen=True, eq=False)
class DavidsonAnswers:
    """Wins and ties, equal ones summed; v = (side, log nu), each only where its sd is given. Arrays (n_rows,): weights
    of the three outcomes, and 1 where the order shown is known, else 0.   can_tie: whether the row's answers could have
    been ties, of one kind in a row; None where all could."""

    left_wins: Floats
    right_wins: Floats
    ties: Floats
    sided: Floats
    side_sd: float | None
    tie_sd: float | None
    can_tie: NDArray[np.bool_] | None = None

    @classmethod
    def of(
        cls, pairs: PairTable, outcome: Floats, sided: Floats, row: Ints, side_sd: float | None, tie_sd: float | None
    ) -> "DavidsonAnswers":
        """Sum pairs by row, (n_pairs,), all or none of whose answers could have been ties. outcome (n_pairs,): for the
        row's left.   sided (n_rows,).   tie_sd: None where a tie is half a win each way."""
        tied, n = (outcome == 0.5) & (tie_sd is not None), len(sided)
        left = sum_by_group(row, pairs.weight * outcome * ~tied, n)
        right = sum_by_group(row, pairs.weight * (1 - outcome) * ~tied, n)
        ties = sum_by_group(row, pairs.weight * tied, n)
        could = None if pairs.can_tie is None else np.zeros(n, dtype=bool)
        if could is not None and pairs.can_tie is not None:
            could[row] = pairs.can_tie
        return cls(left, right, ties, sided, side_sd, tie_sd if tied.any() else None, could)

    @property
    def precision(self) -> Floats:
        return _precisions(self.side_sd, self.tie_sd)

    @cached_property
    def weight(self) -> Floats:
        return self.left_wins + self.right_wins + self.ties

    def start(self) -> Floats:
        return np.zeros(len(self.precision))

    def limited(self, v: Floats, before: Floats) -> Floats:
        return v

    def terms(self, differences: Floats, variance: Floats, v: Floats) -> RowTerms:
        side = float(v[0]) if self.side_sd is not None else 0.0
        log_nu = float(v[-1]) if self.tie_sd is not None else -np.inf
        margins, total = differences + side * self.sided, self.weight
        found = average_answers(margins, variance, nu_by_row(log_nu, self.can_tie))
        value = (self.left_wins - self.right_wins) @ margins / 2 - total @ found.total
        slope = (self.left_wins - self.right_wins) / 2 - total * found.slope
        bend, by, cross = total * found.curvature, [], []
        if self.side_sd is not None:
            by.append(float(slope @ self.sided))
            cross.append(bend * self.sided)
        if self.tie_sd is not None:
            value += self.ties.sum() * log_nu
            by.append(float(self.ties.sum() - total @ found.tie))
            cross.append(total * found.tie_slope)
        corner = np.zeros((len(by), len(by)))
        for place, column in enumerate(cross):  # the last is log nu's own, and written over
            corner[0, place] = corner[place, 0] = column @ self.sided
        if self.tie_sd is not None:
            corner[-1, -1] = total @ found.tie_curvature
        columns = np.stack(cross, axis=1) if cross else np.zeros((len(total), 0))
        return RowTerms(float(value), slope, bend, np.array(by), columns, corner)


@dataclass(frozen=True, eq=False)
class GradedAnswers:
    """Answers with grades as answers to thresholds (graded/counts.py); v = (side, unknown cut points), the side only
    where its sd is given. Arrays (n_rows,); above, below: weights; sided: 1 where the order shown is known, else 0.
    """

    above: Floats
    below: Floats
    cut: Ints
    sign: Floats
    sided: Floats
    side_sd: float | None
    gaps: GapTerms

    @classmethod
    def of(
        cls, thresholds: Thresholds, first: Ints, row: Ints, sided: Floats, side_sd: float | None
    ) -> "GradedAnswers":
        """Sum thresholds by row, (n_thresholds,). first (n_rows,): one threshold of each row.   sided (n_rows,)."""
        above, below = (
            sum_by_group(row, thresholds.weight * which, len(first)) for which in (thresholds.above, ~thresholds.above)
        )
        return cls(above, below, thresholds.cut[first], thresholds.sign[first], sided, side_sd, thresholds.gaps)

    @property
    def n_side(self) -> int:
        return int(self.side_sd is not None)

    @property
    def precision(self) -> Floats:
        return np.concatenate([_precisions(self.side_sd), np.zeros(self.gaps.n_cuts)])

    @cached_property
    def weight(self) -> Floats:
        return self.above + self.below

    def start(self) -> Floats:
        return np.concatenate([np.zeros(self.n_side), self.gaps.starting()])

    def limited(self, v: Floats, before: Floats) -> Floats:
        """Return v with cut points in order: no gap becomes less than NARROWER of what it was."""
        n = self.n_side
        least = NARROWER * np.diff(before[n:], prepend=0.0)
        return np.concatenate([v[:n], self.gaps.spread(v[n:], least)])

    @cached_property
    def design(self) -> Floats:
        """Return the derivatives of the rows' margins, less their thresholds, by v, (n_rows, n_nuisances)."""
        thresholds = -self.sign[:, None] * (self.cut[:, None] == np.arange(self.gaps.n_grades))
        return np.concatenate([self.sided[:, None]] * self.n_side + [thresholds[:, not self.gaps.has_tie :]], axis=1)

    def terms(self, differences: Floats, variance: Floats, v: Floats) -> RowTerms:
        margins, n = differences + self.design @ v, self.n_side
        found = average_answers(margins, variance, -np.inf)
        slope, bend = (self.above - self.below) / 2 - self.weight * found.slope, self.weight * found.curvature
        value = (self.above - self.below) @ margins / 2 - self.weight @ found.total + self.gaps.value(v[n:])
        by_nuisance, corner = self.design.T @ slope, self.design.T @ (bend[:, None] * self.design)
        by_cut, curved = self.gaps.derivatives(v[n:])
        by_nuisance[n:] += by_cut
        corner[n:, n:] += curved
        return RowTerms(float(value), slope, bend, by_nuisance, bend[:, None] * self.design, corner)


@dataclass(frozen=True, eq=False)
class Averages:
    """Over z ~ N(mean, variance), each (n,), of L = log(e^(z/2) + e^(-z/2) + nu).

    total: E L.   slope, curvature: E dL/dz, E d2L/dz2.   tie: E dL/dlog nu, which is P(tie).
    tie_slope: E d2L/dz dlog nu.   tie_curvature: E d2L/dlog nu^2.
    """

    total: Floats
    slope: Floats
    curvature: Floats
    tie: Floats
    tie_slope: Floats
    tie_curvature: Floats


def average_answers(mean: Floats, variance: Floats, log_nu: Floats | float) -> Averages:
    """Average for margins (n,). log_nu, of each or of all: -inf without ties.

    P(left) : P(right) : P(tie) = e^(z/2) : e^(-z/2) : nu (Davidson 1970).
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(N_POINTS)
    weights = weights / weights.sum()
    sd, result = np.sqrt(np.maximum(variance, 0.0)), np.empty((6, len(mean)))
    log_nus = np.broadcast_to(log_nu, mean.shape)
    for part in chunk_slices(len(mean), N_POINTS, budget=200_000):
        z = np.clip(mean[part] + sd[part] * nodes[:, None], -MAX_MARGIN, MAX_MARGIN)
        for row, values in enumerate(_at(z, log_nus[part])):
            result[row, part] = weights @ values
    return Averages(*result)


def _at(z: Floats, log_nu: Floats) -> list[Floats]:
    """Return the six rows of Averages at margins z (n_points, n).   log_nu (n,)."""
    up = np.exp(z / 2)
    down = 1 / up
    total = up + down + np.exp(log_nu)
    slope, tie = (up - down) / (2 * total), np.exp(log_nu) / total
    curvature = (up + down) / (4 * total) - slope * slope
    return [np.log(total), slope, curvature, tie, -tie * slope, tie * (1 - tie)]
