"""Cut points of graded answers as scales that are learned: their prior, and the sums over answers that teach them."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from models_engine.inference.graded.gaps import PRIOR_WEIGHT
from models_engine.linalg import sum_by_group
from models_engine.normal_intervals import interval_densities, log_interval

__all__ = [
    "CutScores",
    "Link",
    "cut_deviations",
    "cuts_from_gaps",
    "gap_matrix",
    "log_cut_density",
    "log_cut_prior",
    "starting_log_gaps",
    "thresholds",
    "tie_scores",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Link = Literal["logit", "probit"]
MIN_GAP = 1e-4  # units of the link; of the gaps learned


def cuts_from_gaps(log_gaps: Floats) -> Floats:
    """Return c_0 <= c_1 <= ... (n_grades,): the first log gap is that of c_0, -inf without ties (c_0 is 0)."""
    return np.cumsum(np.exp(log_gaps))


def thresholds(cuts: Floats, grade: Ints, can_tie: NDArray[np.bool_] | None = None) -> tuple[Floats, Floats]:
    """Return (low, high), between which margin plus noise of a winner of these grades (n,) lies; 0: any grade.

    can_tie (n,): where not, any grade is above 0; None: all could have been ties.
    """
    low, high = cuts[np.maximum(grade - 1, 0)], np.concatenate([[np.inf], cuts[1:], [np.inf]])[grade]
    return low if can_tie is None else np.where(can_tie, low, 0.0), high


def starting_log_gaps(by_grade: Floats, link: Link = "logit") -> Floats:
    """Return log gaps that give these weights of ties and of each grade, (n_grades + 1,), were all items equal."""
    count = by_grade + PRIOR_WEIGHT
    has_tie = bool(by_grade[0] > 0)
    count[0] = count[0] if has_tie else 0.0
    quantile = logit if link == "logit" else ndtri
    cuts = quantile((1 + np.cumsum(count)[:-1] / count.sum()) / 2)
    gaps = np.log(np.maximum(np.diff(cuts, prepend=0.0), MIN_GAP))
    gaps[0] = gaps[0] if has_tie else -np.inf
    return gaps


@dataclass(frozen=True, eq=False)
class CutScores:
    """First derivative of a log probability in the cut points, (n_grades,), and about minus the second, (n_grades,
    n_grades): the sum of squares of the answers' own (Berndt, Hall, Hall & Hausman 1974), never negative."""

    score: Floats
    curvature: Floats

    @classmethod
    def of(cls, n_grades: int, grade: Ints, weight: Floats, by_low: Floats, by_high: Floats) -> "CutScores":
        """Sum over wins of these grades. by_low, by_high (n,): derivatives of each one's log probability."""
        low, high = np.maximum(grade - 1, 0), np.where(grade == 0, n_grades, grade)  # n_grades: the end, not learned

        def table(row: Ints, column: Ints, values: Floats) -> Floats:
            size = n_grades + 1
            return sum_by_group(row * size + column, weight * values, size * size).reshape(size, size)

        score = table(low, low, by_low) + table(high, high, by_high)
        across = table(low, high, by_low * by_high)
        curvature = table(low, low, by_low**2) + table(high, high, by_high**2) + across + across.T
        return cls(np.diagonal(score)[:n_grades].copy(), curvature[:n_grades, :n_grades])

    def __add__(self, other: "CutScores") -> "CutScores":
        return CutScores(self.score + other.score, self.curvature + other.curvature)

    def in_log_gaps(self, log_gaps: Floats) -> "CutScores":
        """Return the derivatives in the log gaps."""
        by_gap = gap_matrix(log_gaps)
        return CutScores(by_gap.T @ self.score, by_gap.T @ self.curvature @ by_gap)


def gap_matrix(log_gaps: Floats) -> Floats:
    """Return the derivatives of the cut points (rows) in the log gaps (columns)."""
    return np.tril(np.ones((len(log_gaps), len(log_gaps)))) * np.exp(log_gaps)


def cut_deviations(log_gaps: Floats, covariance: Floats) -> tuple[float, ...]:
    """Return the standard deviations of the cut points, (n_grades,), given the covariance of the finite log gaps."""
    by_gap = gap_matrix(log_gaps)[:, np.isfinite(log_gaps)]
    return tuple(np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", by_gap, covariance, by_gap), 0.0)).tolist())


def log_cut_prior(log_gaps: Floats, link: Link = "logit") -> tuple[float, CutScores]:
    """Return the log prior, PRIOR_WEIGHT of a tie (if there are any) and of an answer of each grade between equal
    items as in GradedProblem, and its derivatives in the cut points."""
    cuts, n = cuts_from_gaps(log_gaps), len(log_gaps)
    grade = np.arange(1, n + 1)
    log_chance, by_low, by_high = _between_equals(*thresholds(cuts, grade), link)
    value, found = log_chance.sum(), CutScores.of(n, grade, np.full(n, PRIOR_WEIGHT), by_low, by_high)
    if np.isfinite(log_gaps[0]):
        log_tie, down, up = _between_equals(-cuts[:1], cuts[:1], link)
        value += log_tie.sum()
        found += tie_scores(n, PRIOR_WEIGHT, up - down)
    return float(PRIOR_WEIGHT * value), found


def log_cut_density(log_gaps: Floats) -> float:
    """Return the log prior of `log_cut_prior` under normal noise by itself, which takes a fifth of the time."""
    cuts = cuts_from_gaps(log_gaps)
    ends = np.concatenate([-cuts[:1] if np.isfinite(log_gaps[0]) else [], cuts, [np.inf]])
    return float(PRIOR_WEIGHT * log_interval(ends[:-1], ends[1:]).sum())


def _between_equals(low: Floats, high: Floats, link: Link) -> tuple[Floats, Floats, Floats]:
    """Return log P(low < noise < high) and its derivatives in both ends."""
    if link == "probit":
        value, at_low, at_high = interval_densities(low, high)
        return value, -at_low, at_high
    chance = np.maximum(expit(-low) - expit(-high), 1e-300)
    return np.log(chance), -expit(low) * expit(-low) / chance, expit(high) * expit(-high) / chance


def tie_scores(n_grades: int, weight: Floats | float, by_cut: Floats) -> CutScores:
    """Sum over ties. by_cut (n,): derivative of each one's log probability in c_0."""
    score, curvature = np.zeros(n_grades), np.zeros((n_grades, n_grades))
    score[0], curvature[0, 0] = np.sum(weight * by_cut), np.sum(weight * by_cut**2)
    return CutScores(score, curvature)
