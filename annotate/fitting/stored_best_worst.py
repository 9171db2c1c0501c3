"""Reads how often each item was chosen as best and as worst: the usual scores of best-worst scaling; needs numpy alone.

The score of an item is (best - worst) / shown, from -1 to 1 (Finn & Louviere 1992; Kiritchenko & Mohammad 2017).
"""

import io
from dataclasses import dataclass

import numpy as np

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
    """Returns the counts of every item shown, by primary key, of the published fit of a best-worst project."""
    if fit is None or not fit.arrays:
        return {}
    with np.load(io.BytesIO(bytes(fit.arrays)), allow_pickle=False) as file:
        if "site/best_count" not in file.files:
            return {}
        columns = [file[f"site/{name}"].tolist() for name in ("items", "best_count", "worst_count", "shown_count")]
    return {key: BestWorstCounts(*counts) for key, *counts in zip(*columns, strict=True) if counts[2]}
