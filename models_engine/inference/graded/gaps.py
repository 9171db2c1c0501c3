"""What the log posterior of graded answers has of the cut points alone: gaps between thresholds, and their prior."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

__all__ = ["PRIOR_WEIGHT", "GapTerms"]

Floats = NDArray[np.float64]
PRIOR_WEIGHT = 0.5  # of one answer of each kind between equal items: keeps cut points apart and finite


@dataclass(frozen=True, eq=False)
class GapTerms:
    """Factors 1 - exp(-gap) of the answers between two thresholds, and the prior: PRIOR_WEIGHT of one tie (if there are
    ties) and of one answer of each grade between equal items.

    by_grade (n_grades + 1,): weight of ties, then of each grade.   Cut points are given as the unknown ones, (n_cuts,):
    c_0 is one only with ties, else 0.
    """

    by_grade: Floats

    @property
    def n_grades(self) -> int:
        return len(self.by_grade) - 1

    @property
    def has_tie(self) -> bool:
        return bool(self.by_grade[0] > 0)

    @property
    def n_cuts(self) -> int:
        return self.n_grades - (not self.has_tie)

    def whole(self, cuts: Floats) -> Floats:
        """Return all cut points, (n_grades,)."""
        return cuts if self.has_tie else np.concatenate([[0.0], cuts])

    def starting(self) -> Floats:
        """Return the unknown cut points that give the shares of the answers, were all items equal."""
        count = self.by_grade + PRIOR_WEIGHT
        count[0] -= 0 if self.has_tie else count[0]
        below = np.cumsum(count)[:-1] / count.sum()
        return np.asarray(logit((1 + below) / 2)[not self.has_tie :])

    def gaps(self, cuts: Floats) -> Floats:
        """Return the widths between thresholds, (n_cuts,): of a tie (if any), then of each grade but the highest."""
        whole = self.whole(cuts)
        found = np.diff(whole, prepend=-whole[0])
        return found if self.has_tie else found[1:]

    def spread(self, cuts: Floats, least: Floats | float) -> Floats:
        """Return the cut points with every step from one to the next (the first from 0) at least so wide, (n_cuts,)."""
        steps = np.diff(cuts, prepend=0.0)
        return cuts if (steps >= least).all() else np.cumsum(np.maximum(steps, least))

    def value(self, cuts: Floats) -> float:
        """Return the sum of log factors; -inf where cut points are out of order."""
        gaps = self.gaps(cuts)
        if (gaps <= 0).any():
            return -np.inf
        u, scale = self._prior_thresholds(cuts)
        return float((self._between * np.log(-np.expm1(-gaps))).sum() - scale @ np.logaddexp(0, u))

    def derivatives(self, cuts: Floats) -> tuple[Floats, Floats]:
        """Return gradient (n_cuts,) and minus the Hessian."""
        gaps, weight = self.gaps(cuts), self._between
        steep = weight / np.expm1(gaps)
        bend = weight * np.exp(-gaps) / np.expm1(-gaps) ** 2
        to_gaps = np.eye(self.n_cuts) - np.eye(self.n_cuts, k=-1)
        if self.has_tie and self.n_cuts:
            to_gaps[0, 0] = 2.0
        u, scale = self._prior_thresholds(cuts)
        sign, p = np.repeat([1.0, -1.0], self.n_grades), expit(u)
        slope = (-scale * sign * p).reshape(2, -1).sum(axis=0)[not self.has_tie :]
        curve = (scale * p * (1 - p)).reshape(2, -1).sum(axis=0)[not self.has_tie :]
        return to_gaps.T @ steep + slope, to_gaps.T @ (bend[:, None] * to_gaps) + np.diag(curve)

    @property
    def _between(self) -> Floats:
        """Return the weight of answers with a threshold on both sides: ties, then grades but the highest."""
        return (self.by_grade[:-1] + PRIOR_WEIGHT)[not self.has_tie :]

    def _prior_thresholds(self, cuts: Floats) -> tuple[Floats, Floats]:
        """Return (u, weight) of the prior's answers between equal items: each adds -weight log(1 + exp(u)).

        A grade's lower threshold c gives log s(-c), an upper one log s(c); a tie's two give log s(c_0) each.
        """
        whole = self.whole(cuts)
        upper = np.full(len(whole), PRIOR_WEIGHT)
        upper[0] = 2 * PRIOR_WEIGHT * self.has_tie
        lower = np.full(len(whole), PRIOR_WEIGHT)
        return np.concatenate([whole, -whole]), np.concatenate([lower, upper])
