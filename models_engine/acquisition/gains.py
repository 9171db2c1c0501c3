"""How far an answer about a pair of items is expected to lower the loss of an aim."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from models_engine.acquisition.aims import Aim, Marginals, item_weights, open_density, surely_tied

__all__ = ["PairGains", "aim_laplacian", "variance_share_of_answer"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
TINY = 1e-12
LOGIT_IN_PROBITS = 1.702**2  # variance of the probit noise nearest to a logistic's (Haley 1952)


def variance_share_of_answer(mean: Floats, variance: Floats, lapse: float) -> Floats:
    """Return Var(E[z | answer]) / variance^2 for a margin z ~ N(mean, variance).

    That share of Cov(f, z)^2 is the expected fall of an item's variance. P(answer) = lapse + (1 - 2 lapse) Phi(z / c),
    c = 1.702. It is exact: for an answer y of two kinds Var(E[z | y]) = Cov(z, y)^2 / Var(y), and by Stein's lemma
    Cov(z, y) = variance E[dP/dz].
    """
    v = LOGIT_IN_PROBITS + variance
    x = mean / np.sqrt(v)
    p = lapse + (1 - 2 * lapse) * ndtr(x)
    slope = (1 - 2 * lapse) * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    return slope**2 / (v * np.maximum(p * (1 - p), 1e-300))


@dataclass(frozen=True, eq=False)
class PairGains:
    """The gains of pairs of items for an aim.

    worth (n_items,): sd^4 times the item's weight.   covariance, change: C (n, n), and C L C with the Laplacian L of
    the aim, or None where the items are taken as independent.
    """

    marginals: Marginals
    worth: Floats
    margin: float
    lapse: float
    covariance: Floats | None = None
    change: Floats | None = None

    @classmethod
    def of(cls, marginals: Marginals, aim: Aim, margin: float, lapse: float, covariance: Floats | None) -> "PairGains":
        """Build the gains; with a covariance it takes two products of (n, n) matrices and three such matrices."""
        worth = marginals.sd**4 * item_weights(marginals, aim, margin)
        if covariance is None:
            return cls(marginals, worth, margin, lapse)
        change = covariance @ aim_laplacian(marginals, aim, margin, covariance) @ covariance
        return cls(marginals, worth, margin, lapse, covariance, change)

    def between(self, one: Ints, other: Ints) -> Floats:
        """Return the expected fall of the loss by an answer about each pair of items; 0 where it is surely tied.

        It is that of the first order by the fall of the variances, with the means as they are: an answer's chance to
        change a decision at once is not counted.
        """
        mean = self.marginals.mean[one] - self.marginals.mean[other]
        if self.covariance is None or self.change is None:
            variance = self.marginals.sd[one] ** 2 + self.marginals.sd[other] ** 2
            worth = self.worth[one] + self.worth[other]
        else:
            variance = np.maximum(_of_difference(self.covariance, one, other), 0.0)
            worth = np.maximum(_of_difference(self.change, one, other), 0.0)
        gain = variance_share_of_answer(mean, variance, self.lapse) * worth
        return np.where(surely_tied(mean, np.sqrt(np.maximum(variance, TINY)), self.margin), 0.0, gain)


def aim_laplacian(marginals: Marginals, aim: Aim, margin: float, covariance: Floats) -> Floats:
    """Return L (n, n): the aim's expected loss falls by tr(L D) / 1 as the covariance falls by a small D.

    whole: pairs of one part, by how fast the loss of their order grows with their difference's variance; best: pairs
    of one of the best k and one of the others; classes: the items' own variances, boundaries being fixed.
    """
    if aim.kind == "classes":
        return np.diag(item_weights(marginals, aim, margin))
    n = marginals.n_items
    variance = np.diagonal(covariance)
    spread = np.sqrt(np.maximum(variance[:, None] + variance[None, :] - 2 * covariance, TINY))
    weight = open_density(np.abs(marginals.mean[:, None] - marginals.mean[None, :]), spread, margin)
    weight *= marginals.part[:, None] == marginals.part[None, :]
    if aim.kind == "best":
        chosen = _best_of_parts(marginals, aim)
        weight *= chosen[:, None] != chosen[None, :]
    weight[np.diag_indices(n)] = 0.0
    return np.diag(weight.sum(axis=1)) - weight


def _best_of_parts(marginals: Marginals, aim: Aim) -> NDArray[np.bool_]:
    order = marginals.order()
    sizes = np.bincount(marginals.part)
    place = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[marginals.part[order]]
    chosen = np.empty(len(order), dtype=bool)
    chosen[order] = place < (aim.k or 0)
    return chosen


def _of_difference(matrix: Floats, one: Ints, other: Ints) -> Floats:
    diagonal = np.diagonal(matrix)
    return diagonal[one] + diagonal[other] - 2 * matrix[one, other]
