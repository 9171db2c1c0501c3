"""Posterior: the methods of every fit's result, with shapes and units."""

from collections.abc import Mapping
from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models_engine.data import Comparisons
from models_engine.predictive import Likelihood
from models_engine.summaries import AnnotatorSummary, Components, Diagnostics, RankSummary

__all__ = ["Posterior"]

Floats = NDArray[np.float64]


@runtime_checkable
class Posterior(Protocol):
    """The consensus utilities after a fit, centred: only differences are identified. Immutable.

    Items are 0..n_items-1; n_items also is the first axis of every item array below.
    """

    diagnostics: Diagnostics
    likelihood: Likelihood

    @property
    def n_items(self) -> int: ...
    def utilities(self) -> Floats:
        """Return posterior means, (n_items,), with mean zero."""

    def standard_deviations(self) -> Floats:
        """Return standard deviations of the centred utilities, (n_items,)."""

    def covariance(self) -> Floats:
        """Return the covariance of the centred utilities, (n_items, n_items). Raises TooLarge above 5,000 items."""

    def difference_variance(self, left: ArrayLike, right: ArrayLike) -> Floats:
        """Return the posterior variance of f_left - f_right, elementwise."""

    def sample(self, n: int, *, rng: np.random.Generator) -> Floats:
        """Draw jointly, (n, n_items), each draw centred."""

    def pairwise_probabilities(self, left: ArrayLike, right: ArrayLike, annotator: int | None = None) -> Floats:
        """Return P(a new answer prefers left), elementwise: uncertainty integrated, no tie, sides averaged.

        annotator=None is a new annotator drawn from the crowd.
        """

    def superiority(self, left: ArrayLike, right: ArrayLike) -> Floats:
        """Return P(f_left > f_right) for the consensus, elementwise."""

    def log_predictive(self, data: Comparisons) -> Floats:
        """Return log P(label), (n_labels,), weights not applied."""

    def rank_summary(self, level: float = 0.9, k: int = 10, *, rng: np.random.Generator | None = None) -> RankSummary:
        """Summarise the distribution of ranks, by joint sampling."""

    def divisiveness(self) -> Floats:
        """Return the standard deviation of the item's centred utility over annotators, (n_items,); 0 without tastes."""

    def for_annotator(self, annotator: int | None = None, *, features: ArrayLike | None = None) -> "Posterior":
        """Return the posterior of annotator j, of one with these features (n_features,), or of a new one (None)."""

    def at(self, item_features: ArrayLike) -> "Posterior":
        """Return the posterior over items never compared, given their features (n_new, n_features)."""

    def restrict(self, items: ArrayLike) -> "Posterior":
        """Restrict to some items, in the order given, centred among themselves."""

    def annotator_summary(self) -> AnnotatorSummary: ...
    def components(self) -> Components | None: ...
    def to_arrays(self) -> dict[str, NDArray]:
        """Return arrays for numpy.savez; loads without pickle."""

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Self: ...
