"""The variational bound of counts with effects and factors, and its gradient.

y_iu ~ Poisson(e_iu exp(f_iu)) or a negative binomial of that mean, f_iu = c + b_i + a_u + v_i' w_u, with independent
Gaussian posteriors of all but c. From Y. J. Ko's thesis (3.1), derived anew: the expectation of exp(v w) of independent
v ~ N(m, s), w ~ N(n, r) is finite where q = 1 - s r > 0, and there exp((s n^2/2 + r m^2/2 + m n)/q) / sqrt(q). The
negative binomial by Jensen: E[y f - (y + rho) log(rho + e^f)] >= y E f - (y + rho) log(rho + E e^f).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import digamma, gammaln

from models_engine.inference.counts.cells import CountCells

__all__ = ["CountBound", "Effects", "Scales"]

Floats = NDArray[np.float64]
MAX_LOG = 600.0  # of an expected count: beyond, a trial step would overflow
MAX_VARIANCE = 0.99  # of a factor's entry, so that q > 0; only the product of both sides' scales is identified


@dataclass(frozen=True)
class Scales:
    """Prior variances: of the items' and annotators' effects, and (n_factors,) of the factors' entries on both sides.

    constant: prior mean of c, whose prior standard deviation is CONSTANT_SD.
    """

    items: float
    annotators: float
    factors: Floats
    constant: float


CONSTANT_SD = 3.0


@dataclass(frozen=True)
class Effects:
    """Means and variances of the posterior; (n, 1 + n_factors) each, the first column the effect, then the factors.

    log_dispersion: log rho of a negative binomial; None is Poisson.
    """

    constant: float
    item_mean: Floats
    item_variance: Floats
    annotator_mean: Floats
    annotator_variance: Floats
    log_dispersion: float | None = None

    def pack(self) -> Floats:
        """Return all as one vector: variances by their logarithm."""
        parts = [self.item_mean, np.log(self.item_variance), self.annotator_mean, np.log(self.annotator_variance)]
        ends = [self.constant] + ([] if self.log_dispersion is None else [self.log_dispersion])
        return np.concatenate([*(part.ravel() for part in parts), ends])

    def unpack(self, vector: Floats) -> "Effects":
        """Return effects of this shape from such a vector."""
        n, k = self.item_mean.size, self.annotator_mean.size
        cuts = np.split(vector, np.cumsum([n, n, k, k]))
        shape, other = self.item_mean.shape, self.annotator_mean.shape
        return Effects(
            float(cuts[4][0]),
            cuts[0].reshape(shape),
            np.exp(cuts[1]).reshape(shape),
            cuts[2].reshape(other),
            np.exp(cuts[3]).reshape(other),
            None if self.log_dispersion is None else float(cuts[4][1]),
        )


class CountBound:
    """The bound on the log evidence of these cells; memory about 10 n_cells (1 + n_factors) numbers."""

    def __init__(self, cells: CountCells) -> None:
        self.cells = cells
        ones, place = np.ones(cells.n_cells), np.arange(cells.n_cells)
        self.of_items = csr_matrix((ones, (cells.items, place)), shape=(cells.n_items, cells.n_cells))
        self.of_annotators = csr_matrix((ones, (cells.annotators, place)), shape=(cells.n_annotators, cells.n_cells))
        self.log_exposure = np.log(cells.exposures)

    def moments(self, at: Effects) -> tuple[Floats, Floats]:
        """Return (n_cells,) E f and log E exp(f), each without exposure."""
        m, s = at.item_mean[self.cells.items], at.item_variance[self.cells.items]
        n, r = at.annotator_mean[self.cells.annotators], at.annotator_variance[self.cells.annotators]
        mean = at.constant + m[:, 0] + n[:, 0]
        log_rate = mean + (s[:, 0] + r[:, 0]) / 2
        m, s, n, r = m[:, 1:], s[:, 1:], n[:, 1:], r[:, 1:]
        q = 1 - s * r
        mean = mean + (m * n).sum(axis=1)
        log_rate = log_rate + ((s * n**2 / 2 + r * m**2 / 2 + m * n) / q - np.log(q) / 2).sum(axis=1)
        return mean, log_rate

    def rates(self, at: Effects) -> Floats:
        """Return (n_cells,) the expected counts."""
        return np.exp(np.minimum(self.moments(at)[1] + self.log_exposure, MAX_LOG))

    def curvature(self, at: Effects) -> Floats:
        """Return (n_cells,) minus the second derivative of the log likelihood by f at the expected counts."""
        rate = self.rates(at)
        if at.log_dispersion is None:
            return rate
        rho = np.exp(at.log_dispersion)
        return (self.cells.counts + rho) * rho * rate / (rho + rate) ** 2

    def evaluate(self, at: Effects, scales: Scales) -> tuple[float, Floats]:
        """Return the bound and its gradient by the vector of `at.pack()`."""
        y, rate = self.cells.counts, self.rates(at)
        mean, _ = self.moments(at)
        if at.log_dispersion is None:
            value = float((y * (mean + self.log_exposure) - rate - gammaln(y + 1)).sum())
            weight, by_dispersion = rate, []
        else:
            rho = float(np.exp(at.log_dispersion))
            total = rho + rate
            value = float(
                (
                    y * (mean + self.log_exposure - np.log(total))
                    - rho * np.log1p(rate / rho)
                    + gammaln(y + rho)
                    - gammaln(rho)
                    - gammaln(y + 1)
                ).sum()
            )
            weight = (y + rho) * rate / total
            slope = np.log(rho / total) + 1 - (y + rho) / total + digamma(y + rho) - digamma(rho)
            by_dispersion = [rho * float(slope.sum())]
        m, s = at.item_mean[self.cells.items], at.item_variance[self.cells.items]
        n, r = at.annotator_mean[self.cells.annotators], at.annotator_variance[self.cells.annotators]
        item = _slopes(self.of_items, m, s, n, r, y, weight)
        annotator = _slopes(self.of_annotators, n, r, m, s, y, weight)
        item_prior = np.r_[scales.items, scales.factors]
        annotator_prior = np.r_[scales.annotators, scales.factors]
        value -= _divergence(at.item_mean, at.item_variance, item_prior)
        value -= _divergence(at.annotator_mean, at.annotator_variance, annotator_prior)
        value -= ((at.constant - scales.constant) / CONSTANT_SD) ** 2 / 2
        by_constant = float((y - weight).sum()) - (at.constant - scales.constant) / CONSTANT_SD**2
        gradient = [
            item[0] - at.item_mean / item_prior,
            item[1] * at.item_variance + (1 - at.item_variance / item_prior) / 2,
            annotator[0] - at.annotator_mean / annotator_prior,
            annotator[1] * at.annotator_variance + (1 - at.annotator_variance / annotator_prior) / 2,
        ]
        return value, np.concatenate([*(part.ravel() for part in gradient), [by_constant], by_dispersion])


def _slopes(
    total: csr_matrix, m: Floats, s: Floats, n: Floats, r: Floats, y: Floats, weight: Floats
) -> tuple[Floats, Floats]:
    """Return the likelihood's derivatives by m and s, (n_rows, 1 + n_factors), summed over the cells of each row."""
    by_mean, by_variance = np.empty_like(m), np.empty_like(m)
    by_mean[:, 0], by_variance[:, 0] = y - weight, -weight / 2
    m, s, n, r = m[:, 1:], s[:, 1:], n[:, 1:], r[:, 1:]
    q, held = 1 - s * r, weight[:, None]
    exponent = s * n**2 / 2 + r * m**2 / 2 + m * n
    by_mean[:, 1:] = y[:, None] * n - held * (r * m + n) / q
    by_variance[:, 1:] = -held * (n**2 / (2 * q) + exponent * r / q**2 + r / (2 * q))
    return total @ by_mean, total @ by_variance


def _divergence(mean: Floats, variance: Floats, prior: Floats) -> float:
    """Return the Kullback-Leibler divergence of independent Gaussians from N(0, prior)."""
    ratio = variance / prior
    return float((ratio + mean**2 / prior - 1 - np.log(ratio)).sum()) / 2
