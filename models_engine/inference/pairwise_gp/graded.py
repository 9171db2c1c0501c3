"""Graded answers to pairs under normal noise: factors of intervals whose ends, the cut points, are learned."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from models_engine.implied_pairs import PairTable
from models_engine.inference.graded.cut_points import cuts_from_gaps, starting_log_gaps
from models_engine.inference.graded.gaps import PRIOR_WEIGHT
from models_engine.inference.pairwise_gp.model import GaussianMargins, GPState, PairFactors
from models_engine.inference.probit_ep.expected_probit import expected_interval
from models_engine.inference.probit_ep.pair_sites import NO_TIE, site_grades
from models_engine.linalg import sum_by_group

__all__ = ["CutPoints", "CutTerms", "GradedFactors", "cut_coupling", "cut_spread"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_SHRINK = 0.6  # of a gap between cut points in one step


@dataclass(frozen=True, eq=False)
class CutTerms:
    """Derivatives of the expected log likelihood of all rows and of the prior in the k cut points that are learned.

    gradient (k,); curvature (k, k): minus the second one; cross (n_rows, k): minus the second one in a row's margin
    and a cut point.
    """

    gradient: Floats
    curvature: Floats
    cross: Floats


@dataclass(frozen=True, eq=False)
class GradedFactors(PairFactors):
    """Factors P(low < z + noise < high) to the power of the row's weight, one row per distinct pair, winner and grade.

    grade (n_pairs,): of the winner, 0 for any, NO_TIE for any of an answer that could not have been a tie, which lies
    above 0; a tie (wins and losses alike) lies within c_0 of 0. Noise is N(0, 1).
    cuts (n_grades,): c_0 <= c_1 <= ...; c_0 is 0 and not learned where no answer is a tie. Their prior is PRIOR_WEIGHT
    of an answer of each kind between equal items, as in GradedProblem. The log likelihood is concave in margins and cut
    points together (Prekopa 1973: integrals of a log-concave density over an interval are so in its ends).
    """

    grade: Ints
    cuts: Floats

    @classmethod
    def of_grades(
        cls, pairs: PairTable, n_grades: int, margin_variance: float, known: Sequence[float] | None = None
    ) -> "GradedFactors":
        """Sum pairs. Cut points start at those of an earlier fit where they fit in number and kind, else where they
        give the shares of all answers for margins N(0, margin_variance)."""
        used = pairs.select(pairs.weight > 0)
        low, high = np.minimum(used.left, used.right), np.maximum(used.left, used.right)
        low_won = np.where(used.left < used.right, used.outcome, 1 - used.outcome)
        kinds = n_grades + 1 - NO_TIE
        code = ((low * pairs.n_items + high) * 3 + (2 * low_won).astype(np.int64)) * kinds + site_grades(used) - NO_TIE
        keys, group = np.unique(code, return_inverse=True)
        weight = sum_by_group(group, used.weight, len(keys))
        grades, result, pair = keys % kinds + NO_TIE, keys // kinds % 3 / 2, keys // (3 * kinds)
        tied, width = result == 0.5, max(1, pairs.n_items)
        counted = np.where(tied | (grades > 0), weight, 0.0)
        by_grade = sum_by_group(np.maximum(grades, 0), counted, n_grades + 1)
        if known is not None and len(known) == n_grades and (known[0] > 0) == bool(tied.any()):
            cuts = np.array(known)
        else:
            cuts = np.sqrt(1 + margin_variance) * cuts_from_gaps(starting_log_gaps(by_grade, "probit"))
        ends = (pair // width, pair % width)
        return cls(*ends, weight * result, weight * (1 - result), pairs.n_items, grades, cuts)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*super().columns, "grade")

    @property
    def has_tie(self) -> bool:
        return bool(self.cuts[0] > 0)

    @property
    def n_learned(self) -> int:
        """Return how many cut points are learned."""
        return len(self.cuts) - (not self.has_tie)

    @property
    def log_prior(self) -> float:
        return PRIOR_WEIGHT * float(self._prior_terms[0].sum())

    def expected_by(self, terms: Floats) -> tuple[Floats, Floats, Floats]:
        value, by_low, by_high, low_low, low_high, high_high = self.weight * terms
        return value, -self.sign * (by_low + by_high), -(low_low + 2 * low_high + high_high)

    def terms(self, margins: GaussianMargins) -> Floats:
        """Return `expected_interval` of the winner's margins, (6, n_pairs)."""
        ends = (_end(self.cuts, which) for which in self._ends)
        return expected_interval(self.sign * margins.mean, margins.variance, *ends)

    def cut_terms(self, terms: Floats, share: float = 1.0) -> CutTerms:
        """Return the derivatives in the cut points from `terms`, the likelihood's times `share`."""
        n_free = len(self.cuts) - self.n_learned
        low, high = (_design(which, len(self.cuts))[:, n_free:] for which in self._ends)
        weight = share * self.weight
        gradient, curvature = _in_cuts(terms, weight, low, high)
        designs = [_design(which, len(self.cuts))[:, n_free:] for which in _prior_ends(self.cuts)]
        prior = np.full(len(self._prior_terms[0]), PRIOR_WEIGHT)
        more, curve = _in_cuts(self._prior_terms, prior, *designs)
        _, _, _, low_low, low_high, high_high = weight * terms
        cross = (low_low + low_high)[:, None] * low + (low_high + high_high)[:, None] * high
        return CutTerms(gradient + more, curvature + curve, self.sign[:, None] * cross)

    def moved(self, step: Floats) -> tuple[Self, float]:
        """Move the learned cut points by a step (n_learned,); return also the share of it that was taken, so that no
        gap lost more than MAX_SHRINK."""
        whole = np.concatenate([np.zeros(len(self.cuts) - self.n_learned), step])
        gaps = np.diff(self.cuts, prepend=0.0)[len(self.cuts) - self.n_learned :]
        shrink = -np.diff(whole, prepend=0.0)[len(self.cuts) - self.n_learned :] / gaps
        share = min(1.0, MAX_SHRINK / max(float(shrink.max(initial=0.0)), 1e-300))
        return replace(self, cuts=self.cuts + share * whole), share

    @cached_property
    def sign(self) -> Floats:
        """Return 1 where low won or it is a tie, -1 where high won, (n_pairs,)."""
        return np.where(self.losses > self.wins, -1.0, 1.0)

    @cached_property
    def weight(self) -> Floats:
        """Return the weight of each row, (n_pairs,)."""
        return self.wins + self.losses

    @cached_property
    def _ends(self) -> tuple[Ints, Ints]:
        """Return which cut point is the lower and the upper end: c_i is i + 1, -c_i is -(i + 1), 0 none (infinite), and
        n_grades + 1 the number 0."""
        tied = (self.wins == self.losses) & self.has_tie
        n = len(self.cuts)
        lower = np.where(self.grade == NO_TIE, n + 1, np.maximum(self.grade, 1))
        upper = np.where((self.grade <= 0) | (self.grade == n), 0, self.grade + 1)
        return np.where(tied, -1, lower), np.where(tied, 1, upper)

    @cached_property
    def _prior_terms(self) -> Floats:
        """Return `expected_interval` of one answer of each kind between equal items."""
        ends = [_end(self.cuts, which) for which in _prior_ends(self.cuts)]
        return expected_interval(np.zeros(len(ends[0])), np.zeros(len(ends[0])), *ends)


def _prior_ends(cuts: Floats) -> tuple[Ints, Ints]:
    """Return the ends of each grade and, where c_0 is above 0, of a tie."""
    number = np.arange(1, len(cuts) + 1)
    upper = np.append(number[1:], 0)
    if cuts[0] == 0:
        return number, upper
    return np.append(number, -1), np.append(upper, 1)


def _end(cuts: Floats, which: Ints) -> Floats:
    return np.where(which == 0, np.inf, np.sign(which) * np.append(cuts, 0.0)[np.abs(which) - 1])


def _design(which: Ints, n_cuts: int) -> Floats:
    """Return the derivatives of the ends in the cut points, (n, n_cuts)."""
    return np.sign(which)[:, None] * (np.abs(which)[:, None] == np.arange(1, n_cuts + 1))


def _in_cuts(terms: Floats, weight: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return gradient and minus the second derivative in the cut points, given those of the ends, (n, k) each."""
    _, by_low, by_high, low_low, low_high, high_high = weight * terms
    across = (low_high[:, None] * low).T @ high
    bend = (low_low[:, None] * low).T @ low + across + across.T + (high_high[:, None] * high).T @ high
    return low.T @ by_low + high.T @ by_high, -bend


def cut_coupling(state: GPState) -> tuple[CutTerms, Floats]:
    """Return the derivatives in the learned cut points, and minus the second one in these and the points u, (k,
    n_points). Raises TypeError where the state's factors have none."""
    problem, factors = state.problem, state.problem.factors
    if not isinstance(factors, GradedFactors):
        raise TypeError("only graded factors have cut points.")
    found = factors.cut_terms(state.terms)
    coupling = np.array([problem.project_slopes(factors, column) for column in found.cross.T])
    return found, coupling.reshape(factors.n_learned, problem.prior.n_points)


def cut_spread(state: GPState) -> tuple[Floats, Floats]:
    """Return the covariance of the learned cut points (k, k), and how the points u follow them, (n_points, k).

    Laplace's approximation for u and the cut points together, by the expected curvature at the state.
    """
    found, coupling = cut_coupling(state)
    follow = -(state.covariance @ coupling.T)
    return np.asarray(np.linalg.inv(found.curvature + coupling @ follow)), follow


@dataclass(frozen=True, eq=False)
class CutPoints:
    """Learned cut points (n_grades,) with their standard deviations, 0 of one that is fixed, and the covariance that
    what is open about them adds to the points, (n_points, n_points)."""

    values: tuple[float, ...]
    deviations: tuple[float, ...]
    widening: Floats

    @classmethod
    def of_state(cls, state: GPState) -> "CutPoints | None":
        """Return those of the state; None where its factors are of winners alone."""
        factors = state.problem.factors
        if not isinstance(factors, GradedFactors):
            return None
        covariance, follow = cut_spread(state)
        sds = np.zeros(len(factors.cuts))
        sds[len(sds) - factors.n_learned :] = np.sqrt(np.diagonal(covariance))
        return cls(tuple(factors.cuts.tolist()), tuple(sds.tolist()), follow @ covariance @ follow.T)
