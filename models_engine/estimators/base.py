"""What an estimator is: settings in a frozen dataclass, and a fit from Comparisons to a Posterior."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from models_engine.data import Comparisons
from models_engine.posterior import BasePosterior, Posterior
from models_engine.progress import Progress

__all__ = ["Claim", "ClaimLevel", "Estimator", "EstimatorEntry"]

Claim = Literal[
    "prior",  # no data gives the prior: mean 0; where there is no prior, InsufficientData ("insufficient")
    "renaming",  # renaming items renames results
    "reversal",  # reversing every pair negates utilities
    "weights",  # weight 2 equals the row twice
    "warm start",  # a warm start gives the same result as a cold start
    "coverage",  # known utilities recovered from `simulate`, 90% intervals covering 85-95%
]
ClaimLevel = Literal["exactly", "in distribution", "objective", "insufficient", "no"]
"""How a claim holds: up to rounding; up to Monte Carlo error; the objective is no worse; see Claim; not claimed."""


@runtime_checkable
class Estimator(Protocol):
    """A frozen dataclass of settings. `fit` changes neither it nor its inputs."""

    def fit(
        self,
        data: Comparisons,
        start: Posterior | None = None,
        rng: np.random.Generator | None = None,
        progress: Progress | None = None,
    ) -> BasePosterior:
        """Fit. start: an earlier posterior to begin from (it may cover fewer items or annotators; it never changes
        what is being estimated). rng: default_rng(0) if None. Raises InvalidData, InsufficientData, TooLarge,
        Cancelled; warns NotConverged.
        """


@dataclass(frozen=True)
class EstimatorEntry:
    """A row of ESTIMATORS: the class, the class of its posterior, when to choose it, and its claims.

    when: one plain sentence shown to project owners.
    claims: only those that do not hold exactly; the conformance suite tests them.
    """

    estimator: type[Estimator]
    posterior: type[BasePosterior]
    when: str
    claims: Mapping[Claim, ClaimLevel] = field(default_factory=dict)

    def holds(self, claim: Claim) -> ClaimLevel:
        return self.claims.get(claim, "exactly")
