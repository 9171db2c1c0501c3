"""AnglePosterior: draws of angle-based utilities, each with a ranking drawn from it, to predict any label."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from models_engine.data import Comparisons
from models_engine.implied_pairs import LabelGroup
from models_engine.inference.angle.permutations import log_place_sum
from models_engine.linalg import centre, chunk_slices
from models_engine.posterior import SamplePosterior
from models_engine.stored_posteriors import shared_fields
from models_engine.validation import check_selection

__all__ = ["AnglePosterior"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
N_PREDICTIVE = 250
MAX_LOG_ODDS = 600.0  # above it logarithms of probabilities would be minus infinity


@dataclass(frozen=True, eq=False)
class AnglePosterior(SamplePosterior):
    """Posterior of utilities -kappa theta: draws, scores (n_draws, n_items): y of a ranking drawn from each.

    A label orders the items of its set among the places they have together; given those places its probability is
    exact, so that averaging over `scores` has a small Monte Carlo error.
    """

    scores: Floats = field(kw_only=True)

    def concentrations(self) -> Floats:
        """Return kappa, (n_draws,): 0 is pure chance."""
        return np.linalg.norm(self.draws, axis=1)

    def preference(self, left: NDArray, right: NDArray) -> Floats:
        lefts, rights = np.broadcast_arrays(left, right)
        result = np.empty(lefts.size)
        for part in chunk_slices(lefts.size, len(self.draws)):
            margins = self._margins(lefts.ravel()[part], rights.ravel()[part])
            result[part] = self.likelihood.preference(margins, 0.0).mean(axis=0)
        return result.reshape(lefts.shape)

    def log_pairs(self, left: NDArray, right: NDArray, outcome: NDArray, sided: NDArray) -> Floats:
        result = np.empty(len(left))
        for part in chunk_slices(len(left), len(self.draws)):
            margins = self._margins(left[part], right[part])
            given_draw = self.likelihood.log_outcome(outcome[part], margins, 0.0, sided=sided[part])
            result[part] = logsumexp(given_draw, axis=0) - np.log(len(self.draws))
        return result

    def log_labels(self, data: Comparisons) -> Floats:
        pairs = [np.flatnonzero(data.sizes == 2)]
        result = np.empty(data.n_labels)
        result[pairs[0]] = super().log_labels(data.subset(pairs[0]))
        for group in data.groups():
            if group.size > 2:
                result[group.label] = self._log_sets(group)
        return result

    def for_annotator(self, annotator: int | None = None, *, features: ArrayLike | None = None) -> "AnglePosterior":
        return self

    def restrict(self, items: ArrayLike) -> "AnglePosterior":
        kept = check_selection(items, self.n_items)
        return replace(self, draws=centre(self.draws[:, kept]), scores=self.scores[:, kept])

    def to_arrays(self) -> dict[str, NDArray]:
        return super().to_arrays() | {"scores": self.scores}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Self:
        return cls(draws=np.asarray(arrays["draws"]), scores=np.asarray(arrays["scores"]), **shared_fields(arrays))

    def _margins(self, left: NDArray, right: NDArray) -> Floats:
        """Return the log odds that left has the better of the two places of left and right, (n_draws, m)."""
        gap = np.abs(self.scores[:, left] - self.scores[:, right])
        return np.clip((self.draws[:, left] - self.draws[:, right]) * gap, -MAX_LOG_ODDS, MAX_LOG_ODDS)

    def _log_sets(self, group: LabelGroup) -> Floats:
        items, ranks = group.best_first()
        step = max(1, len(self.draws) // N_PREDICTIVE)
        draws, scores = self.draws[::step], self.scores[::step]
        distinct, which = np.unique(np.hstack([items, ranks]), axis=0, return_inverse=True)
        result = np.empty(len(distinct))
        for part in chunk_slices(len(distinct), len(draws) * group.size * 8):
            items, ranks = np.split(distinct[part], 2, axis=1)
            order = _log_order(-draws[:, items], np.sort(scores[:, items], axis=-1), ranks)
            result[part] = logsumexp(order, axis=0) - np.log(len(draws))
        return result[which.ravel()]


def _log_order(eta: Floats, scores: Floats, ranks: Ints) -> Floats:
    """Return log P(order | places), (n_draws, m): eta (n_draws, m, k) best first, scores sorted, ranks (m, k);
    ties summed.
    """
    result = -log_place_sum(eta, scores)
    patterns, which = np.unique(ranks, axis=0, return_inverse=True)
    for index, pattern in enumerate(patterns):
        rows = np.flatnonzero(which.ravel() == index)
        for rank in np.unique(pattern):
            alike = np.flatnonzero(pattern == rank)
            part = np.ix_(np.arange(len(eta)), rows, alike)
            result[:, rows] += log_place_sum(eta[part], scores[part])
    return result
