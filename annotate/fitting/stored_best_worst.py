"""Reads how often each item was chosen as best and as worst: the usual scores of best-worst scaling; needs numpy alone.

The score of an item is (best - worst) / shown, from -1 to 1 (Finn & Louviere 1992; Kiritchenko & Mohammad 2017).
"""

from dataclasses import dataclass

from annotate.fitting.stored_columns import site_columns
from models_engine.models import Fit


@dataclass(frozen=True)
class BestWorstCounts:
    best: int
    worst: int
    shown: int

    @property
    def score(self) -> float:
        return (self.best - self.worst) / self.shown


def best_worst_counts(fit: Fit | None) -> dict[int, BestWorstCounts]:
    """Return the counts of every item shown, by primary key, of the published fit of a best-worst project."""
    columns = site_columns(fit.arrays if fit else None, "items", "best_count", "worst_count", "shown_count") or []
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {key: BestWorstCounts(*counts) for key, *counts in rows if counts[2]}
