"""Places items on the logarithmic odds of the score, cut by a project's grade boundaries; needs numpy alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annotate.models import Project
from annotate.models.grades import GradesBy
from models_engine.analysis.boundaries import BoundaryState, boundary_states, grade_probabilities
from models_engine.models import Estimate

Floats = NDArray[np.float64]
Z90 = 1.6448536269514722
LEAST_ODDS = 1e-4  # of a score in per cent: one at 0 or 100 is as far off
APART = 1e-6  # between boundaries that fall on one place


@dataclass(frozen=True, eq=False)
class Graded:
    """Items of the largest part, (n_items,), best first, on the logarithmic odds of their score.

    deviations: such that the ends of the 90% intervals are those of the scores.   cuts: boundaries, the lowest first.
    """

    keys: list[int]
    means: Floats
    deviations: Floats
    cuts: Floats

    def probabilities(self) -> Floats:
        """Return (n_items, n_grades) P(grade), the best grade first."""
        return grade_probabilities(self.means, self.deviations, self.cuts)[:, ::-1]

    def states(self) -> list[BoundaryState]:
        """Return the state of each boundary, the highest first."""
        return boundary_states(self.means, self.deviations, self.cuts)[::-1]


def grade_estimates(project: Project, rows: Iterable[Estimate]) -> Graded | None:
    """Grades the largest part of a fit; None without grades, and in fits without scores."""
    known = [row for row in rows if row.part == 0 and row.score_low is not None and row.score_high is not None]
    if len(project.grades) < 2 or not known:
        return None
    low, high = (log_odds([getattr(row, name) for row in known]) for name in ("score_low", "score_high"))
    means, deviations = (low + high) / 2, (high - low) / (2 * Z90)
    order = np.argsort(-means, kind="stable")
    keys = [known[place].item_id for place in order]
    return Graded(keys, means[order], deviations[order], cuts_of(project, means[order]))


def cuts_of(project: Project, means: Floats) -> Floats:
    """Return the boundaries, the lowest first; `means` (n_items,) fall."""
    limits = [float(grade["limit"]) for grade in project.grades[:-1]]
    cuts = log_odds(limits) if project.grades_by == GradesBy.SCORE else cuts_of_shares(limits, means)
    steps = APART * np.arange(len(cuts))
    return np.asarray(np.maximum.accumulate(np.sort(cuts) - steps) + steps)


def cuts_of_shares(shares: Sequence[float], means: Floats) -> Floats:
    """Return halfway points between the last item that has a grade and the first that has the next one."""
    n = len(means)
    last = np.clip(np.round(np.cumsum(shares) / 100 * n).astype(int), 0, n)
    ends = np.concatenate([[means[0] + 1], means, [means[-1] - 1]])
    return np.asarray((ends[last] + ends[last + 1]) / 2)


def log_odds(scores: ArrayLike) -> Floats:
    """Return the logarithmic odds of scores in per cent."""
    share = np.clip(np.asarray(scores, dtype=np.float64) / 100, LEAST_ODDS, 1 - LEAST_ODDS)
    return np.asarray(np.log(share / (1 - share)))


def score_at(cut: float) -> float:
    """Return the score in per cent with these logarithmic odds."""
    return float(100 / (1 + np.exp(-cut)))


def settled(graded: Graded | None) -> tuple[bool, int]:
    """Return whether every boundary is settled, and how many are."""
    states: list[Any] = graded.states() if graded else []
    n = sum(state.is_settled for state in states)
    return bool(states) and n == len(states), n
