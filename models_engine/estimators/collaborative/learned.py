"""What the first stages of a CollaborativeGP fit learn: scales, the shape of tastes, where EP may begin."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models_engine.estimators.collaborative.sampled import Widening
from models_engine.inference.probit_ep.site_updates import Sites
from models_engine.inference.tastes.reliability import Reliabilities
from models_engine.inference.tastes.sampling import Sampled
from models_engine.inference.tastes.scales import MixtureWeights, PriorScales
from models_engine.inference.tastes.sides import SideBiases

__all__ = ["EPStart", "LearnedPrior", "LearnedShape"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EPStart:
    """Initial values of EP: sites and the mean of the consensus."""

    sites: Sites
    mean: Floats

    def expand_to(self, rows: NDArray[np.int64], n_sites: int) -> "EPStart":
        """Return the same for n_sites sites of which these are `rows`; the others start at zero."""
        sites = Sites.empty(n_sites)
        sites.precision[rows], sites.shift[rows] = self.sites.precision, self.sites.shift
        return EPStart(sites, self.mean)

    def select(self, rows: NDArray[np.int64]) -> "EPStart":
        """Return the same for these rows of the sites."""
        return EPStart(Sites(self.sites.precision[rows], self.sites.shift[rows]), self.mean)


@dataclass(frozen=True, eq=False)
class LearnedShape:
    """A learned taste covariance (n_items, n_items), and the final sites of its EP, if any."""

    taste: Floats
    end: EPStart | None


@dataclass(frozen=True, eq=False)
class LearnedPrior:
    """Scales and kernel, the shape of Sigma with the weights of its mixtures, and the number of sites it came from.

    begin: where EP over all sites may begin.   sampled: where shape and scales come from draws.   cut_root: root of the
    covariance of the log gaps between cut points, None where these are not drawn.
    widening, n_told: those of the fit that lent all this.   reliability: of the annotators, None where all count as
    reliable.   sides: side biases of the annotators, None where none are told apart.
    """

    scales: PriorScales
    shape: Floats
    mixture: MixtureWeights
    n_sites: int
    begin: EPStart | None
    sampled: Sampled | None = None
    widening: Widening | None = None
    n_told: int | None = None
    reliability: Reliabilities | None = None
    cut_root: Floats | None = None
    sides: SideBiases | None = None

    @property
    def lapse(self) -> Floats | None:
        return None if self.reliability is None else self.reliability.lapse

    @property
    def side(self) -> Floats | None:
        return None if self.sides is None else self.sides.mean
