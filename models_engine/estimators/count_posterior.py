"""CountPosterior: utilities of items from counts, and how active each annotator is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from models_engine.posterior import GaussianPosterior
from models_engine.stored_posteriors import gaussian_fields

__all__ = ["CountPosterior"]

Floats = NDArray[np.float64]
OWN = ("constant", "dispersion", "annotator_sd", "annotator_effects", "annotator_deviations")


@dataclass(frozen=True, eq=False)
class CountPosterior(GaussianPosterior):
    """Posterior of the items' effects on the log of the expected count, annotators and constant marginalised.

    With equal exposure the next count of two items is of i rather than j with probability
    exp(f_i)/(exp(f_i) + exp(f_j)), so that utilities are in logits as those of BradleyTerry are.

    constant: log of the expected count per exposure of an average item and annotator.
    dispersion: rho of the negative binomial, whose variance is mean + mean^2/rho; infinite for Poisson.
    annotator_sd: prior standard deviation of the annotators' effects; prior_sd is that of the items.
    annotator_effects, annotator_deviations (n_annotators,): log of how much more an annotator counts than the average
    one does of the same items, and its posterior standard deviation.
    """

    constant: float = 0.0
    dispersion: float = float("inf")
    annotator_sd: float = 1.0
    annotator_effects: Floats = field(default_factory=lambda: np.zeros(0))
    annotator_deviations: Floats = field(default_factory=lambda: np.zeros(0))

    def hyperparameters(self) -> dict[str, float]:
        """See GaussianPosterior.hyperparameters; with the constant, the dispersion and the annotators' sd."""
        own = {"constant": self.constant, "dispersion": self.dispersion, "annotator_sd": self.annotator_sd}
        return super().hyperparameters() | own

    def to_arrays(self) -> dict[str, NDArray]:
        return super().to_arrays() | {name: np.asarray(getattr(self, name)) for name in OWN}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> Self:
        own: dict[str, Any] = {name: np.asarray(arrays[name]) for name in OWN}
        numbers = {name: float(value) for name, value in own.items() if not value.ndim}
        return cls(**gaussian_fields(arrays) | own | numbers)
