"""The update by one graded answer: the margin, reliability and the cut points' log gaps, by moment matching."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from models_engine.inference.crowd_bt.moment_matching import NODE_WEIGHTS, NODES, rule_for
from models_engine.inference.graded.cut_points import gap_matrix, starting_log_gaps

__all__ = ["GRADE_SD", "GapBeliefs", "MatchedGrade", "match_grade"]

Floats = NDArray[np.float64]
GRADE_SD = 1.0  # prior standard deviation of the log of a gap between cut points
MIN_SHARE = 0.01  # of a cut point's variance that its own gap has at least


@dataclass(frozen=True, eq=False)
class GapBeliefs:
    """Independent normal beliefs about the log gaps of cut points, (n_grades,); the first is -inf, of variance 0, until
    a tie is seen."""

    log_gaps: Floats
    variances: Floats

    @classmethod
    def prior(cls, n_grades: int, has_tie: bool) -> "GapBeliefs":
        """Return the gaps at which equal items give each grade, and ties where there are any, as often."""
        gaps = starting_log_gaps(1e-9 * has_tie * np.ones(n_grades + 1))
        return cls(gaps, np.where(np.isfinite(gaps), GRADE_SD**2, 0.0))

    def with_ties(self, log_gap: float | None = None, variance: float = GRADE_SD**2) -> "GapBeliefs":
        """Return them with a first gap, the prior's if none is given; themselves if they have one."""
        if np.isfinite(self.log_gaps[0]):
            return self
        known = GapBeliefs.prior(len(self.log_gaps), True).log_gaps[0] if log_gap is None else log_gap
        return GapBeliefs(np.append(known, self.log_gaps[1:]), np.append(variance, self.variances[1:]))

    @classmethod
    def of(cls, cuts: Floats, sds: Floats) -> "GapBeliefs":
        """Return the beliefs that give cut points these values and standard deviations, `deviations` turned round."""
        with np.errstate(divide="ignore"):
            log_gaps = np.log(np.diff(cuts, prepend=0.0))
        own = np.maximum(np.diff(sds**2, prepend=0.0), MIN_SHARE * sds**2)
        known = np.isfinite(log_gaps)
        return cls(log_gaps, np.divide(own, np.exp(2 * log_gaps), out=np.zeros(len(cuts)), where=known))

    @property
    def cuts(self) -> Floats:
        return np.cumsum(np.exp(self.log_gaps))

    @property
    def deviations(self) -> Floats:
        """Return standard deviations of the cut points, to first order, (n_grades,)."""
        return np.sqrt(gap_matrix(self.log_gaps) ** 2 @ self.variances)


@dataclass(frozen=True, eq=False)
class MatchedGrade:
    """Given the answer: mean and variance of the margin, the gaps, P(not reversed), log P(the answer)."""

    mean: float
    variance: float
    gaps: GapBeliefs
    right: float
    log_probability: float


def match_grade(
    mean: float,
    variance: float,
    reliability: float,
    gaps: GapBeliefs,
    *,
    grade: int,
    tie: bool,
    weight: float = 1.0,
    can_tie: bool = True,
) -> MatchedGrade:
    """Compute moments of p(d, log gaps | answer) for d ~ N(mean, variance), the winner's margin (of a tie: left's).

    An answer of grade g (0: any) has probability eta G(d) + (1 - eta) G(-d), G(d) = P(c_{g-1} < d + noise < c_g); a
    tie lies within c_0 of 0. Of an answer that could not have been a tie c_0 is 0. Each gap that the answer tells of
    is integrated out with d, the others at their means; the margin's moments are those beside the gap known worst.
    Rules as in `match_moments`.
    """
    n = len(gaps.log_gaps)
    highest = -1 if not can_tie else 0 if tie or grade == 0 else min(grade, n - 1)
    open_gaps = np.flatnonzero((np.arange(n) <= highest) & (gaps.variances > 0))
    shift = np.sqrt(gaps.variances[open_gaps])[:, None] * NODES
    nodes = np.tile(gaps.log_gaps, (len(open_gaps) or 1, len(NODES), 1))
    nodes[np.arange(len(open_gaps)), :, open_gaps] += shift
    cuts = np.cumsum(np.exp(nodes), axis=2)[..., None]
    low = -cuts[:, :, 0] if tie else cuts[:, :, max(grade - 1, 0)] * can_tie
    high = cuts[:, :, 0] if tie else cuts[:, :, grade] if 0 < grade < n else np.full_like(low, np.inf)
    unit, normal = rule_for(variance)
    d = mean + variance**0.5 * unit
    gap = -np.expm1(low - high)
    agree, against = expit(d - low) * expit(high - d) * gap, expit(-d - low) * expit(high + d) * gap
    prior = NODE_WEIGHTS[:, None] * normal
    answer = reliability * agree + (1 - reliability) * against
    tilted = prior * (answer if weight == 1.0 else answer**weight)
    worst = int(np.argmax(gaps.variances[open_gaps])) if len(open_gaps) else 0
    good, bad = float((prior * agree[worst]).sum()), float((prior * against[worst]).sum())
    total = float(tilted[worst].sum())
    of_d = tilted[worst].sum(axis=0) / total
    new_mean = float(of_d @ d)
    log_gaps, variances = gaps.log_gaps.copy(), gaps.variances.copy()
    if len(open_gaps):
        of_gap = tilted.sum(axis=2)
        of_gap /= of_gap.sum(axis=1, keepdims=True)
        moved = (of_gap * shift).sum(axis=1)
        log_gaps[open_gaps] += moved
        variances[open_gaps] = (of_gap * (shift - moved[:, None]) ** 2).sum(axis=1)
    right = reliability if tie else reliability * good / (reliability * good + (1 - reliability) * bad)
    return MatchedGrade(
        new_mean, float(of_d @ (d - new_mean) ** 2), GapBeliefs(log_gaps, variances), right, float(np.log(total))
    )
