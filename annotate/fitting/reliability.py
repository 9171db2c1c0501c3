"""Computes how reliable a ranking is: scale separation with every fit, split halves with an evaluation."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from annotate.fitting.reading import Labels, RankedItems
from annotate.jobs.queues import Progress
from models_engine.analysis.reliability import scale_separation, split_half
from models_engine.data import Comparisons
from models_engine.errors import InsufficientData
from models_engine.estimators.base import Estimator
from models_engine.estimators.bradley_terry import QUICK
from models_engine.posterior import BasePosterior

# With more labels the eighty fits of halves take longer than a background job should.
MAX_SPLIT_LABELS = 20_000
MIN_ITEMS = 5  # ranked items below which a reliability says nothing
HALVES: dict[str, Literal["judges", "answers"]] = {"annotators": "judges", "answers": "answers"}


def measure_separation(posterior: BasePosterior, labels: RankedItems) -> dict[str, Any] | None:
    """Return the scale-separation reliability of the largest part as JSON; None for fewer than MIN_ITEMS items."""
    largest = next(labels.ranked_parts(), None)
    if largest is None or len(largest[1]) < MIN_ITEMS:
        return None
    own = posterior.restrict(largest[1])
    return finite_json(scale_separation(own)) | {"n_items": own.n_items}


def measure_halves(labels: Labels, progress: Progress) -> dict[str, Any]:
    """Return split-half reliabilities of the largest part as JSON, {} for too many labels; None where too few.

    Raises Cancelled where `progress` says so.
    """
    if labels.data.n_labels > MAX_SPLIT_LABELS:
        return {}
    data, estimator = largest_part(labels), Watched(QUICK, progress)
    found: dict[str, Any] = {}
    for name, by in HALVES.items():
        try:
            found[name] = finite_json(split_half(data, by, estimator=estimator))
        except InsufficientData:
            found[name] = None
    return found


def largest_part(labels: Labels) -> Comparisons:
    """Return the labels about items of the largest part; a label never reaches across parts."""
    parts, data = labels.parts(), labels.data
    return data.subset(np.flatnonzero(parts[data.items[data.starts[:-1]]] == 0))


@dataclass(frozen=True)
class Watched:
    """An estimator that tells `progress` of the steps of each of its fits."""

    estimator: Estimator
    progress: Progress

    def fit(self, data: Comparisons, start: Any = None, rng: Any = None, progress: Any = None) -> BasePosterior:
        """Fits; raises Cancelled."""
        return self.estimator.fit(data, start=start, rng=rng, progress=progress or self.progress)


def finite_json(figures: Any) -> dict[str, Any]:
    """Return a dataclass as JSON: None for what is not known."""
    return {name: value if np.isfinite(value) else None for name, value in asdict(figures).items()}
