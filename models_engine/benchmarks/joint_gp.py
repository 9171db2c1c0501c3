"""One Gaussian process over annotators and items, by the features of both, and a consensus: EP over all pairs at once.

The second moments of crowd_gppl's prior with many components (Simpson & Gurevych 2020, equation 6), and without the
consensus GPfull of Ko's thesis (Bonilla et al. 2010). Time grows as the cube of the number of labels.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from scipy.special import expit, ndtr

from models_engine.data import Comparisons
from models_engine.errors import InvalidData, TooLarge
from models_engine.implied_pairs import PairTable
from models_engine.inference.probit_ep.probit_sites import probit_site
from models_engine.kernels import ItemKernel
from models_engine.linalg import cholesky

__all__ = ["JointGP", "JointPosterior", "JointPrior", "MarginEP", "fit_at", "run_margin_ep"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MAX_LABELS = 3_000
MAX_ITERATIONS, TOLERANCE, LOOSE_TOLERANCE = 60, 1e-6, 1e-3
LOG_SD = 0.75  # of the log-normal priors of both standard deviations, medians 1 and .7, as CollaborativeGP's


@dataclass(frozen=True)
class JointPrior:
    """f_u = t + h_u, t ~ N(0, consensus_sd^2 K), Cov(h_ui, h_vj) = taste_sd^2 K_ij L_uv, in units of an answer's noise.

    items, annotators: the kernels K and L; what the features of annotators share in L is `annotators.share`.
    """

    consensus_sd: float
    taste_sd: float
    items: ItemKernel
    annotators: ItemKernel

    def scale(self, correlation: Floats) -> Floats:
        """Return the factor of K in the covariance of two annotators' utilities, whose entries of L these are."""
        return self.consensus_sd**2 + self.taste_sd**2 * correlation


@dataclass(frozen=True, eq=False)
class MarginEP:
    """EP's fixed point for margins z ~ N(0, prior): precision and shift (n,) of the sites, mean and log evidence.

    root: L^-1 sqrt(precision) of I + sqrt(P) prior sqrt(P) = L L', so that the covariance is prior - (root prior)'
    (root prior), and weights (n,) prior^-1 mean.
    """

    precision: Floats
    shift: Floats
    mean: Floats
    root: Floats
    weights: Floats
    log_evidence: float
    converged: bool


def run_margin_ep(
    prior: Floats, outcome: Floats, start: MarginEP | None = None, tolerance: float = TOLERANCE
) -> MarginEP:
    """Run parallel EP for P(left preferred) = Phi(z), outcome 1 (left), 0 or 1/2 (Rasmussen & Williams 2006, 3.6).

    start: a fixed point under another prior, whose sites it starts from.
    """
    n = len(prior)
    precision, shift = (np.zeros(n), np.zeros(n)) if start is None else (start.precision, start.shift)
    change, damping = np.inf, 1.0
    for iteration in range(MAX_ITERATIONS + 1):
        scale = np.sqrt(np.maximum(precision, 0.0))
        lower = cholesky(np.eye(n) + scale[:, None] * prior * scale)
        reach = solve_triangular(lower, scale[:, None] * prior, lower=True)
        weights = shift - scale * solve_triangular(lower, reach @ shift, lower=True, trans=1)
        mean = prior @ weights
        variance = np.diagonal(prior) - (reach**2).sum(axis=0)
        cavity_variance = 1 / (1 / variance - precision)
        cavity_mean = cavity_variance * (mean / variance - shift)
        log_normaliser, new_precision, new_shift = probit_site(cavity_mean, cavity_variance, outcome, 1 - outcome)
        last, change = change, max(np.abs(new_precision - precision).max(), np.abs(new_shift - shift).max())
        if change < tolerance or iteration == MAX_ITERATIONS:
            break
        damping = 0.5 if iteration > 5 and change > 0.9 * last else damping
        precision = precision + damping * (new_precision - precision)
        shift = shift + damping * (new_shift - shift)
    narrowed = 1 + precision * cavity_variance
    alone = (cavity_mean + cavity_variance * shift) ** 2 / (
        cavity_variance * narrowed
    ) - cavity_mean**2 / cavity_variance
    constants = log_normaliser + (np.log(narrowed) - alone) / 2
    evidence = constants.sum() - np.log(np.diagonal(lower)).sum() + shift @ mean / 2
    root = solve_triangular(lower, np.diag(scale), lower=True)
    return MarginEP(precision, shift, mean, root, weights, float(evidence), change < tolerance)


@dataclass(frozen=True, eq=False)
class JointPosterior:
    """Utilities of every annotator, answered or not, and of people known by their features alone."""

    prior: JointPrior
    left: Ints
    right: Ints
    annotator: Ints
    found: MarginEP

    def utilities(self) -> Floats:
        """Return the means of the consensus, (n_items,)."""
        return self.prior.consensus_sd**2 * (self._by_items() @ self.found.weights)

    def personal_utilities(self, annotator: int) -> Floats:
        """Return the means of that annotator's utilities, (n_items,)."""
        return self._by_items() * self.prior.scale(self._others(annotator)) @ self.found.weights

    def utilities_of(self, features: ArrayLike) -> Floats:
        """Return the means for a person of these features (e,) who gave no answer, (n_items,)."""
        correlation = self.prior.annotators.cross(np.atleast_2d(np.asarray(features, dtype=np.float64)))[0][0]
        return self._by_items() * self.prior.scale(correlation[self.annotator]) @ self.found.weights

    def pairwise_probabilities(self, left: ArrayLike, right: ArrayLike, annotator: int) -> Floats:
        """Return P(that annotator prefers left), (n,)."""
        one, other = np.asarray(left), np.asarray(right)
        by_items, kernel = self._by_items(), self.prior.items.matrix()
        cross = (by_items[one] - by_items[other]) * self.prior.scale(self._others(annotator))
        apart = kernel[one, one] + kernel[other, other] - 2 * kernel[one, other]
        variance = apart * self.prior.scale(np.ones(1)) - ((self.found.root @ cross.T) ** 2).sum(axis=0)
        return np.asarray(ndtr(cross @ self.found.weights / np.sqrt(1 + np.maximum(variance, 0.0))))

    def _by_items(self) -> Floats:
        """Return K B', (n_items, n_labels), B the labels' differences of items."""
        kernel = self.prior.items.matrix()
        return kernel[:, self.left] - kernel[:, self.right]

    def _others(self, annotator: int) -> Floats:
        return self.prior.annotators.matrix()[annotator, self.annotator]


@dataclass(frozen=True)
class JointGP:
    """consensus: whether there is one.   features: whether features of annotators correlate their tastes.

    Both standard deviations and the shares of features in K and L are the mode of EP's evidence times their priors
    (log-normal; logit-normal of mean 0 and standard deviation 2).
    """

    consensus: bool = True
    features: bool = True
    max_trials: int = 50

    def fit(self, data: Comparisons) -> JointPosterior:
        """Fit. Raises TooLarge above 3,000 labels, InvalidData for answers that are no pairs."""
        if data.n_labels > MAX_LABELS:
            raise TooLarge(f"{data.n_labels:,} labels; the matrix over all of them is limited to {MAX_LABELS:,}.")
        if not data.n_labels or (data.sizes != 2).any():
            raise InvalidData("there are no labels, or sets of more than two items; give pairs.")
        pairs, last = data.pairs(), None

        def loss(x: Floats) -> float:
            nonlocal last
            last = fit_at(self.prior(data, x), pairs, last, LOOSE_TOLERANCE)
            return float(x @ x) / 2 - last.found.log_evidence

        simplex = np.vstack([np.zeros(4), np.eye(4)])
        best = minimize(
            loss,
            simplex[0],
            method="Nelder-Mead",
            options={"maxfev": self.max_trials, "xatol": 0.05, "fatol": 0.05, "initial_simplex": simplex},
        )
        return fit_at(self.prior(data, best.x), pairs, last)

    def prior(self, data: Comparisons, x: Floats) -> JointPrior:
        """Return the prior at these standard-normal coordinates of its numbers (see JointGP)."""
        items = ItemKernel(data.item_features, data.n_items, float(expit(2 * x[2])))
        own = data.annotator_features if self.features else None
        annotators = ItemKernel(own, data.n_annotators, float(expit(2 * x[3])))
        consensus = float(np.exp(LOG_SD * x[0])) if self.consensus else 0.0
        return JointPrior(consensus, 0.7 * float(np.exp(LOG_SD * x[1])), items, annotators)


def fit_at(
    prior: JointPrior, pairs: PairTable, start: JointPosterior | None = None, tolerance: float = TOLERANCE
) -> JointPosterior:
    """Return the posterior under this prior; start: under another."""
    kernel, who = prior.items.matrix(), pairs.annotator
    by_items = kernel[:, pairs.left] - kernel[:, pairs.right]
    scale = prior.scale(prior.annotators.matrix()[np.ix_(who, who)])
    covariance = (by_items[pairs.left] - by_items[pairs.right]) * scale
    found = run_margin_ep(covariance, pairs.outcome, None if start is None else start.found, tolerance)
    return JointPosterior(prior, pairs.left, pairs.right, who, found)
