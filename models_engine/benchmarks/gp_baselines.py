"""crowd_gppl's own baselines: GPPL for each annotator alone, GPPL for all as one, and CrowdBT followed by a GP."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit

from models_engine.data import Comparisons
from models_engine.estimators.crowd_bt import CrowdBT
from models_engine.estimators.gppl import GPPL
from models_engine.estimators.gppl_posterior import GPPLPosterior
from models_engine.kernels import ItemKernel
from models_engine.linalg import centre, cholesky

__all__ = ["CrowdBTThenGP", "GPPLPerAnnotator", "OwnPosteriors", "Regression"]

Floats = NDArray[np.float64]
LENGTHS = (0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True, eq=False)
class OwnPosteriors:
    """One posterior per annotator who gave labels; `rest`, the prior, for the others."""

    own: dict[int, GPPLPosterior]
    rest: GPPLPosterior

    def pairwise_probabilities(self, left: ArrayLike, right: ArrayLike, annotator: int) -> Floats:
        """Return P(that annotator prefers left)."""
        return self.own.get(annotator, self.rest).pairwise_probabilities(left, right)

    def personal_utilities(self, annotator: int) -> Floats:
        """Return the utilities of that annotator, (n_items,)."""
        return self.own.get(annotator, self.rest).utilities()

    def utilities(self) -> Floats:
        """Return the mean of all annotators' utilities, (n_items,): the paper's consensus for GPPL-per-user."""
        return np.mean([one.utilities() for one in self.own.values()], axis=0) if self.own else self.rest.utilities()


@dataclass(frozen=True)
class GPPLPerAnnotator:
    """GPPL on each annotator's labels alone ("GPPL-per-user"): only the kernel is shared, chosen on all labels
    as if one annotator had given them."""

    def fit(self, data: Comparisons) -> OwnPosteriors:
        """Fit one annotator after the other."""
        shared = GPPL().fit(data).source
        share, length = (0.0, 1.0) if shared is None else (float(shared.kernel[0]), float(shared.kernel[1]))
        alone = GPPL(share=share, length_scale=length, tolerance=1e-4)
        own = {int(j): replace(alone.fit(data.annotator_subset([j])), sources=()) for j in np.unique(data.annotators)}
        return OwnPosteriors(own, alone.fit(data.subset(np.zeros(data.n_labels, dtype=bool))))


@dataclass(frozen=True, eq=False)
class Regression:
    """GP regression: mean (n_items,) at the fitted items, and predictions at other features."""

    kernel: ItemKernel
    weights: Floats
    log_evidence: float
    mean: Floats

    def at(self, features: Floats) -> Floats:
        """Return the mean at new features (n_new, d), (n_new,)."""
        return self.kernel.cross(features)[0] @ self.weights

    def pairwise_probabilities(self, left: ArrayLike, right: ArrayLike, annotator: int | None = None) -> Floats:
        """Return the logistic of the margin, the same for every annotator."""
        return np.asarray(expit(self.mean[np.asarray(left)] - self.mean[np.asarray(right)]))

    def personal_utilities(self, annotator: int) -> Floats:
        """Return the utilities, (n_items,), the same for every annotator."""
        return self.mean

    def utilities(self) -> Floats:
        """Return the utilities, (n_items,)."""
        return self.mean


@dataclass(frozen=True)
class CrowdBTThenGP:
    """CrowdBT's posterior means as targets of a GP over item features, their posterior variances as noise
    ("crowdBT-GP"): variance and length scale of the GP by marginal likelihood (Rasmussen & Williams 2006, eq. 5.8)."""

    share: float = 0.9

    def fit(self, data: Comparisons) -> Regression:
        """Fit CrowdBT, then the regression of best evidence."""
        posterior = CrowdBT().fit(data)
        targets, noise = centre(posterior.utilities()), posterior.standard_deviations() ** 2
        features = data.item_features
        kernels = [ItemKernel(features, data.n_items, self.share, length) for length in LENGTHS]
        return max((_best(kernel, targets, noise) for kernel in kernels), key=lambda one: one.log_evidence)


def _best(kernel: ItemKernel, targets: Floats, noise: Floats) -> Regression:
    """Fit the regression with the kernel times its best variance."""
    matrix = kernel.matrix()

    def fitted(log_variance: float) -> tuple[float, Floats]:
        variance = float(np.exp(log_variance))
        lower = cholesky(variance * matrix + np.diag(noise))
        weights = scipy.linalg.cho_solve((lower, True), targets)
        log_determinant = 2 * float(np.log(np.diagonal(lower)).sum())
        return -(float(targets @ weights) + log_determinant + len(targets) * np.log(2 * np.pi)) / 2, variance * weights

    best = minimize_scalar(lambda x: -fitted(x)[0], bounds=(-8.0, 6.0), method="bounded")
    evidence, weights = fitted(float(best.x))
    return Regression(kernel, weights, evidence, matrix @ weights)
