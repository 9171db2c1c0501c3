"""The log posterior of Bradley-Terry with graded answers (cumulative logit): objective, gradient and curvature."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models_engine.graphs import GraphPrecision
from models_engine.inference.davidson.mode import (
    FEWEST_POINTS,
    Curvature,
    ProblemState,
    average_over_normal,
    count_points,
)
from models_engine.inference.graded.counts import GradedCounts
from models_engine.inference.graded.gaps import GapTerms
from models_engine.linalg import sum_by_group

__all__ = ["GradedProblem"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MIN_GAP = 1e-6


@dataclass(frozen=True, eq=False)
class GradedProblem:
    """Log posterior of x = (f, side, cut points); side only where has_side, the first cut point only with ties.

    An answer of grade g for low has probability s(z - c_{g-1}) - s(z - c_g), s the logistic and z = f_low - f_high +
    side * orientation, one for high that of -z, a tie s(z + c_0) - s(z - c_0): McCullagh's (1980) cumulative logit
    with symmetric cut points (Agresti 1992); with one grade it is Rao and Kupper's (1967) tie, without ties and grades
    Bradley-Terry's, as is an answer that could not have been a tie. Since s(u) - s(v) = s(u) s(-v) (1 - exp(v - u)),
    an answer is a win against one threshold, a loss against the other, and a factor of their gap alone; the log
    posterior is concave in all of x.

    prior (n_x,): precision of each coordinate around 0, 0 for cut points: their prior is that of GapTerms.
    variance (n_rows,) or None: averages the log likelihood over z ~ N(z, variance), as in DavidsonProblem.
    """

    counts: GradedCounts
    has_side: bool
    prior: Floats
    variance: Floats | None = None
    n_points: int = FEWEST_POINTS

    @property
    def n_items(self) -> int:
        return self.counts.graph.n_items

    @property
    def has_tie(self) -> bool:
        return self.gap_terms.has_tie

    @property
    def n_cuts(self) -> int:
        """Return how many cut points are unknowns."""
        return self.gap_terms.n_cuts

    @property
    def gap_terms(self) -> GapTerms:
        return self.counts.gaps

    def with_prior_sd(self, sd: float) -> "GradedProblem":
        prior = self.prior.copy()
        prior[: self.n_items] = sd**-2
        return self._replaced(prior=prior)

    def with_variance(self, variance: Floats) -> "GradedProblem":
        """Return the problem with these variances of the margins, with more nodes if any needs them."""
        return self._replaced(variance=variance, n_points=max(self.n_points, count_points(variance)))

    def _replaced(self, **changes: object) -> "GradedProblem":
        made = replace(self, **changes)  # type: ignore[arg-type]
        made.__dict__["design"] = self.design
        return made

    def split(self, x: Floats) -> tuple[Floats, float, Floats]:
        """Split into (f, side, cut points (n_grades,)); side 0 and c_0 0 where they are not inferred."""
        side = float(x[self.n_items]) if self.has_side else 0.0
        return x[: self.n_items], side, self.gap_terms.whole(self._cuts(x))

    def _cuts(self, x: Floats) -> Floats:
        """Return the unknown cut points, (n_cuts,)."""
        return x[len(x) - self.n_cuts :]

    @cached_property
    def design(self) -> Floats:
        """Return the derivatives of the rows' margins by side and cut points, (n_rows, n_nuisances)."""
        counts = self.counts
        thresholds = -counts.sign[:, None] * (counts.cut[:, None] == np.arange(counts.gaps.n_grades))
        columns = [counts.orientation[:, None]] * self.has_side + [thresholds[:, not self.has_tie :]]
        return np.concatenate(columns, axis=1)

    def margins(self, x: Floats) -> Floats:
        """Return z minus the row's threshold, (n_rows,)."""
        n = self.n_items
        return self.counts.graph.differences(x[:n])[self.counts.pair] + self.design @ x[n:]

    def losses(self, x: Floats, m: Floats, rows: slice) -> Floats:
        """Return -log likelihood of all answers of each of these rows at margins m, (..., n_rows), like m."""
        win, lose = _losses(m)
        return self.counts.above[rows] * win + self.counts.below[rows] * lose

    def objective(self, x: Floats) -> float:
        if (self.gap_terms.gaps(self._cuts(x)) <= 0).any():
            return -np.inf
        losses = self._average(self.margins(x), lambda m: np.stack(_losses(m)))
        return self._value(x, losses)

    def at(self, x: Floats) -> ProblemState:
        """Compute objective, gradient and curvature in one pass over the rows, at x with cut points in order."""
        x, counts, graph = self._ordered(x), self.counts, self.counts.graph
        win, lose, p_win, bend = self._average(self.margins(x), _terms)

        def over_pairs(values: Floats) -> Floats:
            return sum_by_group(counts.pair, values, graph.n_pairs)

        slope = counts.above * (1 - p_win) - counts.below * p_win
        weight = (counts.above + counts.below) * bend
        by_cut, cut_curvature = self.gap_terms.derivatives(self._cuts(x))
        n_side = int(self.has_side)
        nuisance = self.design.T @ slope
        nuisance[n_side:] += by_cut
        corner = self.design.T @ (weight[:, None] * self.design) + np.diag(self.prior[self.n_items :])
        corner[n_side:, n_side:] += cut_curvature
        border = [graph.divergence(over_pairs(weight * column)) for column in self.design.T]
        columns = np.stack(border, axis=1) if border else np.zeros((self.n_items, 0))
        gradient = np.concatenate([graph.divergence(over_pairs(slope)), nuisance]) - self.prior * x
        precision = GraphPrecision(graph, over_pairs(weight), self.prior[: self.n_items])
        return ProblemState(x, self._value(x, np.stack([win, lose])), gradient, Curvature(precision, columns, corner))

    def _value(self, x: Floats, losses: Floats) -> float:
        lost = self.counts.above @ losses[0] + self.counts.below @ losses[1]
        return float(self.gap_terms.value(self._cuts(x)) - lost) - float((self.prior * x) @ x / 2)

    def _ordered(self, x: Floats) -> Floats:
        """Return x with every gap at least MIN_GAP."""
        return np.concatenate([x[: len(x) - self.n_cuts], self.gap_terms.spread(self._cuts(x), MIN_GAP)])

    def _average(self, m: Floats, function: Callable[[Floats], Floats]) -> Floats:
        return average_over_normal(function, m, self.variance, self.n_points)


def _losses(m: Floats) -> tuple[Floats, Floats]:
    """Return -log s(m) and -log s(-m)."""
    small = np.log1p(np.exp(-np.abs(m)))
    return small + np.maximum(-m, 0), small + np.maximum(m, 0)


def _terms(m: Floats) -> Floats:
    """Return -log s(m), -log s(-m), s(m) and its derivative, (4, ...)."""
    win, lose = _losses(m)
    p = np.exp(-win)
    return np.stack([win, lose, p, p * np.exp(-lose)])
